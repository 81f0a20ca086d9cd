import pytest
import torch

from demalib.baselines import muse, nonadv, selflearn, sinkhorn, wsprocrustes


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Seconds instead of minutes; a step is a larger part of the way in 5 dimensions than in 300."""
    for module, size in (
        (muse, muse.Size(300, 32, 2, 120, 0.3)),
        (selflearn, selflearn.Size(300, 4, 20)),
        (sinkhorn, sinkhorn.Size(300, 80, 3, 40, 40)),
        (nonadv, nonadv.Size(300, 6, 15, 300, 5, 300, 5)),
        (wsprocrustes, wsprocrustes.Size(200, 20, 20)),
    ):
        monkeypatch.setattr(module, "SIZES", module.SIZES._replace(laptop=size))
    monkeypatch.setattr(muse, "SPREAD", 1.0)
    monkeypatch.setattr(sinkhorn, "RATE", 2e-2)
    monkeypatch.setattr(sinkhorn, "random_orthogonal", lambda d, _: torch.eye(d))
    monkeypatch.setattr(nonadv, "AXES", 3)
    monkeypatch.setattr(nonadv, "RESTARTS", 10)
    monkeypatch.setattr(nonadv, "BATCH", 32)
    monkeypatch.setattr(wsprocrustes, "BATCH", 100)
