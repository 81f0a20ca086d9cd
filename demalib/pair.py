"""What goes into a solver and what comes out: a :class:`Pair` of spaces, a :class:`Mapping`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib import hints as hinting
from demalib import spelling
from demalib.cognates import cognate_pairs
from demalib.config import Config
from demalib.device import get_device
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.flow import Maps
from demalib.hints import Hints, Lexicon, identical_pairs
from demalib.normalisation import NORMALISATION, Normalisation
from demalib.retrieval import Retriever
from demalib.spelling import Alike

COGNATE_WORDS = 50_000  # most frequent words per side among which cognates are sought


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """Two normalised spaces and the hints between them; no test data.

    Attributes:
        src: Source words, N_x of them, d dimensions.
        tgt: Target words, N_y of them, d dimensions.
        identical: Row numbers of words of the same spelling, (K, 2).
        train: Row numbers of the train lexicon's pairs, source first, (n, 2), or None.
        train_back: The same for the other direction, target first, (n, 2), or None.
        exclude: Test pairs that no hint may contain, or None.

    Note:
        MUSE's train lexicon of one direction contains gold pairs of the other direction's test,
        so a supervised map is learned for each direction from that direction's lexicon alone.
    """

    src: Embedding
    tgt: Embedding
    identical: np.ndarray
    train: np.ndarray | None = None
    train_back: np.ndarray | None = None
    exclude: Lexicon | None = None

    def __repr__(self) -> str:
        trained = f", {len(self.train):,} train pairs" if self.train is not None else ""
        return (
            f"<Pair {self.src.lang}-{self.tgt.lang}: {len(self.src):,} and {len(self.tgt):,} words, "
            f"d = {self.src.dim}, {len(self.identical):,} identical{trained}>"
        )

    def swap(self) -> Pair:
        """Return the same pair with source and target exchanged."""
        exclude = self.exclude and self.exclude.reverse()
        identical = self.identical[:, ::-1]
        return Pair(self.tgt, self.src, identical, self.train_back, self.train, exclude)

    def trained_on(self) -> Lexicon | None:
        """Return the pairs that a solver may learn from, source first; None without a lexicon."""
        if self.train is None:
            return None
        back = self.train[:0] if self.train_back is None else self.train_back[:, ::-1]
        rows = np.unique(np.concatenate([self.train, back]), axis=0)
        return Lexicon([(self.src.words[i], self.tgt.words[j]) for i, j in rows], "trained on")

    @cached_property
    def x(self) -> Tensor:
        """Source vectors, (N_x, d)."""
        return torch.from_numpy(self.src.vectors).to(get_device())

    @cached_property
    def y(self) -> Tensor:
        """Target vectors, (N_y, d)."""
        return torch.from_numpy(self.tgt.vectors).to(get_device())

    @cached_property
    def _all_cognates(self) -> tuple[np.ndarray, np.ndarray]:
        return cognate_pairs(self.src, self.tgt, COGNATE_WORDS)

    @property
    def cognates(self) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of words that sound alike, (n, 2), and their scores, (n,); see cognates."""
        rows, score = self._all_cognates
        keep = hinting.allowed_pairs(rows, self.src, self.tgt, self.exclude)
        return rows[keep], score[keep]

    @cached_property
    def alike(self) -> Alike:
        """Words that look alike, see :func:`demalib.hints.alike_pairs`."""
        found = hinting.alike_pairs(self.src, self.tgt, self._all_cognates[0], self.exclude)
        return Alike(*(torch.from_numpy(part).to(get_device()) for part in found))

    def hints(self, config: Config) -> Hints:
        """Gather the hints that need no dictionary, of the kinds that ``config.hints`` names."""
        kinds = () if config.ablate == "identical" else hinting.parse_kinds(config.hints)
        return hinting.gather_hints(
            kinds, self.identical, self.src, lambda: self.cognates, config.max_identical
        )

    def hint(self, config: Config) -> tuple[Tensor, Tensor]:
        """Return the vectors of the identical words, (K, d) on either side; none if ablated.

        Raises:
            DataError: There are no identical words.
        """
        if config.ablate == "identical":
            return self.x[:0], self.y[:0]
        rows = self.require_identical()[: config.max_identical or None]
        return self.x[rows[:, 0]], self.y[rows[:, 1]]

    def require_identical(self, at_least: int = 1) -> np.ndarray:
        """Return the identical words; raise an error if there are too few, and say what helps."""
        if len(self.identical) < at_least:
            raise DataError(
                f"{self.src.lang} and {self.tgt.lang} share {len(self.identical)} words "
                f"of the same spelling, at least {at_least} are needed; give a small "
                "dictionary with --lexicon"
            )
        return self.identical


