"""Iterative closest points: match words to nearest mapped words, fit maps to the matches, again.

Non-Adv, and with refinement Non-Adv (R), assume that the principal axes of two languages agree up
to their signs, well enough for nearest neighbours to do the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize
from tqdm import tqdm

from demalib.config import Config
from demalib.mapping import Mapping, Pair
from demalib.refine import refine
from demalib.retrieval import chunks
from demalib.rivals.shared import require_words

AXES = 25  # principal axes of the first stage, released code
BATCH, RATE, BETAS = 128, 1e-2, (0.5, 0.999)  # of Adam, fresh in each epoch, released code
CYCLE_WEIGHT = 0.01  # of the cycle terms, released code
RESTARTS = 100  # released code
TOGETHER = 10  # restarts that run side by side; bounds memory, changes nothing else


class Size(NamedTuple):
    """What the recipe decides."""

    axes_words: int  # the most frequent ones, in the space of the principal axes
    axes_epochs: int
    held_epochs: int  # in the full space, on the matches of the principal axes
    words: int  # in the full space, matched again in each epoch
    epochs: int
    last_words: int  # in the full space, reciprocal pairs only
    last_epochs: int


PUBLISHED = Size(5000, 100, 1, 5000, 49, 7500, 50)  # released code
LAPTOP = Size(2000, 20, 5, 5000, 15, 7500, 10)


class Runs(NamedTuple):
    """Some runs of the algorithm side by side."""

    x: Tensor  # (R, n, d)
    y: Tensor  # (R, n, d)
    T_x: Tensor  # (R, d, d), source to target
    T_y: Tensor  # (R, d, d), target to source


def principal(side: Tensor) -> Tensor:
    """Words on their principal axes, with unit variance over all numbers, ``(n, AXES)``."""
    side = normalize(side, dim=1)
    side = side - side.mean(dim=0)
    _, _, vt = torch.linalg.svd(side, full_matrices=False)
    side = side @ vt[:AXES].T
    return side / side.std()


def nearest(points: Tensor, others: Tensor) -> Tensor:
    """Rows of the nearest other points, by Euclidean distance: ``(R, n)`` for ``(R, n, d)``."""
    out = torch.empty(points.shape[:2], dtype=torch.long)
    half = others.square().sum(dim=2) / 2
    for run in range(len(points)):
        for part in chunks(points.shape[1], others.shape[1]):
            scores = (points[run, part] @ others[run].T).sub_(half[run])
            out[run, part] = scores.argmax(dim=1)
    return out


def match(runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """The word whose image is nearest to each word, and how far that is.

    Returns:
        Rows of target words for source words, ``(R, n)``, of source words for target words,
        ``(R, n)``, and the smaller one of the two mean squared distances, ``(R,)``.
    """
    back, forth = runs.y @ runs.T_y, runs.x @ runs.T_x
    to_y, to_x = nearest(runs.x, back), nearest(runs.y, forth)
    errors = [
        (points - _take(images, rows)).square().sum(dim=2).mean(dim=1)
        for points, images, rows in ((runs.x, back, to_y), (runs.y, forth, to_x))
    ]
    return to_y, to_x, torch.minimum(*errors)


def _take(points: Tensor, rows: Tensor) -> Tensor:
    return points.gather(1, rows[:, :, None].expand(-1, -1, points.shape[2]))


def learn(
    runs: Runs, to_y: Tensor, to_x: Tensor, generator: torch.Generator, keep: tuple | None = None
) -> Runs:
    """An epoch of mini-batches on given matches: fit both maps, and their cycles.

    Args:
        runs: The maps so far.
        to_y: Target word of each source word, ``(R, n)``.
        to_x: Source word of each target word, ``(R, n)``.
        generator: Source of the order.
        keep: Rows of the source and of the target words that take part, all if left out.
    """
    T_x, T_y = (T.clone().requires_grad_() for T in (runs.T_x, runs.T_y))
    optimizer = torch.optim.Adam([T_x, T_y], RATE, BETAS)
    keep = keep or (torch.arange(runs.x.shape[1]),) * 2
    n = min(map(len, keep))
    order = [rows[torch.randperm(len(rows), generator=generator)][:n] for rows in keep]
    for low in range(0, max(1, n - BATCH + 1), BATCH):  # a last part of a batch is left out
        loss, some = 0.0, [rows[low : low + BATCH] for rows in order]
        for side, other, T, back, rows, to in (
            (runs.x, runs.y, T_x, T_y, some[0], to_y), (runs.y, runs.x, T_y, T_x, some[1], to_x)
        ):  # fmt: skip
            points, targets = side[:, rows], _take(other, to[:, rows])
            image = points @ T
            error = (targets - image).square() + CYCLE_WEIGHT * (points - image @ back).square()
            loss = loss + error.sum() / (2 * len(rows))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return runs._replace(T_x=T_x.detach(), T_y=T_y.detach())


def match_axes(x: Tensor, y: Tensor, epochs: int, generator: torch.Generator) -> list[Tensor]:
    """Matches of the best of many runs on the principal axes, whose signs are drawn by lot.

    Args:
        x: Source words on their principal axes, ``(n, k)``.
        y: Target words on theirs, ``(n, k)``.
        epochs: Of each run.
        generator: Source of the signs and of the order.

    Returns:
        As the first two of :func:`match`, for the one run with the least distance.
    """
    best, least, k = [], torch.inf, x.shape[1]
    for low in tqdm(range(0, RESTARTS, TOGETHER), desc="restarts", disable=None):
        count = min(TOGETHER, RESTARTS - low)
        signs = 2.0 * torch.randint(2, (count, 1, k), generator=generator) - 1
        eye = torch.eye(k).repeat(count, 1, 1)
        runs = Runs(x * signs, y.repeat(count, 1, 1), eye, eye)
        for _ in range(epochs):
            to_y, to_x, _ = match(runs)
            runs = learn(runs, to_y, to_x, generator)
        to_y, to_x, errors = match(runs)
        if float(errors.min()) < least:
            least, run = float(errors.min()), int(errors.argmin())
            best = [to_y[run : run + 1], to_x[run : run + 1]]
    return best


def fit(pair: Pair, config: Config) -> Mapping:
    """Mini-batch cycle iterative closest points (Hoshen and Wolf 2018, Section 3).

    Defaults, all of the released code: 100 runs of 100 epochs on 25 principal axes of the 5,000
    most frequent words, each from the identity with the signs of the axes drawn by lot; the run
    with the least distance hands its matches to 50 epochs in the full space, from the identity;
    then 50 epochs on 7,500 words with reciprocal pairs only. In an epoch words are matched once,
    then Adam at 0.01, betas 0.5 and 0.999, batch 128, fits both maps, cycle weight 0.01.

    Args:
        pair: Two spaces.
        config: ``seed``; ``refinements`` for Non-Adv (R) (5 in its row; none by default), with
            ``dictionary``, ``max_rank`` and ``knn``; ``recipe`` ``laptop`` has 2,000 words and 20
            epochs on the axes, holds their matches for 5, then has 15 and 10 epochs instead.

    Note:
        The released code leaves vectors as they are, but standardises each word before it finds the
        principal axes; here they have the pair's normalisation, and unit length at the axes. Its
        signs vary because its principal axes come from a randomised algorithm. Its weight decay
        of 1e-5, which it adds to gradients as a constant, is left out.
    """
    require_words(pair, "non-adv")
    size = LAPTOP if config.recipe == "laptop" else PUBLISHED
    generator = torch.Generator().manual_seed(config.seed)
    least = min(len(pair.x), len(pair.y))
    n, eye = min(size.words, least), torch.eye(pair.src.dim)[None]
    top = min(size.axes_words, n)
    to_y, to_x = match_axes(
        *(principal(side[:n])[:top] for side in (pair.x, pair.y)), size.axes_epochs, generator
    )
    runs = Runs(pair.x[None, :top], pair.y[None, :top], eye, eye)
    for _ in range(size.held_epochs):
        runs = learn(runs, to_y, to_x, generator)
    runs = runs._replace(x=pair.x[None, :n], y=pair.y[None, :n])
    for _ in tqdm(range(size.epochs), desc="full space", unit="epoch", disable=None):
        to_y, to_x, _ = match(runs)
        runs = learn(runs, to_y, to_x, generator)
    n = min(size.last_words, least)
    runs = runs._replace(x=pair.x[None, :n], y=pair.y[None, :n])
    for _ in tqdm(range(size.last_epochs), desc="reciprocal", unit="epoch", disable=None):
        to_y, to_x, _ = match(runs)
        rows = torch.arange(n)
        mutual = (rows[to_x[0, to_y[0]] == rows], rows[to_y[0, to_x[0]] == rows])
        runs = learn(runs, to_y, to_x, generator, mutual)
    if config.refinements > 0:
        W = refine(pair, runs.T_x[0], config, config.refinements)
        return Mapping.orthogonal(W, pair, config)
    return Mapping.of(runs.T_x[0], runs.T_y[0], pair, config)
