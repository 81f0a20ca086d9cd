"""Tables of many words against many words, tile by tile: products, weights, near words only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

CHUNK_NUMBERS = 1 << 24  # numbers in one tile: 64 MB in float32
CHUNK_ROWS = 256  # or this many rows, if that is more: thinner products take twice the time
GROUP = 400  # words in a cluster, on average
FLOOR = -64.0  # a weight of fewer bits is zero: it adds nothing, even in float64
TILES = {"cpu": (1024, 1024)}  # points and words handled at once: two tiles fit the cache
GPU_TILE = (4096, 8192)
MEMORY = Path("/proc/meminfo")


def free_bytes(device: torch.device) -> int:
    """Return the bytes of memory that a device has to spare."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused  # torch keeps what it may need again
    if not MEMORY.is_file():  # not Linux: nothing is known, so nothing is held back
        return sys.maxsize
    fields = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
    return 1024 * int(fields["MemAvailable"].split()[0])


def chunks(n: int, width: int, device: torch.device) -> list[slice]:
    """Slice ``range(n)`` so that four float32 tiles of slice x width fit into free memory."""
    width = max(1, width)
    step = max(CHUNK_ROWS, CHUNK_NUMBERS // width)
    step = max(1, min(step, free_bytes(device) // (16 * width)))
    return slices(n, step)


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
    for part in chunks(len(a if rows is None else rows), len(b), a.device):
        tile = a.new_empty(part.stop, len(b)) if tile is None else tile
        some = a[part] if rows is None else a[rows[part]]
        yield part, torch.mm(some, b.T, out=tile[: len(some)])


def weigh_(logits: Tensor) -> Tensor:
    """Turn logits in bits into weights, in place; a weight of at most 2**FLOOR becomes zero.

    Without that, weights or their products with coordinates would be subnormal numbers, which
    some CPUs handle a hundred times more slowly than others.
    """
    return torch.threshold_(logits.clamp_(min=FLOOR - 1).exp2_(), 2.0**FLOOR, 0.0)


def add_rank_logits_(
    tile: Tensor, log_i: Tensor, log_j: Tensor, spare: Tensor | None = None
) -> Tensor:
    r"""Add the rank prior's logits :math:`-|\log i - \log j|` to a tile, in place (Section 3.3).

    Args:
        tile: Logits, ``(B, M)``.
        log_i: Logarithms of the points' ranks, divided by tau, ``(B, 1)``.
        log_j: The same for the words, ``(M,)``.
        spare: Memory of the tile's shape that may be overwritten.
    """
    return tile.sub_(torch.sub(log_i, log_j, out=spare).abs_())


class Partners(NamedTuple):
    """The target word that looks like each source word, and what that is worth."""

    row: Tensor  # (N,), -1 where there is none
    value: Tensor  # (N,), 0 where there is none

    def of(self, rows: Tensor | slice) -> Partners:
        """The partners of some source words."""
        return Partners(self.row[rows], self.value[rows])


def add_partners_(tile: Tensor, partners: Partners, first: int = 0) -> Tensor:
    """Add what a likeness is worth to a tile, in place.

    Args:
        tile: Logits or scores, ``(B, M)``.
        partners: Of the B words of its rows.
        first: Row number of the target word in its first column.
    """
    column = partners.row - first
    here = ((column >= 0) & (column < tile.shape[1])).nonzero()[:, 0]
    tile[here, column[here]] += partners.value[here].to(tile)
    return tile


def log2_sum(parts: Tensor, dim: int) -> Tensor:
    """Log2 of a sum of numbers that are given by their log2."""
    top = parts.amax(dim, keepdim=True)
    return weigh_(parts - top).sum(dim).log2_() + top.squeeze(dim)


def slices(n: int, step: int) -> list[slice]:
    """Cut ``range(n)`` into slices of ``step``."""
    return [slice(low, min(low + step, n)) for low in range(0, n, step)]


def tile_shape(like: Tensor) -> tuple[int, int]:
    """Choose how many points and words are handled at once on the device of a tensor."""
    return TILES.get(like.device.type, GPU_TILE)


def product_(
    a: Tensor, b: Tensor, dtype: torch.dtype | None, out: Tensor, add: bool = False
) -> None:
    """Set ``out = a @ b`` or ``out += a @ b``; factors rounded to ``dtype``, sums never."""
    if dtype is None:
        torch.addmm(out, a, b, beta=int(add), out=out)
        return
    result = torch.mm(a.to(dtype), b.to(dtype), out_dtype=out.dtype)
    out.add_(result) if add else out.copy_(result)


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
            nearest = self.nearest(sample, 1)[:, 0]
            sums = torch.zeros_like(self.centres).index_add_(0, nearest, sample)
            self.centres = normalize(torch.where(sums.any(dim=1, keepdim=True), sums, self.centres))
        group = self.nearest(words, 1)[:, 0]
        sizes = torch.bincount(group, minlength=count).tolist()
        self.members = group.argsort(stable=True).split(sizes)

    def nearest(self, points: Tensor, probes: int) -> Tensor:
        """Find the groups whose centres are nearest to points, ``(n, min(probes, groups))``."""
        probes = min(probes, len(self.centres))
        products = iter_products(points, self.centres)
        return torch.cat([tile.topk(probes, dim=1).indices for _, tile in products])

    def near(self, points: Tensor, k: int, probes: int = 4) -> tuple[Tensor, Tensor]:
        """Find the k words with the largest cosines in the groups nearest to each point.

        Args:
            points: Unit vectors, ``(n, d)``.
            k: How many, at most N.
            probes: How many groups are searched for each point.

        Returns:
            Cosines, in falling order, and row numbers of the words, each ``(n, k)``. Where the
            groups have fewer than k words, the rest are row 0 with cosine -1.
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
