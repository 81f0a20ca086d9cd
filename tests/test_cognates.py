import math
import subprocess
import sys

import numpy as np
import pytest

from demalib import cognates
from demalib.cognates import cognate_pairs, romanise, skeleton
from demalib.embedding import Embedding
from demalib.hints import identical_pairs


def embedding(words):
    return Embedding(list(words), np.ones((len(words), 1), np.float32))


def found(src, tgt, **options):
    """The pairs of words, with their scores."""
    rows, scores = cognate_pairs(embedding(src), embedding(tgt), **options)
    return {(src[i], tgt[j]): score for (i, j), score in zip(rows, scores, strict=True)}


@pytest.mark.parametrize(
    "word, letters",
    [
        ("Écharpe", "echarpe"),
        ("cœur", "coeur"),
        ("aujourd’hui", "aujourdhui"),
        ("new_york", "newyork"),
        ("щука", "shchuka"),
        ("объект", "obekt"),
        ("μουσική", "moysiki"),
        ("서울", "seoul"),
        ("コンピューター", "konpyuta"),
        ("サッカー", "saka"),
        ("ファイル", "fairu"),
        ("ティー", "ti"),
        ("シャツ", "shatsu"),
        ("ジョギング", "jogingu"),
        ("ヴァイオリン", "vaiorin"),
        ("ニュー・ヨーク", "nyuyoku"),
        ("ﾌｨﾙﾑ", "firumu"),
    ],
)
def test_words_are_written_in_latin_letters(word, letters):
    assert romanise(word) == letters


@pytest.mark.parametrize(
    "word", ["ほてる", "東京", "アメリカ人", "サボる", "tシャツ", "co2", "км²", "r&b", "ーー", ""]
)
def test_native_japanese_mixed_words_and_signs_give_no_hint(word):
    assert romanise(word) == ""


@pytest.mark.parametrize(
    "letters, plain, japanese",
    [
        ("schwager", "svgr", "szr"),
        ("photographer", "ftgrfr", "htgrhr"),
        ("tchaikovsky", "tckvsk", "tkbsk"),
        ("zhurnal", "zrnl", "zrnr"),
        ("journal", "zrnl", "zrnr"),
        ("quick", "k", "k"),
        ("texas", "tks", "tks"),
        ("ocean", "asn", "asn"),
        ("pizza", "pz", "pz"),
        ("blitz", "blt", "brt"),
        ("whisky", "vsk", "ask"),
        ("hotel", "tl", "htr"),
        ("general", "gnrl", "znr"),
    ],
)
def test_the_skeleton_has_the_consonants(letters, plain, japanese):
    assert (skeleton(letters), skeleton(letters, japanese=True)) == (plain, japanese)


@pytest.mark.parametrize(
    "src, tgt",
    [
        ("hotel", "ホテル"),
        ("festival", "フェスティバル"),
        ("アメリカ", "америка"),
        ("violin", "ヴァイオリン"),
        ("министр", "ministre"),
        ("journal", "журнал"),
        ("doctor", "доктор"),
        ("музика", "muzyka"),
        ("телефон", "telefon"),
        ("телефон", "τηλέφωνο"),
        ("tomato", "토마토"),
        ("doctor", "docteur"),
    ],
)
def test_known_cognates_are_found_in_both_directions(src, tgt):
    assert list(found([src], [tgt])) == [(src, tgt)]
    assert list(found([tgt], [src])) == [(tgt, src)]


@pytest.mark.parametrize(
    "src, tgt, reason",
    [
        ("computer", "コンピューター", "kmptr is not knpt: r is silent, n stands for m"),
        ("музыка", "musique", "mzk is not msk"),
        ("телефон", "telephone", "3 edits in 9 letters: below 0.7"),
        ("card", "カード", "krd is not kd"),
    ],
)
def test_cognates_that_the_rules_miss(src, tgt, reason):
    assert not found([src], [tgt]), reason


def test_the_score_is_that_of_the_formula():
    src = [*(f"x{n}" for n in range(5)), "доктор"]  # row 5
    tgt = [*(f"y{n}" for n in range(25)), "docteur"]  # row 25; doktor: 3 edits in 7 letters
    assert not found(src, tgt)
    tgt[25] = "doctor"  # 1 edit in 6 letters
    want = 1 - 1 / 6 - 0.02 * math.log((25 + 10) / (5 + 10))
    assert found(src, tgt) == {("доктор", "doctor"): pytest.approx(want, abs=1e-12)}
    assert found(tgt, src) == {("doctor", "доктор"): pytest.approx(want, abs=1e-12)}


def test_the_threshold_is_lower_with_katakana_on_either_side():
    assert found(["film"], ["フィルム"]) == {("film", "フィルム"): 0.5}  # firumu: 3 edits in 6
    assert found(["フィルム"], ["film"]) == {("フィルム", "film"): 0.5}
    assert not found(["film"], ["x", "フィルム"])  # 0.5 less the cost of the ranks
    assert not found(["film"], ["firoma"])  # 3 edits in 6 letters without katakana
    assert found(["capitan"], ["kapiteene", "капитен"]).keys() == {("capitan", "капитен")}


