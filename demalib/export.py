"""An alignment for other programs: vectors in the common space, or a dictionary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from demalib.data.binary import write_word2vec_bin
from demalib.data.files import atomic_write, plain_name
from demalib.data.text import EXACT_DIGITS, write_vec
from demalib.embedding import Embedding
from demalib.errors import DataError, harmless
from demalib.pair import Mapping, Pair, retrievers
from demalib.procrustes import best_partners
from demalib.progress import progress
from demalib.retrieval import Metric, Retriever, best_columns

COLUMNS = ("source", "target", "csls", "cosine", "source_rank", "target_rank", "mutual")
FORMULA = re.compile(r"(?s)[=+@\t\r]|-.*[(|!]")  # calls and programs; '-based' and '-1' do no harm


def _write_exact_vec(path: Path, words: list[str], vectors: np.ndarray) -> None:
    write_vec(path, words, vectors, digits=EXACT_DIGITS)


def _write_plain_npz(path: Path, words: list[str], vectors: np.ndarray) -> None:
    """Write arrays that numpy alone reads: ``words`` (n) of text, ``vectors`` (n, d) float32."""
    with atomic_write(path) as aside, open(aside, "wb") as file:
        np.savez(file, words=np.array(words), vectors=np.asarray(vectors, dtype=np.float32))


WRITERS: dict[str, tuple[str, Callable[..., None]]] = {
    "vec": (".vec", _write_exact_vec),
    "word2vec": (".bin", write_word2vec_bin),
    "npz": (".npz", _write_plain_npz),
}
FORMATS = (*WRITERS, "dictionary")


def export_alignment(
    mapping: Mapping,
    pair: Pair,
    folder: str | Path,
    format: str,
    top: int = 1,
    mutual: bool = False,
    both: bool = False,
) -> list[Path]:
    """Write both languages in their common space, or the dictionary that the map implies.

    Source words are mapped by ``W_xy``, target words by ``P_y`` if the map has one, as in
    translation from source to target. All vectors are centered with the means of the training words
    and have unit length. Every format keeps all bits of float32.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces, normalised as for training, N_x and N_y words.
        folder: Created if it does not exist.
        format: ``vec`` (text), ``word2vec`` (binary), ``npz`` or ``dictionary`` (TSV).
        top: Translations per word of a dictionary.
        mutual: Write only the mutual pairs of a dictionary.
        both: Write the dictionary of the other direction too.

    Returns:
        The files: ``en.aligned.vec`` and ``de.aligned.vec``, or ``en-de.dictionary.tsv``.
    """
    if format not in FORMATS:
        raise DataError(f"unknown format {format!r}; use one of {', '.join(FORMATS)}")
    if format != "dictionary" and (top != 1 or mutual or both):
        raise DataError(f"top, mutual and both are for a dictionary, not for the format {format}")
    if top < 1:
        raise DataError(f"top is the number of translations per word, at least 1; got {top}")
    directions = retrievers(mapping, pair, mapping.config.knn)
    src, tgt = pair.src, pair.tgt
    paths = []
    if format == "dictionary":
        for found, x, y in ((directions[0], src, tgt), (directions[1], tgt, src))[: 1 + both]:
            paths.append(Path(folder) / plain_name(f"{x.lang}-{y.lang}.dictionary.tsv"))
            write_dictionary(paths[-1], found, x.words, y.words, top, mutual)
        return paths
    return write_vectors(
        folder, [(src, directions[0].mapped), (tgt, directions[0].targets)], format
    )


def write_vectors(
    folder: str | Path, sides: Iterable[tuple[Embedding, Tensor]], format: str
) -> list[Path]:
    """Write languages with their vectors in a common space, ``(N, d)``, a file for each."""
    (ending, write), paths = WRITERS[format], []
    for side, vectors in sides:
        paths.append(Path(folder) / plain_name(f"{side.lang}.aligned{ending}"))
        write(paths[-1], side.words, vectors.cpu().numpy())
    return paths


def write_dictionary(
    path: Path,
    retriever: Retriever,
    src: list[str],
    tgt: list[str],
    top: int = 1,
    mutual: bool = False,
) -> None:
    """Write the best translations of every source word under CSLS, best first, with scores.

    ``mutual`` is 1 if the source word is also the best translation of its translation, in the
    same space; these pairs are the most reliable. Words are made safe by :func:`cell`.
    """
    best: list[tuple[Tensor, Tensor, Tensor]] = []  # scores, columns and cosines, (chunk, top)

    def tiles() -> Iterator[tuple[slice, Tensor]]:
        for part, scores in _scores(retriever):
            values, columns = best_columns(scores, min(top, len(tgt)))
            near = retriever.targets[columns]
            cosines = torch.einsum("qd,qkd->qk", retriever.mapped[part], near)
            best.append((values.clone(), columns, cosines))
            yield part, scores

    _, _, backward = best_partners(tiles())
    scores, columns, cosines = (torch.cat(part).cpu() for part in zip(*best, strict=True))
    back = backward.tolist()
    with atomic_write(path) as aside, open(aside, "w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for i, word in enumerate(src):
            found = (part[i].tolist() for part in (scores, columns, cosines))
            for score, j, cosine in zip(*found, strict=True):
                if back[j] == i or not mutual:
                    numbers = f"{score:.6f}\t{cosine:.6f}\t{i + 1}\t{j + 1}\t{int(back[j] == i)}"
                    file.write(f"{cell(word)}\t{cell(tgt[j])}\t{numbers}\n")


def cell(word: str) -> str:
    """Make a word harmless in a spreadsheet: a formula gets an apostrophe, other words stay.

    >>> cell("=1+1"), cell("-based"), cell("-1")
    ("'=1+1", '-based', '-1')
    """
    return harmless(f"'{word}" if FORMULA.match(word) else word)


def _scores(retriever: Retriever) -> Iterator[tuple[slice, Tensor]]:
    """Yield slices of all source words and their CSLS scores, ``(chunk, M)``; show progress."""
    rows = torch.arange(len(retriever.mapped))
    with progress(total=len(rows), desc="dictionary", unit="word") as bar:
        for part, scores in retriever.iter_scores(rows, Metric("csls")):
            yield part, scores
            bar.update(len(scores))
