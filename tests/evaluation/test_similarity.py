"""Word similarity: graded pairs, separation, intervals, and Table 3 on made-up MUSE files."""

import numpy as np
import pytest
import torch
from conftest import planted

from demalib import runs
from demalib.config import preset
from demalib.data.files import cache_dir, write_text
from demalib.errors import DataError
from demalib.evaluation import similarity as sim
from demalib.hints import Lexicon
from demalib.pair import make_pair
from demalib.retrieval import Retriever


@pytest.fixture
def spaces(rng):
    src, tgt, Q = planted(rng, n=300, shared=50)
    lexicon = Lexicon(list(zip(src.words, tgt.words, strict=True))[30:200], "made up")
    return make_pair(src, tgt), lexicon, Q


def test_graded_pairs_have_three_kinds_and_no_hint_and_no_gold(spaces):
    pair, lexicon, _ = spaces
    lexicon = Lexicon([*lexicon.pairs, ("src60", "tgt61")], "a second translation")
    frame = sim.graded_pairs(pair, lexicon, neighbour=3)
    assert frame["score"].value_counts().to_dict() == {2.0: 150, 1.0: 150, 0.0: 150}
    first = frame["first"].to_numpy().reshape(3, 150)
    assert (first == first[0]).all() and not frame["first"].str.startswith("both").any()
    gold = [b in lexicon.gold[a] for a, b in zip(frame["first"], frame["second"], strict=True)]
    assert gold == [True] * 150 + [False] * 300
    one = frame[frame["first"] == "src70"].set_index("score")["second"]
    cosine = pair.tgt.vectors @ pair.tgt.vectors[pair.tgt.index["tgt70"]]
    assert (cosine > cosine[pair.tgt.index[one[1.0]]]).sum() == 3  # itself and two closer ones
    again = sim.graded_pairs(pair, lexicon, neighbour=3)
    assert again.equals(frame)


def test_a_good_map_ranks_translation_above_neighbour_above_chance(spaces):
    pair, lexicon, Q = spaces
    frame = sim.graded_pairs(pair, lexicon)
    shares = {}
    for name, mapped in (("map", pair.x @ Q), ("none", pair.x)):
        found = Retriever(mapped, pair.y)
        top, near, chance = sim.cosines(frame, found, pair.src, pair.tgt).reshape(3, -1)
        shares[name] = sim.auc(top, near)["auc"], sim.auc(near, chance)["auc"]
        shares[name] += (sim.correlate(frame, found, pair.src, pair.tgt)["pearson"],)
    assert min(shares["map"]) > 0.9
    assert max(shares["none"]) < 0.65  # half, give or take: d is only 16


def test_auc_counts_wins_and_halves_ties():
    assert sim.auc(np.array([1.0, 2.0]), np.array([1.0, 0.0]))["auc"] == 3.5 / 4
    assert sim.auc(np.ones(5), np.ones(5)) == {"auc": 0.5, "ci95": [0.5, 0.5]}


def test_auc_interval_contains_the_truth_about_19_times_in_20(rng):
    held = 0
    for _ in range(200):
        high, low = rng.standard_normal((2, 80))
        a, b = sim.auc(high + 0.5 * np.sqrt(2), low, resamples=200)["ci95"]
        held += a <= 0.6915 <= b  # Phi(0.5)
    assert 180 <= held <= 199


def test_fishers_interval_contains_the_truth_about_19_times_in_20(rng):
    held = 0
    for _ in range(400):
        x, e = rng.standard_normal((2, 100))
        low, high = sim.correlation_interval(np.corrcoef(x, 0.7 * x + 0.51**0.5 * e)[0, 1], 100)
        held += low <= 0.7 <= high
    assert 368 <= held <= 392


