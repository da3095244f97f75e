"""OPT makes an overlay for each topic, with few links where interests are alike (baseline of Vitis,
as in SpiderCast).

A node chooses neighbours that cover its topics, each `coverage` times, the one that covers
most of what is still lacking first. With a bound on the table some topics stay uncovered,
and their subscribers out of reach; without one the table grows with the interests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import (
    Exchange,
    ExchangeReply,
    News,
    NewsReply,
    Notice,
    Pull,
    Pulled,
)
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.notices import NoticeAndPull
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from orbweaver.overlays.vitis.table import Change, Choice, Peer, RoutingTable, TableParams


class OptParams(TableParams, frozen=True):
    table_size: Annotated[
        int,
        Meta(
            ge=0,
            description="entries of the routing table; 0 is as many as it takes",
            title="Vitis IV-E: 15 to 35, and without a bound",
        ),
    ] = 15
    coverage: Annotated[
        int,
        Meta(ge=1, description="neighbours wanted for each topic", title="SpiderCast 3.3: 3"),
    ] = 3


class CoverageChoice(Choice):
    """Choose greedily: the next neighbour is the candidate that covers most of what is lacking."""

    def __init__(self, params: OptParams, interest: OwnInterest) -> None:
        self._table_size = params.table_size
        self._coverage = params.coverage
        self._interest = interest

    def choose(
        self, candidates: Mapping[NodeId, Descriptor], current: Collection[NodeId]
    ) -> Collection[NodeId]:
        size = self._table_size or len(candidates)
        mine = self._interest.topics.mask
        lacking = [mine] * self._coverage
        """Bit t of the i-th: topic t has not been covered i + 1 times."""
        # Among equals, nodes of the table stay, then come those that were known first.
        left = [
            (-mask.bit_count(), node not in current, place, node, mask)
            for place, (node, entry) in enumerate(candidates.items())
            if (mask := entry.interest.mask & mine)
        ]
        heapify(left)
        chosen: list[NodeId] = []
        while left and len(chosen) < size:
            was, fresh, place, node, mask = left[0]
            gain = _gain(mask, lacking)
            # Gains only get smaller: a leader whose gain is still true is the best.
            if gain and gain < -was:
                heapreplace(left, (-gain, fresh, place, node, mask))
                continue
            heappop(left)
            if gain:
                chosen.append(node)
                lacking = _cover(mask, lacking)
        return chosen

    def improving(self, entries: list[Descriptor]) -> list[Descriptor]:
        mine = self._interest.topics.mask
        return [entry for entry in entries if entry.interest.mask & mine]


class Opt(Overlay):
    name: ClassVar[str] = "opt"
    summary: ClassVar[str] = "an overlay for each topic, links shared by topics, gossiped"
    paper: ClassVar[str] = "baseline of Vitis, Sec. IV"
    Params = OptParams
    params: OptParams
    messages = (News, NewsReply, Exchange, ExchangeReply, Profile, Goodbye, Notice, Pull, Pulled)
    TIMER = "cycle"

    def __init__(self, context: Context, params: OptParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.newscast = Newscast(context, self.interest, params.view_size)
        self.table = RoutingTable(
            context,
            params,
            self.interest,
            self.newscast,
            CoverageChoice(params, self.interest),
            self.on_link,
        )
        self.notices = NoticeAndPull(
            context, self.table.hood.interested, self.interest.subscribed, params.repair
        )
        self.running = False

    @classmethod
    def claims(cls, params: OptParams) -> Claims:
        # Coverage by gossip connects topics with high probability only, and what does not
        # fit into the table is left out.
        return Claims(
            noiseless=True,
            topic_connected=False,
            total_delivery=False,
            degree_bound="table_size links of its own; links of other nodes to it are not bounded",
        )

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.interest.start(self.context.outbox.now())
        self.table.interest_changed()
        self.notices.start()
        self.newscast.meet(contacts)
        self.context.outbox.set_timer(self.TIMER, 1 + below(self.context.rng, self.params.cycle_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.newscast.meet(contacts)

    def stop(self) -> None:
        self.running = False
        self.table.leave()
        self.context.outbox.cancel_timer(self.TIMER)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        self.interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        if self.interest.publish(topic):
            self.interest_changed()
        return self.notices.publish(topic, payload)

    def wake(self, timer: Timer) -> None:
        self.context.outbox.set_timer(self.TIMER, self.params.cycle_ms)
        self.table.drop_silent()
        if not self.table.settled:
            self.introduce(self.table.refresh())
        self.table.call_silent()
        self.newscast.step()
        sample = self.newscast.sample()
        self.introduce(self.table.consider(*sample))
        self.table.exchange_rt(sample)
        self.introduce(self.table.unintroduced())
        self.table.exchange_profiles({})
        self.notices.step()

    def lost(self, peer: NodeId) -> None:
        self.table.lost(peer)

    def backlog(self) -> int:
        return self.notices.backlog()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        return self.table.hood.interested(topic)

    def links(self) -> Collection[NodeId]:
        return self.table.peers.keys()

    def status(self) -> dict[str, int]:
        return self.table.status()

    def on_exchange_rt(self, sender: NodeId, message: Exchange[Descriptor]) -> None:
        self.introduce(self.table.on_exchange_rt(sender, message))

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply[Descriptor]) -> None:
        self.introduce(self.table.consider(message.entries, message.ages))

    def on_profile(self, sender: NodeId, message: Profile) -> None:
        caller = self.table.accept_caller(sender, message)
        if caller is not None:
            if self.table.choice.improving([caller.about]):
                self.table.settled = False
            self.introduce([caller])
        peer = self.table.on_profile(sender, message)
        if peer is not None:
            self.table.end_half_link(peer)

    def on_link(self, peer: Peer, change: Change) -> None:
        """Nothing else hangs on a link."""

    def introduce(self, peers: Collection[Peer]) -> None:
        for peer in peers:
            self.table.introduce(peer)

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self.table.interest_changed()


Opt.ON = {
    News: lambda node, sender, message: node.newscast.on_news(sender, message),
    NewsReply: lambda node, sender, message: node.newscast.on_news_reply(sender, message),
    Exchange: Opt.on_exchange_rt,
    ExchangeReply: Opt.on_exchange_reply,
    Profile: Opt.on_profile,
    Goodbye: lambda node, sender, message: node.table.on_goodbye(sender, message),
    Notice: lambda node, sender, message: node.notices.on_notice(sender, message),
    Pull: lambda node, sender, message: node.notices.on_pull(sender, message),
    Pulled: lambda node, sender, message: node.notices.on_pulled(sender, message),
}


def _gain(mask: int, lacking: list[int]) -> int:
    """Return how many topics of `mask` still lack coverage. The last level lacks longest."""
    return (mask & lacking[-1]).bit_count()


def _cover(mask: int, lacking: list[int]) -> list[int]:
    """Return the levels after each topic of `mask` has moved up one."""
    after = []
    for level in lacking:
        after.append(level & ~mask)
        mask &= ~level
    return after
