from demalib.cli import main


def test_an_unknown_language_is_told_with_those_that_there_are(capsys):
    assert main(["fetch", "xx"]) == 2
    assert "it has en, fr, ja, ru" in capsys.readouterr().err
