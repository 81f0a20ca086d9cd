import math

import pytest
import torch
from torch.nn.functional import normalize

from demalib import retrieval, tiles
from demalib.retrieval import (
    METRICS,
    Metric,
    Retriever,
    best_columns,
    csls_,
    iter_csls,
    k_occurrence,
    mean_top_cosine,
)
from demalib.tiles import Clusters, Partners


@pytest.fixture
def spaces(gen):
    return (
        torch.randn(40, 6, generator=gen, dtype=torch.float64),
        torch.randn(50, 6, generator=gen, dtype=torch.float64),
    )


def read(mapped, targets):
    """Every second word looks like the target word of the same rank."""
    row = torch.arange(len(mapped))
    row = torch.where(row % 2 == 0, row, -1)
    return Partners(row, torch.where(row >= 0, 0.3, 0.0))


def scores(mapped, targets, metric, rows=None):
    rows = torch.arange(len(mapped)) if rows is None else rows
    retriever = Retriever(mapped, targets, 5, read)
    return torch.cat([s.clone() for _, s in retriever.iter_scores(rows, metric)])


def test_csls_is_its_definition(spaces):
    x, y = (normalize(side, dim=1) for side in spaces)
    cos = x @ y.T
    want = torch.empty_like(cos)
    for i in range(len(x)):
        for j in range(len(y)):
            r_t = sorted(cos[i].tolist())[-5:]
            r_s = sorted(cos[:, j].tolist())[-5:]
            want[i, j] = 2 * cos[i, j] - sum(r_t) / 5 - sum(r_s) / 5
    torch.testing.assert_close(scores(*spaces, Metric("csls")), want)


def test_all_csls_scores_are_of_one_formula(spaces, monkeypatch):
    x, y = (normalize(side, dim=1) for side in spaces)
    want, cosines = scores(*spaces, Metric("csls")), x @ y.T
    monkeypatch.setattr(tiles, "CHUNK_NUMBERS", 130)
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 2)
    found = torch.cat([part.clone() for _, part in iter_csls(x, y, 5)])
    torch.testing.assert_close(found, want)
    r_src, r_tgt = mean_top_cosine(y, x, 5), mean_top_cosine(x, y, 5)
    made = csls_(cosines, r_src, r_tgt)
    assert made is cosines  # in place
    torch.testing.assert_close(made, want)
    half = csls_(x @ y.T, r_src)
    torch.testing.assert_close(half - r_tgt[:, None], want)
    assert torch.equal(half.argmax(dim=1), want.argmax(dim=1))


def test_csls_d_is_csls_with_log_densities_for_cosines(spaces):
    """Section 4.1: replace cos by log p(y, y_j | x_i); the constants cancel."""
    x, y = (normalize(side, dim=1) for side in spaces)
    sigma2, tau = 0.02, 3.0
    log_density = -torch.cdist(x, y).square() / (2 * sigma2)  # log p~(x W | y_j), up to a constant
    i, j = torch.arange(1, 41)[:, None], torch.arange(1, 51)
    log_prior = -(i.log() - j.log()).abs() / tau  # log pi(y_j | x_i), up to a constant
    r_t = log_density.topk(5, dim=1).values.mean(dim=1, keepdim=True)
    r_s = log_density.topk(5, dim=0).values.mean(dim=0)
    want = 2 * (log_density + log_prior) - r_t - r_s
    got = scores(*spaces, Metric("csls-d", sigma2=sigma2, tau=tau))
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-5)


def test_csls_d_identity(spaces):
    i, j = torch.arange(1, 41).float()[:, None], torch.arange(1, 51).float()
    want = scores(*spaces, Metric("csls")) / 0.01 - (2 / 2.0) * (i.log() - j.log()).abs()
    torch.testing.assert_close(scores(*spaces, Metric("csls-d")), want.double())


def test_inverted_softmax_is_a_softmax_over_source_words(spaces):
    x, y = (normalize(side, dim=1) for side in spaces)
    want = torch.log_softmax(30 * (x @ y.T), dim=0)
    torch.testing.assert_close(scores(*spaces, Metric("isf")), want)


@pytest.mark.parametrize("name", METRICS)
def test_small_chunks_change_nothing(spaces, name, monkeypatch):
    whole = scores(*spaces, Metric(name))
    monkeypatch.setattr(tiles, "CHUNK_NUMBERS", 130)
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 2)  # or three at a time
    torch.testing.assert_close(scores(*spaces, Metric(name)), whole)


@pytest.mark.parametrize("name", METRICS)
def test_rotating_both_spaces_changes_nothing(spaces, gen, name):
    q, _ = torch.linalg.qr(torch.randn(6, 6, generator=gen, dtype=torch.float64))
    rotated = scores(spaces[0] @ q, spaces[1] @ q, Metric(name))
    torch.testing.assert_close(rotated, scores(*spaces, Metric(name)))


@pytest.mark.parametrize("name", METRICS)
def test_some_rows_are_as_all_rows(spaces, name):
    rows = torch.tensor([7, 0, 33])
    torch.testing.assert_close(
        scores(*spaces, Metric(name), rows), scores(*spaces, Metric(name))[rows]
    )


def test_translate_is_best_first_and_copes_with_few_targets(spaces):
    values, columns = Retriever(spaces[0], spaces[1][:3]).translate(torch.arange(5), Metric())
    assert columns.shape == (5, 3)
    assert (values.diff(dim=1) <= 0).all()


def test_the_most_frequent_words_have_finite_csls_d(spaces):
    assert torch.isfinite(scores(*spaces, Metric("csls-d"))).all()  # rank 1, not 0


