"""Translation by nearest neighbours: cosine, inverted softmax, CSLS, CSLS-D (Section 4.1).

All metrics are exact and computed in chunks, so memory stays bounded for any vocabulary.
``mapped`` holds all source words in the target space, ``targets`` all target words; rows are
in order of frequency, so a word's rank is its row number plus one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor
from torch.nn.functional import normalize

METRICS = ("nn", "isf", "csls", "csls-d")
CHUNK_NUMBERS = 1 << 24  # numbers in one tile of scores: 64 MB in float32


@dataclass(frozen=True)
class Metric:
    """A retrieval metric by name, with its constants (Section 4.1).

    Attributes:
        name: ``nn``, ``isf``, ``csls`` or ``csls-d``.
        beta: Inverse temperature of the inverted softmax.
        sigma2: Variance of the Gaussian components, for CSLS-D.
        tau: Temperature of the rank prior, for CSLS-D.
    """

    name: str = "csls"
    beta: float = 30.0
    sigma2: float = 0.01
    tau: float = 2.0

    def __post_init__(self) -> None:
        if self.name not in METRICS:
            raise ValueError(f"unknown metric {self.name!r}; use one of {', '.join(METRICS)}")


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of ``range(n)`` so that a tile of slice x width numbers stays bounded."""
    step = max(1, CHUNK_NUMBERS // max(1, width))
    return (slice(lo, min(lo + step, n)) for lo in range(0, n, step))


def mean_top_cosine(queries: Tensor, others: Tensor, knn: int = 10) -> Tensor:
    """Mean cosine to the k nearest neighbours on the other side, r(.) of CSLS.

    Args:
        queries: Unit vectors, ``(Q, d)``.
        others: Unit vectors, ``(M, d)``.
        knn: Number of neighbours k.

    Returns:
        Means, ``(Q,)``.
    """
    out = queries.new_empty(len(queries))
    knn = min(knn, len(others))
    for part in chunks(len(queries), len(others)):
        out[part] = (queries[part] @ others.T).topk(knn, dim=1).values.mean(dim=1)
    return out


class Retriever:
    r"""Scores of source words against all target words under any metric.

    CSLS is :math:`2 \cos(x', y) - r_T(x') - r_S(y)`. CSLS-D replaces the cosine by the
    log-density :math:`\log p(y, y_j | x_i)` of Eq. 9's component; for unit vectors that is
    :math:`\mathrm{CSLS} / \sigma^2 - (2 / \tau) |\log i - \log j|`.

    Args:
        mapped: All source words in the target space, ``(N, d)``; need not be unit vectors.
        targets: All target words, ``(M, d)``.
        knn: Neighbours k in the means r_T and r_S of CSLS.

    Note:
        The neighbourhood means of CSLS-D leave out the rank prior, as the released code does;
        ranks count from 1, where that code counts from 0 and meets log 0.
    """

    def __init__(self, mapped: Tensor, targets: Tensor, knn: int = 10) -> None:
        self.mapped, self.targets = normalize(mapped, dim=1), normalize(targets, dim=1)
        self.knn = knn

    @cached_property
    def r_src(self) -> Tensor:
        """Mean cosine of each target word to its k nearest source words, ``(M,)``."""
        return mean_top_cosine(self.targets, self.mapped, self.knn)

    def iter_scores(self, rows: Tensor, metric: Metric) -> Iterator[tuple[slice, Tensor]]:
        """Yield a slice of ``rows`` (source words, ``(Q,)``) and its scores, ``(chunk, M)``."""
        log_i, log_j = log_ranks(rows), log_ranks(torch.arange(len(self.targets)))
        for part in chunks(len(rows), len(self.targets)):
            scores = self.mapped[rows[part]] @ self.targets.T  # (chunk, M) cosines
            if metric.name == "isf":
                scores.mul_(metric.beta).sub_(self.log_sums(metric.beta))
            elif metric.name != "nn":
                r_tgt = scores.topk(min(self.knn, len(self.targets)), dim=1).values.mean(dim=1)
                scores.mul_(2).sub_(r_tgt[:, None]).sub_(self.r_src)
            if metric.name == "csls-d":
                gap = (log_i[part, None] - log_j).abs_()
                scores.div_(metric.sigma2).sub_(gap, alpha=2 / metric.tau)
            yield part, scores

    def translate(self, rows: Tensor, metric: Metric, k: int = 10) -> tuple[Tensor, Tensor]:
        """Scores and row numbers of the k best translations, each ``(Q, min(k, M))``."""
        k = min(k, len(self.targets))
        best = [scores.topk(k, dim=1) for _, scores in self.iter_scores(rows, metric)]
        return torch.cat([b.values for b in best]), torch.cat([b.indices for b in best])

    def top(self, row: int, metric: Metric, k: int = 10) -> list[int]:
        """Row numbers of the k best translations of one source word."""
        return self.translate(torch.tensor([row]), metric, k)[1][0].tolist()

    @cache  # noqa: B019 (a retriever lives as long as its evaluation)
    def log_sums(self, beta: float) -> Tensor:
        r"""The inverted softmax's :math:`\log \sum_i \exp(\beta \cos(x_i, y_j))`, ``(M,)``."""
        total = self.targets.new_full((len(self.targets),), -torch.inf)
        for part in chunks(len(self.mapped), len(self.targets)):
            tile = (beta * (self.mapped[part] @ self.targets.T)).logsumexp(dim=0)
            total = torch.logaddexp(total, tile)
        return total


def k_occurrence(retriever: Retriever, metric: Metric, k: int = 10) -> Tensor:
    r"""How many source words have each target word among their k best translations.

    :math:`N_k(y) = |\{x : y \in \mathrm{top}_k(x)\}|`, whose mean is k times the source words per
    target word. Hubs are the words far above it, antihubs those with none.

    Args:
        retriever: All source words in the target space, and all M target words.
        metric: Retrieval metric.
        k: Length of the list of translations.

    Returns:
        Counts, ``(M,)``.
    """
    _, columns = retriever.translate(torch.arange(len(retriever.mapped)), metric, k)
    return torch.bincount(columns.flatten(), minlength=len(retriever.targets))


def log_ranks(rows: Tensor) -> Tensor:
    """Logarithms of the ranks, which count from 1, of row numbers, ``(n,)``."""
    return (rows + 1).to(torch.float32).log()


def released_hubness(
    queries: Tensor, others: Tensor, sigma2: float = 0.01, faiss: bool = True
) -> Tensor:
    r"""The released code's correction for hubs: a mean over ten neighbours, ``(Q,)``.

    With faiss :math:`\|q - o\|^2 / 2\sigma^2` of the nearest ones, without it the largest
    :math:`q \cdot o`, which has the opposite sign. Vectors ``(Q, d)`` and ``(M, d)`` are used as
    they are.
    """
    if not faiss:
        return mean_top_cosine(queries, others, 10)  # of vectors that need not have unit length
    out, k = queries.new_empty(len(queries)), min(10, len(others))
    for part in chunks(len(queries), len(others)):
        half = torch.cdist(queries[part], others).square_().div_(2 * sigma2)
        out[part] = half.topk(k, dim=1, largest=False).values.mean(dim=1)
    return out


def released_csls_d(
    mapped: Tensor,
    targets: Tensor,
    rows: Tensor,
    sigma2: float = 0.01,
    faiss: bool = True,
    r_src: Tensor | None = None,
) -> Tensor:
    r"""CSLS-D exactly as the paper's released code computes it, slips included.

    .. math:: 2 \log p(y, y_j|x_i) + \overline{\|x' - y\|^2}_T / 2\sigma^2 +
              \overline{\|x' - y\|^2}_S / 2\sigma^2

    Args:
        mapped: All source words in the target space, ``(N, d)``; used as they are.
        targets: All target words, ``(M, d)``; brought to unit length.
        rows: Which source words to translate, ``(Q,)``.
        sigma2: Variance of the components.
        faiss: Whether the faiss library is there. Without it that code adds mean dot products
            where it should add mean distances, so hubs are preferred.
        r_src: :func:`released_hubness` of the targets, ``(M,)``, if it is known already.

    Returns:
        Scores, ``(Q, M)``: NaN or -inf for the most frequent word of either side.

    Note:
        Ranks count from 0, so that log 0 = -inf; mapped words are not normalised; tau is 2 and
        k is 10 whatever the settings. For comparison only: use :class:`Retriever`.
    """
    targets, queries = normalize(targets, dim=1), mapped[rows]
    log_i, log_j = rows.to(mapped).log(), torch.arange(len(targets)).to(mapped).log()
    half = torch.cdist(queries, targets).square() / (2 * sigma2)  # (Q, M)
    scores = -2 * half - 2 * (log_i[:, None] - log_j).abs() / 2.0
    r_tgt = released_hubness(queries, targets, sigma2, faiss)
    if r_src is None:
        r_src = released_hubness(targets, mapped, sigma2, faiss)
    return scores + r_tgt[:, None] + r_src


class ReleasedRetriever(Retriever):
    """A retriever whose CSLS-D is the one of the paper's released code; all else is ours.

    Args:
        mapped: All source words in the target space, ``(N, d)``; their lengths matter here.
        targets: All target words, ``(M, d)``.
        faiss: See :func:`released_csls_d`.

    Note:
        NaN counts as the best score, as it does in ``torch.topk``: the most frequent source word
        is translated by the most frequent target word, which no other word can be.
    """

    def __init__(self, mapped: Tensor, targets: Tensor, faiss: bool = True) -> None:
        super().__init__(mapped, targets)
        self.raw, self.faiss = mapped, faiss

    def iter_scores(self, rows: Tensor, metric: Metric) -> Iterator[tuple[slice, Tensor]]:
        """As :meth:`Retriever.iter_scores`."""
        if metric.name != "csls-d":
            yield from super().iter_scores(rows, metric)
            return
        how = (metric.sigma2, self.faiss)
        r_src = released_hubness(self.targets, self.raw, *how)
        for part in chunks(len(rows), len(self.targets)):
            scores = released_csls_d(self.raw, self.targets, rows[part], *how, r_src)
            yield part, scores.nan_to_num_(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf)
