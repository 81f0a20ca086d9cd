import numpy as np
import pytest
import torch
from conftest import lexicon, planted

from demalib.alignment import translate
from demalib.config import Config
from demalib.data.store import read_vectors
from demalib.errors import DataError
from demalib.export import FORMATS, export_alignment
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric
from demalib.solvers import align


@pytest.fixture(params=["procrustes", "msf"])
def aligned(request, rng):
    """A map and its pair; the second one meets in a space of its own."""
    src, tgt, _ = planted(rng, n=300, noise=0.8)
    pair = make_pair(src, tgt, lexicon(150, 250))
    return align(pair, Config("aa-bb", solver=request.param, seed=4, vectors="files")), pair


@pytest.mark.parametrize("format", ["vec", "word2vec", "npz"])
def test_exported_vectors_are_those_that_are_compared(format, aligned, tmp_path):
    mapping, pair = aligned
    paths = export_alignment(mapping, pair, tmp_path / "new", format)
    found = retrievers(mapping, pair)[0]
    for path, side, vectors in zip(
        paths, (pair.src, pair.tgt), (found.mapped, found.targets), strict=True
    ):
        back = read_vectors(path)
        assert path.name.startswith(f"{side.lang}.aligned.") and back.words == side.words
        np.testing.assert_array_equal(back.vectors, vectors.numpy())


def test_an_exported_dictionary_has_a_line_for_every_source_word(aligned, tmp_path):
    mapping, pair = aligned
    (path,) = export_alignment(mapping, pair, tmp_path, "dictionary")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    best = translate(mapping, pair, pair.src.words, 1)
    assert [row[0] for row in rows] == pair.src.words
    assert [row[1] for row in rows] == best["translation"].tolist()
    np.testing.assert_allclose([float(row[3]) for row in rows], best["cosine"], atol=2e-6)
    found = retrievers(mapping, pair)[0]
    scores = [s.clone() for _, s in found.iter_scores(torch.arange(300), Metric("csls"))]
    back = torch.cat(scores).argmax(dim=0).tolist()
    mutual = [back[pair.tgt.index[row[1]]] == i for i, row in enumerate(rows)]
    assert [row[6] == "1" for row in rows] == mutual and 200 < sum(mutual) < 300


def test_an_unknown_format_lists_the_known_ones(aligned, tmp_path):
    with pytest.raises(DataError, match=f"unknown format 'csv'; use one of {', '.join(FORMATS)}"):
        export_alignment(*aligned, tmp_path, "csv")


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]


def test_a_dictionary_of_several_translations_in_both_directions(aligned, tmp_path):
    mapping, pair = aligned
    paths = export_alignment(mapping, pair, tmp_path, "dictionary", top=3, both=True)
    assert [path.name for path in paths] == ["aa-bb.dictionary.tsv", "bb-aa.dictionary.tsv"]
    for path, side, reverse in zip(paths, (pair.src, pair.tgt), (False, True), strict=True):
        want = translate(mapping, pair, side.words, 3, reverse=reverse)
        rows = rows_of(path)
        assert [row["source"] for row in rows] == want["word"].tolist()
        assert [row["target"] for row in rows] == want["translation"].tolist()


def test_a_dictionary_of_mutual_pairs_alone(aligned, tmp_path):
    mapping, pair = aligned
    (path,) = export_alignment(mapping, pair, tmp_path, "dictionary")
    every = rows_of(path)
    export_alignment(mapping, pair, tmp_path, "dictionary", mutual=True)
    some = rows_of(path)
    assert some == [row for row in every if row["mutual"] == "1"] and 0 < len(some) < len(every)


def test_options_of_a_dictionary_are_refused_elsewhere(aligned, tmp_path):
    with pytest.raises(DataError, match="for a dictionary, not for the format vec"):
        export_alignment(*aligned, tmp_path, "vec", top=2)
    with pytest.raises(DataError, match="at least 1; got 0"):
        export_alignment(*aligned, tmp_path, "dictionary", top=0)


def test_numpy_alone_reads_an_exported_npz(aligned, tmp_path):
    mapping, pair = aligned
    path, _ = export_alignment(mapping, pair, tmp_path, "npz")
    with np.load(path) as data:  # which refuses pickles
        assert sorted(data.files) == ["vectors", "words"]
        row = data["words"].tolist().index("src200")
        np.testing.assert_array_equal(
            data["vectors"][row], retrievers(mapping, pair)[0].mapped[200].numpy()
        )
