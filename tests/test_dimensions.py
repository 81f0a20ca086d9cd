"""Sides of different dimensions: the larger is brought down, and everything takes raw vectors."""

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
from demalib.normalisation import Normalisation
from demalib.pair import make_pair
from demalib.solvers import SOLVERS, align

LONG = ("unit", "center", "unit", "pca", "unit")


def uneven(rng, shared=100):
    """A planted pair whose source has 24 dimensions: 16 that matter, turned, and 8 of noise."""
    src, tgt, _ = planted(rng, shared=shared)
    turn, _ = np.linalg.qr(rng.standard_normal((24, 24)))
    noise = 0.1 * rng.standard_normal((len(src), 8))
    wide = (np.hstack([src.vectors, noise]) @ turn).astype(np.float32)
    return replace(src, vectors=wide), tgt


@pytest.mark.parametrize("swap", [False, True])
def test_the_larger_side_is_brought_down_to_the_smaller(rng, swap):
    src, tgt = uneven(rng)
    pair = make_pair(tgt, src) if swap else make_pair(src, tgt)
    wide, narrow = (pair.tgt, pair.src) if swap else (pair.src, pair.tgt)
    assert wide.dim == narrow.dim == 16
    assert wide.normalisation.steps == LONG and narrow.normalisation.steps == LONG[:3]
    np.testing.assert_allclose(np.linalg.norm(wide.vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(narrow.vectors, tgt.normalise().vectors)
    np.testing.assert_allclose(wide.normalisation.apply(src.vectors), wide.vectors, atol=1e-6)


def test_lengths_stay_free_where_the_normalisation_leaves_them_free(rng):
    src, tgt = uneven(rng)
    pair = make_pair(src, tgt, normalisation=())
    assert pair.src.normalisation.steps == ("pca",)
    assert np.linalg.norm(pair.src.vectors, axis=1).std() > 0.1


def test_a_planted_map_is_found_and_takes_raw_vectors(rng):
    src, tgt = uneven(rng)
    pair = make_pair(src, tgt)
    mapping = align(pair, Config("aa-bb", vectors="files"))
    near = mapping.transform(src.vectors) @ pair.tgt.vectors.T  # (n, n)
    assert (near.argmax(axis=1) == np.arange(len(src))).mean() > 0.95
    near = mapping.transform(tgt.vectors, reverse=True) @ pair.src.vectors.T
    assert (near.argmax(axis=1) == np.arange(len(src))).mean() > 0.95
    with pytest.raises(DataError, match="takes 24 dimensions, the vectors 16"):
        mapping.transform(src.vectors[:, :16])


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
    return align(pair, Config("aa-bb", solver="procrustes", vectors="files")), pair, src


def test_a_saved_alignment_takes_raw_vectors_and_says_what_was_done(aligned, tmp_path):
    mapping, pair, src = aligned
    save_alignment(tmp_path, mapping, pair)
    again, spaces = load_alignment(tmp_path)
    assert torch.equal(spaces.x, pair.x) and spaces.src.normalisation.steps == LONG
    np.testing.assert_array_equal(again.transform(src.vectors), mapping.transform(src.vectors))
    raw = spaces.src.normalisation.apply(src.vectors)
    np.testing.assert_allclose(raw, pair.src.vectors, atol=1e-6)
    facts = describe(tmp_path)
    assert facts["dimensions"] == "16 (aa brought down from 24 by PCA)"
    assert facts["normalisation"] == "aa unit-center-unit-pca-unit; bb unit-center-unit"


def test_a_space_can_be_normalised_again_and_kept(aligned, rng, tmp_path):
    """Means of 24 and of 16 dimensions, and two projections, in one record."""
    _, pair, src = aligned
    twice = pair.src.normalise(("center", "unit")).reduce(5)
    save_embedding(tmp_path / "a.npz", twice)
    norm = load_embedding(tmp_path / "a.npz").normalisation
    assert norm.steps == (*LONG, "center", "unit", "pca", "unit")
    np.testing.assert_allclose(norm.apply(src.vectors), twice.vectors, atol=1e-5)


def test_exported_vectors_are_those_that_transform_gives(aligned, tmp_path):
    mapping, pair, src = aligned
    path, other = export_alignment(mapping, pair, tmp_path, "word2vec")
    np.testing.assert_allclose(
        read_vectors(path).vectors, mapping.transform(src.vectors), atol=1e-6
    )
    np.testing.assert_allclose(read_vectors(other).vectors, pair.tgt.vectors, atol=1e-6)


def test_files_of_two_dimensions_are_not_one_alignment(aligned, tmp_path):
    mapping, pair, _ = aligned
    save_alignment(tmp_path, mapping, pair)
    save_embedding(tmp_path / "tgt.npz", pair.tgt.reduce(8))
    with pytest.raises(DataError, match="files of two alignments are mixed"):
        load_alignment(tmp_path)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"axes": ()}, "a mean is missing, or not of the dimension"),
        ({"axes": (np.ones((24, 9), np.float32),)}, "not of one dimension"),
        ({"axes": (np.ones(24, np.float32),)}, "principal axes"),
        ({"axes": (np.full((24, 16), np.nan, np.float32),)}, "NaN"),
        ({"means": (np.ones(16, np.float32),)}, "not of the dimension"),
        ({"steps": LONG[:3]}, "not of one dimension"),
    ],
)
def test_a_record_that_does_not_fit_is_noticed(aligned, tmp_path, change, says):
    mapping = aligned[0]
    mapping.check()
    wrong = replace(mapping, src_norm=replace(mapping.src_norm, **change))
    with pytest.raises(ValueError, match=says):
        wrong.check()
    save_mapping(tmp_path / "m.safetensors", wrong)
    with pytest.raises(DataError, match="m.safetensors: not a valid mapping file"):
        load_mapping(tmp_path / "m.safetensors")


def test_a_file_without_its_axes_is_told(aligned, tmp_path):
    norm = replace(aligned[1].src.normalisation, axes=())
    save_embedding(tmp_path / "a.npz", replace(aligned[1].src, normalisation=norm))
    with pytest.raises(DataError, match="a.npz: its parts do not match .*axes_0"):
        load_embedding(tmp_path / "a.npz")
    with pytest.raises(DataError, match="unknown step 'pca'"):
        Normalisation(("pca",)).apply(np.ones((1, 3)))


def test_the_command_says_what_was_brought_down(rng, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in uneven(rng):
        write_vec(f"{side.lang}.vec", side.words, side.vectors)
    assert main(["align", "--src", "aa.vec", "--tgt", "bb.vec", "--out", "out"]) == 0
    assert "dimensions: 16 (aa brought down from 24 by PCA)\n" in capsys.readouterr().out
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
    small = french.normalise().reduce(128)
    small = Embedding(small.words, small.vectors, "fr")
    train = Lexicon([(whole.src.words[i], whole.tgt.words[j]) for i, j in whole.train])
    pair = make_pair(english, small, train)
    assert pair.src.dim == 128
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
    identity = replace(mapping, W_xy=torch.eye(128), W_yx=torch.eye(128))
    results = summarise(evaluate(identity, there, gold, config, ("csls",)), gold)
    assert 100 * results["en-fr"]["csls"]["p@1"] == pytest.approx(after[0], abs=0.2)
