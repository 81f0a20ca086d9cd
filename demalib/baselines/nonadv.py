"""Iterative closest points: match words to the nearest mapped words, fit maps to them, repeat.

Non-Adv, and with refinement Non-Adv (R), assume that the principal axes of two languages agree up
to their signs, well enough for nearest neighbours to do the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.baselines.shared import Sizes, require_words
from demalib.config import Config
from demalib.device import make_generator
from demalib.pair import Mapping, Pair
from demalib.procrustes import refine
from demalib.progress import progress

AXES = 25  # principal axes of the first stage, released code
BATCH, RATE, BETAS = 128, 1e-2, (0.5, 0.999)  # of Adam, which restarts in each epoch, released code
CYCLE_WEIGHT = 0.01  # of the cycle terms, released code
RESTARTS = 100  # released code
TOGETHER = 10  # restarts that run in parallel; limits memory, changes nothing else


class Size(NamedTuple):
    """Settings that the recipe decides."""

    axes_words: int  # most frequent words, in the space of the principal axes
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
    """Some parallel runs of the algorithm."""

    x: Tensor  # (R, n, d)
    y: Tensor  # (R, n, d)
    T_x: Tensor  # (R, d, d), source to target
    T_y: Tensor  # (R, d, d), target to source


def principal(side: Tensor) -> Tensor:
    """Project words on their principal axes, scaled to unit variance, ``(n, AXES)``."""
    side = normalize(side, dim=1)
    side = side - side.mean(dim=0)
    _, _, vt = torch.linalg.svd(side, full_matrices=False)
    side = side @ vt[:AXES].T
    return side / side.std()


def nearest(points: Tensor, others: Tensor) -> Tensor:
    """Find the nearest other points by Euclidean distance: rows ``(R, n)`` for ``(R, n, d)``."""
    half = others.square().sum(dim=2) / 2
    each = zip(points, others, half, strict=True)
    return torch.stack([(mine @ theirs.T).sub_(h).argmax(dim=1) for mine, theirs, h in each])


def take(points: Tensor, rows: Tensor) -> Tensor:
    """Select each run's own rows of its points, ``(R, n, d)``."""
    return points.gather(1, rows[:, :, None].expand(-1, -1, points.shape[2]))


