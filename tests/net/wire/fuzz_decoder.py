"""A fuzzer for the way of bytes from the wire into an overlay (needs atheris; not a test).

    python -m tests.net.wire.fuzz_decoder FOLDER -runs=1000000 -max_len=600 -len_control=0

What it finds worth keeping goes into the folder, which is begun with one of each message.

One input is what a peer sends on one connection: raw bytes, or, by the first byte, messages
made of the rest with the types of their fields. They go through the frame reader, the real
gate and a real overlay that runs among them. Anything that escapes as other than a
ProtocolError, anything that the gate had to log as a failure, and any message that the
overlay then cannot send is a crash.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

try:
    import atheris
except ImportError:
    sys.exit("there is no atheris here, and so no fuzzing: pip install atheris")

with atheris.instrument_imports(include=["orbweaver"]):
    import msgspec

    from orbweaver.core.errors import ProtocolError
    from orbweaver.core.ids import NodeId
    from orbweaver.core.messages import Carrier, Codec, Message, Seal
    from orbweaver.core.overlay import Context
    from orbweaver.core.seeds import generator
    from orbweaver.core.topics import Interest, TopicTable
    from orbweaver.net.counters import Counters
    from orbweaver.net.gate.gate import Gate
    from orbweaver.net.settings import make_settings
    from orbweaver.net.wire.frames import (
        CONTROL,
        CONTROL_TYPES,
        MESSAGES,
        FrameReader,
        Seals,
        control_frame,
        messages_header,
        read_control,
    )
    from orbweaver.overlays.catalog import OVERLAYS

NAMES = list(OVERLAYS)
LIVES = 100
"""Inputs to one overlay, before another takes its place."""
EDGES = [0, 1, 2, 3, 5, 63, 64, 65, 255, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -1,
         -2, -(2**31), -(2**63)]  # fmt: skip
TOPICS = ["a", "b", "c", "d", "", "a/b", "//", "\0", "x" * 255]
HONEST, LIAR = NodeId(2), NodeId(3)


class Failed:
    """In place of the gate's log: what it has to complain of is a crash here."""

    def __getattr__(self, level: str) -> Any:
        def note(event: str, **facts: Any) -> None:
            error = sys.exc_info()[1]
            if error is not None:
                raise error

        return note


class Outbox:
    """Encodes what is sent, as a host would, and reads it, as a peer would."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.clock = 1000
        self.timers: dict[Any, int] = {}

    def now(self) -> int:
        return self.clock

    def send(self, to: NodeId, message: Message) -> None:
        self.codec.decode(self.codec.encode(message))

    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        for peer in peers:
            self.send(peer, message)

    def set_timer(self, timer: Any, delay_ms: int) -> None:
        self.timers[timer] = self.clock + delay_ms

    def cancel_timer(self, timer: Any) -> None:
        self.timers.pop(timer, None)

    def deliver(self, message: Carrier) -> None: ...
    def link_up(self, peer: NodeId) -> None: ...
    def link_down(self, peer: NodeId) -> None: ...
    def round_trip_ms(self, peer: NodeId) -> float | None: ...
    def keep(self, blob: bytes) -> None: ...


class Connection:
    """As the gate sees it. It is never cut off, so that more is tried."""

    def __init__(self, peer: NodeId) -> None:
        self.peer = peer
        self.seals: dict[bytes, Any] = {}
        self.topics_named = 0
        self.alive = True

    def strike(self, reason: str) -> None:
        assert isinstance(reason, str)

    def charge(self, messages: int, size: int, seconds: float) -> None: ...
    def rest(self, seconds: float) -> None: ...


class World:
    """A node of one overlay, with an honest neighbour."""

    def __init__(self, name: str, sign: bool) -> None:
        kind = OVERLAYS[name]
        self.kind = kind
        self.topics = TopicTable(["a", "b", "c"], limit=64)
        self.codec = Codec(kind.messages, self.topics)
        self.outbox = Outbox(Codec(kind.messages, self.topics))
        context = Context(NodeId(1), self.outbox, generator(1), self.topics)
        self.overlay = kind(context, kind.Params())
        for topic in "ab":
            self.overlay.subscribe(topic)
        self.overlay.start([HONEST])
        self.gate = Gate(
            make_settings({"overlay": name, "sign": sign}), self.codec, self.topics, Counters(),
            self._inside,
        )  # fmt: skip
        self.gate.complaints = Failed()  # type: ignore[assignment]
        self.connections = {node: Connection(node) for node in (HONEST, LIAR)}
        self.inputs = 0

    def hear(self, sender: NodeId, data: bytes, chunk: int) -> None:
        reader = FrameReader(1 << 20)
        with suppress(ProtocolError):
            for at in range(0, len(data), chunk):
                for kind, body in reader.feed(data[at : at + chunk]):
                    self._frame(self.connections[sender], kind, body)
        self._run(1 + 300 * (len(data) % 7))
        for node in list(self.overlay.links())[5:]:
            self.overlay.lost(node)

    def _inside(self, sender: NodeId, messages: Sequence[Any]) -> None:
        """As a host does."""
        if messages[0].carries:
            self.overlay.receive_all(sender, messages)
        else:
            self.overlay.receive(sender, messages[0])

    def _frame(self, connection: Any, kind: int, body: memoryview) -> None:
        if kind == MESSAGES:
            self.gate.messages(connection, body, 0.0)
        elif kind == CONTROL:
            with suppress(ProtocolError):
                message = read_control(body)
                assert read_control(control_frame(message)[5:]) == message
                if isinstance(message, Seals):
                    self.gate.seals(connection, message.seals)
        with suppress(ProtocolError):
            self.gate.datagram(connection.peer, bytes(body))

    def _run(self, ms: int) -> None:
        timers, until = self.outbox.timers, self.outbox.clock + ms
        for _ in range(20):
            due = [timer for timer, at in timers.items() if at <= until]
            if not due:
                break
            timer = min(due, key=timers.__getitem__)
            self.outbox.clock = max(self.outbox.clock, timers.pop(timer))
            self.overlay.wake(timer)
        self.outbox.clock = until


def make(source: Any, hint: Any, table: TopicTable) -> Any:
    """A value of this type out of the fuzzer's bytes."""
    if hint is NodeId:
        return source.PickValueInList([1, 2, 3, 4, 5, 6, *EDGES])
    if hint is bool:
        return source.ConsumeBool()
    if hint is int:
        return source.PickValueInList(EDGES) if source.ConsumeBool() else source.ConsumeInt(8)
    if hint is str:
        return source.PickValueInList(TOPICS)
    if hint is bytes:
        return source.ConsumeBytes(source.ConsumeIntInRange(0, 40))
    if hint is Interest:
        return table.of_mask(source.ConsumeIntInRange(0, 7))
    if hint is Seal:
        return Seal(source.ConsumeBytes(4))
    if hint is type(None):
        return None
    if isinstance(hint, TypeVar):
        return make(source, hint.__bound__, table)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return make(source, arguments[0], table)
    if origin in (types.UnionType, Union):
        return make(source, source.PickValueInList(list(arguments)), table)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            count = source.ConsumeIntInRange(0, 4)
            return tuple(make(source, arguments[0], table) for _ in range(count))
        return tuple(make(source, argument, table) for argument in arguments)
    return hint(*[make(source, field, table) for field in fields_of(hint)])