def test_japanese_rules_are_for_pairs_with_a_katakana_word_only():
    assert found(["valet"], ["バレット"])  # v = b, l = r
    assert not found(["valet"], ["baret"]) and not found(["belfort"], ["berfort"])
    assert not found(["hotel"], ["отель"])  # h counts with katakana only; without, tl is short
    assert found(["katariana"], ["katarihana"]) and not found(["katariana"], ["カタリハナ"])


def test_pairs_are_mutual_best():
    pairs = found(["doctor", "doktor"], ["доктор", "доктора"])
    assert list(pairs) == [("doktor", "доктор")]  # nothing is left for the others
    assert list(found(["doctor"], ["доктора", "доктор"])) == [("doctor", "доктор")]


def test_equal_scores_go_to_the_more_frequent_word():
    fill = [f"x{n}" for n in range(10)]
    src = [*fill, "martin"]  # row 10: |ln((i + 10) / (j + 10))| is ln 2 for j = 0 and j = 30
    tgt = ["мартин", *(f"y{n}" for n in range(29)), "мартін"]
    assert romanise(tgt[0]) == romanise(tgt[30]) == "martin"
    assert list(found(src, tgt)) == [("martin", "мартин")]
    assert list(found(tgt, src)) == [("мартин", "martin")]


def test_words_of_the_same_spelling_are_left_out_and_get_no_worse_partner():
    src, tgt = ["table", "tables", "doctor"], ["tables", "table", "docteur"]
    assert list(found(src, tgt)) == [("doctor", "docteur")]
    rows, _ = cognate_pairs(embedding(src), embedding(tgt))
    same = identical_pairs(embedding(src), embedding(tgt))
    assert not {*rows[:, 0]} & {*same[:, 0]} and not {*rows[:, 1]} & {*same[:, 1]}


def test_short_words_and_short_skeletons_do_not_take_part():
    assert not found(["trk"], ["трк"])  # 3 letters
    assert not found(["radio"], ["радио"])  # 2 consonants
    assert found(["audit"], ["аудит"])  # 2 consonants after a leading vowel: adt


def test_only_the_most_frequent_words_take_part():
    src, tgt = ["xx", "doctor"], ["доктор", "yy"]
    assert found(src, tgt) and found(src, tgt, words=2) and found(src, tgt, words=0)
    assert not found(src, tgt, words=1) and not found(tgt, src, words=1)


def test_large_blocks_are_cut_to_the_most_frequent_words(monkeypatch):
    monkeypatch.setattr(cognates, "BLOCK", 2)
    src, tgt = ["katarina", "katerina", "katorina"], ["катерина", "катарина", "каторина"]
    both = {("katarina", "катарина"), ("katerina", "катерина")}
    assert found(src, tgt).keys() == both
    monkeypatch.setattr(cognates, "BLOCK", 3)
    assert found(src, tgt).keys() == {*both, ("katorina", "каторина")}


def test_pairs_are_in_the_order_of_the_source_and_every_run_finds_the_same():
    src = embedding(["hotel", "профессор", "doctor", "ministre", "フェスティバル"])
    tgt = embedding(["festival", "министр", "доктор", "professor", "ホテル"])
    rows, scores = cognate_pairs(src, tgt)
    assert rows.tolist() == [[0, 4], [1, 3], [2, 2], [3, 1], [4, 0]]
    assert rows.dtype == np.int64 and scores.dtype == np.float64 and scores.shape == (5,)
    assert (scores > 0).all() and (scores <= 1).all()
    again = cognate_pairs(src, tgt)
    assert np.array_equal(again[0], rows) and np.array_equal(again[1], scores)
    back, back_scores = cognate_pairs(tgt, src)
    assert back[:, ::-1].tolist() == rows[::-1].tolist()
    assert np.allclose(back_scores[::-1], scores)


@pytest.mark.parametrize("tgt", [["東京", "ほてる"], ["xyz"], ["hotel"]])
def test_no_cognates_is_an_empty_result(tgt):
    rows, scores = cognate_pairs(embedding(["hotel"]), embedding(tgt))
    assert (rows.shape, rows.dtype, scores.shape) == ((0, 2), np.int64, (0,))


def test_native_japanese_words_are_in_no_pair():
    native = ["ほてる", "保手留", "アメリカ人", "フィルムを"]
    pairs = found(["hotel", "america", "film", "hoteru"], [*native, "アメリカ"])
    assert list(pairs) == [("america", "アメリカ")]


def test_import_demalib_does_not_import_the_libraries():
    code = "import sys, demalib; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"anyascii", "rapidfuzz"} & {*done.stdout.split()}
