"""Numbers: the same again, on any number of threads, in either precision, from odd data."""

import numpy as np
import pytest
import torch
from chaos import world
from chaos.faults import NOT_REPEATED

from demalib import runs
from demalib.config import Config
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation.benchmark import Gold, evaluate, summarise
from demalib.hints import Lexicon
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric, Retriever
from demalib.solvers import align

SOLVED = ("em", "identical", "procrustes", "gradient")
TOLERANCE = 1e-3  # by which maps of one and of two threads may differ: sums round otherwise


def short(solver: str) -> Config:
    return world.GRADIENT.replace(solver=solver, steps=20, validate_every=10)


@pytest.mark.parametrize("solver", SOLVED)
def test_same_seed_same_metrics(solver, tmp_path, monkeypatch):
    world.build(tmp_path / "cache" / "muse", 200)
    told = []
    for name in "ab":
        monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / name))
        told.append(runs.solve(short(solver)))
    assert set(told[0]) >= set(NOT_REPEATED)
    first, second = ({k: v for k, v in t.items() if k not in NOT_REPEATED} for t in told)
    assert first == second
    if solver != "gradient":
        assert first["results"]["en-es"]["csls"]["p@1"] > 0.9


def tiny(solver, **changes):
    src, tgt = world.spaces()
    lexicon = Lexicon([(f"en{i}", f"es{i}") for i in range(40, 150)])
    return make_pair(src, tgt, lexicon), short(solver)


@pytest.mark.parametrize("solver", SOLVED)
def test_thread_counts_agree(solver):
    pair, config = tiny(solver)
    langs = (("en", "es"), ("es", "en"))
    gold = Gold(*(Lexicon([(f"{a}{i}", f"{b}{i}") for i in range(150, 300)]) for a, b in langs))
    maps, told = [], []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        maps.append(align(pair, config))
        told.append(summarise(evaluate(maps[-1], pair, gold, config), gold))
    torch.testing.assert_close(maps[0].W_xy, maps[1].W_xy, atol=TOLERANCE, rtol=0)
    torch.testing.assert_close(maps[0].W_yx, maps[1].W_yx, atol=TOLERANCE, rtol=0)
    for direction, found in told[0].items():
        other = told[1][direction]["csls"]["p@1"]
        assert found["csls"]["p@1"] == pytest.approx(other, abs=0.01)


@pytest.mark.parametrize("metric", ["nn", "csls", "isf", "csls-d"])
def test_both_precisions_give_the_same_answers_but_for_ties(metric, gen):
    x = torch.randn(400, 12, generator=gen, dtype=torch.float64)
    y = x + 0.5 * torch.randn(400, 12, generator=gen, dtype=torch.float64)
    rows, exact = torch.arange(400), Metric(metric)
    scores, best = Retriever(x, y).translate(rows, exact, 2)
    _, single = Retriever(x.float(), y.float()).translate(rows, exact, 2)
    clear = (scores[:, 0] - scores[:, 1]) > 1e-5 * scores.abs().max()
    assert clear.float().mean() > 0.9
    assert torch.equal(best[clear, 0], single[clear, 0])


def odd(case: str) -> tuple[Embedding, Embedding]:
    """Two sides with something odd about them."""
    src, tgt = world.spaces({"fewer words than k": 5}.get(case, 60), shared=20)
    x, y, a, b = src.vectors.copy(), tgt.vectors.copy(), list(src.words), list(tgt.words)
    if case == "a constant dimension":
        x[:, 0] = y[:, 0] = 1.0
    elif case == "duplicated vectors":
        x[1::2], y[1::2] = x[::2], y[::2]
    elif case == "one vector for all":
        x[:], y[:] = x[0], y[0]
    elif case == "zero vectors":
        x[::3] = y[::4] = 0.0
    elif case == "nothing but zeros":
        x[:] = y[:] = 0.0
    elif case == "d = 1":
        x, y = x[:, :1].copy(), y[:, :1].copy()
    elif case == "huge and tiny numbers":
        x, y = x * np.float32(1e30), y * np.float32(1e-30)
    elif case == "fewer words than k":
        a, b = [f"both{i}" for i in range(5)], [f"both{i}" for i in range(5)]
    elif case == "one identical word":
        b = [b[0], *(f"other{i}" for i in range(1, len(b)))]
    elif case == "no identical word":
        b = [f"other{i}" for i in range(len(b))]
    elif case == "all words identical":
        b = list(a)
    elif case == "one word":
        x, y, a, b = x[:1], y[:1], a[:1], b[:1]
    return Embedding(a, x, "en"), Embedding(b, y, "es")


CASES = (
    "a constant dimension",
    "duplicated vectors",
    "one vector for all",
    "zero vectors",
    "nothing but zeros",
    "d = 1",
    "huge and tiny numbers",
    "fewer words than k",
    "one identical word",
    "no identical word",
    "all words identical",
    "one word",
)


@pytest.mark.parametrize("solver", SOLVED)
@pytest.mark.parametrize("case", CASES)
def test_odd_data_gives_a_map_or_a_reason(case, solver):
    src, tgt = odd(case)
    try:
        pair = make_pair(src, tgt, Lexicon(list(zip(src.words, tgt.words, strict=True))))
        mapping = align(pair, short(solver))
        for retriever in retrievers(mapping, pair):
            assert retriever.mapped.isfinite().all()
            for metric in ("csls", "csls-d", "nn"):
                scores, best = retriever.translate(torch.arange(1), Metric(metric), 1)
                assert scores.isfinite().all() and 0 <= int(best[0, 0]) < len(src)
    except DataError as error:
        assert case in ("no identical word", "one word", "nothing but zeros"), str(error)
        assert len(str(error)) > 30 and "\n" not in str(error)
    else:
        assert mapping.W_xy.isfinite().all() and mapping.W_yx.isfinite().all()