def make_pair(
    src: Embedding,
    tgt: Embedding,
    train: Lexicon | None = None,
    train_back: Lexicon | None = None,
    exclude: Lexicon | None = None,
    normalisation: tuple[str, ...] = NORMALISATION,
) -> Pair:
    """Normalise both sides and gather the hints.

    If the sides have different dimensions, say 300 and 128, the smaller one gets zeros appended
    after its normalisation, so that a rotation of the larger space can lay any 128 of its
    dimensions on it; no cosine changes and nothing is lost. The zeros are a step of that side's
    normalisation record, so whatever takes raw vectors, such as :meth:`Mapping.transform`, takes
    them in their original dimension; the maps, and what is exported, have the larger one.

    Args:
        src: Source words, as read.
        tgt: Target words, as read; may have another dimension.
        train: A lexicon for supervised solvers.
        train_back: The lexicon of the other direction; ``train`` reversed if left out.
        exclude: A test lexicon, whose pairs are no hints.
        normalisation: Steps out of ``unit`` and ``center``; the paper's by default (Section 5.2).

    Example:
        >>> english = Embedding(["menu", "cat"], np.eye(2, dtype=np.float32), "en")
        >>> french = Embedding(["chat", "menu"], np.eye(2, dtype=np.float32), "fr")
        >>> make_pair(english, french).identical.tolist()
        [[0, 1]]
    """
    identical = identical_pairs(src, tgt, exclude=exclude)
    rows = back = None
    if train is not None:
        rows = train.rows(src, tgt)
        back = (train_back or train.reverse()).rows(tgt, src)
    dim = max(src.dim, tgt.dim)
    src, tgt = (side.normalise(normalisation).pad(dim) for side in (src, tgt))
    return Pair(src, tgt, identical, rows, back, exclude)


