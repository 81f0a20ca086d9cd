"""Embeddings from files, cleaned and cached, and back to files.

``read_vectors`` takes a file of any format, applies one stated clean-up policy and caches the
parsed result, which is memory-mapped the next time.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from demalib.data.binary import check_file, load_npz, read_blocks, write_npz
from demalib.data.files import (
    build_folder,
    cache_dir,
    digest,
    path_lock,
    remove_folder,
    write_json,
)
from demalib.data.subwords import open_subwords
from demalib.data.text import Block, write_vec
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError
from demalib.normalisation import Normalisation

PARSER_VERSION = 2  # increase it when a reader or the policy changes its output
CODES = (  # ISO 639-1
    " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
)
ENGLISH = ("googlenews", "glove", "wiki-news", "crawl-300d")  # releases in English alone
CORPORA = ("wiki", "cc", "multi")  # fastText and MUSE write them before the language


def read_vectors(path: str | Path, policy: Policy = Policy(), lang: str = "") -> Embedding:
    """Read a vector file through the cache.

    Args:
        path: A file of any format that :func:`demalib.data.binary.read_blocks` reads.
        policy: The clean-up; part of the cache key, like the file's content.
        lang: Language code; by default guessed from the file's name, see :func:`guess_lang`.

    Returns:
        The cleaned embedding, not normalised, memory-mapped from the cache. That of a fastText
        ``.bin`` file has its sub-words.
    """
    path = Path(path)
    embedding = cached(lambda: read_blocks(path), policy, lang or guess_lang(path), path)
    return replace(embedding, subwords=open_subwords(path))


def guess_lang(path: str | Path) -> str:
    """Guess the language of a vector file from its name.

    The first part that is a language code decides; parts end at dots, hyphens and underscores. What
    follows ``wiki.`` or ``cc.`` is a language, known or not. Some well-known releases are English.
    Failing all that, it is the name up to its first dot.

    Example:
        >>> [guess_lang(n) for n in ("wiki.en.vec", "cc.de.300.vec.gz", "vectors-fr.txt")]
        ['en', 'de', 'fr']
        >>> guess_lang("GoogleNews-vectors-negative300.bin"), guess_lang("mine.vec")
        ('en', 'mine')
    """
    name = Path(path).name
    dotted = name.lower().split(".")
    if name.lower().startswith(ENGLISH):
        return "en"
    for before, part in zip(["", *dotted], dotted[:-1], strict=False):
        if f" {part} " in CODES or (before in CORPORA and part not in CORPORA):
            return part
    parts = re.split(r"[-_.]", ".".join(dotted[:-1]))
    return next((part for part in parts if f" {part} " in CODES), name.split(".")[0])


def cached(
    blocks_of: Callable[[], Iterable[Block]], policy: Policy, lang: str, path: Path
) -> Embedding:
    """Clean the blocks that ``blocks_of()`` reads from ``path``, and cache the result."""
    check_file(path)
    options = json.dumps([PARSER_VERSION, digest(path), path.suffix, asdict(policy)])
    folder = cache_dir() / "vectors" / hashlib.sha256(options.encode()).hexdigest()[:32]
    embedding = _open_cached(folder, lang)
    if embedding is None:
        try:
            with path_lock(folder):  # other processes wait instead of parsing too
                if (embedding := _open_cached(folder, lang)) is None:
                    remove_folder(folder)  # a damaged entry, if any
                    build_folder(folder, lambda aside: _store(blocks_of(), policy, aside, path))
                    embedding = _open_cached(folder, lang)
        except OSError as error:
            text = f"{cache_dir()}: cannot cache parsed vectors ({error}); going on without"
            warnings.warn(text, stacklevel=3)
    return embedding or _collect(blocks_of(), policy, lang, path)


def clean(blocks: Iterable[Block], policy: Policy, report: Counter) -> Iterator[Block]:
    """Apply the policy to a stream of blocks; count its effects in ``report``."""
    seen: set[str] = set()
    for block in blocks:
        rows, words = [], []
        for row, raw in enumerate(block.words):
            report["read"] += 1
            word = policy.apply(raw, report)
            if not word:
                continue
            if word in seen:
                report["duplicates"] += 1
                continue
            seen.add(word)
            rows.append(row)
            words.append(word)
            if len(seen) == policy.max_vocab:
                break
        whole = len(rows) == len(block.words)
        counts = None if block.counts is None else block.counts[rows]
        yield Block(words, block.vectors if whole else block.vectors[rows], counts)
        if len(seen) == policy.max_vocab:
            break
    report["kept"] = len(seen)


def _nothing_left(report: Counter, path: Path) -> DataError:
    return DataError(
        f"{path}: none of {report['read']:,} words is left after the clean-up "
        f"({dict(report)}); is it a vector file, or did you mean tokens='all'?"
    )


def _store(blocks: Iterable[Block], policy: Policy, folder: Path, path: Path) -> None:
    """Write blocks as they arrive; the whole matrix is never in memory."""
    dim = 0
    counts: list[np.ndarray] = []
    report: Counter = Counter()
    with (
        open(folder / "vectors.f32", "wb") as matrix,
        open(folder / "words.txt", "w", encoding="utf-8", newline="\n") as lines,
    ):
        for block in clean(blocks, policy, report):
            dim = block.vectors.shape[1]
            matrix.write(np.ascontiguousarray(block.vectors, dtype="<f4").data)
            lines.writelines(f"{word}\n" for word in block.words)
            if block.counts is not None:
                counts.append(block.counts)
    if not report["kept"]:
        raise _nothing_left(report, path)
    if counts:
        np.save(folder / "counts.npy", np.concatenate(counts))
    write_json(folder / "meta.json", {"dim": dim, "report": dict(report)})


def _open_cached(folder: Path, lang: str) -> Embedding | None:
    """Open the cached embedding; return None if it is missing or damaged."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
        words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
        shape = (len(words), meta["dim"])
        if (folder / "vectors.f32").stat().st_size != 4 * shape[0] * shape[1]:
            return None
        # copy-on-write: nothing can change the cache, and torch accepts the array as writable
        vectors = np.memmap(folder / "vectors.f32", dtype="<f4", mode="c", shape=shape)
        has_counts = (folder / "counts.npy").exists()
        counts = np.load(folder / "counts.npy", allow_pickle=False) if has_counts else None
        return Embedding(words, np.asarray(vectors), lang, counts, report=meta["report"])
    except Exception:  # whatever the damage is, the entry is built again
        return None


