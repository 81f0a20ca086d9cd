import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import PAPER_PAIRS, RECIPES, Config, preset
from demalib.data.tensors import load_mapping
from demalib.errors import DataError
from demalib.gradient import Settings
from demalib.pair import make_pair
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import align

SMALL = Config(solver="gradient", sigma2_src=0.02, sigma2_tgt=0.02).replace(
    components=300, batch=64, steps=60, validate_every=10, noise_src=0.002, noise_tgt=0.002,
    anneal=False,
)  # fmt: skip


@pytest.fixture
def pair(rng):
    src, tgt, _ = planted(rng, n=300, d=8, noise=0.05, shared=30)
    return make_pair(src, tgt)


def accuracy(pair, mapping):
    x = torch.nn.functional.normalize(pair.x @ mapping.W_xy, dim=1)
    return float((x @ pair.y.T).argmax(dim=1).eq(torch.arange(len(x))).float().mean())


def test_a_random_start_finds_a_planted_rotation(pair):
    mapping = align(pair, SMALL.replace(steps=400, batch=128, validate_every=400))
    assert accuracy(pair, mapping) > 0.95
    back = mapping.W_xy @ mapping.W_yx
    cosine = torch.nn.functional.cosine_similarity(pair.x @ back, pair.x)
    assert cosine.mean() > 0.95


def test_history_is_a_row_per_validation(pair):
    history = align(pair, SMALL.replace(selection="unsupervised")).history
    assert history["step"].tolist() == [10, 20, 30, 40, 50, 60]
    wanted = {"seconds", "rate", "density_xy", "density_yx", "cycle", "identical", "criterion_xy"}
    assert wanted <= set(history.columns)


@pytest.mark.parametrize(
    ("ablate", "gone"),
    [("density", "density_xy"), ("cycle", "cycle"), ("identical", "identical"), ("prior", None)],
)
def test_ablations_drop_their_loss(pair, ablate, gone):
    history = align(pair, SMALL.replace(ablate=ablate, steps=10)).history
    assert ({"density_xy", "cycle", "identical"} - set(history.columns)) == ({gone} - {None})


def test_rounded_products_are_refused_on_a_cpu(pair):
    with pytest.raises(DataError, match="bfloat16 is for GPUs; leave it out on a CPU"):
        align(pair, SMALL.replace(matmul_dtype="bfloat16"))
    with pytest.raises(DataError, match="unknown matmul_dtype 'int4'"):
        SMALL.replace(matmul_dtype="int4")


def test_same_seed_same_maps_other_seed_other_maps(pair):
    first, second = align(pair, SMALL), align(pair, SMALL)
    assert torch.equal(first.W_xy, second.W_xy) and torch.equal(first.W_yx, second.W_yx)
    assert not torch.equal(first.W_xy, align(pair, SMALL.replace(seed=1)).W_xy)


def test_selection_keeps_the_better_step_of_each_direction(pair):
    watched = {}

    def watch(step, W_xy, W_yx):
        watched[step] = (W_xy.clone(), W_yx.clone())
        return {}

    mapping = align(pair, SMALL.replace(selection="unsupervised"), watch=watch)
    for side, (name, W) in enumerate(
        (("criterion_xy", mapping.W_xy), ("criterion_yx", mapping.W_yx))
    ):
        best = mapping.history.loc[mapping.history[name].idxmax(), "step"]
        assert torch.equal(W, watched[best][side])


def test_early_stopping(pair):
    config = SMALL.replace(
        selection="unsupervised", patience=2, steps=2000, rate=1e-3, schedule="decay"
    )
    history = align(pair, config).history
    assert history["step"].iloc[-1] < 2000
    best = max(history["criterion_xy"].idxmax(), history["criterion_yx"].idxmax())
    assert len(history) - 1 - best == 2


def test_a_loss_that_is_not_finite_stops_with_the_last_good_state(pair, tmp_path):
    path = tmp_path / "c.safetensors"
    config = SMALL.replace(rate=1e30, schedule="decay")
    with pytest.raises(DataError, match=r"not finite at step \d+ .*lower the rate"):
        align(pair, config, checkpoint=DiskCheckpoint(path))
    assert (tmp_path / "c.last-good.safetensors").exists()


def test_a_weight_that_is_not_finite_stops_too(pair):
    with pytest.raises(DataError, match="not finite at step 1"):
        align(pair, SMALL.replace(cycle_weight=float("nan")))


