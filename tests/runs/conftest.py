import numpy as np
import pytest

from demalib.config import PAPER_LANGS
from demalib.data.store import save_embedding
from demalib.embedding import Embedding


@pytest.fixture
def muse_host(server, rng, tmp_path, monkeypatch):
    """A host with small vectors and dictionaries of every language of the paper."""
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    for folder in ("fasttext/vectors-wiki", "arrival/dictionaries"):
        (server / folder).mkdir(parents=True)
    x = rng.standard_normal((400, 12)).astype(np.float32)
    for lang in ("en", *PAPER_LANGS):
        turn, _ = np.linalg.qr(rng.standard_normal((12, 12)))
        words = [f"both{i}" if i < 60 else f"{lang}{i}" for i in range(400)]
        y = (x @ turn + 0.02 * rng.standard_normal((400, 12))).astype(np.float32)
        save_embedding(server / f"fasttext/vectors-wiki/wiki.{lang}.vec", Embedding(words, y, lang))
        for split, (low, high) in {"0-5000": (60, 200), "5000-6500": (200, 400)}.items():
            lines = [(f"en{i}", f"{lang}{i}") for i in range(low, high)]
            for a, b, flip in (("en", lang, 1), (lang, "en", -1)):
                text = "".join(" ".join(line[::flip]) + "\n" for line in lines)
                (server / f"arrival/dictionaries/{a}-{b}.{split}.txt").write_text(text)
    return server
