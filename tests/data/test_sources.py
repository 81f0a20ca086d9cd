import pytest

from demalib.config import REGISTRY_PAIRS
from demalib.data.sources import REGISTRY


def test_every_registry_pair_has_both_languages():
    assert {lang for pair in REGISTRY_PAIRS for lang in pair.split("-")} == {
        name for name in REGISTRY if "-" not in name
    }


@pytest.mark.parametrize("name", REGISTRY)
def test_a_wheel_is_kept_under_the_name_that_pip_gives_it(name):
    for wheel in REGISTRY[name].wheels:
        package, version = wheel.requirement.split("==")
        package = package.replace("-", "_")
        assert wheel.path.name == f"{package}-{version}-py3-none-any.whl"


def test_no_two_sources_share_vectors():
    hashes = [wheel.sha256 for source in REGISTRY.values() for wheel in source.wheels]
    assert len(set(hashes)) == len(hashes)