@cache
def fields_of(kind: type) -> list[Any]:
    hints = get_type_hints(kind, include_extras=True)
    return [hints[field.name] for field in msgspec.structs.fields(kind)]


def messages_of(source: Any, world: World) -> bytes:
    """Frames of messages with any values, among them some of control."""
    parts = []
    while source.remaining_bytes() > 1 and len(parts) < 8:
        if source.ConsumeIntInRange(0, 9) == 0:
            kind = source.PickValueInList(list(CONTROL_TYPES))
            parts.append(control_frame(make(source, kind, world.topics)))
            continue
        kind = source.PickValueInList(list(world.kind.messages))
        body = world.codec.encode(make(source, kind, world.topics))
        parts.append(messages_header(1, len(body)) + body)
    return b"".join(parts)


WORLDS: dict[tuple[int, bool], World] = {}


def one_input(data: bytes) -> None:
    if len(data) < 2:
        return
    mode, chunk = data[0], 1 + data[1]
    key = (mode % len(NAMES), bool(mode & 64))
    world = WORLDS.get(key)
    if world is None or world.inputs >= LIVES:
        world = WORLDS[key] = World(NAMES[key[0]], key[1])
    world.inputs += 1
    sender = HONEST if chunk % 2 else LIAR
    if mode & 128:
        world.hear(sender, data[2:], chunk)
    else:
        with suppress(OverflowError):  # a number that no wire has
            data = messages_of(atheris.FuzzedDataProvider(data[2:]), world)
        world.hear(sender, data, 4 * chunk)


def write_seeds(folder: Path) -> None:
    from tests.golden.regenerate import samples

    chance = Random(1)
    table = TopicTable()
    for number, name in enumerate(NAMES):
        own = [message for message in samples() if type(message) in OVERLAYS[name].messages]
        bodies = [Codec(OVERLAYS[name].messages, table).encode(message) for message in own]
        frames = [messages_header(1, len(body)) + body for body in bodies]
        for index, part in enumerate([*frames, b"".join(frames)]):
            (folder / f"{name}-{index}").write_bytes(bytes([128 + number, 255]) + part)
        for index in range(8):
            made = bytes([number + 64 * (index % 2), 255]) + chance.randbytes(400)
            (folder / f"{name}-made-{index}").write_bytes(made)


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    for folder in folders[:1]:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            write_seeds(folder)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