def match(runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """Find the word whose image is nearest to each word, and the distances.

    Returns:
        Rows of target words for source words, ``(R, n)``, of source words for target words,
        ``(R, n)``, and the smaller of the two mean squared distances, ``(R,)``.
    """
    images = (runs.y @ runs.T_y, runs.x @ runs.T_x)
    rows = nearest(runs.x, images[0]), nearest(runs.y, images[1])
    errors = [
        (points - take(image, row)).square().sum(dim=2).mean(dim=1)
        for points, image, row in zip((runs.x, runs.y), images, rows, strict=True)
    ]
    return *rows, torch.minimum(*errors)


def learn(runs: Runs, to_y: Tensor, to_x: Tensor, mutual: bool, generator: torch.Generator) -> Runs:
    """Fit both maps, and their cycles, to given matches in one epoch of mini-batches.

    Args:
        runs: The maps so far.
        to_y: Target word of each source word, ``(R, n)``.
        to_x: Source word of each target word, ``(R, n)``.
        mutual: Use only pairs that match in both directions; for a single run.
        generator: Source of randomness, for the order of words.
    """
    T_x, T_y = (T.clone().requires_grad_() for T in (runs.T_x, runs.T_y))
    optimizer = torch.optim.Adam([T_x, T_y], RATE, BETAS)
    rows = torch.arange(runs.x.shape[1], device=runs.x.device)
    parts = [rows, rows]
    if mutual:
        parts = [rows[to_x[0, to_y[0]] == rows], rows[to_y[0, to_x[0]] == rows]]
    n = min(map(len, parts))
    orders = [
        part[torch.randperm(len(part), generator=generator, device=part.device)][:n]
        for part in parts
    ]
    for low in range(0, max(1, n - BATCH + 1), BATCH):  # an incomplete last batch is left out
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
    """Match and learn for some epochs."""
    for _ in range(epochs):
        to_y, to_x, _ = match(runs)
        runs = learn(runs, to_y, to_x, mutual, generator)
    return runs


def match_axes(
    x: Tensor, y: Tensor, epochs: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Match words on the principal axes with random signs; return the best of many runs.

    Args:
        x: Source words on their principal axes, ``(n, k)``.
        y: Target words on theirs, ``(n, k)``.
        epochs: Number of epochs of each run.
        generator: Source of randomness, for the signs and the order of words.

    Returns:
        The first two results of :func:`match` for the run with the least distance, ``(1, n)`` each.
    """
    found, k = [], x.shape[1]
    for low in progress(range(0, RESTARTS, TOGETHER), desc="restarts"):
        count = min(TOGETHER, RESTARTS - low)
        signs = 2.0 * torch.randint(2, (count, 1, k), generator=generator, device=x.device) - 1
        eye = torch.eye(k, device=x.device).repeat(count, 1, 1)
        start = Runs(x * signs, y.repeat(count, 1, 1), eye, eye)
        to_y, to_x, errors = match(iterate(start, epochs, generator))
        run = int(errors.argmin())
        found.append((float(errors[run]), to_y[run : run + 1], to_x[run : run + 1]))
    _, best_y, best_x = min(found, key=lambda match: match[0])
    return best_y, best_x


def fit(pair: Pair, config: Config, rounds: int = 0) -> Mapping:
    """Fit Non-Adv: mini-batch cycle iterative closest points (Hoshen and Wolf 2018, Section 3).

    Defaults, all of the released code: 100 runs of 100 epochs on 25 principal axes of the 5,000
    most frequent words, each from the identity with random signs of the axes; 50 epochs in the
    full space, from the identity and the matches of the run with the least distance; then 50
    epochs on 7,500 words with reciprocal pairs only. In an epoch words are matched once, then
    Adam at 0.01, betas 0.5 and 0.999, batch 128, fits both maps, cycle weight 0.01.

    Args:
        pair: Two spaces.
        config: ``seed``; ``refinements``, ``dictionary``, ``max_rank`` and ``knn``; the recipe
            ``laptop`` has 1,500 words and 20 epochs on the axes, keeps their matches for 7 epochs,
            then has 15 and 10 epochs instead.
        rounds: Default number of refinements; 5 for Non-Adv (R).

    Note:
        The released code leaves vectors as they are, but standardises each word before it finds the
        principal axes; here they have the pair's normalisation, and unit length for the axes. In
        the released code the signs vary because a randomised algorithm finds the axes. Its weight
        decay of 1e-5, which it adds to gradients as a constant, is left out.
    """
    require_words(pair, "non-adv")
    size = SIZES.of(config)
    generator = make_generator(config.seed, pair.x.device)
    eye = torch.eye(pair.src.dim, device=pair.x.device)[None]

    def start(words: int, T_x: Tensor, T_y: Tensor) -> Runs:
        n = min(words, len(pair.x), len(pair.y))
        return Runs(pair.x[None, :n], pair.y[None, :n], T_x, T_y)

    n = min(size.axes_words, len(pair.x), len(pair.y))
    x, y, *_ = start(size.words, eye, eye)
    to_y, to_x = match_axes(principal(x[0])[:n], principal(y[0])[:n], size.axes_epochs, generator)
    runs = start(n, eye, eye)
    for _ in range(size.held_epochs):
        runs = learn(runs, to_y, to_x, False, generator)
    runs = iterate(start(size.words, runs.T_x, runs.T_y), size.epochs, generator)
    runs = start(size.last_words, runs.T_x, runs.T_y)
    runs = iterate(runs, size.last_epochs, generator, mutual=True)
    rounds = rounds if config.refinements < 0 else config.refinements
    if rounds:
        W = refine(pair.x, pair.y, runs.T_x[0], rounds, **config.refinement)
        return Mapping.orthogonal(W, pair, config)
    return Mapping.of(runs.T_x[0], runs.T_y[0], pair, config)
