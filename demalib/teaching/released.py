"""Formulas of the paper's released code, bugs included, for comparison only (``14_fidelity``)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.procrustes import dictionary_dot
from demalib.retrieval import Metric, Retriever, mean_top_cosine
from demalib.tiles import add_rank_logits_, chunks


def criterion(mapped: Tensor, targets: Tensor, max_rank: int = 10_000, knn: int = 10) -> float:
    """Compute the unsupervised criterion of the released code, which does not normalise lengths.

    The dictionary and its mean score come from dot products, so the value depends on the scale of
    the map. :func:`demalib.procrustes.dictionary_cosine` takes the same arguments and does not
    have this problem.
    """
    return dictionary_dot(mapped[:max_rank], targets[:max_rank], knn)


def hubness(queries: Tensor, others: Tensor, sigma2: float = 0.01, faiss: bool = True) -> Tensor:
    r"""Compute the released code's correction for hubs: a mean over ten neighbours, ``(Q,)``.

    With faiss it is the mean of :math:`\|q - o\|^2 / 2\sigma^2` over the nearest neighbours;
    without faiss, the mean of the largest :math:`q \cdot o`, which has the opposite sign. Vectors
    ``(Q, d)`` and ``(M, d)`` are not normalised.
    """
    if not faiss:
        return mean_top_cosine(queries, others, 10)  # dot products: lengths are not 1
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
    r"""Compute CSLS-D exactly as the paper's released code does, bugs included.

    .. math:: 2 \log p(y, y_j|x_i) + \overline{\|x' - y\|^2}_T / 2\sigma^2 +
              \overline{\|x' - y\|^2}_S / 2\sigma^2

    Args:
        mapped: All source words in the target space, ``(N, d)``; not normalised.
        targets: All target words, ``(M, d)``; normalised to unit length.
        rows: Rows of the source words to translate, ``(Q,)``.
        sigma2: Variance of the components.
        faiss: Compute what the code does where faiss is installed. Without faiss it adds mean dot
            products in place of mean distances, which favours hubs.
        r_src: :func:`hubness` of the targets, ``(M,)``, if already computed.

    Returns:
        Scores, ``(Q, M)``; NaN or -inf for the most frequent word of either language.

    Note:
        Ranks start at 0, so the most frequent word has log 0 = -inf; mapped words are not
        normalised; tau is 2 and k is 10 whatever the settings. For translation use
        :class:`demalib.retrieval.Retriever`.
    """
    targets, queries = normalize(targets, dim=1), mapped[rows]
    log_i = rows.to(mapped).log()
    log_j = torch.arange(len(targets), device=mapped.device).to(mapped).log()
    half = torch.cdist(queries, targets).square() / (2 * sigma2)  # (Q, M)
    scores = add_rank_logits_(-2 * half, log_i[:, None], log_j)  # twice the log-prior with tau 2
    r_tgt = hubness(queries, targets, sigma2, faiss)
    if r_src is None:
        r_src = hubness(targets, mapped, sigma2, faiss)
    return scores + r_tgt[:, None] + r_src


class ReleasedRetriever(Retriever):
    """A retriever with the CSLS-D of the paper's released code; other metrics are ours.

    Args:
        mapped: All source words in the target space, ``(N, d)``; their lengths affect CSLS-D.
        targets: All target words, ``(M, d)``.
        faiss: See :func:`csls_d`.

    Note:
        NaN counts as the best score, as in ``torch.topk``: the most frequent source word is
        translated as the most frequent target word, which is never the translation of another.
    """

    lazy = False

    def __init__(self, mapped: Tensor, targets: Tensor, faiss: bool = True) -> None:
        super().__init__(mapped, targets)
        self.raw, self.faiss = mapped, faiss

    def iter_scores(
        self, rows: Tensor, metric: Metric, r_src: Tensor | None = None
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield a slice of ``rows`` and its scores; see :meth:`Retriever.iter_scores`."""
        if metric.name != "csls-d":
            yield from super().iter_scores(rows, metric, r_src)
            return
        targets, sigma2 = self.targets, metric.sigma2
        r_src = hubness(targets, self.raw, sigma2, self.faiss)
        for part in chunks(len(rows), len(targets), targets.device):
            scores = csls_d(self.raw, targets, rows[part], sigma2, self.faiss, r_src)
            yield part, scores.nan_to_num_(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf)
