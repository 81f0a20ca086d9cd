"""Sides of different dimensions: the smaller is padded, and everything takes raw vectors."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import lexicon, planted

from demalib.alignment import describe, load_alignment, save_alignment
from demalib.cli import main
from demalib.config import Config, preset
from demalib.data.store import load_embedding, read_vectors, save_embedding
from demalib.data.tensors import load_mapping, save_mapping
from demalib.data.text import write_vec
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation.benchmark import (
    Gold,
    evaluate,
    load_embedding_of,
    load_gold,
    load_pair,
    summarise,
)
from demalib.export import export_alignment
from demalib.hints import Lexicon
from demalib.pair import make_pair
from demalib.solvers import SOLVERS, align

LONG = ("unit", "center", "unit", "pad8")


def uneven(rng, shared=100):
    """A planted pair whose source has 24 dimensions: 16 that matter, turned, and 8 of noise."""
    src, tgt, _ = planted(rng, shared=shared)
    turn, _ = np.linalg.qr(rng.standard_normal((24, 24)))
    noise = 0.1 * rng.standard_normal((len(src), 8))
    wide = (np.hstack([src.vectors, noise]) @ turn).astype(np.float32)
    return replace(src, vectors=wide), tgt


@pytest.mark.parametrize("swap", [False, True])
def test_the_smaller_side_is_padded_to_the_larger(rng, swap):
    src, tgt = uneven(rng)
    pair = make_pair(tgt, src) if swap else make_pair(src, tgt)
    wide, narrow = (pair.tgt, pair.src) if swap else (pair.src, pair.tgt)
    assert wide.dim == narrow.dim == 24
    assert wide.normalisation.steps == LONG[:3] and narrow.normalisation.steps == LONG
    np.testing.assert_allclose(np.linalg.norm(narrow.vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(wide.vectors, src.normalise().vectors)
    np.testing.assert_allclose(narrow.normalisation.apply(tgt.vectors), narrow.vectors, atol=1e-6)


def test_lengths_stay_free_where_the_normalisation_leaves_them_free(rng):
    src, tgt = uneven(rng)
    pair = make_pair(src, tgt, normalisation=())
    assert pair.tgt.normalisation.steps == ("pad8",)
    assert np.linalg.norm(pair.tgt.vectors, axis=1).std() > 0.1


def test_a_planted_map_is_found_and_takes_raw_vectors(rng):
    src, tgt = uneven(rng)
    pair = make_pair(src, tgt)
    mapping = align(pair, Config("aa-bb", vectors="files"))
    near = mapping.transform(src.vectors) @ pair.tgt.vectors.T  # (n, n)
    assert (near.argmax(axis=1) == np.arange(len(src))).mean() > 0.95
    near = mapping.transform(tgt.vectors, reverse=True) @ pair.src.vectors.T
    assert (near.argmax(axis=1) == np.arange(len(src))).mean() > 0.95
    with pytest.raises(DataError, match="takes 16 dimensions, the vectors 24"):
        mapping.transform(src.vectors, reverse=True)


@pytest.mark.parametrize("name", ["procrustes", "vecmap", "msf", "shigeto", "em+lexicon"])
def test_solvers_of_every_normalisation_work(rng, name):
    src, tgt = uneven(rng, shared=20)
    pair = make_pair(src, tgt, lexicon(150, 350), normalisation=SOLVERS[name].normalisation)
    config = Config("aa-bb", solver=name, vectors="files")
    mapping, test = align(pair, config), lexicon(400, 600)
    gold = Gold(test, test.reverse())
    results = summarise(evaluate(mapping, pair, gold, config, ("csls",)), gold)
    assert min(r["csls"]["p@1"] for r in results.values()) > 0.9


@pytest.fixture
def aligned(rng):
    src, tgt = uneven(rng)
    pair = make_pair(src, tgt, lexicon(150, 250))
    return align(pair, Config("aa-bb", solver="procrustes", vectors="files")), pair, tgt


def test_a_saved_alignment_takes_raw_vectors_and_says_what_was_done(aligned, tmp_path):
    mapping, pair, tgt = aligned
    save_alignment(tmp_path, mapping, pair)
    again, spaces = load_alignment(tmp_path)
    assert torch.equal(spaces.y, pair.y) and spaces.tgt.normalisation.steps == LONG
    there, before = (m.transform(tgt.vectors, reverse=True) for m in (again, mapping))
    np.testing.assert_array_equal(there, before)
    raw = spaces.tgt.normalisation.apply(tgt.vectors)
    np.testing.assert_allclose(raw, pair.tgt.vectors, atol=1e-6)
    facts = describe(tmp_path)
    assert facts["dimensions"] == "24 (bb has 16, padded with zeros)"
    assert facts["normalisation"] == "aa unit-center-unit; bb unit-center-unit-pad8"


def test_a_space_can_be_normalised_again_and_kept(aligned, rng, tmp_path):
    """Means of 16 and of 24 dimensions, and two paddings, in one record."""
    _, pair, tgt = aligned
    twice = pair.tgt.normalise(("center", "unit")).pad(30)
    save_embedding(tmp_path / "a.npz", twice)
    norm = load_embedding(tmp_path / "a.npz").normalisation
    assert norm.steps == (*LONG, "center", "unit", "pad6")
    np.testing.assert_allclose(norm.apply(tgt.vectors), twice.vectors, atol=1e-5)


def test_exported_vectors_are_those_that_transform_gives(aligned, tmp_path):
    mapping, pair, tgt = aligned
    swapped = replace(
        mapping, W_xy=mapping.W_yx, W_yx=mapping.W_xy,
        src_norm=mapping.tgt_norm, tgt_norm=mapping.src_norm,
    )  # fmt: skip
    path, other = export_alignment(swapped, pair.swap(), tmp_path, "word2vec")
    np.testing.assert_allclose(
        read_vectors(path).vectors, mapping.transform(tgt.vectors, reverse=True), atol=1e-6
    )
    np.testing.assert_allclose(read_vectors(other).vectors, pair.src.vectors, atol=1e-6)


def test_files_of_two_dimensions_are_not_one_alignment(aligned, tmp_path):
    mapping, pair, _ = aligned
    save_alignment(tmp_path, mapping, pair)
    save_embedding(tmp_path / "tgt.npz", pair.tgt.pad(30))
    with pytest.raises(DataError, match="files of two alignments are mixed"):
        load_alignment(tmp_path)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"means": ()}, "a mean is missing, or not of the dimension"),
        ({"means": (np.full(16, np.nan, np.float32),)}, "NaN"),
        ({"means": (np.ones(24, np.float32),)}, "not of the dimension"),
        ({"steps": LONG[:3]}, "not of the dimension"),
        ({"steps": (*LONG[:3], "pad24")}, "adds more dimensions than"),
        ({"steps": (*LONG[:3], "pad999999999999999999")}, "adds more dimensions than"),
    ],
)
def test_a_record_that_does_not_fit_is_noticed(aligned, tmp_path, change, says):
    mapping = aligned[0]
    mapping.check()
    wrong = replace(mapping, tgt_norm=replace(mapping.tgt_norm, **change))
    with pytest.raises(ValueError, match=says):
        wrong.check()
    save_mapping(tmp_path / "m.safetensors", wrong)
    with pytest.raises(DataError, match="m.safetensors: not a valid mapping file"):
        load_mapping(tmp_path / "m.safetensors")


def test_the_command_says_what_was_padded(rng, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in uneven(rng):
        write_vec(f"{side.lang}.vec", side.words, side.vectors)
    assert main(["align", "--src", "aa.vec", "--tgt", "bb.vec", "--out", "out"]) == 0
    assert "dimensions: 24 (bb has 16, padded with zeros)\n" in capsys.readouterr().out
    assert main(["translate", "out", "src300", "-k", "1"]) == 0
    assert "tgt300" in capsys.readouterr().out


def p_at_1(pair, gold, config):
    mapping = align(pair, config)
    results = summarise(evaluate(mapping, pair, gold, config, ("csls",)), gold)
    return mapping, [100 * r["csls"]["p@1"] for r in results.values()]


@pytest.mark.heavy
def test_french_of_128_dimensions_loses_less_than_five_points(real_cache, tmp_path):
    """300 against 128 dimensions on the bundled test words; gensim reads what we measured."""
    gensim = pytest.importorskip("gensim.models")
    config = preset("en-fr", solver="procrustes")
    gold, whole = load_gold(config), load_pair(config)
    english, french = (load_embedding_of(lang, config) for lang in config.langs)
    vectors = french.normalise().vectors
    axes = np.linalg.eigh(vectors.T @ vectors)[1][:, -128:]
    small = Embedding(french.words, vectors @ axes, "fr")
    train = Lexicon([(whole.src.words[i], whole.tgt.words[j]) for i, j in whole.train])
    pair = make_pair(english, small, train)
    assert pair.tgt.dim == 300
    mapping, after = p_at_1(pair, gold, config)
    _, before = p_at_1(whole, gold, config)
    assert min(np.subtract(after, before)) > -5, (before, after)
    sides = [
        gensim.KeyedVectors.load_word2vec_format(path, binary=True)
        for path in export_alignment(mapping, pair, tmp_path, "word2vec")
    ]
    read = [
        Embedding(s.index_to_key, s.vectors, e.lang)
        for s, e in zip(sides, (english, french), strict=True)
    ]
    there = make_pair(*read, normalisation=())
    identity = replace(mapping, W_xy=torch.eye(300), W_yx=torch.eye(300))
    results = summarise(evaluate(identity, there, gold, config, ("csls",)), gold)
    assert 100 * results["en-fr"]["csls"]["p@1"] == pytest.approx(after[0], abs=0.2)
