"""Derive the bundled gold lexicons from Debian's free dictionaries.

Run ``python -m demalib.data.lexicons.build`` where ``apt-get`` and ``dpkg-deb`` exist. It downloads
the packages below into a temporary folder, reads the single-word pairs that are in both registry
vocabularies, splits them by query word and rewrites the ``.tsv`` files beside this script.
"""

import gzip
import hashlib
import re
import subprocess
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, takewhile
from pathlib import Path

from demalib.data.registry import load_vectors

Pair = tuple[str, str]
FOLDER = Path(__file__).parent
PAIRS = ("en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru")
RUSSIAN_WORDS = 50_000  # the Russian vocabulary has a long tail; the others are used whole
TEST_QUERIES = 1_500  # at most, and at most one query word in three
TRAIN_QUERIES = 5_000  # at most, the most frequent ones
APT = ("apt-get", "-qq", "-o", "APT::Sandbox::User=root")  # quiet, also for root
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"  # of dictd numbers

KANA, KANJI = r"[\u3041-\u30ff]", r"[\u3400-\u9fff々]"
# What a word of each language looks like; definitions and examples do not match.
WORD = {
    "en": re.compile(r"[a-z][a-z'-]*[a-z]"),
    "fr": re.compile(r"[a-zà-ÿœ][a-zà-ÿœ'’-]*[a-zà-ÿœ]"),
    "ja": re.compile(
        rf"{KANA}*(?:{KANJI}{KANA}*)+|{KANA}{{2,}}"
    ),  # a single kana is only a particle
    "ru": re.compile(r"[а-яё]+(?:-[а-яё]+)*"),
}
ARTICLE = re.compile(r"^(?:(?:to|an?|the|les?|la|une?|des) |l['’])")
STALE = re.compile(r"\((?:[^()]*,)?(?:arch|obs|obsc|rare|dated|vulg|X)(?:,[^()]*)?\)")  # EDICT tags
STALE_RU = re.compile(r"(?:уст|редк|поэт|шотл|ирл|диал|жарг|груб|ист|миф)\.")  # Mueller labels
MARKUP_RU = re.compile(r"\[[^]]*\]|\([^()]*\)|_(?:[a-z-]+|ам)\.|как (?:сущ|прил)\.")
CLAUSE_RU = re.compile(r", (?:\w+ )?котор|, \w+(?:щ|вш|нн)\w+ \w")  # "a person, having a licence"
NOTES = re.compile(  # JMdict notes run into the first gloss without a space
    r"Note: (?:word usually written using kana alone|onomatopoeic or mimetic word|abbreviation"
    r"|colloquialism|yojijukugo|sensitive|derogatory|slang|familiar language"
    r"|(?:fe)?male term or language|(?:honorific or respectful|humble|polite) \(\w+\) language)"
)


def unpack(package: str, folder: Path) -> Path:
    """Download one ``name=version`` Debian package and return the folder of its files."""
    root = folder / package.split("=")[0]
    root.mkdir()
    subprocess.run([*APT, "download", package], cwd=root, check=True)
    subprocess.run(["dpkg-deb", "-x", *root.glob("*.deb"), root], check=True)
    return root


def number(text: str) -> int:
    """Read an offset or a length of a dictd index, written in base 64."""
    return sum(DIGITS.index(c) * 64**i for i, c in enumerate(reversed(text)))


def entries(root: Path) -> Iterator[list[str]]:
    """Yield the lines of every entry of a dictd dictionary, in file order."""
    (index,) = (root / "usr/share/dictd").glob("*.index")
    text = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
    rows = (line.split("\t")[:3] for line in index.read_text("utf-8").splitlines())
    spans = {(number(o), number(n)) for head, o, n in rows if not head.startswith("00")}
    for i, n in sorted(spans):
        yield text[i : i + n].decode("utf-8").splitlines()


def freedict(root: Path) -> Iterator[Pair]:
    """Read FreeDict: ``head /sound/ <class>``, then numbered translations and definitions."""
    for head, *body in entries(root):
        for line in body if not re.search(r"<(?:prefix|suffix|symbol)", head) else ():
            for gloss in written(split_glosses(re.sub(r"\b\d+\.", "", line))):
                yield re.split(r" [/<]", head)[0], gloss


def jmdict(root: Path) -> Iterator[Pair]:
    """Read FreeDict's version of JMdict: all spellings on the first line, glosses on the others."""
    for head, *body in entries(root):
        forms = [f for f in re.sub(r"/[^/]*/", "", head).split(",") if not re.search("out-|irr", f)]
        forms = [re.sub(r"\[.*?\]|\(.*?\)", "", form).strip() for form in forms]
        if not any("kana alone" in line for line in body):
            forms = written(forms)
        for line in body:
            if not re.search("Note: (?:arch|obs|vulg)", line):
                glosses = split_glosses(re.sub(r"^ *\d+\.", "", NOTES.sub("", line)))
                yield from ((form, gloss) for form in forms for gloss in glosses)


