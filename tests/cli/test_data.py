from demalib.cli import main
from demalib.data.files import cache_dir
from demalib.data.store import read_vectors


def test_an_unknown_language_is_told_with_those_that_there_are(capsys):
    assert main(["fetch", "xx"]) == 2
    assert "it has en, fr, ja, ru" in capsys.readouterr().err


def test_the_cache_is_shown_and_cleared(tmp_path, capsys):
    (tmp_path / "en.vec").write_text("cat 1 2\ndog 3 4\n")
    read_vectors(tmp_path / "en.vec")
    wheel = cache_dir() / "wheels" / "a.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(bytes(3_000_000))
    assert main(["cache"]) == 0
    where, parsed, downloads = capsys.readouterr().out.splitlines()
    assert where == str(cache_dir()) and parsed.endswith("0.0 MB in 3 files")
    assert downloads.endswith(" 3.0 MB in 1 files")
    assert main(["cache", "--clear", "parsed"]) == 0
    assert "0 files" in capsys.readouterr().out and wheel.is_file()
    main(["cache", "--clear", "all"])
    assert not wheel.exists() and read_vectors(tmp_path / "en.vec").words == ["cat", "dog"]
