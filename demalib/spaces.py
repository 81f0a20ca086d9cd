"""A space of many languages on disk: save, load, describe, export all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.data.files import exchange_files, folder_aside, plain_name
from demalib.data.store import load_embedding, save_embedding
from demalib.data.subwords import open_subwords
from demalib.data.tensors import read_tensors, write_tensors
from demalib.errors import DataError
from demalib.export import WRITERS, write_vectors
from demalib.many import Space
from demalib.trial import Verdict

FILE = "space.safetensors"


def is_space(folder: str | Path) -> bool:
    """Say whether a folder has a space of many languages."""
    return (Path(folder) / FILE).is_file()


def save_space(folder: str | Path, space: Space) -> None:
    """Write all languages and their maps to a folder; the maps come last and make it complete."""
    folder = Path(folder)
    names = [plain_name(f"{lang}.npz") for lang in space.langs]
    models = {s.lang: str(s.subwords.path) for s in space.sides if s.subwords}
    meta = {"langs": space.langs, "config": space.config.to_dict(), "info": space.info}
    with folder_aside(folder / "space") as aside:
        for name, side in zip(names, space.sides, strict=True):
            save_embedding(aside / name, side)
        maps = {
            f"P_{lang}": P.clone().contiguous()
            for lang, P in zip(space.langs, space.maps, strict=True)
        }
        write_tensors(aside / FILE, maps, {"space": json.dumps(meta | {"subwords": models})})
        exchange_files(aside, folder, [*sorted({*names, *_languages_in(folder)}), FILE])


def _languages_in(folder: Path) -> list[str]:
    """List the files of an earlier space, so that none of another language stays."""
    try:
        _, texts = read_tensors(folder / FILE)
        return [plain_name(f"{lang}.npz") for lang in json.loads(texts["space"])["langs"]]
    except Exception:  # there is none, or it is damaged
        return []


def load_space(folder: str | Path) -> Space:
    """Read what :func:`save_space` or ``demalib align`` with many files wrote."""
    folder = Path(folder)
    if not is_space(folder):
        raise DataError(f"{folder}: no such space; 'demalib align' with many files writes one")
    try:
        tensors, texts = read_tensors(folder / FILE)
        meta = json.loads(texts["space"])
        names = [plain_name(f"{lang}.npz") for lang in meta["langs"]]
        maps = tuple(tensors[f"P_{lang}"] for lang in meta["langs"])
        config, info = Config.from_dict(meta["config"]), dict(meta["info"])
        models = {lang: open_subwords(path) for lang, path in meta.get("subwords", {}).items()}
    except Exception as error:  # a damaged file can raise almost anything
        raise DataError(
            f"{folder / FILE}: not a valid space ({error}); run 'demalib align' again"
        ) from error
    sides = tuple(
        replace(load_embedding(folder / name), subwords=models.get(lang))
        for name, lang in zip(names, meta["langs"], strict=True)
    )
    for side, lang, P in zip(sides, meta["langs"], maps, strict=True):
        if side.lang != lang or P.shape != (side.dim, side.dim) or not P.isfinite().all():
            raise DataError(f"{folder}: files of two spaces are mixed; run 'demalib align' again")
    return Space(sides, maps, config, info)


def describe_space(space: Space) -> dict[str, str]:
    """Describe the languages, the hub, and whether each pair worked: a line of text by name."""
    words = ", ".join(f"{len(side):,} {side.lang}" for side in space.sides)
    out = {
        "words": words,
        "hub": space.info.get("hub", "unknown"),
        "dimensions": str(len(space.maps[0])),
    }
    for name, facts in space.info.get("pairs", {}).items():
        counts = ", ".join(f"{n:,} {kind}" for kind, n in facts["hints"].items() if n)
        out[name] = f"{Verdict(**facts['verdict'])} (hints: {counts or 'none'})"
    return out


def export_space(space: Space, folder: str | Path, format: str) -> list[Path]:
    """Write the unit vectors of every language in the space they share, a file for each.

    Args:
        space: The languages and their maps.
        folder: Created if it does not exist.
        format: ``vec``, ``word2vec`` or ``npz``, as for :func:`demalib.export_alignment`.
    """
    if format not in WRITERS:
        raise DataError(f"format {format!r} is for two languages: name them with --from and --to")
    vectors = (
        normalize(torch.from_numpy(side.vectors) @ P, dim=1)
        for side, P in zip(space.sides, space.maps, strict=True)
    )
    return write_vectors(folder, zip(space.sides, vectors, strict=True), format)
