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

from demalib.baselines.shared import Sizes, require_words
from demalib.config import Config
from demalib.device import make_generator
from demalib.pair import Mapping, Pair
from demalib.procrustes import refine

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
LAPTOP = Size(1500, 20, 7, 5000, 15, 7500, 10)
SIZES = Sizes(LAPTOP, PUBLISHED)


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
    half = others.square().sum(dim=2) / 2
    each = zip(points, others, half, strict=True)
    return torch.stack([(mine @ theirs.T).sub_(h).argmax(dim=1) for mine, theirs, h in each])


def take(points: Tensor, rows: Tensor) -> Tensor:
    """Each run's own rows of its points, ``(R, n, d)``."""
    return points.gather(1, rows[:, :, None].expand(-1, -1, points.shape[2]))


def match(runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """The word whose image is nearest to each word, and how far that is.

    Returns:
        Rows of target words for source words, ``(R, n)``, of source words for target words,
        ``(R, n)``, and the smaller one of the two mean squared distances, ``(R,)``.
    """
    images = (runs.y @ runs.T_y, runs.x @ runs.T_x)
    rows = nearest(runs.x, images[0]), nearest(runs.y, images[1])
    errors = [
        (points - take(image, row)).square().sum(dim=2).mean(dim=1)
        for points, image, row in zip((runs.x, runs.y), images, rows, strict=True)
    ]
    return *rows, torch.minimum(*errors)


def learn(runs: Runs, to_y: Tensor, to_x: Tensor, mutual: bool, generator: torch.Generator) -> Runs:
    """An epoch of mini-batches on given matches: fit both maps, and their cycles.

    Args:
        runs: The maps so far.
        to_y: Target word of each source word, ``(R, n)``.
        to_x: Source word of each target word, ``(R, n)``.
        mutual: Only pairs that match both ways take part, for a single run.
        generator: Source of the order.
    """
    T_x, T_y = (T.clone().requires_grad_() for T in (runs.T_x, runs.T_y))
    optimizer, rows = (
        torch.optim.Adam([T_x, T_y], RATE, BETAS),
        torch.arange(runs.x.shape[1], device=runs.x.device),
    )
    parts = [rows, rows]
    if mutual:
        parts = [rows[to_x[0, to_y[0]] == rows], rows[to_y[0, to_x[0]] == rows]]
    n = min(map(len, parts))
    orders = [
        part[torch.randperm(len(part), generator=generator, device=part.device)][:n]
        for part in parts
    ]
    for low in range(0, max(1, n - BATCH + 1), BATCH):  # a last part of a batch is left out
        loss = runs.x.new_zeros(())
        for points, others, T, back, order, to in (
            (runs.x, runs.y, T_x, T_y, orders[0], to_y),
            (runs.y, runs.x, T_y, T_x, orders[1], to_x),
        ):
            some = order[low : low + BATCH]
            image, match = points[:, some] @ T, take(others, to[:, some])
            cycle = (points[:, some] - image @ back).square().sum()
            loss = loss + ((match - image).square().sum() + CYCLE_WEIGHT * cycle) / (2 * BATCH)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return runs._replace(T_x=T_x.detach(), T_y=T_y.detach())


def iterate(runs: Runs, epochs: int, generator: torch.Generator, mutual: bool = False) -> Runs:
    """Match and learn, some epochs of it."""
    for _ in range(epochs):
        to_y, to_x, _ = match(runs)
        runs = learn(runs, to_y, to_x, mutual, generator)
    return runs


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
        signs = 2.0 * torch.randint(2, (count, 1, k), generator=generator, device=x.device) - 1
        eye = torch.eye(k, device=x.device).repeat(count, 1, 1)
        start = Runs(x * signs, y.repeat(count, 1, 1), eye, eye)
        to_y, to_x, errors = match(iterate(start, epochs, generator))
        if float(errors.min()) < least:
            least, run = float(errors.min()), int(errors.argmin())
            best = [to_y[run : run + 1], to_x[run : run + 1]]
    return best


def fit(pair: Pair, config: Config, rounds: int = 0) -> Mapping:
    """Mini-batch cycle iterative closest points (Hoshen and Wolf 2018, Section 3).

    Defaults, all of the released code: 100 runs of 100 epochs on 25 principal axes of the 5,000
    most frequent words, each from the identity with the signs of the axes drawn by lot; the run
    with the least distance hands its matches to 50 epochs in the full space, from the identity;
    then 50 epochs on 7,500 words with reciprocal pairs only. In an epoch words are matched once,
    then Adam at 0.01, betas 0.5 and 0.999, batch 128, fits both maps, cycle weight 0.01.

    Args:
        pair: Two spaces.
        config: ``seed``; ``refinements``, ``dictionary``, ``max_rank`` and ``knn``; ``recipe``
            ``laptop`` has 1,500 words and 20 epochs on the axes, holds their matches for 7, then
            has 15 and 10 epochs instead.
        rounds: Of refinement, 5 for Non-Adv (R), unless ``config.refinements`` says otherwise.

    Note:
        The released code leaves vectors as they are, but standardises each word before it finds the
        principal axes; here they have the pair's normalisation, and unit length at the axes. Its
        signs vary because its principal axes come from a randomised algorithm. Its weight decay
        of 1e-5, which it adds to gradients as a constant, is left out.
    """
    require_words(pair, "non-adv")
    size = SIZES.of(config)
    generator, eye = (
        make_generator(config.seed, pair.x.device),
        torch.eye(pair.src.dim, device=pair.x.device)[None],
    )

    def sides(words: int) -> list[Tensor]:
        return [side[None, : min(words, len(pair.x), len(pair.y))] for side in (pair.x, pair.y)]

    n = min(size.axes_words, len(pair.x), len(pair.y))
    axes = [principal(side[0])[:n] for side in sides(size.words)]
    found = match_axes(*axes, size.axes_epochs, generator)
    runs = Runs(*sides(n), eye, eye)
    for _ in range(size.held_epochs):
        runs = learn(runs, *found, False, generator)
    runs = iterate(Runs(*sides(size.words), runs.T_x, runs.T_y), size.epochs, generator)
    runs = Runs(*sides(size.last_words), runs.T_x, runs.T_y)
    runs = iterate(runs, size.last_epochs, generator, mutual=True)
    rounds = rounds if config.refinements < 0 else config.refinements
    if rounds:
        W = refine(pair.x, pair.y, runs.T_x[0], rounds, **config.refinement)
        return Mapping.orthogonal(W, pair, config)
    return Mapping.of(runs.T_x[0], runs.T_y[0], pair, config)
