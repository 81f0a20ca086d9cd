r"""A prior that can read: words that look alike are more likely to be translations.

The paper's conditional weight :math:`\pi(y_j|x_i)` knows ranks (Section 3.3). Here it gets a second
term, for words of the same spelling and for cognates:

.. math:: \pi(y_j|x_i) \propto \exp\left(-|\log i - \log j| / \tau + \eta_k\,a_{ij}\right),

where :math:`a_{ij} = 1` if the two words are alike in the sense of kind k, and 0 otherwise.
:math:`\eta_k` says how much to believe such a likeness. No gold data sets it: it maximises the
likelihood of the mapped words that have a partner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from demalib.em import choose_sigma2
from demalib.mixture import WordMixture
from demalib.tiles import Partners

WORDS = 10_000  # most frequent words per side that eta is estimated on
MOST, FEWEST = 500, 20  # words with a partner that are asked, at most; with fewer eta is 0
CANDIDATES = 2.0  # effective candidates of a word, which set the variance: as in EM's last rounds
HIGHEST, HALVINGS = 15.0, 40  # eta is found by bisection between 0 and this


class Alike(NamedTuple):
    """Words that look alike, each word at most once on either side."""

    rows: Tensor  # (K, 2), row numbers of source and target words
    kind: Tensor  # (K,), 0 for the same spelling, 1 for cognates
    usable: Tensor  # (K,) bool; the others are in a test lexicon and may not teach anything

    def swap(self) -> Alike:
        """The same with source and target exchanged."""
        return Alike(self.rows.flip(1), self.kind, self.usable)

    def allowed(self) -> Alike:
        """Without the words of a test lexicon, for use in an E-step."""
        return self.only(self.usable)

    def only(self, some: Tensor) -> Alike:
        """Keep some of the pairs, ``(K,)`` bool."""
        return Alike(*(part[some] for part in self))


def find_partners(alike: Alike, etas: Tensor, words: int) -> Partners:
    """Look up the partner of every source word.

    Args:
        alike: Words that look alike.
        etas: What each kind is worth, ``(kinds,)``.
        words: Number N of source words.
    """
    row = alike.rows.new_full((words,), -1)
    value = etas.new_zeros(words)
    row[alike.rows[:, 0]] = alike.rows[:, 1]
    value[alike.rows[:, 0]] = etas[alike.kind]
    return Partners(row, value)


@torch.no_grad()
def estimate_etas(
    mapped: Tensor, targets: Tensor, alike: Alike, tau: float = 2.0
) -> tuple[Tensor, float]:
    r"""Estimate how much each kind of likeness says, without gold data.

    For a word with partner j let :math:`\rho_i` be the posterior of j under the rank prior alone
    (Eq. 9), and :math:`\pi_i` that prior. The likelihood of the mapped words is highest where the
    partners' posteriors add up to their priors,

    .. math:: \sum_i \frac{\rho_i e^\eta}{1 - \rho_i + \rho_i e^\eta} =
        \sum_i \frac{\pi_i e^\eta}{1 - \pi_i + \pi_i e^\eta}.

    Args:
        mapped: Source words by rank in the target space, unit vectors, ``(N, d)``.
        targets: Target words by rank, unit vectors, ``(M, d)``.
        alike: Words that look alike.
        tau: Temperature of the rank prior.

    Returns:
        :math:`\eta` of the same spelling and of cognates, ``(2,)``, and the variance
        :math:`\sigma^2` at which a word has two effective candidates.

    Note:
        Two imagined words, one with a right partner and one with a wrong one, keep
        :math:`\eta` finite.
    """
    points, words = mapped[:WORDS], targets[:WORDS]
    sigma2 = choose_sigma2(points, words, None, min(CANDIDATES, len(words) / 4), tau)
    mixture, etas = WordMixture(words, sigma2, tau=tau), targets.new_zeros(2)
    constant = WordMixture(words[:1], sigma2).log_prob(words[:1])  # of a Gaussian at its centre
    for kind in range(len(etas)):
        chosen = alike.rows[(alike.kind == kind) & alike.usable]
        chosen = chosen[(chosen[:, 0] < len(points)) & (chosen[:, 1] < len(words))]
        chosen = chosen[:: -(-len(chosen) // MOST) or 1]
        if len(chosen) < FEWEST:
            continue
        i, j = chosen.T
        prior = mixture.log_prior(i + 1).gather(1, j[:, None])[:, 0]
        near = -(points[i] - words[j]).square().sum(1) / (2 * sigma2) + constant
        posterior = (near + prior - mixture.log_prob(points[i], i + 1)).exp().clamp(max=1)
        etas[kind] = _balance(posterior.double(), prior.exp().double())
    return etas, sigma2


def _balance(posterior: Tensor, prior: Tensor) -> float:
    """Find the eta at which posteriors and priors have the same sum, by bisection."""
    posterior = torch.cat([posterior, posterior.new_tensor([0.0, 1.0])])
    prior = torch.cat([prior, prior.mean().expand(2)])
    low, high = 0.0, HIGHEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        odds = math.exp(middle)
        after, before = (p * odds / (1 - p + p * odds) for p in (posterior, prior))
        low, high = (middle, high) if after.sum() > before.sum() else (low, middle)
    return low


def partners_of(mapped: Tensor, targets: Tensor, alike: Alike, tau: float = 2.0) -> Partners:
    r"""Give every source word its partner, with :math:`\eta` as value: a logit for an E-step.

    Args:
        mapped: Source words by rank in the target space, unit vectors, ``(N, d)``.
        targets: Target words by rank, unit vectors, ``(M, d)``.
        alike: Words that look alike.
        tau: Temperature of the rank prior.
    """
    return find_partners(alike, estimate_etas(mapped, targets, alike, tau)[0], len(mapped))


def reader(alike: Callable[[], Alike], tau: float = 2.0) -> Callable[[Tensor, Tensor], Partners]:
    r"""Make the function by which a :class:`demalib.Retriever` finds the partners of its words.

    Args:
        alike: Finds the words that look alike; called when they are needed.
        tau: Temperature of the rank prior.

    Returns:
        A function of the mapped words, ``(N, d)``, and the target words, ``(M, d)``, unit vectors.
        The value of a partner is :math:`\sigma^2 \eta`, in units of CSLS. That is careful: a
        posterior of Eq. 9 has :math:`\cos / \sigma^2 + \eta` and CSLS has 2 cos, so it would be
        worth twice as much.
    """

    def read(mapped: Tensor, targets: Tensor) -> Partners:
        found = alike()
        etas, sigma2 = estimate_etas(mapped, targets, found, tau)
        return find_partners(found, sigma2 * etas, len(mapped))

    return read
