"""Machines with a bad network between them: namespaces of this one, and a router that drops packets.

Every machine is a network namespace with one interface, 10.77.0.N. Its packets come to a process
of ours, which passes them on, or not. Nothing leaves this machine. Needs root, ``ip`` and
``/dev/net/tun``.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 0x0001, 0x1000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def reason_not_to() -> str:
    """Why there can be no such machines here; "" if there can."""
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("ip"):
        return "network namespaces need root and ip (apt-get install iproute2)"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun on this machine"
    name = f"demalib-{os.getpid()}-try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return done.stderr.strip()


def address(number: int) -> str:
    """The address of a machine."""
    return f"10.77.0.{number}"


class Machines:
    """Some machines and the link between them."""

    def __init__(self, count: int, seed: int = 0):
        self.names = [f"demalib-{os.getpid()}-{number}" for number in range(1, count + 1)]
        tunnels = []
        try:
            for number, name in enumerate(self.names, start=1):
                ip("netns", "add", name)
                tunnels.append(tunnel(name))
                ip("-n", name, "addr", "add", f"{address(number)}/24", "dev", "link0")
                for device in ("lo", "link0"):
                    ip("-n", name, "link", "set", device, "up")
        except BaseException:
            self.remove()
            raise
        reader, self.control = os.pipe()
        self.router = os.fork()
        if not self.router:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.close(self.control)
            try:
                route(tunnels, reader, random.Random(seed))
            finally:
                os._exit(0)
        for handle in (*tunnels, reader):
            os.close(handle)

    def set(self, loss: float = 0.0, cut: tuple[int, ...] = (), rate: float = 0.0) -> None:
        """Set how bad the links are.

        Args:
            loss: Share of the packets that is lost, 0 to 1.
            cut: Machines whose packets are all lost, from or to them.
            rate: Bytes a second that pass, at most; 0 is as many as there are.
        """
        os.write(self.control, json.dumps([loss, cut, rate]).encode() + b"\n")

    def start(self, number: int, words: list[str], **options) -> subprocess.Popen:
        """Start a program on a machine; it ends with this process, however that ends."""
        words = ["ip", "netns", "exec", self.names[number - 1], *words]
        return subprocess.Popen(words, preexec_fn=end_with_parent, **options)

    def remove(self) -> None:
        """Take the machines away."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def close(self) -> None:
        """End the router, and take the machines away."""
        os.kill(self.router, signal.SIGKILL)
        os.waitpid(self.router, 0)
        os.close(self.control)
        self.remove()


@contextlib.contextmanager
def machines(count: int, seed: int = 0) -> Iterator[Machines]:
    """Some machines for a while."""
    found = Machines(count, seed)
    try:
        yield found
    finally:
        found.close()


def end_with_parent() -> None:
    """Let Linux kill this process when its parent is gone."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def ip(*words: str) -> None:
    """Call ``ip``."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


def tunnel(name: str) -> int:
    """Make the interface ``link0`` in a namespace; what is sent to it can be read here."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(Path("/run/netns", name), os.O_RDONLY)
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        assert LIBC.setns(there, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            os.close(handle)  # a tunnel is of the namespace in which it was opened
            handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", b"link0", IFF_TUN | IFF_NO_PI))
        finally:
            assert LIBC.setns(home, CLONE_NEWNET) == 0
    finally:
        os.close(home)
        os.close(there)
    return handle


def route(tunnels: list[int], control: int, rng: random.Random) -> None:
    """Pass packets on until nobody is left to tell us how."""
    loss, cut, rate, told = 0.0, (), 0.0, b""
    while True:
        for handle in select.select([*tunnels, control], [], [])[0]:
            if handle == control:
                told += (more := os.read(control, 1 << 16))
                if not more:
                    return
                *lines, told = told.split(b"\n")
                if lines:
                    loss, cut, rate = json.loads(lines[-1])
                continue
            with contextlib.suppress(BlockingIOError):
                for _ in range(64):
                    packet = os.read(handle, 1 << 16)
                    to, by = packet[19], tunnels.index(handle) + 1
                    known = packet[0] >> 4 == 4 and packet[16:19] == b"\x0a\x4d\x00"
                    passes = to not in cut and by not in cut and rng.random() >= loss
                    if known and to <= len(tunnels) and passes:
                        os.write(tunnels[to - 1], packet)
                        time.sleep(len(packet) / rate if rate else 0)
