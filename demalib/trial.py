"""Does an alignment work? A quick fit without some of the hints is judged by those hints.

No gold data is used. The same hints choose the last step of EM. Where there are too few hints,
two quick fits on different words are compared with each other.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from demalib.em import Phase, anneal, start_map
from demalib.finish import Finished
from demalib.flow import random_orthogonal
from demalib.procrustes import dictionary_cosine
from demalib.retrieval import Metric, Retriever

QUICK = (Phase(4_000, 500.0, 3.0, 0.5, 10), Phase(10_000, 2.0, 2.0, 1.0, 1))  # on fewer words
WORDS = 10_000  # most frequent words per side that a held-out word is searched among
MOST = 500  # source words held out, at most
FEWEST = 8  # queries; with fewer nothing is said or chosen
SHAPE_WORDS = 3000  # most frequent words whose dictionary gives the criterion
DEPTH = 10
WORKS, FAILS = 0.15, 0.03  # P@10 of held-out hints: yes from the first, no below the second
HALVES = (Phase(4_000, 500.0, 3.0, 0.5, 8),)  # of two fits that share no word
HALVED = 4000  # words of either side, at least; of fewer, wrong fits can agree too
ASKED = 2000  # most frequent words of either side that the two fits translate
SAME, DIFFER = 0.2, 0.15  # share of equal translations: yes from the first, no below the second


@dataclass(frozen=True)
class Verdict:
    """Whether an alignment worked, and how that is known without gold data.

    Attributes:
        answer: ``yes``, ``doubtful`` or ``no``.
        held_out: Which hints were held out of a second, quick fit; empty if there were too few.
        queries: Their number, both directions together.
        p1: Share of them whose first answer is right.
        p10: Share of them with a right answer among the first ten.
        criterion: Mean cosine of frequent words and their best translations.
        by_chance: The same under a random rotation.
        agreement: Share of words that two fits on different words translate alike; None if hints
            were held out.
    """

    answer: str
    held_out: str
    queries: int
    p1: float
    p10: float
    criterion: float
    by_chance: float
    agreement: float | None = None

    def __str__(self) -> str:
        shape = f"criterion {self.criterion:.2f}, {self.by_chance:.2f} under a random rotation"
        if self.answer != "yes":
            shape += "; a dictionary of some hundred pairs helps (--lexicon)"
        if self.agreement is not None:
            return (
                f"{self.answer}: two quick fits, on every second word and on the others, give "
                f"{self.agreement:.0%} of frequent words the same translation; {shape}"
            )
        if not self.held_out:
            return f"{self.answer}: too few hints to hold some out; {shape}"
        low, high = interval(self.p1, self.queries)
        return (
            f"{self.answer}: a quick fit without {self.queries:,} {self.held_out} finds "
            f"{self.p10:.0%} of them among its first ten answers, {self.p1:.0%} "
            f"({low:.0%} to {high:.0%}) as the first; {shape}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All facts by name."""
        return asdict(self)


def interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n."""
    if not n:
        return 0.0, 1.0
    z2 = 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = 1.96 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return min(low, share), max(high, share)  # rounding may put them past it


def apart(pairs: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Say which pairs, (K, 2), share no word with those that are held out, (h, 2); (K,) bool."""
    return ~(np.isin(pairs[:, 0], held[:, 0]) | np.isin(pairs[:, 1], held[:, 1]))


