"""Translation by nearest neighbours: cosine, inverted softmax, CSLS, CSLS-D (Section 4.1), CSLS-S.

All metrics are exact and computed in chunks, so memory stays bounded for any vocabulary.
``mapped`` holds all source words in the target space, ``targets`` all target words; rows are
in order of frequency, so a word's rank is its row number plus one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.tiles import Clusters, Partners, add_partners_, add_rank_logits_, iter_products

METRICS = ("nn", "isf", "csls", "csls-d", "csls-s")
ROUNDING = 1e-5  # cosines this close are sorted by exact scores, not by bounds
SHORTLIST = 8  # candidates kept for each of the k best translations
LAZY_SHARE = 2  # be lazy while 2 x k x queries is less than the number of targets


@dataclass(frozen=True)
class Metric:
    """A retrieval metric by name, with its constants (Section 4.1).

    Attributes:
        name: ``nn``, ``isf``, ``csls``, ``csls-d`` or ``csls-s``.
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
    for part, cosines in iter_products(queries, others):
        out[part] = cosines.topk(knn, dim=1).values.mean(dim=1)
    return out


def csls_(cosines: Tensor, r_src: Tensor, r_tgt: Tensor | None = None) -> Tensor:
    r"""Turn cosines into CSLS scores, in place (Section 4.1).

    .. math:: \mathrm{CSLS}(x', y) = 2 \cos(x', y) - r_T(x') - r_S(y)

    Args:
        cosines: ``(Q, M)``, a row per query.
        r_src: Mean cosine of each target word to its nearest source words, ``(M,)``.
        r_tgt: Mean cosine of each query to its nearest target words, ``(Q,)``. It changes no
            order within a row, so it may be left out where only the best column matters.
    """
    cosines.mul_(2).sub_(r_src)
    return cosines if r_tgt is None else cosines.sub_(r_tgt[:, None])


def iter_csls(mapped: Tensor, targets: Tensor, knn: int) -> Iterator[tuple[slice, Tensor]]:
    """Yield slices of the N source words and their CSLS scores against all targets, ``(chunk, M)``.

    The next scores overwrite them; the lengths of the vectors are kept.
    """
    r_tgt, r_src = mean_top_cosine(mapped, targets, knn), mean_top_cosine(targets, mapped, knn)
    for part, cosines in iter_products(mapped, targets):
        yield part, csls_(cosines, r_src, r_tgt[part])


