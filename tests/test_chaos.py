"""The table of make chaos: how it is kept, and that the one in the repository is clean."""

import pandas as pd
import pytest
from chaos import __main__ as command
from chaos import downloads, network
from chaos.powercut import CASES
from chaos.single import JOBS
from chaos.table import PATH, Row, Table, sort_of


@pytest.mark.parametrize(
    "breach, sort",
    [
        ("7: cut after step 3 of 9: align had returned, but its result was not there", "lost"),
        ("align: ('fsync', 'EIO', 3): it found x, but the next try failed: OSError()", "lost"),
        ("1:em: exit code 1 is not 3ab; []", "lost"),
        ("1:em: 77f is not 3ab; []", "garbage"),
        ("lossy: 3: damaged", "garbage"),
        ("align: ('write', 'EIO', 3): not one line that names a file: ''", "outside"),
        ("1:vec:9: ValueError: bad", "outside"),
    ],
)
def test_breaches_are_sorted(breach, sort):
    assert sort_of(breach) == sort


def test_a_row_replaces_the_one_before(tmp_path, capsys):
    path = tmp_path / "table.csv"
    for seed, wrong in ((1, ["1:vec:9: ValueError: bad"]), (2, [])):
        table = Table(path, seed)
        table.extend("inputs", iter([Row("vec", 10, wrong), Row(f"own {seed}", 5, [], "EIO 5")]))
        table.close()
        assert table.broken == wrong
    kept = pd.read_csv(path, keep_default_na=False).set_index("what")
    assert kept.index.tolist() == ["own 1", "own 2", "vec"]
    assert kept.loc["vec", ["tried", "outside", "seed"]].tolist() == [10, 0, 2]
    assert "1:vec:9: ValueError: bad" in capsys.readouterr().out


def test_the_table_of_the_repository_is_clean():
    table = pd.read_csv(PATH).set_index(["part", "what"])
    assert not table[["lost", "garbage", "outside"]].to_numpy().any()
    assert set(table.index.get_level_values("part")) == set(command.PARTS)
    assert set(table.loc["powercut"].index) == set(CASES)
    assert set(table.loc["faults"].index) == set(JOBS)
    assert set(table.loc["network"].index) == {*network.SCENES, *downloads.SCENES}
    assert table.loc["inputs", "tried"].sum() >= 100_000
    assert table.loc[("fuzz", "every reader"), "tried"] >= 1_000_000
