"""A bad network: every run once, none twice, none damaged; a download whole or not at all."""

import pytest
from chaos import downloads, network
from chaos.link import reason_not_to

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def namespaces():
    if reason := reason_not_to():
        pytest.skip(f"no network: {reason}")


@pytest.mark.parametrize("scene", network.SCENES)
def test_a_sweep_survives(scene):
    assert network.bad_network(scene, seed=1) == []


@pytest.mark.parametrize("scene", downloads.SCENES)
def test_a_download_is_repeated_or_refused(scene):
    assert downloads.bad_download(scene, seed=1) == []
