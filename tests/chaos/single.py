"""Every single fault: each call that a job makes of the system fails once, by strace's injection.

A job is forked from a process in which all is ready, so that every try makes the same calls: the
first is only counted, then the first call fails, the second, and so on to the last. A limit on the
size of files makes writes short. After each: a clear line or success, the old result or the new
one, nothing left behind, and the next try succeeds.
"""

import contextlib
import fcntl
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

import pooch.core

from chaos.faults import digest, finish, fresh, ground, start, train_notebook
from chaos.powercut import CASES, NOTHING, Case
from demalib.errors import DataError
from demalib.runs.folder import UNFINISHED
from demalib.runs.notebooks import run_notebook

KINDS = {
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "pwrite64": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "writev": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "openat": ("EMFILE", "EIO", "ENOSPC", "EINTR"),
    "rename": ("EIO", "ENOSPC", "EDQUOT"),
    "renameat2": ("EIO", "ENOSPC", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "mkdir": ("EIO", "ENOSPC", "EDQUOT"),
}
STRACE = shutil.which("strace")
ROOM = 1 << 20  # bytes of errors
KEPT = ("www", "log")  # in a place, whatever happens
Fault = tuple[str, str, int]  # call or "size", kind, number of the call or bytes


def reason_not_to() -> str:
    """Why no faults can be injected here; "" if they can."""
    if not STRACE:
        return "no strace on this machine (apt-get install strace)"
    job = subprocess.Popen(["sleep", "60"])
    try_it = [STRACE, "-e", "inject=getcwd:error=EIO", "-o", os.devnull, "-p", str(job.pid)]
    tracer = subprocess.Popen(try_it, stderr=subprocess.PIPE, text=True)
    said = tracer.stderr.readline()
    job.kill()
    job.wait()
    tracer.communicate()
    return "" if "attached" in said else said.strip()[-100:]


def notebook(place: Path) -> Case:
    """``demalib run``: what the process does that starts the kernel."""
    path = train_notebook(place)
    folder = place / "results/runs/en-fr/gradient/0"

    def work() -> None:
        run_notebook(path, {})

    def found() -> str:
        if not (folder / "metrics.json").is_file():
            return NOTHING
        json.loads((folder / "train.ipynb").read_text())
        return digest(*((folder / name).read_bytes() for name in ("metrics.json", "part")))

    work()
    return place / "results", work, found, {found()}, found()


JOBS = CASES | {"notebook": notebook}


class Nursery:
    """A place where a job can be tried again and again from the same start."""

    def __init__(self, name: str, place: Path):
        self.name, self.place = name, place
        self.root, self.work, self.found, self.allowed, self.new = JOBS[name](place)
        self.again()  # all is loaded now that is loaded once
        self.whole = self.names()
        _, self.work, self.found, self.allowed, self.new = JOBS[name](self.reset())
        self.template = place.with_name(f"{place.name}-template")
        shutil.copytree(place, self.template, ignore=lambda *_: KEPT)
        self.before = self.names()
        if self.found() != NOTHING:
            self.allowed = self.allowed - {NOTHING}  # earlier results stay

    def clear(self) -> None:
        """Remove all but the log and the host's files."""
        for path in self.place.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def reset(self) -> Path:
        """An empty place, with the vectors there."""
        self.clear()
        if self.name != "download":
            shutil.copytree(self.place / "www", self.place / "cache" / "muse")
        return self.place

    def names(self) -> set[str]:
        """All files of the place."""
        found = (path.relative_to(self.place) for path in self.place.rglob("*") if path.is_file())
        return {str(path) for path in found if path.parts[0] not in (*KEPT, "kernels")}

    def again(self) -> None:
        """Do the job without a fault."""
        with contextlib.suppress(SystemExit):
            self.work()

    def restore(self) -> None:
        """The place as before the job."""
        self.clear()
        shutil.copytree(self.template, self.place, dirs_exist_ok=True)

    def child(self, line: socket.socket, errors: int, limit: int) -> None:
        """The job in a process of its own, with an exit code as the command has.

        It says on the line when it is ready, and waits there for strace: a call that fails while
        the process is still being set up would be none of the job's. Its errors go to a pipe,
        which has no size that could be limited.
        """
        code = 1
        try:
            os.dup2(os.open(self.place / "stdout", os.O_WRONLY | os.O_CREAT), 1)
            os.dup2(errors, 2)
            sys.stdout = open(1, "w", closefd=False)
            sys.stderr = open(2, "w", closefd=False)
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            line.send(b"ready")
            line.recv(1)
            self.work()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        except (DataError, OSError) as error:  # as the command line says it
            print(f"demalib {self.name}: {error}", file=sys.stderr)
            code = 2
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stderr.flush()
            os._exit(code)

    def attempt(self, options: list[str], limit: int = 0) -> tuple[int, str, str]:
        """Do the job under strace: its exit code, what it said, and strace's log."""
        self.restore()
        ours, its = socket.socketpair()
        reader, errors = os.pipe()
        fcntl.fcntl(errors, fcntl.F_SETPIPE_SZ, ROOM)
        if not (pid := os.fork()):
            ours.close()
            self.child(its, errors, limit)
        its.close()
        os.close(errors)
        assert ours.recv(5), f"{self.name} ended before it began"
        log = self.place.with_name("strace.log")
        log.write_text("")
        tracer = None
        if options:
            tracer = subprocess.Popen(
                [STRACE, "-y", "-s", "0", *options, "-o", str(log), "-p", str(pid)],
                stderr=subprocess.PIPE,
                text=True,
            )
            assert "attached" in tracer.stderr.readline()
        ours.send(b"x")
        ours.close()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if tracer:
            tracer.communicate()
        os.set_blocking(reader, False)  # a kernel may still have the other end
        with open(reader, "rb", buffering=0) as file:
            said = (file.read(ROOM) or b"").decode(errors="replace")
        (self.place / "stdout").unlink()
        return code, said, log.read_text()

    def faults(self) -> list[Fault]:
        """Every fault that can happen to the job: from the calls that it makes without one."""
        only = self.paths()
        code, said, log = self.attempt([*only, "-e", f"trace={','.join('?' + k for k in KINDS)}"])
        assert code == 0 and self.found() == self.new, f"{self.name} fails without a fault: {said}"
        calls = Counter(re.findall(r"^(\w+)\(", log, re.M))
        injected = [
            (call, kind, number + 1)
            for call, count in calls.items()
            for number in range(count)
            for kind in KINDS[call]
        ]
        sizes = {p.stat().st_size for p in self.root.rglob("*") if p.is_file()}
        limits = {size // part for size in sizes for part in (1, 2, 5) if size > 10}
        return injected + [("size", "short", limit - 1) for limit in sorted(limits)]

    def paths(self) -> list[str]:
        """For strace: only calls of these paths; all, unless a kernel makes calls at random."""
        if self.name != "notebook":
            return []
        parts = [p for name in self.whole for p in Path(name).parents] + [*map(Path, self.whole)]
        runs = self.place / "results/runs"
        places = {self.place / part for part in parts if part.parts[:1] == ("results",)}
        work = {runs / ".unfinished" / p.relative_to(runs) for p in places if runs in p.parents}
        return [word for path in sorted(places | work) for word in ("-P", str(path))]

    def check(self, fault: Fault) -> str:
        """Let one call fail: "" or how the contract was broken."""
        call, kind, number = fault
        if call == "size":
            code, said, log = self.attempt([], number)
        else:
            inject = ["-e", f"inject={call}:error={kind}:when={number}"]
            code, said, log = self.attempt([*self.paths(), "-e", f"trace={call}", *inject])
        hit = next((line for line in log.splitlines() if "INJECTED" in line), "")
        lines = [line for line in said.splitlines() if line and "IPKernelApp" not in line]
        if code not in (0, 2):
            return f"exit code {code}: {said[-300:]}; {hit}"
        if code == 2 and not re.fullmatch(r"demalib .*/.*", "\n".join(lines)):
            return f"not one line that names a file: {said[-300:]!r}; {hit}"
        new = self.names() - self.before - self.whole
        left = {n for n in new if UNFINISHED not in n and not re.search(r"digests/\w+\.json$", n)}
        if left:
            return f"left behind: {sorted(left)}; {hit}; {said}"
        found = self.found()
        if found not in self.allowed or (code == 0 and found != self.new):
            return f"exit code {code}, but it found {found}; {hit}; {said}"
        try:
            self.work()
        except (Exception, SystemExit) as error:
            return f"it found {found}, but the next try failed: {error!r}; {hit}"
        return "" if self.found() == self.new else f"the next try found {self.found()}; {hit}"


def sampled(faults: list[Fault], sample: int) -> list[Fault]:
    """Sample faults evenly from each call, and take every rename, since renames publish results."""
    some = []
    for call in dict.fromkeys(fault[0] for fault in faults):
        mine = [fault for fault in faults if fault[0] == call]
        some += mine[len(mine) // (2 * sample) :: max(1, len(mine) // sample)][:sample]
    return some + [fault for fault in faults if fault[:2] == ("rename", "EIO")]


def single_faults(name: str, sample: int = 0) -> tuple[Counter, list[str]]:
    """Let every call of a job fail once, or a sample of each call; count faults and breaches."""

    def job(place: Path) -> str:
        pooch.core.time.sleep = lambda seconds: None  # between tries of a download
        nursery = Nursery(name, place)
        faults = nursery.faults()
        counts: Counter = Counter()
        breaches = []
        for fault in sampled(faults, sample) if sample else faults:
            if said := nursery.check(fault):
                breaches.append(f"{name}: {fault}: {said}"[:600])
            counts[fault[1]] += 1
        return json.dumps([counts, breaches])

    with ground() as (folder, address):
        place = fresh(folder, f"{name}-single")
        said = finish(*start(job, place, address))
        if "exit code" in said[:10]:
            log = place / "log"
            return Counter(), [f"{name}: {said}; {log.read_text()[-1500:] if log.exists() else ''}"]
        counts, breaches = json.loads(said)
        return Counter(counts), breaches
