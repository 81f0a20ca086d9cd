"""Cognates: words of two languages that sound alike once both are in Latin letters, as a hint."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from anyascii import anyascii
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from demalib.embedding import Embedding

THRESHOLD = 0.7  # lowest score of a pair
KATAKANA_THRESHOLD = 0.5  # the same with katakana, which puts vowels between consonants
MIN_LETTERS, MIN_SKELETON = 4, 3  # shorter words sound alike by accident
RANK_WEIGHT, RANK_SHIFT = 0.02, 10  # cost of a difference in frequency; small among top words
BLOCK = 1_000  # words of one skeleton that are compared, of either language

_KATAKANA = re.compile("[\u30a0-\u30ff\u31f0-\u31ff]")  # ァ to ヿ, with ー and ・
_HAN = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
_NATIVE = re.compile(f"[\u3040-\u309f{_HAN}]")  # or hiragana
_SMALL = "ァィゥェォャュョヮ"
_VOWELS = "aeiouy"
# Capitals: sh, ch, zh and ts as one letter each, until _SOUNDS merges them with others.
_SPELLINGS = {"sch": "S", "sh": "S", "ch": "C", "zh": "J", "ph": "f", "th": "t"}
_SPELLINGS |= {"ck": "k", "gh": "g", "wh": "w", "ts": "T", "tz": "T"}
_SOUNDS = str.maketrans("SCJjTw", "sczztv")
_JAPANESE_SOUNDS = str.maketrans("SCJjTlvf", "stzztrbh")


class _Word(NamedTuple):
    row: int
    letters: str  # romanised
    katakana: bool


def cognate_pairs(
    src: Embedding, tgt: Embedding, words: int = 20_000
) -> tuple[np.ndarray, np.ndarray]:
    """Find words that sound alike in both languages, most frequent source word first.

    Words are romanised; those with equal consonants (:func:`skeleton`) are compared. The score
    of source row i and target row j, with the edit distance of their romanised words, is
    ``1 - distance / length of the longer word - 0.02 |ln((i + 10) / (j + 10))|``.

    A pair is kept if it scores 0.7 or more, 0.5 with a katakana word, and if neither word has a
    better partner; of equal scores the more frequent partner wins. Words with the same spelling
    are another hint, :func:`demalib.hints.identical_pairs`: they compete, so that neither gets
    a worse partner, and are then left out.

    Args:
        src: Source words.
        tgt: Target words.
        words: Number of words of either language that take part, the most frequent; 0 takes all.

    Returns:
        Row numbers, (n, 2) int64, by source row, every row of a language at most once; and
        scores, (n,) float64. n may be 0.

    Note:
        If more than 1,000 words of a language have the same skeleton, only the 1,000 most
        frequent are compared. Of 20,000 English, French, Japanese or Russian words, at most 82 do.

    Example:
        >>> english = Embedding(["music", "hotel"], np.eye(2, dtype=np.float32), "en")
        >>> japanese = Embedding(["ホテル", "音楽"], np.eye(2, dtype=np.float32), "ja")
        >>> cognate_pairs(english, japanese)[0].tolist()
        [[1, 0]]
    """
    left, right = (_romanised(side.words[: words or None]) for side in (src, tgt))
    plain_left, plain_right = ([w for w in side if not w.katakana] for side in (left, right))
    parts = [
        *_candidates(plain_left, plain_right, japanese=False),
        *_candidates([w for w in left if w.katakana], right, japanese=True),
        *_candidates(plain_left, [w for w in right if w.katakana], japanese=True),
    ]
    rows = np.concatenate([np.empty((0, 2), np.int64), *(rows for rows, _ in parts)])
    scores = np.concatenate([np.empty(0), *(scores for _, scores in parts)])
    best = _mutual_best(rows, scores)
    kept = [n for n in best if src.words[rows[n, 0]] != tgt.words[rows[n, 1]]]
    return rows[kept], scores[kept]


def romanise(word: str) -> str:
    """Write a word in the letters a to z; return an empty string if it gives no hint.

    The script of the word decides, not its language. Words with hiragana or Chinese characters
    give no hint: few of them are loans. Neither do words that mix katakana with other letters,
    or that contain digits or signs other than hyphens, apostrophes and ``_``.

    Example:
        >>> romanise("Écharpe"), romanise("журнал"), romanise("シャッター"), romanise("音楽")
        ('echarpe', 'zhurnal', 'shata', '')
    """
    word = unicodedata.normalize("NFKC", word)
    if _NATIVE.search(word):
        return ""
    if _KATAKANA.search(word):
        return _romanise_katakana(word) if all(map(_KATAKANA.match, word)) else ""
    letters = re.sub("[-'_]", "", anyascii(word).lower())
    return letters if re.fullmatch("[a-z]+", letters) else ""


def _romanise_katakana(word: str) -> str:
    """Drop ッ, ー and ・; a small vowel replaces the vowel before it: ティ is ti, シャ is sha."""
    letters = ""
    for char in word:
        if char in "ッー・":
            continue
        if char in _SMALL and letters.endswith(tuple(_VOWELS)):
            letters = letters[:-1]
        letters += anyascii(char)
    return re.sub("(sh|ch|j)y", r"\1", letters)


def skeleton(letters: str, japanese: bool = False) -> str:
    """Reduce a romanised word to its consonants: words with equal ones are compared.

    Spellings of a sound become one letter, vowels and h are dropped, except for an ``a`` in
    place of a leading vowel, and doubled letters become one.

    Args:
        letters: A word as :func:`romanise` writes it.
        japanese: One of the words to be compared is katakana. Then the sounds that Japanese
            does not have or distinguish are merged too (l = r, v = b, f = h, ch = t, soft g = z,
            no w), and h is kept.

    Example:
        >>> skeleton("philosophie"), skeleton("athletics"), skeleton("festival", japanese=True)
        ('flsf', 'atltks', 'hstbr')
    """
    for spelling, sound in _SPELLINGS.items():
        letters = letters.replace(spelling, sound)
    letters = re.sub("c(?=[eiy])", "s", letters)
    letters = letters.replace("c", "k").replace("q", "k").replace("x", "ks")
    if japanese:
        letters = re.sub("g(?=[eiy])", "z", letters).replace("w", "")
    letters = letters.translate(_JAPANESE_SOUNDS if japanese else _SOUNDS)
    start = "a" if letters.startswith(tuple(_VOWELS)) else ""
    dropped = _VOWELS if japanese else _VOWELS + "h"
    return start + re.sub(r"(.)\1+", r"\1", re.sub(f"[{dropped}]", "", letters))


def _romanised(words: Sequence[str]) -> list[_Word]:
    """Romanise the words that are long enough; the others do not take part."""
    romanised = []
    for row, word in enumerate(unicodedata.normalize("NFKC", word) for word in words):
        if len(letters := romanise(word)) >= MIN_LETTERS:
            romanised.append(_Word(row, letters, katakana=bool(_KATAKANA.match(word))))
    return romanised


def _blocks(words: list[_Word], japanese: bool) -> dict[str, list[_Word]]:
    """Group words by skeleton; a group has at most ``BLOCK`` words, the most frequent."""
    blocks: dict[str, list[_Word]] = {}
    for word in words:
        key = skeleton(word.letters, japanese)
        if len(key) >= MIN_SKELETON and len(block := blocks.setdefault(key, [])) < BLOCK:
            block.append(word)
    return blocks


def _candidates(
    left: list[_Word], right: list[_Word], japanese: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield row numbers (m, 2) and scores (m) of pairs above the threshold, block by block."""
    threshold = KATAKANA_THRESHOLD if japanese else THRESHOLD
    others = _blocks(right, japanese) if left else {}
    for key, block in _blocks(left, japanese).items():
        if other := others.get(key):
            scores = _score(block, other)
            i, j = np.nonzero(scores >= threshold)
            src, tgt = (np.array([word.row for word in side]) for side in (block, other))
            yield np.stack([src[i], tgt[j]], axis=1), scores[i, j]


def _score(left: list[_Word], right: list[_Word]) -> np.ndarray:
    """Score all pairs of two groups of words, (len(left), len(right)) float64."""
    letters = [[word.letters for word in side] for side in (left, right)]
    distance = cdist(*letters, scorer=Levenshtein.distance, dtype=np.int32)
    longer = np.maximum.outer(*([len(word) for word in side] for side in letters))
    ranks = ([word.row + RANK_SHIFT for word in side] for side in (left, right))
    return 1 - distance / longer - RANK_WEIGHT * np.abs(np.log(np.divide.outer(*ranks)))


def _mutual_best(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Find the pairs whose words are each other's best, (n) indices into ``rows``, by source row.

    Of equal scores, the partner with the lower row number is the best.
    """
    order = np.lexsort((rows[:, 1], rows[:, 0], -scores))
    of_src, of_tgt = (np.unique(column, return_index=True)[1] for column in rows[order].T)
    best = order[np.intersect1d(of_src, of_tgt)]
    return best[np.argsort(rows[best, 0])]
