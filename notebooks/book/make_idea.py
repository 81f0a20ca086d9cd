"""Draw the idea as one picture: `python notebooks/book/make_idea.py` writes results/figures/idea.png."""

from pathlib import Path

import demalib
from demalib import WordMixture, plots
from demalib.device import make_generator
from demalib.teaching import plane

OUT = Path(__file__).resolve().parents[2] / "results" / "figures" / "idea.png"


def main() -> None:
    """English as points, French as a density, and the one turned over the other."""
    plots.style()
    src, tgt, _ = plane.plane(120, 0.05, 0)
    pair = demalib.make_pair(src, tgt, normalisation=("center",))
    x, y = pair.x.cpu(), pair.y.cpu()
    english, french = WordMixture(x, 0.02), WordMixture(y, 0.02)
    points, grid = english.sample(500, make_generator(0, x.device)), plane.grid(1.8)
    W, hills = plane.rotation(120), french.log_prob(grid)
    axes = plots.panels(3)[0]
    plots.cloud(
        axes[0], "English words are clouds of points", samples=points, words=x, labels=src.words
    )
    drawn = {"words": y, "labels": tgt.words, "color": plots.TGT}
    plots.cloud(axes[1], "French words are hills of a density", hills, **drawn)
    plots.cloud(
        axes[2],
        "the map that puts points on hills",
        hills,
        samples=points @ W,
        words=x @ W,
        labels=src.words,
    )
    plots.save(axes, OUT)
    print(OUT.name)


if __name__ == "__main__":
    main()
