"""What must be there after a power cut: the old result, the new one, or none, never another."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from chaos import world
from chaos.disk import cut
from chaos.faults import align_seed, command, digest, figures, finish, fresh, ground, start
from demalib import runs
from demalib.alignment import load_alignment
from demalib.data.registry import fetch_muse_vectors, muse_dir
from demalib.data.store import read_vectors
from demalib.errors import DataError
from demalib.evaluation.benchmark import load_gold, load_pair, solve_and_judge
from demalib.many import align_many
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.runs.folder import save_run
from demalib.spaces import load_space, save_space

# root of what may be damaged, what is done, what is then found, what may be found, what must be
Case = tuple[Path, Callable[[], object], Callable[[], str], set[str], str]
FEWER = ("--max-vocab", 200)  # of an earlier alignment
NOTHING = "nothing"  # none is there, and demalib says so: it is made again


def align(place: Path) -> Case:
    """A second alignment over a first."""

    def found() -> str:
        try:
            mapping, pair = load_alignment(place / "aligned")
        except DataError as error:
            return NOTHING if "no such mapping" in str(error) else str(error)
        config = json.loads((place / "aligned" / "config.json").read_text())
        assert config == mapping.config.to_dict()
        return digest(mapping.W_xy.numpy().tobytes(), str(config).encode(), str(pair).encode())

    align_seed(place, 0)
    new = found()
    align_seed(place, 1, *FEWER)
    old = found()
    assert old != new
    return place / "aligned", partial(align_seed, place, 0), found, {old, new, NOTHING}, new


def run(place: Path) -> Case:
    """A run that is built again over a finished one."""
    folder, digests = runs.run_dir(world.EM), []
    solved = [
        solve_and_judge(load_pair(config), load_gold(config), config)
        for config in (world.EM, world.EM.replace(solver="identical"))
    ]

    def fill(work: Path, which: int) -> None:
        save_run(work, solved[which])
        (work / "notebook").write_text(f"{which}" * 5000)  # as papermill writes it

    def build(which: int) -> None:
        runs.build_run(folder, partial(fill, which=which), again=True)

    def found() -> str:
        try:
            if not runs.finished_runs():
                return NOTHING
            return digest(figures(folder), (folder / "notebook").read_bytes())
        except DataError as error:
            return str(error)

    for which in (1, 0):
        build(which)
        digests.append(found())
    assert digests[0] != digests[1]
    return runs.results_dir(), partial(build, 1), found, {*digests, NOTHING}, digests[0]


def checkpoint(place: Path) -> Case:
    """Three checkpoints, one after the other."""
    path = place / "checkpoints" / "a" / "c.safetensors"
    path.parents[1].mkdir()

    def save() -> None:
        for step in range(3):
            DiskCheckpoint(path).save("s", {"W": torch.full((20, 20), step)}, {"step": step})

    def found() -> str:
        read = []
        try:
            DiskCheckpoint(path).load("s", lambda tensors, facts: read.append((tensors, facts)))
        except DataError as error:
            return str(error)
        if not read:
            return NOTHING
        [(tensors, facts)] = read
        return f"{facts['step']} {tensors['W'].unique().tolist()}"

    good = {f"{step} [{step}]" for step in range(3)}
    return path.parents[1], save, found, good | {NOTHING}, "2 [2]"


def cache(place: Path) -> Case:
    """A parsed file; whatever is left of it, the vectors are the file's."""
    path = place / "www" / world.VECTORS / "wiki.en.vec"
    want = next(side for side in world.spaces() if side.lang == "en")
    root = place / "cache" / "vectors"
    root.mkdir()

    def found() -> str:
        embedding = read_vectors(path)
        same = embedding.words == want.words
        return "same" if same and np.allclose(embedding.vectors, want.vectors, 1e-4) else "other"

    return root, found, found, {"same"}, "same"


def export(place: Path) -> Case:
    """Files for other programs, written over those of another map."""
    out = place / "out"

    def write() -> None:
        for kind in ("vec", "word2vec", "npz", "dictionary"):
            command("export", place / "aligned", "--format", kind, "--out", out)

    def found() -> str:
        files = {p.name: digest(p.read_bytes()) for p in out.iterdir() if p.suffix != ".tmp"}
        strange = [name for name, was in files.items() if was not in whole[name]]
        if strange:
            return f"neither the old nor the new: {strange}"
        return "new" if all(was == whole[name][1] for name, was in files.items()) else "mixed"

    seen = []
    for few in (FEWER, ()):
        align_seed(place, 0, *few)
        write()
        seen.append({p.name: digest(p.read_bytes()) for p in out.iterdir()})
    whole = {name: (seen[0][name], seen[1][name]) for name in seen[0]}
    assert all(old != new for old, new in whole.values())
    align_seed(place, 0, *FEWER)
    write()
    align_seed(place, 0)
    return out, write, found, {"new", "mixed"}, "new"


def download(place: Path) -> Case:
    """A file from the slow host."""
    want = (place / "www" / world.VECTORS / "wiki.es.vec").read_bytes()
    muse_dir().mkdir(parents=True)
    path = muse_dir() / world.VECTORS / "wiki.es.vec"

    def found() -> str:
        if not path.exists():
            return NOTHING
        return "whole" if path.read_bytes() == want else "damaged under its name"

    return muse_dir(), partial(fetch_muse_vectors, "es"), found, {"whole", NOTHING}, "whole"


def space(place: Path) -> Case:
    """Three languages in one space, over another space with one language that is not in the new."""
    folder, digests = place / "together", []
    one, two = world.spaces()
    sides = (
        one,
        two,
        replace(two, lang="fr"),
        replace(one, lang="de", vectors=one.vectors[:, ::-1]),
    )
    made = [align_many([sides[i] for i in some]) for some in ((0, 1, 2), (0, 1, 3))]

    def found() -> str:
        try:
            whole = load_space(folder)
        except DataError as error:
            return NOTHING if "no such space" in str(error) else str(error)
        parts = [P.numpy().tobytes() for P in whole.maps] + [
            s.vectors.tobytes() for s in whole.sides
        ]
        return digest(str(whole.langs).encode(), *parts)

    for which in made:
        save_space(folder, which)
        digests.append(found())
    assert digests[0] != digests[1]
    return folder, partial(save_space, folder, made[0]), found, {*digests, NOTHING}, digests[0]


CASES: dict[str, Callable[[Path], Case]] = {
    f.__name__: f for f in (align, space, run, checkpoint, cache, export, download)
}


def power_cuts(name: str, seed: int, most: int = 0) -> tuple[int, list[str]]:
    """Cut the power of a job at every moment, in every way; states tried, and what was wrong."""

    def job(place: Path) -> str:
        root, work, found, allowed, new = CASES[name](place)

        def judge(done: bool) -> str:
            try:
                said = found()
                if said == NOTHING and not done:
                    work()
                    said = found()
            except Exception as error:
                said = repr(error)
            if done and said != new:
                return f"{name} had returned, but its result was not there: {said}"
            return "" if said in allowed else f"{name}: {said}"

        return json.dumps(cut(root, work, judge, seed, most))

    with ground() as (folder, address):
        place = fresh(folder, f"{name}-cut")
        said = finish(*start(job, place, address))
        if "exit code" in said:
            return 0, [f"{name}: {said}; {(place / 'log').read_text()[-2000:]}"]
        tried, wrong = json.loads(said)
        return tried, wrong
