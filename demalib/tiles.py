"""Products of many words with many words: tile by tile, or with the near ones only."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.device import free_bytes

CHUNK_NUMBERS = 1 << 24  # numbers in one tile: 64 MB in float32
CHUNK_ROWS = 256  # or this many rows, if that is more: thinner products take twice the time
GROUP = 400  # words in a cluster, on average


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of ``range(n)`` so that four float32 tiles of slice x width fit into free memory."""
    width = max(1, width)
    step = max(CHUNK_ROWS, CHUNK_NUMBERS // width)
    step = max(1, min(step, free_bytes() // (16 * width)))
    return (slice(lo, min(lo + step, n)) for lo in range(0, n, step))


def iter_products(
    a: Tensor, b: Tensor, rows: Tensor | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Yield a slice of the rows of ``a`` and their dot products with all rows of ``b``.

    All products are made in one tile, which the next slice overwrites: fresh memory for each
    would take about as long as the product. No gradient passes through it.

    Args:
        a: ``(n, d)``.
        b: ``(M, d)``.
        rows: Row numbers of ``a`` to take instead of all, ``(n,)``.

    Yields:
        A slice of ``range(n)``, and the products, ``(chunk, M)``.
    """
    a, b, tile = a.detach(), b.detach(), None
    for part in chunks(len(a if rows is None else rows), len(b)):
        tile = a.new_empty(part.stop, len(b)) if tile is None else tile
        some = a[part] if rows is None else a[rows[part]]
        yield part, torch.mm(some, b.T, out=tile[: len(some)])


class Clusters:
    """Unit vectors in groups of neighbours: most of what is near a point is in a few groups.

    Args:
        words: Unit vectors, ``(N, d)``.
        rounds: Of k-means, on a sample.

    Note:
        Nothing is random: the first centres are words at even distances in the vocabulary.
    """

    def __init__(self, words: Tensor, rounds: int = 4) -> None:
        count = max(1, round(len(words) / GROUP))
        self.words, self.centres = words, words[:: max(1, len(words) // count)][:count]
        sample = words[:: max(1, len(words) // (32 * count))]
        for _ in range(rounds):
            sums = torch.zeros_like(self.centres).index_add_(
                0, self.nearest(sample, 1)[:, 0], sample
            )
            self.centres = normalize(torch.where(sums.any(dim=1, keepdim=True), sums, self.centres))
        group = self.nearest(words, 1)[:, 0]
        self.members = group.argsort(stable=True).split(
            torch.bincount(group, minlength=count).tolist()
        )

    def nearest(self, points: Tensor, probes: int) -> Tensor:
        """The groups whose centres are nearest to points, ``(n, min(probes, groups))``."""
        probes = min(probes, len(self.centres))
        products = iter_products(points, self.centres)
        return torch.cat([tile.topk(probes, dim=1).indices for _, tile in products])

    def near(self, points: Tensor, k: int, probes: int = 4) -> tuple[Tensor, Tensor]:
        """The k words with the largest cosines in the groups nearest to each point.

        Args:
            points: Unit vectors, ``(n, d)``.
            k: How many, at most N.
            probes: How many groups are searched for each point.

        Returns:
            Cosines, in falling order, and row numbers of the words, each ``(n, k)``. Where the
            groups hold fewer than k words, the rest are row 0 with cosine -1.
        """
        probes = min(probes, len(self.centres))
        best = points.new_full((len(points), k), -1.0)
        rows = torch.zeros_like(best, dtype=torch.long)
        groups, order = self.nearest(points, probes).flatten().sort(stable=True)
        counts = torch.bincount(groups, minlength=len(self.centres)).tolist()
        for members, asking in zip(self.members, (order // probes).split(counts), strict=True):
            found = (points[asking] @ self.words[members].T).topk(min(k, len(members)), dim=1)
            best[asking], place = torch.cat([best[asking], found.values], 1).topk(k, dim=1)
            rows[asking] = torch.cat([rows[asking], members[found.indices]], 1).gather(1, place)
        return best, rows