def best_columns(scores: Tensor, k: int, columns: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Find the k largest scores of each row and their columns, ``(Q, k)``; ties by column.

    Args:
        scores: ``(Q, M)``.
        k: How many, at most M.
        columns: Names of the columns, ``(Q, M)``, by which ties are ordered; 0, 1, ... if left out.
    """
    values, places = scores.topk(k, dim=1)
    for row in (scores >= values[:, -1:]).sum(dim=1).gt(k).nonzero()[:, 0]:  # a tie at the end
        tied = (scores[row] == values[row, -1]).nonzero()[:, 0]
        names = tied if columns is None else columns[row, tied]
        open_places = values[row] == values[row, -1]
        places[row, open_places] = tied[names.argsort()[: int(open_places.sum())]]
    names = places if columns is None else columns.gather(1, places)
    order = names.argsort(dim=1)
    order = order.gather(1, values.gather(1, order).argsort(dim=1, descending=True, stable=True))
    return values.gather(1, order), names.gather(1, order)


class Retriever:
    r"""Scores of source words against all target words under any metric.

    CSLS is :math:`2 \cos(x', y) - r_T(x') - r_S(y)`. CSLS-D replaces the cosine by the
    log-density :math:`\log p(y, y_j | x_i)` of Eq. 9's component; for unit vectors that is
    :math:`\mathrm{CSLS} / \sigma^2 - (2 / \tau) |\log i - \log j|`. CSLS-S adds a bonus to the
    word that looks like the query, see :mod:`demalib.spelling`.

    Args:
        mapped: All source words in the target space, ``(N, d)``; need not be unit vectors.
        targets: All target words, ``(M, d)``.
        knn: Neighbours k in the means r_T and r_S of CSLS.
        read: Finds the partners of all source words from ``mapped`` and ``targets``, for CSLS-S.

    Note:
        The neighbourhood means of CSLS-D leave out the rank prior, as the released code does;
        ranks count from 1, where that code counts from 0 and meets log 0.
    """

    lazy = True  # whether few queries may do without all of r_src

    def __init__(
        self,
        mapped: Tensor,
        targets: Tensor,
        knn: int = 10,
        read: Callable[[Tensor, Tensor], Partners] | None = None,
    ) -> None:
        self.mapped, self.targets = normalize(mapped, dim=1), normalize(targets, dim=1)
        self.knn, self.read = knn, read

    @cached_property
    def partners(self) -> Partners:
        """The target word that looks like each source word, and the bonus that it gets."""
        if self.read is None:
            raise ValueError("metric csls-s needs the words, not only their vectors")
        return self.read(self.mapped, self.targets)

    @cached_property
    def r_src(self) -> Tensor:
        """Mean cosine of each target word to its k nearest source words, ``(M,)``."""
        return mean_top_cosine(self.targets, self.mapped, self.knn)

    @cached_property
    def r_src_bound(self) -> Tensor:
        """A lower bound of ``r_src``, ``(M,)``, in a fraction of the time."""
        near, _ = Clusters(self.mapped).near(self.targets, min(self.knn, len(self.mapped)))
        return near.mean(dim=1)

    @cached_property
    def r_src_known(self) -> Tensor:
        """``r_src`` of the words it was needed for, ``(M,)``; NaN for the others."""
        return torch.full_like(self.r_src_bound, torch.nan)

    def iter_scores(
        self, rows: Tensor, metric: Metric, r_src: Tensor | None = None
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield a slice of ``rows`` (source words, ``(Q,)``) and its scores, ``(chunk, M)``.

        The next scores overwrite them. ``r_src``, ``(M,)``, may stand in for the exact means of
        the target words.
        """
        rows = rows.to(self.mapped.device)
        everything = torch.arange(len(self.targets), device=rows.device)
        log_i, log_j = (
            (2 / metric.tau) * (side + 1).to(self.targets).log() for side in (rows, everything)
        )
        for part, scores in iter_products(self.mapped, self.targets, rows):  # cosines so far
            if metric.name == "isf":
                scores.mul_(metric.beta).sub_(self.log_sums(metric.beta))
            elif metric.name != "nn":
                r_tgt = scores.topk(min(self.knn, len(self.targets)), dim=1).values.mean(dim=1)
                csls_(scores, self.r_src if r_src is None else r_src, r_tgt)
            if metric.name == "csls-d":
                add_rank_logits_(scores.div_(metric.sigma2), log_i[part, None], log_j)
            elif metric.name == "csls-s":
                add_partners_(scores, self.partners.of(rows[part]))
            yield part, scores

    def translate(self, rows: Tensor, metric: Metric, k: int = 10) -> tuple[Tensor, Tensor]:
        """Find the k best translations: scores and row numbers, each ``(Q, min(k, M))``.

        Equal scores are in order of the vocabulary. For few queries ``r_src`` is not computed for
        all target words but only for those that can be among the best, with the same result.
        """
        k = min(k, len(self.targets))
        lazy = self.lazy and metric.name.startswith("csls") and "r_src" not in vars(self)
        if lazy and LAZY_SHARE * k * len(rows) < len(self.targets):
            return self._translate_lazily(rows, metric, k, SHORTLIST * k)
        best = [best_columns(scores, k) for _, scores in self.iter_scores(rows, metric)]
        scores, columns = (torch.cat(parts) for parts in zip(*best, strict=True))
        return scores, columns

    def _translate_lazily(
        self, rows: Tensor, metric: Metric, k: int, length: int
    ) -> tuple[Tensor, Tensor]:
        r"""Find what brute force would find, from a short list of ``length`` candidates a query.

        The mean cosine to the k best of *some* source words is a lower bound of :math:`r_S(y)`,
        so it gives an upper bound of the score. Exact values are computed for candidates whose
        bound reaches the k-th best exact score, until none is left; a query whose short list
        was too short gets a longer one. The result is that of brute force up to the rounding of
        float32, in which two products of different shape may differ.
        """
        length, rows = min(length, len(self.targets)), rows.to(self.mapped.device)
        lower, exact = self.r_src_bound, self.r_src_known
        scale = 1 / metric.sigma2 if metric.name == "csls-d" else 1.0
        slack = scale * ROUNDING
        tiles = self.iter_scores(rows, metric, r_src=lower)
        listed = [scores.topk(length, dim=1) for _, scores in tiles]
        bounds, columns = (torch.cat(parts) for parts in zip(*listed, strict=True))
        wanted = columns[:, :k]
        while True:
            wanted = wanted[exact[wanted].isnan()].unique()
            exact[wanted] = mean_top_cosine(self.targets[wanted], self.mapped, self.knn)
            known = ~exact[columns].isnan()
            scores = bounds - scale * (exact - lower)[columns].nan_to_num_(0.0)
            worst = scores.masked_fill(~known, -torch.inf).topk(k, dim=1).values[:, -1:]
            wanted = columns[~known & (scores >= worst - slack)]
            if not len(wanted):
                break
        best = best_columns(scores.masked_fill_(~known, -torch.inf), k, columns)
        short = (bounds[:, -1] >= best[0][:, -1] - slack).nonzero()[:, 0]
        if len(short) and length < len(self.targets):
            again = self._translate_lazily(rows[short], metric, k, 4 * length)
            for part, longer in zip(best, again, strict=True):
                part[short] = longer
        return best

    def top(self, row: int, metric: Metric, k: int = 10) -> list[int]:
        """Row numbers of the k best translations of one source word."""
        return self.translate(torch.tensor([row], device=self.mapped.device), metric, k)[1][
            0
        ].tolist()

    @cache  # noqa: B019 (a retriever lives as long as its evaluation)
    def log_sums(self, beta: float) -> Tensor:
        r"""The inverted softmax's :math:`\log \sum_i \exp(\beta \cos(x_i, y_j))`, ``(M,)``."""
        total = self.targets.new_full((len(self.targets),), -torch.inf)
        for _, cosines in iter_products(self.mapped, self.targets):
            total = torch.logaddexp(total, cosines.mul_(beta).logsumexp(dim=0))
        return total


def k_occurrence(retriever: Retriever, metric: Metric, k: int = 10) -> Tensor:
    r"""Count the source words that have each target word among their k best translations.

    :math:`N_k(y) = |\{x : y \in \mathrm{top}_k(x)\}|`, whose mean is k times the source words per
    target word. Hubs are the words far above it, antihubs those with none.

    Args:
        retriever: All source words in the target space, and all M target words.
        metric: Retrieval metric.
        k: Length of the list of translations.

    Returns:
        Counts, ``(M,)``.
    """
    rows = torch.arange(len(retriever.mapped), device=retriever.mapped.device)
    _, columns = retriever.translate(rows, metric, k)
    return torch.bincount(columns.flatten(), minlength=len(retriever.targets))