def test_word_similarity_states_what_it_left_out(tmp_path):
    (tmp_path / "s.txt").write_text(
        "Sun\tsol\t4\nsun\tluna\t2\nnew york\tsol\t1\nsun\toov\t1\nsun\tmar\t0\n"
    )
    frame = sim.read_similarity(tmp_path / "s.txt")
    first = {"sun": np.array([1.0, 0])}.get
    second = {"sol": np.array([1.0, 0]), "luna": np.array([1.0, 1]), "mar": np.array([0, 1.0])}.get
    got = sim.word_similarity(frame, first, second)
    assert (got["pairs"], got["multiword"], got["oov"], got["coverage"]) == (3, 1, 1, 0.6)
    assert got["spearman"] == pytest.approx(1)
    assert got["pearson"] == pytest.approx(np.corrcoef([4, 2, 0], [1, 0.5**0.5, 0])[0, 1])
    with pytest.raises(DataError, match="only 0 of 5 pairs"):
        sim.word_similarity(frame, {}.get, second)


def test_a_bad_similarity_line_is_named(tmp_path):
    (tmp_path / "s.txt").write_text("sun\tsol\t4\nsun sol 4\n")
    with pytest.raises(DataError, match="s.txt:2: expected"):
        sim.read_similarity(tmp_path / "s.txt")


def test_semeval_files_read(muse):
    frame = sim.read_similarity(muse / "wordsim" / "en-es-SEMEVAL17.txt")
    assert len(frame) == 978 and frame["score"].between(0, 4).all()


# ---------------------------------------------------------------- Table 3


@pytest.fixture
def muse_files(tmp_path, monkeypatch, rng):
    """Vectors, dictionaries and similarity scores as MUSE has them, for made-up en and es."""
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("DEMALIB_MUSE", str(tmp_path / "muse"))
    monkeypatch.setenv("DEMALIB_MUSE_URL", "http://127.0.0.1:9")  # nobody answers
    src, tgt, _ = planted(rng, n=400, shared=100)
    for lang, side in (("en", src), ("es", tgt)):
        lines = [
            f"{w} {' '.join(map(str, v))}" for w, v in zip(side.words, side.vectors, strict=True)
        ]
        text = "\n".join([f"{len(side)} {side.dim}", *lines, ""])
        write_text(cache_dir() / f"muse/fasttext/vectors-wiki/wiki.{lang}.vec", text)
    pairs = list(zip(src.words, tgt.words, strict=True))[100:200]
    folder = tmp_path / "muse" / "crosslingual"
    for langs, lines in (("en-es", pairs), ("es-en", [p[::-1] for p in pairs])):
        text = "\n".join(" ".join(p) for p in lines)
        write_text(folder / f"dictionaries/{langs}.5000-6500.txt", text)
    x = torch.nn.functional.normalize(torch.from_numpy(tgt.vectors), dim=1)
    scores = [(i, j, 2 + 2 * float(x[i] @ x[j])) for i, j in rng.integers(400, size=(300, 2))]
    lines = [f"{src.words[i]}\t{tgt.words[j]}\t{score:.2f}" for i, j, score in scores]
    lines += ["two words\ttgt7\t1.0", "unheard\ttgt7\t1.0"]
    return folder / "wordsim" / "en-es-SEMEVAL17.txt", "\n".join(lines)


def test_table_3_is_measured_where_everything_is_there(muse_files):
    path, text = muse_files
    say = sim.table3("identical").set_index("direction")["state"]
    assert say["es-en"] == (
        "not run: demalib fetch muse en es && demalib sweep --pairs en-es --solvers identical; "
        "put en-es-SEMEVAL17.txt into $DEMALIB_MUSE/crosslingual/wordsim"
    )
    runs.solve(preset("en-es", solver="identical"))
    say = sim.table3("identical").set_index("direction")["state"]
    assert say["es-en"] == (
        "not run: put en-es-SEMEVAL17.txt into $DEMALIB_MUSE/crosslingual/wordsim"
    )
    write_text(path, text)
    table = sim.table3("identical").set_index("direction")
    row = table.loc["es-en"]
    assert row["state"] == "measured" and (row["paper"], row["pairs"]) == (72.2, 300)
    assert (row["multiword"], row["oov"]) == (1, 1)
    assert 97 < row["pearson"] < 100 and row["spearman"] > 95
    assert row["low"] < row["pearson"] < row["high"]
    assert row["difference"] == pytest.approx(row["pearson"] - 72.2)
    assert table.drop("es-en")["state"].str.startswith("not run: demalib fetch muse en ").all()