def test_a_checkpoint_of_another_run_is_refused(pair, tmp_path):
    path = tmp_path / "c.safetensors"
    align(pair, SMALL.replace(steps=10), checkpoint=DiskCheckpoint(path))
    with pytest.raises(DataError, match="other settings"):
        align(pair, SMALL.replace(steps=20), checkpoint=DiskCheckpoint(path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="not a valid checkpoint"):
        align(pair, SMALL.replace(steps=10), checkpoint=DiskCheckpoint(path))


def test_a_finished_run_is_taken_up_as_it_is(pair, tmp_path, monkeypatch):
    path = tmp_path / "c.safetensors"
    first = align(pair, SMALL, checkpoint=DiskCheckpoint(path))
    monkeypatch.setattr(DiskCheckpoint, "save", lambda *args: pytest.fail("it ran again"))
    second = align(pair, SMALL, checkpoint=DiskCheckpoint(path))
    assert torch.equal(first.W_xy, second.W_xy)


SCRIPT = """
import sys
import numpy as np, torch
sys.path.insert(0, {tests!r})
torch.set_num_threads(1)
from conftest import planted
from test_gradient import SMALL
from demalib.data.tensors import save_mapping
from demalib.pair import make_pair
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import align
src, tgt, _ = planted(np.random.default_rng(0), n=300, d=8, noise=0.05, shared=30)
config = SMALL.replace(steps=400, selection="unsupervised", anneal=True)
mapping = align(make_pair(src, tgt), config, checkpoint=DiskCheckpoint(sys.argv[1]))
save_mapping(sys.argv[2], mapping)
"""


def test_killed_and_resumed_is_bit_for_bit_the_run_that_was_not(tmp_path):
    code = SCRIPT.format(tests=os.path.dirname(__file__))
    command = [sys.executable, "-c", code]
    subprocess.run([*command, tmp_path / "a.ckpt", tmp_path / "a.safetensors"], check=True)
    rng, kills = np.random.default_rng(), 0
    for _ in range(20):
        run = subprocess.Popen([*command, tmp_path / "b.ckpt", tmp_path / "b.safetensors"])
        while kills < 3 and run.poll() is None:
            if (tmp_path / "b.ckpt").exists():
                time.sleep(float(rng.uniform(0, 0.3)) * (kills > 0))  # the first time at once
                run.send_signal(signal.SIGKILL)
                kills += run.wait() == -signal.SIGKILL
                break
            time.sleep(0.01)
        if run.wait() == 0:
            break
    assert kills >= 1 and (tmp_path / "b.safetensors").exists()
    whole, resumed = (load_mapping(tmp_path / f"{name}.safetensors") for name in "ab")
    assert torch.equal(whole.W_xy, resumed.W_xy) and torch.equal(whole.W_yx, resumed.W_yx)


def test_schedules():
    rates = [Settings(steps=100, rate=0.1).learning_rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.004) and max(rates) == pytest.approx(0.1)
    assert rates.index(max(rates)) == 10 and rates[-1] < 1e-3
    decay = Settings(rate=1e-3, schedule="decay")
    assert decay.learning_rate(150_000) == pytest.approx(8.6e-4, rel=0.01)


@pytest.mark.parametrize("pair", PAPER_PAIRS)
def test_presets_of_every_pair_of_the_paper(pair):
    src, tgt = pair.split("-")
    for recipe in set(RECIPES) - {"laptop"}:
        forward, backward = preset(pair, recipe), preset(f"{tgt}-{src}", recipe)
        assert forward.max_identical >= 2000 and forward.gradient.steps == 150_000
        assert forward.sigma2_tgt == backward.sigma2_src
        assert forward.gradient.noise_src == backward.gradient.noise_tgt
        assert forward.max_identical == backward.max_identical
    assert (
        preset(pair, "paper").gradient.sampling == "frequency"
        and preset(pair, "script").gradient.reduction == "mean"
    )


def test_presets_say_what_the_text_says():
    assert (
        preset("en-et", "paper").sigma2_tgt == 0.02 and preset("en-fi", "paper").sigma2_tgt == 0.015
    )
    assert preset("en-zh", "script").gradient.identical_weight == 5
    paper = preset("en-ja", "paper").gradient
    assert (paper.components, paper.batch) == (10_000, 1024)
    assert preset("en-ja", "script").gradient.components == 20_000
    with pytest.raises(DataError, match="unknown recipe 'best'"):
        preset("en-fr", "best")
    with pytest.raises(DataError, match="unknown setting sigma"):
        preset("en-fr", sigma=1)
