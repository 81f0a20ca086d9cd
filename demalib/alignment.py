"""A finished alignment: save, load, describe, translate, export."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from demalib.config import Config
from demalib.data.binary import write_npz, write_word2vec_bin
from demalib.data.files import atomic_write, plain_name, write_json
from demalib.data.store import load_embedding, save_embedding
from demalib.data.tensors import load_mapping, save_mapping
from demalib.data.text import EXACT_DIGITS, write_vec
from demalib.embedding import explain_unknown
from demalib.errors import DataError
from demalib.pair import Mapping, Pair, make_pair, retrievers
from demalib.procrustes import best_partners, dictionary_cosine
from demalib.retrieval import Metric, Retriever
from demalib.solvers import get_metric, get_solver
from demalib.trial import Verdict

FILES = ("src.npz", "tgt.npz", "config.json", "mapping.safetensors")
BRIEF = ("pair", "solver", "seed", "vectors")  # left out of the line "settings"


def save_alignment(folder: str | Path, mapping: Mapping, pair: Pair) -> None:
    """Write the map and both normalised spaces to a folder, for all later steps.

    The files are written to a temporary folder and moved in together, the map last, so that a
    folder with a map is complete; files of an earlier alignment are replaced.

    Args:
        folder: Created if it does not exist.
        mapping: The maps that a solver learned.
        pair: The spaces that it learned from, N_x and N_y words.
    """
    folder = Path(folder)
    facts = {
        "words": [len(pair.src), len(pair.tgt)],
        "identical": len(pair.identical),
        "criterion": criterion(mapping, pair),
    }
    mapping = replace(mapping, info=mapping.info | facts)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".aside.") as aside:
        save_embedding(Path(aside) / "src.npz", pair.src)
        save_embedding(Path(aside) / "tgt.npz", pair.tgt)
        write_json(Path(aside) / "config.json", mapping.config.to_dict())
        save_mapping(Path(aside) / "mapping.safetensors", mapping)
        (folder / FILES[-1]).unlink(missing_ok=True)  # never an old map with new words
        for name in FILES:
            os.replace(Path(aside) / name, folder / name)


def load_alignment(folder: str | Path) -> tuple[Mapping, Pair]:
    """Read the map and the spaces that :func:`save_alignment` or ``demalib align`` wrote."""
    folder = Path(folder)
    mapping = load_mapping(folder / "mapping.safetensors")
    src, tgt = (load_embedding(folder / name) for name in FILES[:2])
    langs = (mapping.info["src"], mapping.info["tgt"])
    if (src.lang, tgt.lang) != langs or {src.dim, tgt.dim} != {len(mapping.W_xy)}:
        raise DataError(f"{folder}: files of two alignments are mixed; run 'demalib align' again")
    return mapping, make_pair(src, tgt, normalisation=())


def criterion(mapping: Mapping, pair: Pair) -> float:
    """Compute the mean cosine of frequent words and their best translations, the criterion."""
    config, n = mapping.config, mapping.config.max_rank
    frequent = Pair(pair.src.head(n), pair.tgt.head(n), pair.identical[:0])
    forward, _ = retrievers(mapping, frequent)
    return dictionary_cosine(forward.mapped, forward.targets, n, config.knn)


def verdict_of(mapping: Mapping) -> Verdict | None:
    """Return what the solver says about whether the alignment worked; None if it cannot say."""
    return Verdict(**mapping.info["verdict"]) if "verdict" in mapping.info else None


def findings(mapping: Mapping) -> dict[str, str]:
    """Describe dimensions that differed, hints, the last step, and whether it worked, if known."""
    out, d = {}, len(mapping.W_xy)
    norms = {mapping.info["src"]: mapping.src_norm, mapping.info["tgt"]: mapping.tgt_norm}
    larger = {lang: raw for lang, norm in norms.items() if (raw := norm.raw_dim(d)) != d}
    if larger:
        brought = (f"{lang} brought down from {raw} by PCA" for lang, raw in larger.items())
        out["dimensions"] = f"{d} ({', '.join(brought)})"
    if "hints" in mapping.info:
        out["hints"] = ", ".join(f"{n:,} {kind}" for kind, n in mapping.info["hints"].items())
        out["last step"] = mapping.info["last"]
    if verdict := verdict_of(mapping):
        out["did it work"] = str(verdict)
    return out


def translate(
    mapping: Mapping,
    pair: Pair,
    words: str | list[str],
    k: int = 10,
    metric: str = "csls",
    reverse: bool = False,
) -> pd.DataFrame:
    """Find the best translations of some words; many at once cost little more than one.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces.
        words: One word or several; case and white space may differ from the vocabulary. Unseen
            words are translated if their side has sub-words.
        k: Translations per word.
        metric: ``nn``, ``isf``, ``csls`` or ``csls-d``.
        reverse: Translate target words into the source language.

    Returns:
        ``len(words) * k`` rows, best first: the ``word`` as given, its frequency ``rank`` from 1
        (missing if it is unseen), the ``translation`` and its rank ``translation_rank``, the
        ``score`` under the metric, and the ``cosine``.

    Raises:
        DataError: A word is not in the vocabulary; the message suggests similar spellings.
    """
    if k < 1:
        raise DataError(f"k is the number of translations, at least 1; got {k}")
    words = [words] if isinstance(words, str) else list(words)
    src, tgt = (pair.tgt, pair.src) if reverse else (pair.src, pair.tgt)
    known, src = len(src), src.extend(words)
    if len(src) > known:
        pair = replace(pair, tgt=src) if reverse else replace(pair, src=src)
    found = {word: src.find(word) for word in words}
    if unknown := [word for word in words if found[word] is None]:
        raise DataError("; ".join(explain_unknown(word, src, tgt) for word in unknown))
    rows = [row for word in words if (row := found[word]) is not None]
    config = mapping.config
    retriever = retrievers(mapping, pair, config.knn)[reverse]
    exact = get_metric(config, metric, reverse)
    scores, columns = retriever.translate(torch.tensor(rows, dtype=torch.long), exact, k)
    cosines = torch.einsum("qd,qkd->qk", retriever.mapped[rows], retriever.targets[columns])
    k = columns.shape[1]
    return pd.DataFrame(
        {
            "word": np.repeat(words, k),
            "rank": pd.array([r + 1 if r < known else None for r in rows], "Int64").repeat(k),
            "translation": [tgt.words[j] for j in columns.flatten().tolist()],
            "translation_rank": columns.flatten().cpu().numpy() + 1,
            "score": scores.flatten().cpu().numpy(),
            "cosine": cosines.flatten().cpu().numpy(),
        }
    )


def describe(folder: str | Path) -> dict[str, str]:
    """Describe what was aligned, how, and its size on disk: a line of text by name."""
    folder = Path(folder)
    mapping = load_mapping(folder / "mapping.safetensors")
    info, config = mapping.info, mapping.config
    usual = Config().to_dict()
    own = [f"{n}={v}" for n, v in config.to_dict().items() if v != usual[n] and n not in BRIEF]
    sides = [(info["src"], mapping.src_norm), (info["tgt"], mapping.tgt_norm)]
    out = {
        "languages": f"{info['src']} → {info['tgt']}",
        "solver": f"{config.solver} ({get_solver(config.solver).paper})",
        "seed": str(config.seed),
        "settings": f"{', '.join(own) or 'all default'} (complete: config.json)",
        "dimensions": str(len(mapping.W_xy)),
        "normalisation": "; ".join(f"{lang} {'-'.join(n.steps) or 'none'}" for lang, n in sides),
    }
    if "words" in info:
        out["words"] = ", ".join(
            f"{n:,} {lang}" for n, (lang, _) in zip(info["words"], sides, strict=True)
        )
        out["identical words"] = f"{info['identical']:,}"
        out["criterion"] = f"{info['criterion']:.4f} (mean cosine of the induced dictionary)"
    out |= findings(mapping)
    if "policy" in info:
        out["clean-up"] = ", ".join(f"{name}={value}" for name, value in info["policy"].items())
    if "seconds" in info:
        out["seconds"] = f"{info['seconds']:.1f}"
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return out | {path.name: f"{path.stat().st_size / 1e3:,.0f} kB" for path in files}


def _write_exact_vec(path: Path, words: list[str], vectors: np.ndarray) -> None:
    write_vec(path, words, vectors, digits=EXACT_DIGITS)


WRITERS: dict[str, tuple[str, Callable[..., None]]] = {
    "vec": (".vec", _write_exact_vec),
    "word2vec": (".bin", write_word2vec_bin),
    "npz": (".npz", write_npz),
}
FORMATS = (*WRITERS, "dictionary")


def export_alignment(mapping: Mapping, pair: Pair, folder: str | Path, format: str) -> list[Path]:
    """Write both languages in their common space, or the dictionary that the map implies.

    Source words are mapped by ``W_xy``, target words by ``P_y`` if the map has one, as in
    translation from source to target. All vectors are centered with the means of the training words
    and have unit length. Every format keeps all bits of float32.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces, normalised as for training, N_x and N_y words.
        folder: Created if it does not exist.
        format: ``vec`` (text), ``word2vec`` (binary), ``npz`` or ``dictionary`` (TSV).

    Returns:
        The files: ``en.aligned.vec`` and ``de.aligned.vec``, or ``en-de.dictionary.tsv``.
    """
    if format not in FORMATS:
        raise DataError(f"unknown format {format!r}; use one of {', '.join(FORMATS)}")
    forward, _ = retrievers(mapping, pair, mapping.config.knn)
    src, tgt = pair.src, pair.tgt
    if format == "dictionary":
        path = Path(folder) / plain_name(f"{src.lang}-{tgt.lang}.dictionary.tsv")
        write_dictionary(path, forward, src.words, tgt.words)
        return [path]
    (ending, write), paths = WRITERS[format], []
    for side, vectors in ((src, forward.mapped), (tgt, forward.targets)):
        paths.append(Path(folder) / plain_name(f"{side.lang}.aligned{ending}"))
        write(paths[-1], side.words, vectors.cpu().numpy())
    return paths


def write_dictionary(path: Path, retriever: Retriever, src: list[str], tgt: list[str]) -> None:
    """Write a line for every source word: its best translation under CSLS, with scores.

    ``mutual`` is 1 if the source word is also the best translation of its translation, in the
    same space; these pairs are the most reliable.
    """
    scores, forward, backward = best_partners(_scores(retriever))
    with atomic_write(path) as aside, open(aside, "w", encoding="utf-8", newline="\n") as file:
        file.write("source\ttarget\tcsls\tcosine\tsource_rank\ttarget_rank\tmutual\n")
        for i, (score, j) in enumerate(zip(scores.tolist(), forward.tolist(), strict=True)):
            cosine = float(retriever.mapped[i] @ retriever.targets[j])
            numbers = f"{score:.6f}\t{cosine:.6f}\t{i + 1}\t{j + 1}\t{int(backward[j] == i)}"
            file.write(f"{src[i]}\t{tgt[j]}\t{numbers}\n")


def _scores(retriever: Retriever) -> Iterator[tuple[slice, Tensor]]:
    """Yield slices of all source words and their CSLS scores, ``(chunk, M)``; show progress."""
    rows = torch.arange(len(retriever.mapped))
    with tqdm(total=len(rows), desc="dictionary", unit="word", disable=None) as bar:
        for part, scores in retriever.iter_scores(rows, Metric("csls")):
            yield part, scores
            bar.update(len(scores))
