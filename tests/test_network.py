"""A bad network: every run once, none twice, none damaged; a download whole or not at all.

make chaos plays the other scenes too: packets lost, links that blink, a scheduler that restarts.
"""

import pytest
from chaos.downloads import bad_download
from chaos.link import reason_not_to
from chaos.network import bad_network

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def namespaces():
    if reason := reason_not_to():
        pytest.skip(f"no network: {reason}")


def test_a_worker_that_comes_back_after_its_work_was_given_away_changes_nothing():
    assert bad_network("partition", seed=1) == []


def test_a_download_that_breaks_is_repeated():
    assert bad_download("download broken", seed=1) == []