def hold_out(rows: np.ndarray, every: int) -> np.ndarray:
    """Choose the pairs of every n-th source word, ``(K,)`` bool.

    Args:
        rows: Row numbers of hints, ``(K, 2)``.
        every: 10 holds out a tenth, of the words among the :data:`WORDS` most frequent on either
            side, evenly over all ranks; :data:`MOST` at most.
    """
    queries = np.unique(rows[(rows < WORDS).all(axis=1), 0])
    step = max(every, math.ceil(len(queries) / MOST))
    return np.isin(rows[:, 0], queries[step // 2 :: step])


def positions(finished: Finished, x: Tensor, y: Tensor, held: np.ndarray) -> np.ndarray:
    """Find where the right word is among the answers for held-out words of both sides.

    Args:
        finished: The maps.
        x: Source words by rank, ``(N, d)``.
        y: Target words by rank, ``(M, d)``.
        held: Row numbers of held-out pairs, ``(K, 2)``.

    Returns:
        Positions under CSLS from 1, or 11 beyond the first ten, ``(q,)``.
    """
    held = held[(held < WORDS).all(axis=1)]
    best = []
    for query, place in zip(held.T, places(finished, x, y, held), strict=True):
        _, word = np.unique(query, return_inverse=True)
        first = np.full(word.max(initial=-1) + 1, DEPTH + 1)
        np.minimum.at(first, word, place)  # any translation of a word will do
        best.append(first)
    return np.concatenate(best)


def confirmed(W: Tensor, x: Tensor, y: Tensor, rows: np.ndarray) -> np.ndarray:
    """Choose the hints that a quick fit does not refute, ``(K,)`` bool.

    A hint is refuted if one of its words is not among the ten best translations of the other. The
    start of the final fit is better without such hints: half of all cognates are wrong, and an
    English word in French text is rarely French.

    Args:
        W: The orthogonal map of the quick fit, ``(d, d)``.
        x: Source words by rank, ``(N, d)``.
        y: Target words by rank, ``(M, d)``.
        rows: Row numbers of hints, ``(K, 2)``; words beyond the :data:`WORDS` most frequent are
            not looked up, so their hints stay.
    """
    checked = (rows < WORDS).all(axis=1)
    keep = np.ones(len(rows), dtype=bool)
    if checked.any():
        found = places(Finished(W, W.T), x, y, rows[checked])
        keep[checked] = (found <= DEPTH).all(axis=0)
    return keep


def places(finished: Finished, x: Tensor, y: Tensor, rows: np.ndarray) -> np.ndarray:
    """Find where each word of a pair is among the other's translations.

    Args:
        finished: The maps.
        x: Source words by rank, ``(N, d)``; the :data:`WORDS` most frequent are searched.
        y: Target words by rank, ``(M, d)``; likewise.
        rows: Row numbers of pairs among them, ``(K, 2)``.

    Returns:
        Positions under CSLS from 1, or 11 beyond the first ten, ``(2, K)``: of the target word
        for the source word, and the other way round.
    """
    x, y, found = x[:WORDS], y[:WORDS], []
    for a, b, W, P, (query, right) in (
        (x, y, finished.W_xy, finished.P_y, rows.T),
        (y, x, finished.W_yx, finished.P_x, rows.T[::-1]),
    ):
        retriever = Retriever(a @ W, b if P is None else b @ P)
        words, place = np.unique(query, return_inverse=True)
        _, best = retriever.translate(torch.from_numpy(words), Metric("csls"), DEPTH)
        hit = best.cpu().numpy()[place] == right[:, None]
        found.append(np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, DEPTH + 1))
    return np.stack(found)


def choose_last(found: dict[str, np.ndarray]) -> str:
    """Choose the last step: the usual one, unless another is significantly more often right.

    Args:
        found: For every step the positions of the right words, ``(q,)``; the usual step first.

    Returns:
        Of the steps that beat the usual one by more than two standard errors of the paired
        difference the best, or the usual one; of few words nothing can be said.
    """
    usual, *others = found
    if len(found[usual]) < FEWEST:
        return usual
    best, most = usual, 0.0
    for name in others:
        gain = (found[name] <= 1).astype(float) - (found[usual] <= 1)
        mean, error = float(gain.mean()), float(gain.std()) / math.sqrt(max(1, len(gain)))
        if mean > most and mean > 2 * error:
            best, most = name, mean
    return best


def criteria(finished: Finished, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Compute the criterion of a map, and that of the map followed by a random rotation.

    Note:
        EM raises the criterion of noise as well, so it informs but decides nothing. The share of
        mutual best pairs would say less: it is about a half under any rotation.
    """
    W, P = finished.W_xy, finished.P_y
    mapped, targets = x[:SHAPE_WORDS] @ W, y[:SHAPE_WORDS] if P is None else y[:SHAPE_WORDS] @ P
    turn = random_orthogonal(W.shape[1], torch.Generator().manual_seed(0)).to(mapped)
    own, by_chance = (
        dictionary_cosine(side, targets, SHAPE_WORDS) for side in (mapped, mapped @ turn)
    )
    return own, by_chance


def agree(
    x: Tensor, y: Tensor, cross: Tensor, tau: float = 2.0, by_rank: bool = True
) -> float | None:
    """Fit twice, on words of odd and of even rank, and compare the translations.

    Both fits begin wide, from the same start. If the start is right they find the same map again;
    if not, each fits what its own words happen to have in common.

    Args:
        x: Source words by rank, ``(N, d)``.
        y: Target words by rank, ``(M, d)``.
        cross: Evidence of the fit in question, as :func:`demalib.em.start_map` takes it.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.

    Returns:
        Share of the :data:`ASKED` most frequent words of either side with the same best
        translation under CSLS among :data:`WORDS`; None if a side has fewer than :data:`HALVED`.
    """
    if min(len(x), len(y)) < HALVED:
        return None
    start, same = start_map(cross), []
    maps = [
        anneal(x[k::2], y[k::2], start, tau=tau, by_rank=by_rank, schedule=HALVES).W for k in (0, 1)
    ]
    x, y = x[:WORDS], y[:WORDS]
    for a, b, sides in ((x, y, maps), (y, x, [W.T for W in maps])):
        queries = torch.arange(min(ASKED, len(a)))
        first, second = (
            Retriever(a @ W, b).translate(queries, Metric("csls"), 1)[1] for W in sides
        )
        same.append(float((first == second).float().mean()))
    return sum(same) / 2


def give_verdict(
    finished: Finished,
    x: Tensor,
    y: Tensor,
    held_out: str,
    found: np.ndarray,
    agreement: float | None = None,
) -> Verdict:
    """Say whether an alignment worked.

    Args:
        finished: The final maps.
        x: Source words by rank, ``(N, d)``.
        y: Target words by rank, ``(M, d)``.
        held_out: The kind of hints that were held out of the trial.
        found: Positions of their right words under the trial's map, ``(q,)``.
        agreement: What :func:`agree` says, where too few hints could be held out.
    """
    shape = criteria(finished, x, y)
    if agreement is not None:
        answer = "yes" if agreement >= SAME else "no" if agreement < DIFFER else "doubtful"
        return Verdict(answer, "", 0, 0.0, 0.0, *shape, agreement)
    if len(found) < FEWEST:
        return Verdict("doubtful", "", 0, 0.0, 0.0, *shape)
    p1, p10 = float((found <= 1).mean()), float((found <= DEPTH).mean())
    low, _ = interval(p10, len(found))
    answer = "yes" if p10 >= WORKS and low > FAILS else "no" if p10 < FAILS else "doubtful"
    return Verdict(answer, held_out, len(found), p1, p10, *shape)