@dataclass(frozen=True, eq=False, repr=False)
class Mapping:
    r"""A learned pair of linear maps, for row vectors: ``y = x @ W_xy``, ``x = y @ W_yx``.

    Attributes:
        W_xy: Source to target, (d, d).
        W_yx: Target to source, (d, d).
        src_norm: Normalisation of the source space, with its mean.
        tgt_norm: Normalisation of the target space, with its mean.
        info: Languages, solver, seed and settings that made it.
        history: The record of the run, a row per round or step; may be empty.
        P_y: What target words are multiplied by, (d, d), before mapped source words are compared
            with them; None leaves them as they are.
        P_x: The same for source words in the other direction.

    Note:
        Density matching brings source words to where target words are. Some other methods meet in
        a third space, :math:`\langle xP_x, yP_y \rangle`: their ``W_xy`` is :math:`P_x` and their
        ``W_yx`` is :math:`P_y`.
    """

    W_xy: Tensor
    W_yx: Tensor
    src_norm: Normalisation
    tgt_norm: Normalisation
    info: dict[str, Any] = field(default_factory=dict)
    history: pd.DataFrame = field(default_factory=pd.DataFrame)
    P_y: Tensor | None = None
    P_x: Tensor | None = None

    @classmethod
    def of(
        cls,
        W_xy: Tensor,
        W_yx: Tensor,
        pair: Pair,
        config: Config,
        history: pd.DataFrame | None = None,
        P_y: Tensor | None = None,
        P_x: Tensor | None = None,
    ) -> Mapping:
        """Make the mapping that a solver found for a pair; it is kept on the CPU."""
        info = {"src": pair.src.lang, "tgt": pair.tgt.lang, "config": config.to_dict()}
        history = pd.DataFrame() if history is None else history
        return cls(
            W_xy.cpu().contiguous(),
            W_yx.cpu().contiguous(),
            pair.src.normalisation,
            pair.tgt.normalisation,
            info,
            history,
            *(C if C is None else C.cpu() for C in (P_y, P_x)),
        )

    @classmethod
    def orthogonal(
        cls, W: Tensor, pair: Pair, config: Config, history: pd.DataFrame | None = None
    ) -> Mapping:
        """Make the mapping of an orthogonal map: its transpose leads back."""
        return cls.of(W, W.T, pair, config, history)

    @classmethod
    def of_maps(cls, maps: Maps, pair: Pair, config: Config) -> Mapping:
        """Make the mapping of what a solver of the core returned."""
        return cls.of(maps.W_xy, maps.W_yx, pair, config, maps.history)

    def __repr__(self) -> str:
        names = f"{self.info.get('src')}-{self.info.get('tgt')}"
        config = self.config
        return (
            f"<Mapping {names}: solver {config.solver}, seed {config.seed}, d = {len(self.W_xy)}>"
        )

    @property
    def config(self) -> Config:
        """The settings that made it."""
        return Config.from_dict(self.info["config"])

    def transform(self, vectors: np.ndarray, reverse: bool = False) -> np.ndarray:
        """Map new raw vectors, (n, D), into the other space as unit vectors, (n, d).

        They are normalised with the means of the training words first, and padded to d
        dimensions if the training words were, so words that were not in the vocabulary, or
        fastText vectors of unseen words, land where they belong.
        """
        norm, W = (self.tgt_norm, self.W_yx) if reverse else (self.src_norm, self.W_xy)
        vectors = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if vectors.shape[1] != (dim := norm.raw_dim(len(W))):
            raise DataError(
                f"transform: the map takes {dim} dimensions, the vectors {vectors.shape[1]}"
            )
        return normalize(torch.from_numpy(norm.apply(vectors)) @ W, dim=1).numpy()

    def check(self) -> None:
        """Raise a ValueError unless maps, means and settings fit together."""
        d = len(self.W_xy)
        maps = [W for W in (self.W_xy, self.W_yx, self.P_y, self.P_x) if W is not None]
        if any(W.shape != (d, d) for W in maps):
            raise ValueError("its maps and means are not of one dimension")
        if not d or not all(W.is_floating_point() and W.isfinite().all() for W in maps):
            raise ValueError("its maps contain NaN or infinity, or nothing")
        for norm in (self.src_norm, self.tgt_norm):
            norm.check(d)
        self.config.to_dict()


def retrievers(mapping: Mapping, pair: Pair, knn: int = 10) -> tuple[Retriever, Retriever]:
    """Bring a mapping to the pair's device: both directions of translation.

    Args:
        mapping: The maps, on the CPU.
        pair: The spaces, on the device.
        knn: Neighbours k of CSLS.

    Returns:
        Source to target, and target to source.
    """
    W_xy, W_yx = (W.to(pair.x) for W in (mapping.W_xy, mapping.W_yx))
    y = pair.y if mapping.P_y is None else pair.y @ mapping.P_y.to(pair.y)
    x = pair.x if mapping.P_x is None else pair.x @ mapping.P_x.to(pair.x)
    tau = mapping.config.tau
    read = spelling.reader(lambda: pair.alike, tau)
    read_back = spelling.reader(lambda: pair.alike.swap(), tau)
    return Retriever(pair.x @ W_xy, y, knn, read), Retriever(pair.y @ W_yx, x, knn, read_back)
