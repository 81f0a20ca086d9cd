from demalib.cli import main


def test_a_notebook_refuses_what_it_does_not_declare(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    assert main(["run", "notebooks/02_train.ipynb", "-p", "sedd", "1"]) == 2
    assert "02_train.ipynb: no parameter sedd; it has" in capsys.readouterr().err