def test_mean_top_cosine_of_a_single_neighbour(spaces):
    x, y = (normalize(side, dim=1) for side in spaces)
    torch.testing.assert_close(mean_top_cosine(x, y, 1), (x @ y.T).amax(dim=1))
    assert math.isclose(float(mean_top_cosine(x[:1], x, 1)[0]), 1, rel_tol=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_k_occurrence_counts_the_lists_that_a_word_is_in(spaces, name):
    table = scores(*spaces, Metric(name))
    want = [0] * table.shape[1]
    for row in table.tolist():
        for j in sorted(range(len(row)), key=row.__getitem__)[-3:]:
            want[j] += 1
    assert k_occurrence(Retriever(*spaces, 5, read), Metric(name), 3).tolist() == want


def test_a_planted_hub_is_found_and_csls_shrinks_it(gen):
    """A target word at the centre of the source words is near to all of them."""
    x = torch.randn(60, 8, generator=gen, dtype=torch.float64) + 1.0
    y = x + 2 * torch.randn(60, 8, generator=gen, dtype=torch.float64)
    y = torch.cat([y, x.mean(dim=0, keepdim=True)])
    counts = {name: k_occurrence(Retriever(x, y), Metric(name), 1) for name in ("nn", "csls")}
    assert counts["nn"].argmax() == 60
    assert counts["csls"][60] < counts["nn"][60]
    assert counts["nn"].sum() == counts["csls"].sum() == 60


def test_unknown_metric():
    with pytest.raises(ValueError, match="use one of nn, isf, csls, csls-d, csls-s"):
        Metric("cosine")


# ---------------------------------------------------------------- lazily, with the same result


def lazily_and_not(monkeypatch, mapped, targets, rows, metric, k=10):
    """The same translations twice: lazily, and by brute force."""
    monkeypatch.setattr(retrieval, "LAZY_SHARE", 0)
    lazy = Retriever(mapped, targets)
    found = lazy.translate(rows, metric, k)
    assert "r_src" not in vars(lazy)
    brute = Retriever(mapped, targets)
    assert len(brute.r_src) == len(targets)
    return lazy, found, brute.translate(rows, metric, k)


@pytest.mark.parametrize("metric", [Metric("csls"), Metric("csls-d", sigma2=0.02)])
@pytest.mark.parametrize("shortlist", [1, 8])
def test_lazy_translations_are_those_of_brute_force(metric, shortlist, gen, monkeypatch):
    monkeypatch.setattr(tiles, "GROUP", 30)
    monkeypatch.setattr(retrieval, "SHORTLIST", shortlist)
    x = torch.randn(900, 12, generator=gen, dtype=torch.float64)
    y = torch.cat([x[:500], x[:3].repeat(60, 1)])  # crowds around three words
    y = y + 0.5 * torch.randn(680, 12, generator=gen)
    rows = torch.randperm(900, generator=gen)[:40]
    lazy, found, want = lazily_and_not(monkeypatch, x, y, rows, metric)
    torch.testing.assert_close(found[0], want[0])
    assert torch.equal(found[1], want[1])
    known = lazy.r_src_known.isfinite()
    assert 0 < known.sum() < len(y) - 100  # most of r_src was never needed
    torch.testing.assert_close(lazy.r_src_known[known], Retriever(x, y).r_src[known])


def test_a_bound_is_never_above_what_it_bounds(gen, monkeypatch):
    monkeypatch.setattr(tiles, "GROUP", 20)
    x, y = (normalize(torch.randn(n, 8, generator=gen), dim=1) for n in (700, 300))
    exact = mean_top_cosine(y, x, 10)
    bounds = [Clusters(x).near(y, 10, probes)[0].mean(dim=1) for probes in (1, 4, 10_000)]
    for worse, better in zip(bounds, [*bounds[1:], exact], strict=True):
        assert (worse <= better + 1e-6).all() and worse.sum() <= better.sum() + 1e-4
    torch.testing.assert_close(bounds[-1], exact)
    cosines, rows = Clusters(x).near(y, 10)
    torch.testing.assert_close((y[:, None] * x[rows]).sum(dim=2), cosines)
    few, rows = Clusters(x).near(y, 100, probes=1)
    assert (few[:, -1] == -1).all() and (rows[:, -1] == 0).all()
    assert sorted(torch.cat(Clusters(x).members).tolist()) == list(range(700))


def test_equal_scores_are_in_order_of_the_vocabulary(gen, monkeypatch):
    """Signs are added exactly in floating point, so that equal words have equal scores."""
    monkeypatch.setattr(tiles, "GROUP", 10)
    signs = torch.randint(2, (80, 16), generator=gen).double() * 2 - 1
    x, y = signs, torch.cat([signs[:30].repeat(6, 1), signs])
    for metric in (Metric("nn"), Metric("csls")):
        _, found, want = lazily_and_not(monkeypatch, x, y, torch.arange(40), metric, 4)
        assert torch.equal(found[1], want[1])
        assert found[1][0].tolist() == [0, 30, 60, 90]


def test_the_best_columns_break_ties_at_the_end_too():
    scores = torch.tensor([[1.0, 2, 1, 3, 1, 1], [0, 0, 0, 0, 0, 0]])
    values, columns = best_columns(scores, 3)
    assert columns.tolist() == [[3, 1, 0], [0, 1, 2]] and values.tolist() == [[3, 2, 1], [0, 0, 0]]
    names = torch.tensor([[9, 8, 7, 6, 5, 4], [5, 4, 3, 2, 1, 0]])
    assert best_columns(scores, 3, names)[1].tolist() == [[6, 8, 4], [0, 1, 2]]
