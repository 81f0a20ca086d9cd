"""Many languages in one space: :func:`align_many` gives a :class:`Space`.

Each language is first aligned with one of them, the hub, as two languages are. Then all pairs go on
together (:mod:`demalib.together`), so that a pair with few hints of its own gains from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from demalib import aligner, em, trial
from demalib.config import Config
from demalib.contrastive import Link, contrastive_step
from demalib.embedding import NORMALISATION, Embedding
from demalib.errors import DataError
from demalib.finish import Evidence, Finished
from demalib.hints import Lexicon
from demalib.pair import Mapping, Pair, make_pair
from demalib.procrustes import orthogonal_factor
from demalib.together import anneal_together, symmetric_together

LAST = ("contrastive", "symmetric", "orthogonal")  # last steps that map all languages at once


@dataclass(frozen=True, eq=False)
class Space:
    """Some languages and their maps into the space that they share.

    Attributes:
        sides: The normalised languages.
        maps: The map P of each, ``(d, d)``: words are compared by the cosine of x P.
        config: The settings that made it.
        info: The hub, and for every pair of languages its hints and its verdict.
    """

    sides: tuple[Embedding, ...]
    maps: tuple[Tensor, ...]
    config: Config
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def langs(self) -> tuple[str, ...]:
        """The languages, in the order they were given."""
        return tuple(side.lang for side in self.sides)

    def find(self, lang: str) -> int:
        """Look up a language by name; the error lists the valid names."""
        if lang not in self.langs:
            raise DataError(f"no language {lang!r} in this space; it has {', '.join(self.langs)}")
        return self.langs.index(lang)

    def between(self, src: str, tgt: str) -> tuple[Mapping, Pair]:
        """Return the mapping from one language to another, and the two as a pair.

        They are what :func:`demalib.align` takes and returns, so that all that can be done with
        two languages can be done with any two of a space.
        """
        a, b = self.find(src), self.find(tgt)
        if a == b:
            raise DataError(
                f"translate from {src} into another language of {', '.join(self.langs)}"
            )
        pair = make_pair(self.sides[a], self.sides[b], normalisation=())
        P, Q = self.maps[a], self.maps[b]
        mapping = Mapping.of(P, Q, pair, self.config, P_y=Q, P_x=P)
        known = self.info.get("pairs", {})
        mapping.info.update(known.get(f"{src}-{tgt}") or known.get(f"{tgt}-{src}") or {})
        return mapping, pair


def align_many(
    sides: Sequence[Embedding],
    config: Config | None = None,
    hub: str = "",
    lexicons: dict[tuple[str, str], Lexicon] | None = None,
    exclude: dict[tuple[str, str], Lexicon] | None = None,
) -> Space:
    """Align two or more languages in one space.

    Args:
        sides: Words of each language as read; smaller dimensions are padded with zeros.
        config: ``hints``, ``last``, ``tau`` and ``knn``; the usual ones if left out.
        hub: The language that all others are aligned with first; the one with most hints if empty.
        lexicons: Dictionaries that are believed, by source and target language.
        exclude: Test pairs that no hint may contain, by source and target language.

    Returns:
        The space, in the frame of the hub; the order of the languages changes nothing.

    Raises:
        DataError: There are fewer than two languages, or two of the same name; the hub, or a
            language of a lexicon, is none of them; or a setting is for two languages only.
    """
    given = [side.lang for side in sides]
    if len(sides) < 2 or len(set(given)) < len(given):
        raise DataError(
            f"align needs two languages or more, each with a name of its own; got {given}"
        )
    if hub and hub not in given:
        raise DataError(f"the hub {hub!r} is none of the languages; use one of {', '.join(given)}")
    config = config or Config("-".join(given[:2]), vectors="files")
    _refuse_settings(config)
    for some in (lexicons or {}, exclude or {}):
        for pair in some:
            if len(set(pair) & set(given)) < 2:
                raise DataError(
                    f"a lexicon is for {' and '.join(pair)}; two of {', '.join(given)} are wanted"
                )
    sides = sorted(sides, key=lambda side: side.lang)  # so that their order changes nothing
    langs = [side.lang for side in sides]
    dim = max(side.dim for side in sides)
    sides = [side.normalise(NORMALISATION).pad(dim) for side in sides]
    pairs: dict[Link, Pair] = {}
    for a, b in combinations(range(len(sides)), 2):
        known, test = (_of_pair(some, langs[a], langs[b]) for some in (lexicons, exclude))
        pairs[a, b] = make_pair(sides[a], sides[b], known, exclude=test, normalisation=())
    maps, info = fit_many(pairs, len(sides), config, langs.index(hub) if hub else None)
    info["hub"] = langs[info["hub"]]
    info["pairs"] = {f"{langs[a]}-{langs[b]}": facts for (a, b), facts in info["pairs"].items()}
    order = [langs.index(lang) for lang in given]
    maps = [maps[k].cpu() for k in order]
    return Space(tuple(sides[k] for k in order), tuple(maps), config, info)


def _refuse_settings(config: Config) -> None:
    """Refuse what only two languages can have, rather than ignore it."""
    if config.last not in ("auto", *LAST):
        raise DataError(
            f"last step {config.last!r} is for two languages; use auto, {', '.join(LAST)}"
        )
    for name, allowed in (
        ("ablate", ("", "prior")),
        ("pairing", ("agreement",)),
        ("reads", (False,)),
    ):
        if (value := getattr(config, name)) not in allowed:
            raise DataError(f"{name}={value!r} is for two languages; leave it out")


def fit_many(
    pairs: dict[Link, Pair], languages: int, config: Config, hub: int | None = None
) -> tuple[list[Tensor], dict[str, Any]]:
    """Find the maps of all languages, ``(d, d)`` each, and what is known about every pair.

    Args:
        pairs: Every two languages a < b.
        languages: Their number.
        config: As for :func:`align_many`.
        hub: Number of the hub, or None for the language with most hints.
    """
    hints = {link: pair.hints(config) for link, pair in pairs.items()}
    known = {
        link: torch.from_numpy(aligner.known_pairs(pair, config)).to(pair.x.device)
        for link, pair in pairs.items()
    }
    total = [
        sum(len(hints[link].rows) + len(known[link]) for link in pairs if k in link)
        for k in range(languages)
    ]
    hub = int(np.argmax(total)) if hub is None else hub
    config = config.replace(last=LAST[0] if config.last == "auto" else config.last)
    vectors = [_vectors(pairs, k) for k in range(languages)]
    maps = [torch.eye(vectors[0].shape[1]).to(vectors[0])] * languages
    facts: dict[Link, dict[str, Any]] = {}
    trials: dict[Link, aligner.Solution] = {}
    for (a, b), pair in pairs.items():
        counts = dict(hints[a, b].counts)
        if pair.train is not None:
            counts["lexicon"] = len(known[a, b])
        facts[a, b] = {"hints": counts}
        if hub not in (a, b):
            continue
        trials[a, b] = aligner.solve(pair, config, em.SCHEDULE[:1])
        W = trials[a, b].annealed.W
        maps[b if a == hub else a] = W.T if a == hub else W
    used = {link: some.cpu().numpy() for link, some in known.items()}
    used |= {link: np.concatenate([hints[link].rows, used[link]]) for link in trials}
    by_rank = config.ablate != "prior"
    maps, evidence = anneal_together(vectors, maps, known, hub, tau=config.tau, by_rank=by_rank)
    maps = finish_many(config.last, vectors, maps, evidence, known, hub)
    for (a, b), pair in pairs.items():
        ends = Finished(maps[a], maps[b], maps[b], maps[a])
        rows = hints[a, b].rows
        rows = rows[trial.apart(rows, known[a, b].cpu().numpy())]
        rows = rows[~_taught(rows, (a, b), used)]
        verdict = _judge(pair, ends, rows, trials.get((a, b)))
        facts[a, b]["verdict"] = verdict.to_dict()
    return maps, {"hub": hub, "pairs": facts}


def finish_many(
    last: str,
    vectors: Sequence[Tensor],
    maps: Sequence[Tensor],
    evidence: dict[Link, Evidence],
    known: dict[Link, Tensor],
    hub: int,
) -> list[Tensor]:
    """Carry out a last step for all languages; the hub's words stay as close as they can."""
    if last == "orthogonal":
        return list(maps)
    ends = symmetric_together(evidence, len(vectors))
    if not all(P.any() for P in ends):  # nothing correlates
        return list(maps)
    if last == "contrastive":
        ends = contrastive_step(vectors, ends, known)
    turn = orthogonal_factor(ends[hub]).T
    return [P @ turn for P in ends]


