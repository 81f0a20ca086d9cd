import math

import pytest
import torch
from torch.nn.functional import normalize

from demalib import retrieval
from demalib.retrieval import (
    METRICS,
    Metric,
    ReleasedRetriever,
    Retriever,
    k_occurrence,
    mean_top_cosine,
    released_csls_d,
)


@pytest.fixture
def spaces(gen):
    return (torch.randn(40, 6, generator=gen, dtype=torch.float64),
            torch.randn(50, 6, generator=gen, dtype=torch.float64))  # fmt: skip


def scores(mapped, targets, metric, rows=None):
    rows = torch.arange(len(mapped)) if rows is None else rows
    return torch.cat([s for _, s in Retriever(mapped, targets, 5).iter_scores(rows, metric)])


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
    monkeypatch.setattr(retrieval, "CHUNK_NUMBERS", 130)  # two or three rows at a time
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
    assert k_occurrence(Retriever(*spaces, 5), Metric(name), 3).tolist() == want


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
    with pytest.raises(ValueError, match="use one of nn, isf, csls, csls-d"):
        Metric("cosine")


def test_the_released_csls_d_is_ours_but_for_its_slips(spaces):
    """On unit vectors, away from rank 0, only the base of the ranks differs."""
    x, y = (normalize(side, dim=1) for side in spaces)
    theirs = released_csls_d(x, y, torch.arange(40), 0.01)
    csls = torch.cat(
        [s for _, s in Retriever(x, y, 10).iter_scores(torch.arange(40), Metric("csls"))]
    )
    i, j = torch.arange(40).double()[:, None], torch.arange(50).double()  # from 0
    want = csls / 0.01 - (i.log() - j.log()).abs()
    torch.testing.assert_close(theirs[1:, 1:], want[1:, 1:], rtol=1e-6, atol=1e-5)
    assert theirs[0, 0].isnan() and (theirs[0, 1:] == -torch.inf).all()
    assert (theirs[1:, 0] == -torch.inf).all()


def test_the_released_csls_d_without_faiss_rewards_hubs(spaces):
    x, y = (normalize(side, dim=1) for side in spaces)
    rows = torch.arange(1, 40)
    good, bad = (released_csls_d(x, y, rows, faiss=faiss)[:, 1:] for faiss in (True, False))
    hubness = mean_top_cosine(y, x, 10)[1:]
    assert ((bad - good).argsort(dim=1) == hubness.argsort()).all()  # the sign is wrong


@pytest.mark.parametrize("faiss", [True, False])
def test_the_released_retriever_scores_as_the_released_code(spaces, faiss, monkeypatch):
    want = released_csls_d(*spaces, torch.arange(40), 0.02, faiss)
    monkeypatch.setattr(retrieval, "CHUNK_NUMBERS", 130)  # two or three rows at a time
    way, metric = ReleasedRetriever(*spaces, faiss), Metric("csls-d", sigma2=0.02)
    got = torch.cat([s for _, s in way.iter_scores(torch.arange(40), metric)])
    torch.testing.assert_close(got[1:], want[1:])
    best = got.argmax(dim=1)
    assert best[0] == 0 and (best[1:] != 0).all() and not got.isnan().any()


def test_the_released_retriever_is_ours_under_other_metrics(spaces):
    rows = torch.arange(40)
    ours, theirs = Retriever(*spaces), ReleasedRetriever(*spaces)
    torch.testing.assert_close(*(w.translate(rows, Metric("csls"))[0] for w in (ours, theirs)))
