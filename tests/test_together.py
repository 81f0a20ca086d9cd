from itertools import pairwise

import pytest
import torch
from torch.nn.functional import normalize

from demalib import em, together
from demalib.finish import Evidence, symmetric_step
from demalib.flow import random_orthogonal
from demalib.together import anneal_together, rotate_together, symmetric_together

NONE = torch.empty(0, 2, dtype=torch.long)


@pytest.fixture
def three(gen):
    """Three noised rotations of one space, and what leads back from each."""
    x = normalize(torch.randn(600, 12, generator=gen))
    turns = [torch.eye(12), *(random_orthogonal(12, gen) for _ in range(2))]
    noised = [normalize(x + 0.05 * torch.randn(600, 12, generator=gen)) for _ in turns]
    sides = [side @ turn.T for side, turn in zip(noised, turns, strict=True)]
    return sides, turns


def links(n):
    return {(a, b): NONE for a in range(n) for b in range(a + 1, n)}


def test_three_noised_rotations_are_recovered(three, gen):
    sides, turns = three
    cross = {(a, b): sides[a].T @ sides[b] for a, b in links(3)}
    start = [torch.eye(12)] * 3
    maps = rotate_together(cross, start, hub=0)
    for W, turn in zip(maps, turns, strict=True):
        torch.testing.assert_close(W, turn, atol=0.05, rtol=0)


def test_no_sweep_lowers_the_sum(gen, monkeypatch):
    cross = {link: torch.randn(5, 5, generator=gen) for link in links(4)}
    start = [random_orthogonal(5, gen) for _ in range(4)]

    def total(maps):
        return sum(float((maps[a] * (C @ maps[b])).sum()) for (a, b), C in cross.items())

    sums = [total(start)]
    for sweeps in range(1, 6):
        monkeypatch.setattr(together, "SWEEPS", sweeps)
        sums.append(total(rotate_together(cross, start, hub=1)))
    assert all(b >= a - 1e-4 for a, b in pairwise(sums)) and sums[1] > sums[0]


def test_two_languages_are_agreement_em(three, gen):
    (x, y, _), turns = three
    start = turns[1].T @ random_orthogonal(12, gen)
    schedule = (em.Phase(500, 4.0, 2.0, 1.0, 3),)
    alone = em.anneal(x, y, start, schedule=schedule)
    maps, evidence = anneal_together([x, y], [torch.eye(12), start.T], links(2), schedule=schedule)
    torch.testing.assert_close(maps[1].T, alone.W, atol=1e-5, rtol=0)
    torch.testing.assert_close(evidence[0, 1].cross, alone.evidence.cross, atol=1e-3, rtol=1e-4)


def test_for_two_languages_the_symmetric_step_is_that_of_two(three):
    (x, y, _), _ = three
    found = Evidence.of_pairs(x.double(), y.double())
    P, Q = symmetric_together({(0, 1): found}, 2)
    P_x, P_y = symmetric_step(found)
    torch.testing.assert_close(P @ Q.T, P_x @ P_y.T, atol=1e-6, rtol=1e-6)


def test_the_order_of_the_languages_changes_only_the_frame(three):
    sides, _ = three
    evidence = {
        (a, b): Evidence.of_pairs(sides[a].double(), sides[b].double()) for a, b in links(3)
    }
    other = {(2 - b, 2 - a): found.swap() for (a, b), found in evidence.items()}
    P, Q = symmetric_together(evidence, 3), symmetric_together(other, 3)[::-1]
    for a, b in links(3):
        torch.testing.assert_close(P[a] @ P[b].T, Q[a] @ Q[b].T, atol=1e-6, rtol=1e-6)
