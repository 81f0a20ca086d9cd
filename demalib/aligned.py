"""The folder of an alignment, and what one does with it: keep it, open it, ask it for words."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from demalib.config import Config
from demalib.device import on_device
from demalib.files import DataError, write_json
from demalib.mapping import Mapping, Pair, candidates, make_pair
from demalib.pipeline import retrievers
from demalib.refine import dictionary_cosine
from demalib.retrieval import Metric
from demalib.solvers import solver_named
from demalib.store import load_embedding, save_embedding
from demalib.vectors import explain_unknown

FILES = ("src.npz", "tgt.npz", "config.json", "mapping.safetensors")
BRIEF = ("pair", "solver", "seed", "vectors")  # settings that a description names anyway


def save_aligned(folder: str | Path, mapping: Mapping, pair: Pair) -> None:
    """Write the map and both normalised spaces to a folder that every later step can use.

    The files are written aside and moved in together, the map last, so that a folder with a map
    is whole; files of an earlier alignment in it are replaced.

    Args:
        folder: Made if it is not there.
        mapping: What a solver found.
        pair: The spaces it was found for, N_x and N_y words.
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
        mapping.save(Path(aside) / "mapping.safetensors")
        (folder / FILES[-1]).unlink(missing_ok=True)  # never an old map with new words
        for name in FILES:
            os.replace(Path(aside) / name, folder / name)


def load_aligned(folder: str | Path) -> tuple[Mapping, Pair]:
    """The map and the spaces that :func:`save_aligned` or ``demalib align`` wrote."""
    folder = Path(folder)
    mapping = Mapping.load(folder / "mapping.safetensors")
    src, tgt = (load_embedding(folder / name) for name in FILES[:2])
    if (src.lang, tgt.lang) != (mapping.info["src"], mapping.info["tgt"]) or src.dim != len(
        mapping.W_xy
    ):
        raise DataError(f"{folder}: files of two alignments are mixed; run 'demalib align' again")
    return mapping, make_pair(src, tgt, steps=())


def criterion(mapping: Mapping, pair: Pair) -> float:
    """The mean cosine of frequent words and their best translations, see ``dictionary_cosine``."""
    n, config = mapping.config.max_rank, mapping.config
    return dictionary_cosine(
        pair.x[:n] @ mapping.W_xy, candidates(pair.y[:n], mapping.C_y), n, config.knn
    )


@on_device
def translate(
    mapping: Mapping,
    pair: Pair,
    words: str | list[str],
    k: int = 10,
    metric: str = "csls",
    reverse: bool = False,
) -> pd.DataFrame:
    """The best translations of some words; ask for many at once, it costs little more than one.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces.
        words: One word or several; case and white space may differ from the vocabulary's.
        k: Translations per word.
        metric: ``nn``, ``isf``, ``csls`` or ``csls-d``.
        reverse: Translate target words into the source language.

    Returns:
        ``len(words) * k`` rows, best first: the ``word`` as asked, its frequency ``rank`` from 1,
        the ``translation`` and its rank ``translation_rank``, the ``score`` under the metric, and
        the ``cosine``.

    Raises:
        DataError: A word is not in the vocabulary; the message has near spellings.
    """
    if k < 1:
        raise DataError(f"k is the number of translations, at least 1; got {k}")
    words = [words] if isinstance(words, str) else list(words)
    src, tgt = (pair.tgt, pair.src) if reverse else (pair.src, pair.tgt)
    rows = [src.find(word) for word in words]
    if None in rows:
        unknown = [w for w, row in zip(words, rows, strict=True) if row is None]
        raise DataError("; ".join(explain_unknown(word, src, tgt) for word in unknown))
    config = mapping.config
    sigma2 = config.sigma2_src if reverse else config.sigma2_tgt
    exact = Metric(metric, solver_named(config.solver).metric.beta, sigma2, config.tau)
    way = retrievers(mapping, pair, config.knn)[reverse]
    scores, columns = way.translate(torch.tensor(rows, dtype=torch.long), exact, k)  # (Q, k)
    cosines = torch.einsum("qd,qkd->qk", way.mapped[rows], way.targets[columns])
    k = columns.shape[1]
    return pd.DataFrame(
        {
            "word": np.repeat(words, k),
            "rank": np.repeat(rows, k) + 1,
            "translation": [tgt.words[j] for j in columns.flatten().tolist()],
            "translation_rank": columns.flatten().cpu().numpy() + 1,
            "score": scores.flatten().cpu().numpy(),
            "cosine": cosines.flatten().cpu().numpy(),
        }
    )


def describe(folder: str | Path) -> dict[str, str]:
    """What was aligned, how, and what it takes on disk: a line of text by name."""
    folder = Path(folder)
    mapping = Mapping.load(folder / "mapping.safetensors")
    info, config = mapping.info, mapping.config
    usual = Config().to_dict()
    own = [f"{n}={v}" for n, v in config.to_dict().items() if v != usual[n] and n not in BRIEF]
    sides = [(info["src"], mapping.src_norm), (info["tgt"], mapping.tgt_norm)]
    out = {
        "languages": f"{info['src']} → {info['tgt']}",
        "solver": f"{config.solver} ({solver_named(config.solver).paper})",
        "seed": str(config.seed),
        "settings": f"{', '.join(own) or 'all as usual'} (all of them: config.json)",
        "dimensions": str(len(mapping.W_xy)),
        "normalisation": "; ".join(f"{lang} {'-'.join(n.steps) or 'none'}" for lang, n in sides),
    }
    if "words" in info:
        out["words"] = ", ".join(
            f"{n:,} {lang}" for n, (lang, _) in zip(info["words"], sides, strict=True)
        )
        out["identical words"] = f"{info['identical']:,}"
        out["criterion"] = f"{info['criterion']:.4f} (mean cosine of the induced dictionary)"
    if "policy" in info:
        out["clean-up"] = ", ".join(f"{name}={value}" for name, value in info["policy"].items())
    if "seconds" in info:
        out["seconds"] = f"{info['seconds']:.1f}"
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return out | {path.name: f"{path.stat().st_size / 1e3:,.0f} kB" for path in files}
