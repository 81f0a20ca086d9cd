"""A researcher's own vectors and lexicons, in the folder that ``$DEMALIB_DATA`` names.

- Vectors: one file per language, of any format; the language is guessed from its name, as in
  ``wiki.de.vec`` or ``sv.bin``.
- Lexicons: ``de-sv.train.txt`` and ``de-sv.test.txt`` (or ``.tsv``), a pair on every line. The other
  direction is the same file reversed, unless ``sv-de.test.txt`` is there too.

Such a pair is then one like any other: ``demalib sweep --pairs de-sv``, or ``-p vectors own`` and
``-p lexicons own`` for a pair that has vectors elsewhere.
"""

from __future__ import annotations

import os
from pathlib import Path

from demalib.data.files import plain_name
from demalib.data.store import guess_lang
from demalib.errors import DataError

ENDINGS = (".vec", ".txt", ".gz", ".bin", ".npz")
SPLITS = ("train", "test")


def data_folder() -> Path | None:
    """Return the folder ``$DEMALIB_DATA``; None if it is not set.

    Raises:
        DataError: There is no such folder.
    """
    name = os.environ.get("DEMALIB_DATA")
    if not name:
        return None
    if not Path(name).is_dir():
        raise DataError(f"DEMALIB_DATA={name}: no such folder")
    return Path(name)


def own_vectors() -> dict[str, Path]:
    """Find the vector file of every language in the data folder.

    Raises:
        DataError: Two files are of one language.
    """
    folder, found = data_folder(), dict[str, Path]()
    for path in sorted(folder.iterdir()) if folder else ():
        if path.suffix not in ENDINGS or _is_lexicon(path):
            continue
        lang = guess_lang(path)
        if lang in found:
            raise DataError(
                f"{path}: {found[lang].name} is of the language {lang!r} too; keep one of them"
            )
        found[lang] = path
    return found


def find_own_vectors(lang: str) -> Path:
    """Find the file of a language; the error lists those that there are."""
    found = own_vectors()
    if lang not in found:
        raise DataError(
            f"no vectors of {lang!r} in the folder DEMALIB_DATA={os.environ.get('DEMALIB_DATA', '')}; "
            f"it has {', '.join(found) or 'none'}; name a file such as {lang}.vec"
        )
    return found[lang]


def find_own_lexicon(src: str, tgt: str, split: str) -> tuple[Path, bool]:
    """Find a lexicon in the data folder; the second value says whether to reverse it."""
    folder = data_folder()
    for reverse, name in enumerate((f"{src}-{tgt}", f"{tgt}-{src}")):
        for ending in (".txt", ".tsv"):
            path = (folder or Path()) / plain_name(f"{name}.{split}{ending}")
            if folder and path.is_file():
                return path, bool(reverse)
    raise DataError(
        f"no lexicon {src}-{tgt}.{split}.txt in the folder "
        f"DEMALIB_DATA={os.environ.get('DEMALIB_DATA', '')}; put one there, a pair on every line"
    )


def has_own_pair(pair: str) -> bool:
    """Say whether the data folder has the vectors of both languages of ``de-sv``."""
    found = own_vectors()
    return pair.count("-") == 1 and all(lang in found for lang in pair.split("-"))


def _is_lexicon(path: Path) -> bool:
    name, _, split = path.stem.rpartition(".")
    return split in SPLITS and name.count("-") == 1
