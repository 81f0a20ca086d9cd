import pytest
from conftest import planted

from demalib.cli import main
from demalib.data.store import save_embedding


@pytest.fixture
def files(tmp_path, rng):
    src, tgt, _ = planted(rng, n=400, d=10, shared=40)
    save_embedding(tmp_path / "aa.vec", src)
    save_embedding(tmp_path / "bb.vec", tgt)
    lines = [f"src{i} tgt{i}\n" for i in range(100, 400)]
    (tmp_path / "train.txt").write_text("".join(lines[:100]))
    (tmp_path / "test.txt").write_text("".join(lines[100:]))
    return tmp_path


@pytest.fixture
def align(files):
    """Align them into the folder ``out``; more options may follow."""

    def call(*more):
        command = f"align --src {files}/aa.vec --tgt {files}/bb.vec --out {files}/out"
        return main([*command.split(), *more])

    return call
