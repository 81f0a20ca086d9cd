"""What the paper's released code computes, slips included: for comparison only (08_fidelity)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.procrustes import dictionary_dot
from demalib.retrieval import Metric, Retriever, mean_top_cosine
from demalib.tiles import add_rank_logits_, chunks


def criterion(mapped: Tensor, targets: Tensor, max_rank: int = 10_000, knn: int = 10) -> float:
    """The unsupervised criterion of the released code: mapped vectors keep their lengths.

    For comparison only: both the dictionary and its mean come from dot products, so a map that
    is twice as large is judged otherwise; use
    :func:`demalib.procrustes.dictionary_cosine`, whose arguments these are.
    """
    return dictionary_dot(mapped[:max_rank], targets[:max_rank], knn)


def hubness(queries: Tensor, others: Tensor, sigma2: float = 0.01, faiss: bool = True) -> Tensor:
    r"""The released code's correction for hubs: a mean over ten neighbours, ``(Q,)``.

    With faiss :math:`\|q - o\|^2 / 2\sigma^2` of the nearest ones, without it the largest
    :math:`q \cdot o`, which has the opposite sign. Vectors ``(Q, d)`` and ``(M, d)`` are used as
    they are.
    """
    if not faiss:
        return mean_top_cosine(queries, others, 10)  # of vectors that need not have unit length
    out, k = queries.new_empty(len(queries)), min(10, len(others))
    for part in chunks(len(queries), len(others), queries.device):
        half = torch.cdist(queries[part], others).square_().div_(2 * sigma2)
        out[part] = half.topk(k, dim=1, largest=False).values.mean(dim=1)
    return out


def csls_d(
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
        r_src: :func:`hubness` of the targets, ``(M,)``, if it is known already.

    Returns:
        Scores, ``(Q, M)``: NaN or -inf for the most frequent word of either side.

    Note:
        Ranks count from 0, so that log 0 = -inf; mapped words are not normalised; tau is 2 and
        k is 10 whatever the settings. For comparison only: use
        :class:`demalib.Retriever`.
    """
    targets, queries = normalize(targets, dim=1), mapped[rows]
    everything = torch.arange(len(targets), device=targets.device)
    log_i, log_j = rows.to(mapped).log(), everything.to(mapped).log()
    half = torch.cdist(queries, targets).square() / (2 * sigma2)  # (Q, M)
    scores = add_rank_logits_(-2 * half, log_i[:, None], log_j)  # twice the prior, tau 2
    r_tgt = hubness(queries, targets, sigma2, faiss)
    if r_src is None:
        r_src = hubness(targets, mapped, sigma2, faiss)
    return scores + r_tgt[:, None] + r_src


class ReleasedRetriever(Retriever):
    """A retriever whose CSLS-D is the one of the paper's released code; all else is ours.

    Args:
        mapped: All source words in the target space, ``(N, d)``; their lengths matter here.
        targets: All target words, ``(M, d)``.
        faiss: See :func:`csls_d`.

    Note:
        NaN counts as the best score, as it does in ``torch.topk``: the most frequent source word
        is translated by the most frequent target word, which no other word can be.
    """

    lazy = False

    def __init__(self, mapped: Tensor, targets: Tensor, faiss: bool = True) -> None:
        super().__init__(mapped, targets)
        self.raw, self.faiss = mapped, faiss

    def iter_scores(
        self, rows: Tensor, metric: Metric, r_src: Tensor | None = None
    ) -> Iterator[tuple[slice, Tensor]]:
        """As :meth:`Retriever.iter_scores`."""
        if metric.name != "csls-d":
            yield from super().iter_scores(rows, metric, r_src)
            return
        how = (metric.sigma2, self.faiss)
        r_src = hubness(self.targets, self.raw, *how)
        for part in chunks(len(rows), len(self.targets), self.targets.device):
            scores = csls_d(self.raw, self.targets, rows[part], *how, r_src)
            yield part, scores.nan_to_num_(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf)
