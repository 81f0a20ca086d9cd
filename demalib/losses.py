"""The parts of the objective, each on its own, and their sum (Eqs. 8, 10, 11).

Note:
    Everything here is to be minimised. The paper's Eq. 10 equates a KL divergence with an
    expected log-density, which has the opposite sign, and its Eq. 11 adds that term, to be
    maximised, to two that are to be minimised. The code minimises
    ``-(L_xy + L_yx) + lam * L_bt + alpha * L_sup``, as the released code does.
"""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor

from .density import log_density
from .flow import LinearFlow

ABLATIONS = ("density", "cycle", "identical", "prior")


class Side(NamedTuple):
    """One language, as the losses see it in one step."""

    points: Tensor  # (B, d), sampled from its mixture
    ranks: Tensor  # (B,), 1-based ranks of the words they were sampled around
    centers: Tensor  # (N, d), its words by rank: the components that score the other side
    sigma2: float  # variance of those components
    log_prior: Tensor | None = None  # (N,), naive prior; None is uniform


def cosine_loss(a: Tensor, b: Tensor) -> Tensor:
    """The paper's g: one minus the cosine of each pair of rows, ``(B, d), (B, d) -> (B,)``."""
    return 1 - torch.cosine_similarity(a, b, dim=-1)


def density_loss(
    flow: LinearFlow,
    x: Tensor,
    centers: Tensor,
    sigma2: float,
    *,
    ranks: Tensor | None = None,
    tau: float = 2.0,
    log_prior: Tensor | None = None,
    **options,
) -> Tensor:
    r"""Negative log-likelihood of mapped samples (Eq. 10 with ``ranks``, Eq. 8 without).

    Args:
        flow: The map into the space of ``centers``.
        x: Samples, ``(B, d)``.
        centers: Component means of the other space, ``(N, d)``.
        sigma2: Their variance.
        ranks: Ranks ``(B,)`` of the words behind ``x``, for the frequency-matching prior.
        tau: Its temperature.
        log_prior: Naive prior ``(N,)`` instead of ``ranks``.
        **options: ``tile`` and ``matmul_dtype`` of ``log_density``.

    Returns:
        :math:`-(\mathrm{mean}_i \log p(y_i|x_i) + \log|\det W|)`, a scalar.

    Note:
        This is minus the paper's ``L_xy``; its expectation is a mean over the batch.
    """
    score = log_density(
        flow(x), centers, sigma2, ranks=ranks, tau=tau, log_prior=log_prior, **options
    )
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
    """Supervision ``L_sup`` by words spelt alike in both languages (Section 3.5).

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
    src: Side,
    tgt: Side,
    identical: tuple[Tensor, Tensor] | None = None,
    *,
    lam: float = 0.5,
    alpha: float = 10.0,
    tau: float = 2.0,
    ablate: str | Collection[str] = (),
    reduction: str = "mean",
    **options,
) -> tuple[Tensor, dict[str, Tensor]]:
    r"""The whole objective (Eq. 11), to be minimised, and its parts, to be logged.

    Args:
        flow_xy: Source to target.
        flow_yx: Target to source.
        src: The source side: its samples, and the components that score target samples.
        tgt: The target side, likewise.
        identical: Vectors ``(v_x, v_y)`` of the identical words, ``(K, d)`` each.
        lam: Weight :math:`\lambda` of the cycle loss.
        alpha: Weight :math:`\alpha` of the identical words.
        tau: Temperature of the rank prior.
        ablate: Parts to leave out (Table 4): of ``"density"``, ``"cycle"``, ``"identical"``, and
            ``"prior"``, which puts the naive prior in place of the rank prior.
        reduction: Of the identical words.
        **options: ``tile`` and ``matmul_dtype`` of ``log_density``.

    Returns:
        The loss, and its unweighted parts by name: ``density_xy``, ``density_yx`` (negative
        log-likelihoods), ``cycle``, ``identical``, detached; an ablated part is absent.
    """
    ablate = _names(ablate)
    weights = {"density_xy": 1.0, "density_yx": 1.0, "cycle": lam, "identical": alpha}
    parts = {}
    if "density" not in ablate:
        for name, flow, a, b in (("xy", flow_xy, src, tgt), ("yx", flow_yx, tgt, src)):
            prior = {"log_prior": b.log_prior} if "prior" in ablate else {"ranks": a.ranks}
            parts[f"density_{name}"] = density_loss(
                flow, a.points, b.centers, b.sigma2, tau=tau, **prior, **options
            )
    if "cycle" not in ablate:
        parts["cycle"] = cycle_loss(flow_xy, flow_yx, src.points, tgt.points)
    if "identical" not in ablate:
        if identical is None:
            raise ValueError('no identical words: pass their vectors, or ablate="identical"')
        parts["identical"] = identical_loss(flow_xy, flow_yx, *identical, reduction=reduction)
    if not parts:
        raise ValueError("every loss is ablated: nothing is left to minimise")
    loss = sum(weights[name] * part for name, part in parts.items())
    return loss, {name: part.detach() for name, part in parts.items()}


def _names(ablate: str | Collection[str]) -> set[str]:
    """Ablations as a set: from one name, several, or an empty string."""
    names = {ablate} - {""} if isinstance(ablate, str) else set(ablate)
    if unknown := names - set(ABLATIONS):
        raise ValueError(f"no loss called {sorted(unknown)}; ablate any of {list(ABLATIONS)}")
    return names
