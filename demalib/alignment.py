"""A finished alignment: save, load, describe, translate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from demalib.config import Config
from demalib.data.files import exchange_files, folder_aside, write_json, write_text
from demalib.data.lexicon import read_lexicon
from demalib.data.store import load_embedding, save_embedding
from demalib.data.subwords import open_subwords
from demalib.data.tensors import load_mapping, save_mapping
from demalib.embedding import Embedding, Policy, explain_unknown
from demalib.errors import DataError
from demalib.pair import Mapping, Pair, make_pair, retrievers
from demalib.procrustes import dictionary_cosine
from demalib.solvers import get_metric, get_solver
from demalib.trial import Verdict

FILES = ("src.npz", "tgt.npz", "config.json", "mapping.safetensors")
TRAIN = "train.tsv"  # the pairs it was trained on, if a lexicon was given
BRIEF = ("pair", "solver", "seed", "vectors")  # left out of the line "settings"


def save_alignment(folder: str | Path, mapping: Mapping, pair: Pair) -> None:
    """Write the map and both normalised spaces to a folder, for all later steps.

    The files are written to a temporary folder and moved in together, the map last, so that a
    folder with a map is complete. An earlier alignment is replaced, or comes back if that fails.

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
        "subwords": [str(s.subwords.path) if s.subwords else "" for s in (pair.src, pair.tgt)],
    }
    mapping = replace(mapping, info=mapping.info | facts)
    with folder_aside(folder / "alignment") as aside:
        save_embedding(aside / "src.npz", pair.src)
        save_embedding(aside / "tgt.npz", pair.tgt)
        write_json(aside / "config.json", mapping.config.to_dict())
        save_mapping(aside / "mapping.safetensors", mapping)
        if trained := pair.trained_on():
            write_text(aside / TRAIN, "".join(f"{q}\t{t}\n" for q, t in trained.pairs))
        exchange_files(aside, folder, (TRAIN, *FILES))


def load_alignment(folder: str | Path) -> tuple[Mapping, Pair]:
    """Read the map and the spaces that :func:`save_alignment` or ``demalib align`` wrote.

    The pair's ``train`` are the pairs of the lexicon it was trained on, if there was one.
    """
    folder = Path(folder)
    mapping = load_mapping(folder / "mapping.safetensors")
    paths = mapping.info.get("subwords", ("", ""))
    src, tgt = (
        replace(load_embedding(folder / name), subwords=open_subwords(path) if path else None)
        for name, path in zip(FILES[:2], paths, strict=True)
    )
    langs = (mapping.info["src"], mapping.info["tgt"])
    if (src.lang, tgt.lang) != langs or {src.dim, tgt.dim} != {len(mapping.W_xy)}:
        raise DataError(f"{folder}: files of two alignments are mixed; run 'demalib align' again")
    keep = Policy("keep", "all")
    train = read_lexicon(folder / TRAIN, keep) if (folder / TRAIN).is_file() else None
    return mapping, make_pair(src, tgt, train, normalisation=())


def shared_space(src: Embedding, tgt: Embedding) -> tuple[Mapping, Pair]:
    """Take two files that are in one space already, whatever program aligned them.

    Args:
        src: Source words, as read, N_x of them.
        tgt: Target words, as read, in the same dimension.

    Returns:
        The identity as the map, and the pair, not normalised; all that works on an alignment works
        on these.
    """
    pair = make_pair(src, tgt, normalisation=())
    config = Config(f"{src.lang}-{tgt.lang}", vectors="files")
    return Mapping.orthogonal(torch.eye(src.dim), pair, config), pair


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
    """Describe the lexicon, dimensions that differed, hints, the last step, and the verdict."""
    out, d = {}, len(mapping.W_xy)
    if "lexicon" in mapping.info:
        lexicon = mapping.info["lexicon"]
        out["lexicon"] = "{name}, {found:,} of {pairs:,} pairs in both vocabularies".format(
            **lexicon
        )
    norms = {mapping.info["src"]: mapping.src_norm, mapping.info["tgt"]: mapping.tgt_norm}
    smaller = {lang: raw for lang, norm in norms.items() if (raw := norm.raw_dim(d)) != d}
    if smaller:
        padded = (f"{lang} has {raw}, padded with zeros" for lang, raw in smaller.items())
        out["dimensions"] = f"{d} ({', '.join(padded)})"
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


def neighbour_weights(
    mapping: Mapping,
    pair: Pair,
    tokens: str | list[str],
    k: int = 10,
    temperature: float = 0.1,
) -> pd.DataFrame:
    """Express target tokens by their k nearest source tokens, as a tokeniser transfer needs.

    A new token's row of an embedding layer is then the weighted sum of the rows of known tokens.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces.
        tokens: Target tokens.
        k: Source tokens for each.
        temperature: Of the softmax over cosines; lower means fewer tokens that matter.

    Returns:
        ``len(tokens) * k`` rows, best first: ``token``, ``source``, ``source_row`` (from 0) and
        ``weight``; the weights of a token sum to 1.
    """
    if not temperature > 0:
        raise DataError(f"temperature must be positive; got {temperature}")
    found = translate(mapping, pair, tokens, k, "nn", reverse=True)
    logits = torch.from_numpy(found["cosine"].to_numpy(dtype=np.float64) / temperature)
    width = min(k, len(pair.src))
    weights = torch.softmax(logits.reshape(-1, width), dim=1).flatten()
    return pd.DataFrame(
        {
            "token": found["word"],
            "source": found["translation"],
            "source_row": found["translation_rank"] - 1,
            "weight": weights.numpy(),
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
