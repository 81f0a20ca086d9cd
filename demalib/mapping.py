"""What goes into a solver and what comes out: a :class:`Pair` of spaces, a :class:`Mapping`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.device import pick
from demalib.files import DataError, display_path, plain_name, write_aside
from demalib.lexicon import Lexicon, identical_pairs
from demalib.vectors import NORMALISATION, Embedding, Normalisation

Watch = Callable[[int, Tensor, Tensor], dict[str, float]]  # (round, W_xy, W_yx) -> figures


@dataclass(frozen=True, eq=False)
class Pair:
    """Two normalised spaces and the hints between them; nothing of the test data.

    Attributes:
        src: Source words, N_x of them, d dimensions.
        tgt: Target words, N_y of them, d dimensions.
        identical: Row numbers of identically spelled words, (K, 2).
        train: Row numbers of the train lexicon's pairs, source first, (n, 2), or None.
        train_back: The same for the way back, target first, (n, 2), or None.

    Note:
        MUSE's train lexicon of one direction holds gold pairs of the other direction's test,
        so a supervised map is learned for each direction from that direction's lexicon alone.
    """

    src: Embedding
    tgt: Embedding
    identical: np.ndarray
    train: np.ndarray | None = None
    train_back: np.ndarray | None = None

    def swap(self) -> Pair:
        """The same pair, asked from the other side."""
        return Pair(self.tgt, self.src, self.identical[:, ::-1], self.train_back, self.train)

    @cached_property
    def x(self) -> Tensor:
        """Source vectors, (N_x, d)."""
        return torch.from_numpy(self.src.vectors).to(pick())

    @cached_property
    def y(self) -> Tensor:
        """Target vectors, (N_y, d)."""
        return torch.from_numpy(self.tgt.vectors).to(pick())

    def hint(self, config: Config) -> tuple[Tensor, Tensor]:
        """Vectors of the identical words on either side, each (K, d); none if ablated."""
        rows = self.identical[: 0 if config.ablate == "identical" else config.max_identical or None]
        return self.x[rows[:, 0]], self.y[rows[:, 1]]

    def require_identical(self, at_least: int = 1) -> np.ndarray:
        """The identical words, or an error that says what else can serve as a hint."""
        if len(self.identical) < at_least:
            raise DataError(
                f"{self.src.lang} and {self.tgt.lang} share {len(self.identical)} words "
                f"of the same spelling, at least {at_least} are needed; give a small "
                "dictionary with --lexicon and solver 'procrustes'"
            )
        return self.identical


def make_pair(
    src: Embedding,
    tgt: Embedding,
    train: Lexicon | None = None,
    train_back: Lexicon | None = None,
    exclude: Lexicon | None = None,
    steps: tuple[str, ...] = NORMALISATION,
) -> Pair:
    """Normalise both sides and gather the hints.

    Args:
        src: Source words, as read.
        tgt: Target words, as read; the same dimension.
        train: A lexicon for supervised solvers.
        train_back: The lexicon of the other direction; ``train`` reversed if left out.
        exclude: A test lexicon whose identical pairs must not be used as hints.
        steps: Normalisation, unit-center-unit by default (Section 5.2).
    """
    if src.dim != tgt.dim:
        raise DataError(
            f"{src.lang} has {src.dim} dimensions, {tgt.lang} has {tgt.dim}; "
            "both sides need the same, train or choose other vectors"
        )
    identical = identical_pairs(src, tgt, exclude=exclude)
    rows = back = None
    if train is not None:
        rows = train.rows(src, tgt)
        back = (train_back or train.reverse()).rows(tgt, src)
    return Pair(src.normalise(steps), tgt.normalise(steps), identical, rows, back)


def write_tensors(path: str | Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """Write a ``.safetensors`` file, whole or not at all."""
    with write_aside(path) as aside:
        try:
            save_file(tensors, aside, meta)
        except SafetensorError as error:  # a full disk, for one
            raise OSError(f"{display_path(path)}: cannot be written ({error})") from error


def candidates(words: Tensor, C: Tensor | None) -> Tensor:
    """Words, (N, d), where mapped words of the other side are compared with them."""
    return words if C is None else words @ C.to(words)


@dataclass(frozen=True, eq=False)
class Mapping:
    r"""A learned pair of linear maps, for row vectors: ``y = x @ W_xy``, ``x = y @ W_yx``.

    Attributes:
        W_xy: Source to target, (d, d).
        W_yx: Target to source, (d, d).
        src_norm: Normalisation of the source space, with its mean.
        tgt_norm: Normalisation of the target space, with its mean.
        info: Languages, solver, seed and settings that made it.
        history: The record of the run, a row per round or step; may be empty.
        C_y: What target words are multiplied by, (d, d), before mapped source words are compared
            with them; None leaves them as they are.
        C_x: The same for source words on the way back.

    Note:
        Density matching brings source words to where target words are. Some other methods meet in
        a third space, :math:`\langle xP_x, yP_y \rangle`: their ``W_xy`` is :math:`P_x` and their
        ``C_y`` is :math:`P_y`.
    """

    W_xy: Tensor
    W_yx: Tensor
    src_norm: Normalisation
    tgt_norm: Normalisation
    info: dict[str, Any] = field(default_factory=dict)
    history: pd.DataFrame = field(default_factory=pd.DataFrame)
    C_y: Tensor | None = None
    C_x: Tensor | None = None

    @classmethod
    def of(
        cls,
        W_xy: Tensor,
        W_yx: Tensor,
        pair: Pair,
        config: Config,
        history: pd.DataFrame | None = None,
        C_y: Tensor | None = None,
        C_x: Tensor | None = None,
    ) -> Mapping:
        """The mapping that a solver found for a pair."""
        info = {"src": pair.src.lang, "tgt": pair.tgt.lang, "config": config.to_dict()}
        history = pd.DataFrame() if history is None else history
        return cls(
            W_xy.cpu().contiguous(),
            W_yx.cpu().contiguous(),
            pair.src.normalisation,
            pair.tgt.normalisation,
            info,
            history,
            *(C if C is None else C.cpu() for C in (C_y, C_x)),
        )

    @classmethod
    def orthogonal(
        cls, W: Tensor, pair: Pair, config: Config, history: pd.DataFrame | None = None
    ) -> Mapping:
        """An orthogonal map: its transpose leads back."""
        return cls.of(W, W.T, pair, config, history)

    @property
    def config(self) -> Config:
        """The settings that made it."""
        return Config.from_dict(self.info["config"])

    def transform(self, vectors: np.ndarray, reverse: bool = False) -> np.ndarray:
        """Map new raw vectors, (n, d), into the other space as unit vectors, (n, d).

        They are normalised with the means of the training words first, so words that were
        not in the vocabulary, or fastText vectors of unseen words, land where they belong.
        """
        norm, W = (self.tgt_norm, self.W_yx) if reverse else (self.src_norm, self.W_xy)
        vectors = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if vectors.shape[1] != len(W):
            raise DataError(
                f"transform: the map has {len(W)} dimensions, the vectors {vectors.shape[1]}"
            )
        return normalize(torch.from_numpy(norm.apply(vectors)) @ W, dim=1).numpy()

    def save(self, path: str | Path) -> None:
        """Write maps, means and settings to a ``.safetensors`` file, whole or not at all."""
        named = {name: getattr(self, name) for name in ("W_xy", "W_yx", "C_y", "C_x")}
        tensors = {name: W.clone().contiguous() for name, W in named.items() if W is not None}
        steps = {}
        for side, norm in (("src", self.src_norm), ("tgt", self.tgt_norm)):
            steps[side] = list(norm.steps)
            for i, mean in enumerate(norm.means):
                tensors[f"{side}_mean_{i}"] = torch.from_numpy(np.array(mean))
        meta = {"info": json.dumps(self.info), "steps": json.dumps(steps)}
        write_tensors(path, tensors, meta)

    @classmethod
    def load(cls, path: str | Path) -> Mapping:
        """Read what :meth:`save` wrote."""
        if not Path(path).is_file():
            raise DataError(f"{path}: no such mapping; 'demalib align' writes one")
        try:
            with safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                meta = {name: json.loads(text) for name, text in file.metadata().items()}
            norms = [
                Normalisation(
                    tuple(meta["steps"][side]),
                    tuple(
                        tensors[name].numpy()
                        for name in sorted(tensors)
                        if name.startswith(f"{side}_mean_")
                    ),
                )
                for side in ("src", "tgt")
            ]
            sides = {name: tensors.get(name) for name in ("C_y", "C_x")}
            mapping = cls(tensors["W_xy"], tensors["W_yx"], *norms, meta["info"], **sides)
            mapping._check()
            return mapping
        except Exception as error:  # a damaged file raises whatever its bytes lead to
            raise DataError(
                f"{path}: not a whole mapping file ({error}); run 'demalib align' again"
            ) from error

    def _check(self) -> None:
        """Raise a ValueError unless maps, means and settings fit together."""
        d, sides = len(self.W_xy), (self.src_norm, self.tgt_norm)
        for lang in (self.info["src"], self.info["tgt"]):
            plain_name(lang or "unnamed")
        maps = [W for W in (self.W_xy, self.W_yx, self.C_y, self.C_x) if W is not None]
        means = [torch.from_numpy(mean) for norm in sides for mean in norm.means]
        if any(W.shape != (d, d) for W in maps) or any(mean.shape != (d,) for mean in means):
            raise ValueError("its maps and means are not of one dimension")
        if not d or not all(W.is_floating_point() and W.isfinite().all() for W in maps + means):
            raise ValueError("its maps hold NaN or infinity, or nothing")
        for norm in sides:
            norm.apply(np.zeros((1, d), dtype=np.float32))
            if norm.steps.count("center") != len(norm.means):
                raise ValueError("a mean is missing")
        self.config.to_dict()
