"""The parts of the objective, each on its own, and their sum (Eqs. 8, 10, 11).

Note:
    Everything here is to be minimised. The paper's Eq. 10 equates a KL divergence with an
    expected log-density, which has the opposite sign, and its Eq. 11 adds that term, to be
    maximised, to two that are to be minimised. The code minimises
    ``-(L_xy + L_yx) + lam * L_bt + alpha * L_sup``, as the released code does.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from demalib.flow import LinearFlow
from demalib.mixture import WordMixture

ABLATIONS = ("density", "cycle", "identical", "prior")


class Batch(NamedTuple):
    """Points of one language in one step, and the mixture that they were drawn from."""

    mixture: WordMixture
    points: Tensor  # (B, d)
    ranks: Tensor  # (B,), 1-based ranks of the words that they were drawn around

    @classmethod
    def draw(
        cls, mixture: WordMixture, size: int, generator: torch.Generator, uniform: bool = False
    ) -> Batch:
        """Draw words, then points around them (Eqs. 3, 4); see :class:`WordMixture`."""
        ranks = mixture.sample_ranks(size, generator, uniform)
        return cls(mixture, mixture.sample_around(ranks, generator), ranks)


def cosine_loss(a: Tensor, b: Tensor) -> Tensor:
    """The paper's g: one minus the cosine of each pair of rows, ``(B, d), (B, d) -> (B,)``."""
    return 1 - torch.cosine_similarity(a, b, dim=-1)


def density_loss(
    flow: LinearFlow,
    x: Tensor,
    target: WordMixture,
    ranks: Tensor | None = None,
    **options: Any,
) -> Tensor:
    r"""Negative log-likelihood of mapped samples (Eq. 10 with ``ranks``, Eq. 8 without).

    Args:
        flow: The map into the space of ``target``.
        x: Samples, ``(B, d)``.
        target: The mixture that scores them.
        ranks: Ranks ``(B,)`` of the words behind ``x``, for the frequency-matching prior; the
            naive prior without them.
        **options: ``tile`` and ``matmul_dtype`` of :meth:`WordMixture.posterior`.

    Returns:
        :math:`-(\mathrm{mean}_i \log p(y_i|x_i) + \log|\det W|)`, a scalar.

    Note:
        This is minus the paper's ``L_xy``; its expectation is a mean over the batch.
    """
    score = target.log_prob(flow(x), ranks, **options)
    return -(score + flow.log_abs_det(x)).mean()


def cycle_loss(flow_xy: LinearFlow, flow_yx: LinearFlow, x: Tensor, y: Tensor) -> Tensor:
    """Back-translation ``L_bt``: there and back should point the same way (Section 3.4).

    Args:
        flow_xy: Source to target.
        flow_yx: Target to source.
        x: Source samples, ``(B, d)``.
        y: Target samples, ``(B, d)``.

    Note:
        A mean for each direction, and the two added. The paper draws the second expectation
        from ``p(y | x_j)``; ``y_j`` must be meant.
    """
    there_and_back = cosine_loss(flow_yx(flow_xy(x)), x).mean()
    return there_and_back + cosine_loss(flow_xy(flow_yx(y)), y).mean()


def identical_loss(
    flow_xy: LinearFlow, flow_yx: LinearFlow, v_x: Tensor, v_y: Tensor, reduction: str = "mean"
) -> Tensor:
    """Supervision ``L_sup`` by words of the same spelling in both languages (Section 3.5).

    Args:
        flow_xy: Source to target.
        flow_yx: Target to source.
        v_x: Source vectors of the identical words, ``(K, d)``.
        v_y: Target vectors of the same words, ``(K, d)``.
        reduction: ``"mean"`` over the words, or ``"sum"``.

    Note:
        The paper writes a sum; the released code takes the mean, and its weight of 10 belongs
        to that. Both add the two directions.
    """
    if reduction not in ("mean", "sum"):
        raise ValueError(f'reduction must be "mean" or "sum"; got {reduction!r}')
    if v_x.shape != v_y.shape or len(v_x) == 0:
        raise ValueError(
            f"need the same words on both sides, at least one; "
            f"got {tuple(v_x.shape)} and {tuple(v_y.shape)}"
        )
    each = cosine_loss(flow_xy(v_x), v_y) + cosine_loss(flow_yx(v_y), v_x)  # (K,)
    return each.mean() if reduction == "mean" else each.sum()


def total(
    flow_xy: LinearFlow,
    flow_yx: LinearFlow,
    src: Batch,
    tgt: Batch,
    identical: tuple[Tensor, Tensor] | None = None,
    *,
    lam: float = 0.5,
    alpha: float = 10.0,
    ablate: str | Collection[str] = (),
    reduction: str = "mean",
    **options: Any,
) -> tuple[Tensor, dict[str, Tensor]]:
    r"""The whole objective (Eq. 11), to be minimised, and its parts, to be logged.

    Args:
        flow_xy: Source to target.
        flow_yx: Target to source.
        src: Source samples, and the source mixture, which scores mapped target samples.
        tgt: The same for the target language.
        identical: Vectors ``(v_x, v_y)`` of the identical words, ``(K, d)`` each.
        lam: Weight :math:`\lambda` of the cycle loss.
        alpha: Weight :math:`\alpha` of the identical words.
        ablate: Parts to leave out (Table 4): of ``"density"``, ``"cycle"``, ``"identical"``, and
            ``"prior"``, which puts the naive prior in place of the rank prior.
        reduction: Of the identical words.
        **options: ``tile`` and ``matmul_dtype`` of :meth:`WordMixture.posterior`.

    Returns:
        The loss, and its unweighted parts by name: ``density_xy``, ``density_yx`` (negative
        log-likelihoods), ``cycle``, ``identical``, detached; an ablated part is absent.
    """
    ablate = _names(ablate)
    weights = {"density_xy": 1.0, "density_yx": 1.0, "cycle": lam, "identical": alpha}
    parts = {}
    if "density" not in ablate:
        for name, flow, a, b in (("xy", flow_xy, src, tgt), ("yx", flow_yx, tgt, src)):
            ranks = None if "prior" in ablate else a.ranks
            parts[f"density_{name}"] = density_loss(flow, a.points, b.mixture, ranks, **options)
    if "cycle" not in ablate:
        parts["cycle"] = cycle_loss(flow_xy, flow_yx, src.points, tgt.points)
    if "identical" not in ablate:
        if identical is None:
            raise ValueError('no identical words: pass their vectors, or ablate="identical"')
        parts["identical"] = identical_loss(flow_xy, flow_yx, *identical, reduction=reduction)
    if not parts:
        raise ValueError("every loss is ablated: nothing is left to minimise")
    loss = torch.stack([weights[name] * part for name, part in parts.items()]).sum()
    return loss, {name: part.detach() for name, part in parts.items()}


def _names(ablate: str | Collection[str]) -> set[str]:
    """Turn one name, several, or an empty string into a set of ablations."""
    names = {ablate} - {""} if isinstance(ablate, str) else set(ablate)
    if unknown := names - set(ABLATIONS):
        raise ValueError(f"no loss called {sorted(unknown)}; ablate any of {list(ABLATIONS)}")
    return names
