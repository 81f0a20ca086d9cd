import pytest

from demalib.cli import main
from demalib.cli.common import literal


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "demalib align --src en.vec --tgt de.vec" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, value",
    [("1", 1), ("1e-3", 0.001), ("true", True), ("False", False), ("en-fr", "en-fr"), ("", "")],
)
def test_parameters_are_parsed_as_papermill_does(text, value):
    assert literal(text) == value and type(literal(text)) is type(value)
