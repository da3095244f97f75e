"""A toy overlay: everybody links to everybody who shares a topic.

Each node says hello once a second to all nodes it knows, with its interest and the others
it knows; who has not been heard for a while is forgotten. That is all it takes to be run
by every host and judged by every metric:

    PYTHONPATH=examples orbweaver simulate --overlay clique:Clique --nodes 100
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Event, Message, Purpose
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.params import Params
from orbweaver.core.topics import Interest
from orbweaver.gossip.plumtree import Plumtree


class CliqueParams(Params, frozen=True):
    hello_ms: Annotated[int, Meta(ge=1, description="period of the hellos", title="ours")] = 1000


class Hello(Message, frozen=True, gc=False, tag="hello"):
    purpose: ClassVar[Purpose] = "membership"
    interest: Interest
    known: tuple[NodeId, ...]


class Bye(Message, frozen=True, gc=False, tag="bye"):
    pass


class Clique(Overlay):
    name: ClassVar[str] = "clique"
    summary: ClassVar[str] = "everybody links to everybody who shares a topic"
    Params = CliqueParams
    params: CliqueParams
    messages = Plumtree.messages + (Hello, Bye)

    def __init__(self, context: Context, params: CliqueParams) -> None:
        super().__init__(context, params)
        self._topics: dict[Topic, None] = {}
        self._heard: dict[NodeId, int] = {}  # who is known, and when it last said hello
        self._peers: dict[NodeId, Interest] = {}
        self._events = Plumtree(context, self._peers)

    @classmethod
    def claims(cls, params: CliqueParams) -> Claims:
        return Claims(noiseless=True, topic_connected=True, total_delivery=True)

    def start(self, contacts: Sequence[NodeId]) -> None:
        self._events.start()
        self._heard = dict.fromkeys(contacts, self.context.outbox.now())
        self.wake("hello")

    def stop(self) -> None:
        for peer in list(self._heard):
            self.context.outbox.send(peer, Bye())
            self.lost(peer)

    def subscribe(self, topic: Topic) -> None:
        self._topics[check_topic(topic)] = None
        self._events.subscribe(topic)

    def unsubscribe(self, topic: Topic) -> None:
        self._topics.pop(topic, None)
        self._events.unsubscribe(topic)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        self._topics[check_topic(topic)] = None
        return self._events.publish(topic, payload)

    def wake(self, timer: Timer) -> None:
        if timer != "hello":
            self._events.wake(str(timer))
            return
        now = self.context.outbox.now()
        self.context.outbox.set_timer("hello", self.params.hello_ms)
        for peer in [
            p for p, heard in self._heard.items() if now - heard > 3 * self.params.hello_ms
        ]:
            self.lost(peer)
        hello = Hello(self._interest(), tuple(self._heard))
        for peer in self._heard:
            self.context.outbox.send(peer, hello)

    def receive(self, sender: NodeId, message: Message) -> None:
        if isinstance(message, Hello):
            self.on_hello(sender, message)
        elif isinstance(message, Bye):
            self.lost(sender)
        elif isinstance(message, Plumtree.messages):
            self._events.receive(sender, message)
        else:
            raise ProtocolError(f"clique does not know {type(message).__name__}")

    def on_hello(self, sender: NodeId, message: Hello) -> None:
        now = self.context.outbox.now()
        self._heard[sender] = now
        for peer in message.known:
            if peer != self.context.me:
                self._heard.setdefault(peer, now - 2 * self.params.hello_ms)  # hearsay: brief
        shared = message.interest.mask & self._interest().mask
        if shared and sender not in self._peers:
            self.context.outbox.link_up(sender)
        if shared and self._peers.get(sender) != message.interest:
            self._peers[sender] = message.interest
            self._events.peer_up(sender, message.interest)
        if not shared:
            self._unlink(sender)

    def lost(self, peer: NodeId) -> None:
        self._heard.pop(peer, None)
        self._unlink(peer)

    def links(self) -> Collection[NodeId]:
        return self._peers.keys()

    def _unlink(self, peer: NodeId) -> None:
        if self._peers.pop(peer, None) is not None:
            self._events.peer_down(peer)
            self.context.outbox.link_down(peer)

    def _interest(self) -> Interest:
        return self.context.topics.interest(self._topics)
