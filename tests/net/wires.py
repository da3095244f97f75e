"""Hosts in network namespaces of their own, on a wire that delays, loses and reorders.

There are two wires. One is made of the kernel's parts: two bridges, `tc netem` at each port.
The other does the same in this process, for kernels without netem: each host has a tap
device, and the loop of the test takes frames from one and gives them to another. Either takes
the right to make namespaces.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import struct
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

DELAY_MS, JITTER_MS, LOSS = 50, 10, 0.05
NETWORK = "10.213.77"
TUN = Path("/dev/net/tun")
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
_FRAME_MAX = 65536


class Unavailable(Exception):
    """This machine has no such wire, and why."""


class Wire(ABC):
    """Hosts number 0 to `count` - 1; those below `left` can be cut off from the others."""

    def __init__(self, count: int, left: int) -> None:
        self.left = left
        self._spaces = [f"ow{os.getpid()}n{number}" for number in range(count)]

    def prefix(self, number: int) -> list[str]:
        """To be put before a command that is to run at this host."""
        return ["ip", "netns", "exec", self._spaces[number]]

    @staticmethod
    def address(number: int) -> str:
        return f"{NETWORK}.{number + 1}"

    @abstractmethod
    def faults(self, on: bool) -> None:
        """Delay, loss and reordering."""

    @abstractmethod
    def cut(self, apart: bool) -> None:
        """Between those below `left` and the others; or mend it."""

    def _add_spaces(self, stack: ExitStack) -> None:
        for space in self._spaces:
            run("ip", "netns", "add", space)
            stack.callback(run, "ip", "netns", "del", space)

    def _bring_up(self, number: int, device: str) -> None:
        inside = self.prefix(number)
        run(*inside, "ip", "address", "add", f"{self.address(number)}/24", "dev", device)
        run(*inside, "ip", "link", "set", device, "up")
        run(*inside, "ip", "link", "set", "lo", "up")


class Switch(Wire):
    """Frames pass through this process."""

    def __init__(self, count: int, left: int, stack: ExitStack) -> None:
        super().__init__(count, left)
        if not os.access(TUN, os.R_OK | os.W_OK):
            raise Unavailable(f"{TUN} cannot be used")
        self.carried = self.lost = 0
        self._faults = self._apart = False
        self._chance = Random(1)
        self._loop = asyncio.get_running_loop()
        self._ports: list[int] = []
        self._places: dict[bytes, int] = {}
        """Hardware address -> port."""
        self._add_spaces(stack)
        for number, space in enumerate(self._spaces):
            device = f"ow{number}t{os.getpid()}"
            port = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
            stack.callback(os.close, port)
            name = struct.pack("16sH", device.encode(), _IFF_TAP | _IFF_NO_PI)
            fcntl.ioctl(port, _TUNSETIFF, name)
            run("ip", "link", "set", device, "netns", space)
            self._bring_up(number, device)
            self._ports.append(port)
            self._loop.add_reader(port, self._take, number)
            stack.callback(self._loop.remove_reader, port)

    def faults(self, on: bool) -> None:
        self._faults = on

    def cut(self, apart: bool) -> None:
        self._apart = apart

    def _take(self, number: int) -> None:
        for _ in range(100):
            try:
                frame = os.read(self._ports[number], _FRAME_MAX)
            except (BlockingIOError, OSError):
                return
            to, sender = frame[:6], frame[6:12]
            self._places[sender] = number
            place = self._places.get(to)
            if place is not None:
                self._send(frame, number, place)
            elif to[0] & 1:
                for other in range(len(self._ports)):
                    if other != number:
                        self._send(frame, number, other)

    def _send(self, frame: bytes, number: int, to: int) -> None:
        self.carried += 1
        if self._apart and (number < self.left) != (to < self.left):
            return
        if not self._faults:
            self._give(frame, to)
        elif self._chance.random() < LOSS:
            self.lost += 1
        else:
            # Each frame by itself: whatever comes close together is reordered.
            delay_ms = DELAY_MS + self._chance.uniform(-JITTER_MS, JITTER_MS)
            self._loop.call_later(delay_ms / 1000, self._give, frame, to)

    def _give(self, frame: bytes, to: int) -> None:
        with suppress(OSError):  # a full queue loses it, as queues do
            os.write(self._ports[to], frame)


class Bridges(Wire):
    """Two bridges and a cable between them. What a bridge gives to a host passes netem, so
    each frame does once."""

    NETEM = (
        "netem", "delay", f"{DELAY_MS}ms", f"{JITTER_MS}ms", "loss", f"{100 * LOSS}%",
        "reorder", "5%", "50%",
    )  # fmt: skip

    def __init__(self, count: int, left: int, stack: ExitStack) -> None:
        super().__init__(count, left)
        if shutil.which("tc") is None:
            raise Unavailable("there is no tc")
        mark = os.getpid()
        self._cable = f"owl{mark}"
        bridges = [f"owA{mark}", f"owB{mark}"]
        self._add_spaces(stack)
        for bridge in bridges:
            run("ip", "link", "add", bridge, "type", "bridge")
            stack.callback(run, "ip", "link", "del", bridge)
            run("ip", "link", "set", bridge, "up")
        self._plug(stack, bridges[0], self._cable, f"owr{mark}")
        run("ip", "link", "set", f"owr{mark}", "master", bridges[1], "up")
        self._outside: list[str] = []
        for number, space in enumerate(self._spaces):
            outside = f"ow{number}p{mark}"
            self._plug(stack, bridges[number >= left], outside, f"ow{number}v{mark}")
            run("ip", "link", "set", f"ow{number}v{mark}", "netns", space)
            self._bring_up(number, f"ow{number}v{mark}")
            self._outside.append(outside)

    def faults(self, on: bool) -> None:
        for outside in self._outside:
            if on:
                run("tc", "qdisc", "add", "dev", outside, "root", *self.NETEM)
            else:
                run("tc", "qdisc", "del", "dev", outside, "root")

    def cut(self, apart: bool) -> None:
        run("ip", "link", "set", self._cable, "down" if apart else "up")

    @staticmethod
    def _plug(stack: ExitStack, bridge: str, near: str, far: str) -> None:
        run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
        stack.callback(run, "ip", "link", "del", near)
        run("ip", "link", "set", near, "master", bridge, "up")


WIRES: dict[str, type[Switch] | type[Bridges]] = {"switch": Switch, "netem": Bridges}


@contextmanager
def wired(kind: str, count: int, left: int = 0) -> Iterator[Wire]:
    """So many hosts, or the test is skipped and says why. For use inside a loop."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("namespaces take root and the command `ip`")
    with ExitStack() as stack:
        try:
            wire = WIRES[kind](count, left, stack)
            wire.faults(True)
            wire.faults(False)
        except (Unavailable, OSError) as reason:
            pytest.skip(str(reason))
        yield wire


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"`{' '.join(command)}` does not work: {done.stderr.strip()}")
