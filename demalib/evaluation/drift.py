"""Two models of one language: which words have moved, and what survives of a search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import normalize

from demalib.errors import DataError
from demalib.hints import identical_pairs
from demalib.pair import Mapping, Pair, retrievers
from demalib.retrieval import Metric


def changed_words(mapping: Mapping, pair: Pair) -> pd.DataFrame:
    r"""Order the words that both models have by how much they have moved, most first.

    The score is :math:`p(\mathrm{self} | x)`, the E-step's weight of the word itself among all words
    of the other model: :math:`\mathrm{softmax}_j(x' \cdot y_j / \sigma^2)` at its own :math:`j`.

    Args:
        mapping: The maps between the models.
        pair: The models, N_x and N_y words.

    Returns:
        A row per common word: ``word``, its ``rank`` and ``rank_there``, ``p_self``, ``cosine`` with
        itself, and ``nearest``, the word of the other model that is closest to it.
    """
    rows, columns = identical_pairs(pair.src, pair.tgt).T
    if not len(rows):
        raise DataError("the two models have no word in common, so none can have moved")
    retriever, _ = retrievers(mapping, pair)
    own = torch.from_numpy(columns).to(pair.x.device)
    parts: dict[str, list[torch.Tensor]] = {"p_self": [], "cosine": [], "nearest": []}
    for part, cosines in retriever.iter_scores(torch.from_numpy(rows), Metric("nn")):
        at = own[part, None]
        parts["cosine"].append(cosines.gather(1, at)[:, 0].clone())
        parts["nearest"].append(cosines.argmax(dim=1))
        logits = cosines.div_(mapping.config.sigma2_tgt)
        parts["p_self"].append((logits.gather(1, at)[:, 0] - logits.logsumexp(dim=1)).exp())
    found = {name: torch.cat(some).cpu().numpy() for name, some in parts.items()}
    table = pd.DataFrame(
        {
            "word": [pair.src.words[i] for i in rows],
            "rank": rows + 1,
            "rank_there": columns + 1,
            **found,
            "nearest": [pair.tgt.words[j] for j in found["nearest"]],
        }
    )
    return table.sort_values("p_self", kind="stable", ignore_index=True)


def neighbour_recall(
    mapping: Mapping, pair: Pair, rows: np.ndarray | None = None, k: int = 10
) -> np.ndarray:
    """Measure how much of a nearest-neighbour search survives a change of models.

    The index has the new (target) model's vectors. A query is the old vector, mapped; it should find
    the k neighbours that the new model's own vector of that word finds. A map that re-weights both
    sides is searched in the space that it makes of the new model, but judged by the new model's own.

    Args:
        mapping: The map from the old model to the new one.
        pair: Old and new model.
        rows: Rows of the words that are searched for, old and new, ``(n, 2)``; all common words if
            left out. Words that the map was not learned from are the fair ones.
        k: Neighbours.

    Returns:
        The share of these k neighbours that each query finds, ``(n,)``; recall@k is its mean.
    """
    rows = identical_pairs(pair.src, pair.tgt) if rows is None else rows
    retriever, _ = retrievers(mapping, pair)
    mapped, targets = retriever.mapped, retriever.targets
    own = normalize(pair.y, dim=1)
    share = []
    for some in np.array_split(rows, max(1, len(rows) // 500)):
        old, new = torch.from_numpy(some).to(mapped.device).T
        found, right = (
            (queries @ index.T).topk(min(k, len(index)), dim=1).indices
            for queries, index in ((mapped[old], targets), (own[new], own))
        )
        share.append((found[:, :, None] == right[:, None, :]).any(dim=1).float().mean(dim=1))
    return torch.cat(share).cpu().numpy()