def _judge(
    pair: Pair, ends: Finished, rows: np.ndarray, tried: aligner.Solution | None
) -> trial.Verdict:
    """Give the verdict on a pair.

    A pair with the hub is judged by the hints that its trial held out. Of the hints between two
    other languages, ``rows`` are those that taught nothing, so the final maps are judged by them.
    """
    kind, found = "words of like spelling", np.empty(0)
    if tried is not None:
        kind, found = tried.held_out, tried.found.get(tried.last, found)
    elif len(rows := rows[trial.hold_out(rows, 1)]):
        found = trial.positions(ends, pair.x, pair.y, rows)
    return trial.give_verdict(ends, pair.x, pair.y, kind, found)


def _taught(rows: np.ndarray, link: Link, used: dict[Link, np.ndarray]) -> np.ndarray:
    """Say which pairs of two languages' words the maps were taught by way of a third language.

    Args:
        rows: Row numbers of pairs, ``(K, 2)``.
        link: The two languages.
        used: Row numbers of the pairs that said where to start or were believed, by link.

    Returns:
        Whether both words have a partner in common, ``(K,)`` bool.
    """
    taught = np.zeros(len(rows), bool)
    for third in {k for other in used for k in other} - set(link):
        partners: list[dict[int, set[int]]] = [{}, {}]
        for mine, found in zip(link, partners, strict=True):
            pairs = used[mine, third] if mine < third else used[third, mine][:, ::-1]
            for word, partner in pairs.tolist():
                found.setdefault(word, set()).add(partner)
        one, other = partners
        shared = [bool(one.get(i, set()) & other.get(j, set())) for i, j in rows.tolist()]
        taught |= np.array(shared, bool)
    return taught


def _vectors(pairs: dict[Link, Pair], language: int) -> Tensor:
    """Find the words of one language in any of its pairs, ``(N, d)``."""
    return next(
        pair.x if a == language else pair.y for (a, b), pair in pairs.items() if language in (a, b)
    )


def _of_pair(lexicons: dict[tuple[str, str], Lexicon] | None, src: str, tgt: str) -> Lexicon | None:
    """Join the lexicons of a pair of languages, given in one direction or in both."""
    given = lexicons or {}
    both = [given[src, tgt]] if (src, tgt) in given else []
    both += [given[tgt, src].reverse()] if (tgt, src) in given else []
    if len(both) < 2:
        return both[0] if both else None
    return Lexicon(list(dict.fromkeys(both[0].pairs + both[1].pairs)), both[0].name)