def edict(root: Path) -> Iterator[Pair]:
    """Read EDICT: ``kanji [kana] /(class) (1) gloss/gloss/(2) gloss/``, one spelling per line.

    If some entries of a spelling are marked common, ``(P)``, its other entries are left out.
    """
    text = (root / "usr/share/edict/edict").read_text("euc-jp", errors="replace")
    common, other = [], []
    for line in text.splitlines()[1:]:
        forms = line[: line.index("/")].replace("[", " ").replace("]", " ").split()
        if "(P)" in line:
            common.append((forms if "(uk)" in line else written(forms), line))
        else:
            other.append((forms[:1], line))
    usual = {form for forms, _ in common for form in forms}
    for forms, line in common + [entry for entry in other if entry[0][0] not in usual]:
        yield from ((form, gloss) for gloss in current_senses(line) for form in forms)


def current_senses(line: str) -> Iterator[str]:
    """Yield the glosses of an EDICT line, but no dated or rude senses and no qualified glosses."""
    stale = False
    for i, gloss in enumerate(line.split("/")[1:]):
        if i == 0 or re.search(r"\(\d+\)", gloss):  # a new sense
            stale = bool(STALE.search(gloss))
        gloss = re.sub(r"^(?:\([^()]*\) )*", "", gloss)
        if not stale and "(" not in gloss:  # "sleep (in one's eyes)" does not mean sleep
            yield gloss


def mueller(root: Path) -> Iterator[Pair]:
    """Read Mueller: numbered senses with translations, split by ``;`` and ``,``, then examples.

    Translations labelled technical or colloquial count only if an entry has no plain ones.
    """
    for head, *body in entries(root):
        text = MARKUP_RU.sub("", " ".join(body))
        plain: list[str] = []
        labelled: list[str] = []
        for sense in re.split(r"\b\d+[).] |_[IVX]+\b", text):
            chunks = takewhile(lambda chunk: not re.search("[A-Za-z=]", chunk), sense.split(";"))
            before, _, after = ";".join(chunks).partition("_")
            plain += russian_words(before)
            if not STALE_RU.search(after):
                labelled += russian_words(re.sub(r"_?[а-я-]+\.", "", after))
        yield from ((head, word) for word in plain or labelled)


def russian_words(text: str) -> Iterator[str]:
    """Yield the single words of Mueller's translations: in each chunk those before a phrase."""
    for chunk in text.lower().split(";"):
        if not CLAUSE_RU.search(chunk):
            yield from takewhile(WORD["ru"].fullmatch, map(str.strip, chunk.split(",")))


def split_glosses(line: str) -> list[str]:
    """Drop what is in parentheses, then split a line at commas and semicolons."""
    return [gloss.strip() for gloss in re.split("[,;]", re.sub(r"\([^()]*\)", "", line))]


def written(forms: list[str]) -> list[str]:
    """Drop hiragana that only spell how a kanji word sounds: they have dozens of homophones."""
    if not any(re.search(KANJI, form) for form in forms):
        return forms
    return [form for form in forms if not re.fullmatch(r"[\u3041-\u309fー]+", form)]


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
)


def vocabulary(lang: str) -> dict[str, int]:
    """Return the frequency rank of every word of a language's registry vectors, in lower case."""
    words = load_vectors(lang).words[: RUSSIAN_WORDS if lang == "ru" else None]
    return {word: rank for rank, word in enumerate(words)}


def spellings(text: str, lang: str, ranks: dict[str, int]) -> list[str]:
    """Return the single word of a raw dictionary string, in each spelling of the vocabulary."""
    text = re.sub(r"\([^()]*\)|\[[^]]*\]|\{[^}]*\}|[\"«»“”!?]|\.$", "", text.lower().strip())
    text = unicodedata.normalize("NFC", text.strip())  # then: a typographic hyphen, a stress mark
    text = text.replace("\u2010", "-").replace("\u0301", "")
    text = ARTICLE.sub("", text)
    if not WORD[lang].fullmatch(text):
        return []
    both = {text, text.replace("ё", "е"), text.replace("’", "'"), text.replace("'", "’")}
    return [word for word in sorted(both) if word in ranks]


def collect(folder: Path, ranks: dict[str, dict[str, int]]) -> dict[str, set[Pair]]:
    """Read every dictionary into one set of word pairs per direction."""
    lexicon: dict[str, set[Pair]] = defaultdict(set)
    for direction, package, read in SOURCES:
        a, b = direction.split("-")
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
    """Rebuild every file and print the README's table."""
    ranks = {lang: vocabulary(lang) for lang in ("en", "fr", "ja", "ru")}
    with tempfile.TemporaryDirectory() as folder:
        lexicon = collect(Path(folder), ranks)
    for name in PAIRS:
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
