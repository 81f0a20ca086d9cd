import pytest
import torch
from torch.nn.functional import normalize

from demalib.procrustes import (
    MODES,
    best_match,
    best_partners,
    dictionary_cosine,
    dictionary_dot,
    induce_dictionary,
    iter_refine,
    orthogonal_factor,
    procrustes,
    refine,
)


def test_procrustes_recovers_a_planted_rotation(gen):
    a = torch.randn(30, 8, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(8, 8, generator=gen, dtype=torch.float64))
    W = procrustes(a, a @ q)
    torch.testing.assert_close(W, q)
    torch.testing.assert_close(W @ W.T, torch.eye(8, dtype=torch.float64))


def test_procrustes_beats_any_other_rotation(gen):
    a, b = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    best = (a @ procrustes(a, b) - b).norm()
    for _ in range(50):
        q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
        assert (a @ q - b).norm() >= best


def test_dictionary_modes_nest(gen):
    x, y = torch.randn(2, 60, 5, generator=gen)
    found = {
        mode: {tuple(p) for p in induce_dictionary(x, y, mode, 50, 5).tolist()} for mode in MODES
    }
    assert found["mutual"] == found["s2t"] & found["t2s"]
    assert found["union"] == found["s2t"] | found["t2s"]
    assert len(found["s2t"]) == len(found["t2s"]) == 50
    assert max(max(pair) for pair in found["union"]) < 50
    with pytest.raises(ValueError, match="use one of s2t, t2s, union, mutual"):
        induce_dictionary(x, y, "both")


def test_a_dictionary_is_the_best_csls_match(gen):
    x, y = (normalize(s, dim=1) for s in torch.randn(2, 40, 5, generator=gen))
    cos = x @ y.T
    csls = 2 * cos - cos.topk(10, 1).values.mean(1, keepdim=True) - cos.topk(10, 0).values.mean(0)
    found = induce_dictionary(x, y, "s2t")
    assert found[:, 1].tolist() == csls.argmax(dim=1).tolist()
    assert induce_dictionary(x, y, "t2s")[:, 0].tolist() == csls.argmax(dim=0).tolist()


def test_best_partners_are_those_of_the_whole_table_and_the_first_of_equal_ones(gen):
    scores = torch.randint(0, 6, (9, 7), generator=gen).double()  # many are equal
    tiles = [(part, scores[part]) for part in (slice(0, 4), slice(4, 8), slice(8, 9))]
    found = best_partners(tiles)
    want = (scores.amax(dim=1), *(scores.numpy().argmax(axis=axis) for axis in (1, 0)))
    for ours, theirs in zip(found, want, strict=True):
        assert ours.tolist() == theirs.tolist()


@pytest.fixture
def turned(gen):
    """Words, their turned and noised copy, and the map that ten of them imply."""
    x = normalize(torch.randn(300, 10, generator=gen), dim=1)
    q = orthogonal_factor(torch.randn(10, 10, generator=gen))
    y = normalize(x @ q + 0.1 * torch.randn(300, 10, generator=gen), dim=1)
    return x, y, procrustes(x[:10], y[:10])


def test_every_round_is_solved_on_the_dictionary_of_the_last(turned):
    x, y, start = turned
    W, how = start, {"mode": "s2t", "max_rank": 10_000, "knn": 10}
    for new, found in iter_refine(x, y, start, 3, **how):
        assert found.equal(induce_dictionary(x @ W, y, "s2t"))
        torch.testing.assert_close(new, procrustes(x[found[:, 0]], y[found[:, 1]]))
        W = new
    torch.testing.assert_close(refine(x, y, start, 3, **how), W)
    assert refine(x, y, start, 0, **how) is start


def test_refinement_raises_the_cosine_of_its_own_dictionary(turned):
    x, y, start = turned
    before, after = (dictionary_cosine(x @ W, y) for W in (start, refine(x, y, start, 5)))
    assert before < after <= 1


def test_the_criterion_is_the_mean_over_the_best_csls_partners(gen):
    x, y = torch.randn(40, 5, generator=gen), torch.randn(50, 5, generator=gen)
    unit, words = normalize(x[:30], dim=1), normalize(y[:30], dim=1)
    best = best_match(unit, words)[0]
    want = float((unit * words[best]).sum(dim=1).mean())
    assert dictionary_cosine(x, y, 30) == pytest.approx(want)
    assert dictionary_cosine(7 * x, 3 * y, 30) == pytest.approx(want)
    assert dictionary_dot(7 * unit, words, 10) != pytest.approx(dictionary_dot(unit, words, 10))


def test_the_orthogonal_factor_has_the_largest_trace(gen):
    cross = torch.randn(5, 5, generator=gen, dtype=torch.float64)
    W = orthogonal_factor(cross)
    torch.testing.assert_close(W @ W.T, torch.eye(5, dtype=torch.float64))
    sums = torch.linalg.svdvals(cross).sum()
    torch.testing.assert_close((W.T @ cross).trace(), sums)
