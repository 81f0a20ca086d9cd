import numpy as np
import pytest
from conftest import planted

from demalib.config import preset
from demalib.explore.words import trace
from demalib.pair import make_pair


@pytest.fixture(scope="module")
def pair():
    src, tgt, _ = planted(np.random.default_rng(0), n=300)
    return make_pair(src, tgt)


@pytest.fixture(scope="module")
def directions(pair):
    """Both directions of a pair that EM solved."""
    return trace(pair, preset("en-fr", max_vocab=600))


@pytest.fixture(scope="module")
def there(directions):
    return directions[0]
