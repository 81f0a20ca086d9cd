"""An alignment for other programs: both languages in one space, or a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from demalib.device import on_device
from demalib.files import DataError, plain_name, write_aside
from demalib.formats import write_npz, write_word2vec_bin
from demalib.mapping import Mapping, Pair
from demalib.pipeline import retrievers
from demalib.refine import best_partners
from demalib.retrieval import Metric, Retriever
from demalib.vec import EXACT_DIGITS, write_vec


def _write_exact_vec(path: Path, words: list[str], vectors: np.ndarray) -> None:
    write_vec(path, words, vectors, digits=EXACT_DIGITS)


WRITERS: dict[str, tuple[str, Callable[..., None]]] = {
    "vec": (".vec", _write_exact_vec),
    "word2vec": (".bin", write_word2vec_bin),
    "npz": (".npz", write_npz),
}
FORMATS = (*WRITERS, "dictionary")


@on_device
def export_aligned(mapping: Mapping, pair: Pair, folder: str | Path, format: str) -> list[Path]:
    """Write both languages in the space they share, or the dictionary that the map implies.

    Source words are mapped by ``W_xy``, target words by ``C_y`` if the map has one, as translation
    from source to target has it. All vectors have unit length and the training words' means taken
    off. Every format keeps float32 to the last bit.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces, normalised as for training, N_x and N_y words.
        folder: Made if it is not there.
        format: ``vec`` (text), ``word2vec`` (binary), ``npz`` or ``dictionary`` (TSV).

    Returns:
        The files: ``en.aligned.vec`` and ``de.aligned.vec``, or ``en-de.dictionary.tsv``.
    """
    if format not in FORMATS:
        raise DataError(f"unknown format {format!r}; use one of {', '.join(FORMATS)}")
    way, (src, tgt) = retrievers(mapping, pair, mapping.config.knn)[0], (pair.src, pair.tgt)
    if format == "dictionary":
        path = Path(folder) / plain_name(f"{src.lang}-{tgt.lang}.dictionary.tsv")
        write_dictionary(path, way, src.words, tgt.words)
        return [path]
    (ending, write), paths = WRITERS[format], []
    for side, vectors in ((src, way.mapped), (tgt, way.targets)):
        paths.append(Path(folder) / plain_name(f"{side.lang}.aligned{ending}"))
        write(paths[-1], side.words, vectors.cpu().numpy())
    return paths


def write_dictionary(path: Path, way: Retriever, src: list[str], tgt: list[str]) -> None:
    """Write a line for every source word: its best translation under CSLS, and how good it is.

    ``mutual`` is 1 where the source word is the best translation of its translation, too, in the
    same space; those pairs are the ones to trust.
    """
    scores, forward, backward = best_partners(_scores(way))
    with write_aside(path) as aside, open(aside, "w", encoding="utf-8", newline="\n") as file:
        file.write("source\ttarget\tcsls\tcosine\tsource_rank\ttarget_rank\tmutual\n")
        for i, (score, j) in enumerate(zip(scores.tolist(), forward.tolist(), strict=True)):
            cosine, mutual = float(way.mapped[i] @ way.targets[j]), int(backward[j] == i)
            file.write(
                f"{src[i]}\t{tgt[j]}\t{score:.6f}\t{cosine:.6f}\t{i + 1}\t{j + 1}\t{mutual}\n"
            )


def _scores(way: Retriever) -> Iterator[tuple[slice, Tensor]]:
    """Slices of all source words and their CSLS scores, ``(chunk, M)``, with a progress bar."""
    rows = torch.arange(len(way.mapped))
    with tqdm(total=len(rows), desc="dictionary", unit="word", disable=None) as bar:
        for part, scores in way.iter_scores(rows, Metric("csls")):
            yield part, scores
            bar.update(len(scores))