def _collect(blocks: Iterable[Block], policy: Policy, lang: str, path: Path) -> Embedding:
    """Join the blocks in memory, without a cache."""
    report: Counter = Counter()
    kept = list(clean(blocks, policy, report))
    if not report["kept"]:
        raise _nothing_left(report, path)
    words = [word for block in kept for word in block.words]
    counts = None if kept[0].counts is None else np.concatenate([b.counts for b in kept])
    return Embedding(
        words, np.concatenate([b.vectors for b in kept]), lang, counts, report=dict(report)
    )


def save_embedding(path: str | Path, embedding: Embedding) -> None:
    """Write an embedding as ``.vec`` (words and vectors) or ``.npz`` (everything)."""
    if Path(path).suffix == ".vec":
        return write_vec(path, embedding.words, embedding.vectors)
    norm = embedding.normalisation
    return write_npz(
        path,
        embedding.words,
        embedding.vectors,
        counts=embedding.counts,
        lang=embedding.lang,
        report=dict(embedding.report),
        steps=list(norm.steps),
        **norm.arrays,
    )


def load_embedding(path: str | Path) -> Embedding:
    """Read what :func:`save_embedding` wrote as ``.npz``, normalisation included."""
    data = load_npz(path)
    try:
        norm = Normalisation.of(data.get("steps", []), data, data["vectors"].shape[1])
    except Exception as error:  # a damaged file can hold almost anything
        raise DataError(f"{path}: its parts do not match ({error}); write it again") from error
    return Embedding(
        data["words"],
        data["vectors"],
        data.get("lang", ""),
        data.get("counts"),
        norm,
        data.get("report", {}),
    )
