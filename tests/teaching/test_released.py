import pytest
import torch
from torch.nn.functional import normalize

from demalib import tiles
from demalib.procrustes import dictionary_cosine
from demalib.retrieval import Metric, Retriever, mean_top_cosine
from demalib.teaching.released import ReleasedRetriever, criterion, csls_d


@pytest.fixture
def spaces(gen):
    return (
        torch.randn(40, 6, generator=gen, dtype=torch.float64),
        torch.randn(50, 6, generator=gen, dtype=torch.float64),
    )


def test_the_released_csls_d_is_ours_but_for_its_slips(spaces):
    """On unit vectors, away from rank 0, only the base of the ranks differs."""
    x, y = (normalize(side, dim=1) for side in spaces)
    theirs = csls_d(x, y, torch.arange(40), 0.01)
    csls = torch.cat(
        [s.clone() for _, s in Retriever(x, y, 10).iter_scores(torch.arange(40), Metric("csls"))]
    )
    i, j = torch.arange(40).double()[:, None], torch.arange(50).double()  # from 0
    want = csls / 0.01 - (i.log() - j.log()).abs()
    torch.testing.assert_close(theirs[1:, 1:], want[1:, 1:], rtol=1e-6, atol=1e-5)
    assert theirs[0, 0].isnan() and (theirs[0, 1:] == -torch.inf).all()
    assert (theirs[1:, 0] == -torch.inf).all()


def test_the_released_csls_d_without_faiss_rewards_hubs(spaces):
    x, y = (normalize(side, dim=1) for side in spaces)
    rows = torch.arange(1, 40)
    good, bad = (csls_d(x, y, rows, faiss=faiss)[:, 1:] for faiss in (True, False))
    hubness = mean_top_cosine(y, x, 10)[1:]
    assert ((bad - good).argsort(dim=1) == hubness.argsort()).all()  # the sign is wrong


@pytest.mark.parametrize("faiss", [True, False])
def test_the_released_retriever_scores_as_the_released_code(spaces, faiss, monkeypatch):
    want = csls_d(*spaces, torch.arange(40), 0.02, faiss)
    monkeypatch.setattr(tiles, "CHUNK_NUMBERS", 130)
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 2)  # or three at a time
    way, metric = ReleasedRetriever(*spaces, faiss), Metric("csls-d", sigma2=0.02)
    got = torch.cat([s.clone() for _, s in way.iter_scores(torch.arange(40), metric)])
    torch.testing.assert_close(got[1:], want[1:])
    best = got.argmax(dim=1)
    assert best[0] == 0 and (best[1:] != 0).all() and not got.isnan().any()


def test_the_released_retriever_is_ours_under_other_metrics(spaces):
    rows = torch.arange(40)
    ours, theirs = Retriever(*spaces), ReleasedRetriever(*spaces)
    torch.testing.assert_close(*(w.translate(rows, Metric("csls"))[0] for w in (ours, theirs)))


def test_only_the_released_criterion_grows_with_the_map(gen):
    x, y = torch.randn(40, 6, generator=gen), torch.randn(50, 6, generator=gen)
    unit = torch.nn.functional.normalize(x, dim=1)
    assert dictionary_cosine(2 * x, y) == pytest.approx(dictionary_cosine(unit, y))
    assert criterion(unit, y) == pytest.approx(dictionary_cosine(unit, y))
    assert criterion(2 * x, y, 30) == pytest.approx(2 * criterion(x, y, 30))
