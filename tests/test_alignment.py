import dataclasses
import json

import numpy as np
import pytest
import torch
from conftest import lexicon, planted

from demalib.alignment import (
    FILES,
    TRAIN,
    criterion,
    describe,
    load_alignment,
    save_alignment,
    translate,
)
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric
from demalib.solvers import align


@pytest.fixture(params=["procrustes", "msf"])
def aligned(request, rng):
    """A map and its pair; the second one meets in a space of its own."""
    src, tgt, _ = planted(rng, n=300, noise=0.8)
    pair = make_pair(src, tgt, lexicon(150, 250))
    return align(pair, Config("aa-bb", solver=request.param, seed=4, vectors="files")), pair


def test_an_alignment_comes_back_as_it_was(aligned, tmp_path):
    mapping, pair = aligned
    save_alignment(tmp_path / "new" / "out", mapping, pair)
    assert sorted(p.name for p in (tmp_path / "new/out").iterdir()) == sorted([*FILES, TRAIN])
    again, spaces = load_alignment(tmp_path / "new" / "out")
    for name in ("W_xy", "W_yx", "P_y", "P_x"):
        first, second = getattr(mapping, name), getattr(again, name)
        assert (first is None and second is None) or torch.equal(first, second)
    assert torch.equal(spaces.x, pair.x) and torch.equal(spaces.y, pair.y)
    assert spaces.src.words == pair.src.words and again.config == mapping.config
    assert spaces.identical.tolist() == pair.identical.tolist()
    assert spaces.trained_on().pairs == pair.trained_on().pairs
    kept = json.loads((tmp_path / "new/out/config.json").read_text())
    assert Config.from_dict(kept) == mapping.config
    assert translate(again, spaces, "src200").equals(translate(mapping, pair, "src200"))


def test_a_later_alignment_replaces_all_of_an_earlier_one(aligned, tmp_path):
    mapping, pair = aligned
    save_alignment(tmp_path, mapping, pair)
    small = make_pair(*(side.head(100) for side in (pair.src, pair.tgt)), normalisation=())
    save_alignment(tmp_path, mapping, small)
    again, spaces = load_alignment(tmp_path)
    assert len(spaces.src) == 100 and again.info["words"] == [100, 100]


def test_files_of_two_alignments_are_noticed(aligned, tmp_path):
    mapping, pair = aligned
    save_alignment(tmp_path / "a", mapping, pair)
    other = make_pair(dataclasses.replace(pair.src, lang="cc"), pair.tgt, normalisation=())
    renamed = dataclasses.replace(mapping, info=mapping.info | {"src": "cc"})
    save_alignment(tmp_path / "b", renamed, other)
    (tmp_path / "b" / "src.npz").replace(tmp_path / "a" / "src.npz")
    with pytest.raises(DataError, match="files of two alignments are mixed"):
        load_alignment(tmp_path / "a")


def test_translations_are_best_first_with_their_ranks_scores_and_cosines(aligned):
    mapping, pair = aligned
    table = translate(mapping, pair, ["SRC200 ", "both3"], k=4)
    assert table["word"].tolist() == ["SRC200 "] * 4 + ["both3"] * 4
    assert table["rank"].tolist() == [201] * 4 + [4] * 4
    found = retrievers(mapping, pair)[0]
    scores, columns = found.translate(torch.tensor([200, 3]), Metric("csls"), 4)
    np.testing.assert_allclose(table["score"], scores.flatten())
    assert table["translation_rank"].tolist() == (columns.flatten() + 1).tolist()
    assert table["translation"].tolist() == [pair.tgt.words[j] for j in columns.flatten()]
    cosines = torch.stack(
        [found.targets[j] @ found.mapped[[200, 3][i]] for i in range(2) for j in columns[i]]
    )
    np.testing.assert_allclose(table["cosine"], cosines, atol=1e-6)


@pytest.mark.parametrize("metric", ["nn", "isf", "csls", "csls-d", "csls-s"])
def test_translating_back_uses_the_other_direction_of_the_pair(metric, aligned):
    mapping, pair = aligned
    table = translate(mapping, pair, "tgt200", 3, metric, reverse=True)
    assert set(table["translation"]) <= set(pair.src.words) and table["translation"][0] == "src200"
    back = retrievers(mapping, pair)[1]
    cosines = back.mapped[200] @ back.targets[table["translation_rank"].to_numpy() - 1].T
    np.testing.assert_allclose(table["cosine"], cosines, atol=1e-6)
    assert len(translate(mapping, pair, "src101", k=1000, metric=metric)) == 300


def test_every_unknown_word_is_named(aligned):
    with pytest.raises(
        DataError, match="'src1500' is not .*similar spellings: src150.*; 'tgt7' is not"
    ):
        translate(*aligned, ["src107", "src1500", "tgt7"])
    with pytest.raises(DataError, match="at least 1; got 0"):
        translate(*aligned, "src107", k=0)


def test_the_criterion_is_of_the_space_that_words_are_compared_in(aligned):
    mapping, pair = aligned
    right = criterion(mapping, pair)
    turned = torch.linalg.qr(torch.randn(16, 16, generator=torch.Generator().manual_seed(1)))[0]
    wrong = criterion(dataclasses.replace(mapping, W_xy=mapping.W_xy @ turned), pair)
    assert -1 <= wrong < right - 0.05 and 0.7 < right <= 1
    assert criterion(dataclasses.replace(mapping, W_xy=5 * mapping.W_xy), pair) == pytest.approx(
        right
    )


def test_a_description_says_what_differs_from_the_usual(aligned, tmp_path):
    mapping, pair = aligned
    more = {"policy": {"case": "keep", "tokens": "all"}, "seconds": 1.25}
    config = mapping.config.replace(knn=7, steps=9)
    info = mapping.info | more | {"config": config.to_dict()}
    mapping = dataclasses.replace(mapping, info=info)
    save_alignment(tmp_path, mapping, pair)
    facts = describe(tmp_path)
    assert facts["languages"] == "aa → bb" and facts["seed"] == "4" and facts["dimensions"] == "16"
    assert facts["solver"].startswith(f"{config.solver} (")
    assert facts["settings"].startswith("knn=7, steps=9 (") and facts["words"] == "300 aa, 300 bb"
    assert facts["identical words"] == "100" and facts["seconds"] == "1.2"
    assert facts["clean-up"] == "case=keep, tokens=all" and set(FILES) <= facts.keys()
    assert float(facts["criterion"].split()[0]) == pytest.approx(criterion(mapping, pair), abs=1e-4)
