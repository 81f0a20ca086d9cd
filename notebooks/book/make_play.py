"""Write the data of the page `play`: `python notebooks/book/make_play.py`, a minute on two cores.

The words of the plane are those of lesson 01; the explorer has English and French words, their best
translations under the map of `em`, the answers of earlier rounds, and neighbours in the own language.
"""

import json
from pathlib import Path

import torch

import demalib
from demalib.explore import words as explore
from demalib.retrieval import Retriever, best_columns
from demalib.teaching import plane

OUT = Path(__file__).resolve().parent / "static" / "play-data.js"
WORDS, BEST, NEAR, ROUNDS = 4000, 5, 5, (1, 2, 3, 5, 8, 12)


def in_plane() -> dict:
    """Words and centred positions of both languages in the plane, most frequent first."""
    src, tgt, gold = plane.plane(120, 0.05, 0)
    pair = demalib.make_pair(src, tgt, normalisation=("center",))
    sides = [
        {
            "words": list(side.words),
            "at": [[round(float(v), 3) for v in row] for row in side.vectors],
        }
        for side in (pair.src, pair.tgt)
    ]
    return {"src": sides[0], "tgt": sides[1], "gold": gold.rows(src, tgt)[:, 1].tolist()}


def one_direction(direction: explore.Direction) -> dict:
    """Row numbers of translations, their cosines in percent, answers by round, and neighbours."""
    rows, metric = torch.arange(len(direction.src)), direction.metrics["csls"]
    _, best = direction.retriever.translate(rows, metric, BEST)
    mapped, targets = direction.retriever.mapped, direction.retriever.targets
    cosine = torch.einsum("qd,qkd->qk", mapped, targets[best])
    rounds = []
    for number in ROUNDS:
        at = Retriever(direction.x @ direction.snapshots[f"round {number}"], direction.y)
        rounds.append(at.translate(rows, metric, 1)[1][:, 0].tolist())
    own = direction.x @ direction.x.T
    own.fill_diagonal_(-1)
    return {
        "best": best.tolist(),
        "cosine": (100 * cosine).round().int().tolist(),
        "rounds": rounds,
        "near": best_columns(own, NEAR)[1].tolist(),
    }


def main() -> None:
    """Solve and write."""
    config = demalib.preset("en-fr", max_vocab=WORDS)
    pair = demalib.load_pair(config)
    both = explore.trace(pair, config)
    data = {
        "plane": in_plane(),
        "rounds": ROUNDS,
        "langs": ["English", "French"],
        "words": [list(pair.src.words), list(pair.tgt.words)],
        "found": [one_direction(direction) for direction in both],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    OUT.write_text(f"window.DEMALIB = {text};\n", encoding="utf-8")
    print(f"{OUT.name}: {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
