"""Golden files: the wire bytes of every message, and one short trace for each overlay.

Written again by `make golden`; a difference is reviewed like any other change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Codec, Event, Message
from orbweaver.core.topics import NOTHING, Interest, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import (
    Beside,
    Exchange,
    ExchangeReply,
    News,
    NewsReply,
    Notice,
    Pull,
    Pulled,
    Recent,
    Relay,
    Shuffle,
    ShuffleReply,
    Unrelay,
)
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Newest, Prune, Push, PushRun
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.catalog import OVERLAYS, find
from orbweaver.overlays.gossipsub import messages as gossipsub
from orbweaver.overlays.magnet import messages as magnet
from orbweaver.overlays.omen import messages as omen
from orbweaver.overlays.rappel import messages as rappel
from orbweaver.overlays.scribe import messages as scribe
from orbweaver.overlays.spidercast.messages import (
    Closer,
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Follow,
    Followed,
    Heartbeat,
    Leave,
    Redirect,
    RingHeartbeat,
    RingLeave,
    TaskState,
)
from orbweaver.overlays.static import Link, LinkHeartbeat, LinkLeave
from orbweaver.overlays.vitis.messages import Goodbye, Profile, Proposal
from orbweaver.sim.simulation import simulate
from orbweaver.testing.cases import QUICK
from orbweaver.workload.scenario import ChurnSpec, PublishSpec, RunSpec, Scenario, WorkloadSpec

FOLDER = Path(__file__).parent


def samples() -> list[Message]:
    """One of each message."""
    table = TopicTable(["news", "märkte", "a/b"])
    interest = table.interest(["news", "a/b"])
    event = Event("a/b", NodeId(7), 1000, 3, b"payload")
    stream = (NodeId(7), 1000, "a/b")
    entry = Descriptor(NodeId(9), interest, 12)
    return [
        Connect(0, 2, 30, interest),
        ConnectOk(1, 3, 30, interest),
        Redirect(0, NodeId(5), interest),
        Redirect(0, None, None),
        Disconnect(0),
        DisconnectOk(0),
        Leave(None),
        Leave(1),
        Heartbeat((TaskState(9, 9), TaskState(0, 0)), None),
        Heartbeat((TaskState(9, 9),), interest),
        Shuffle((entry,), (4,)),
        ShuffleReply((entry, entry), (4, 5)),
        Push(event, 2, 15),
        PushRun(event, 2, 15, (b"one", b"more")),
        IHave((Newest(stream, 3, 15),)),
        Graft(stream, (1, 2), 5000),
        Gone(stream, 2),
        Prune("a/b"),
        Follow(interest, interest),
        Followed(interest),
        Closer("news", NodeId(4)),
        RingLeave(),
        RingHeartbeat(),
        News((entry,), (4,)),
        NewsReply((entry, entry), (4, 5)),
        Exchange((entry,), (4,)),
        ExchangeReply((entry, entry), (4, 5)),
        Profile(True, None, ()),
        Profile(False, entry, (Proposal("news", NodeId(4), NodeId(5), 2),)),
        Goodbye(leaving=True),
        Beside(),
        Relay(("news", "a/b")),
        Unrelay(("news",)),
        Notice((NodeId(7), 1000, "a/b", 3)),
        Pull((NodeId(7), 1000, "a/b", 3)),
        Pulled(event, 2, 15),
        Link(interest, True),
        LinkHeartbeat(),
        LinkLeave(),
        *magnet_samples(interest, event),
        *omen_samples(interest, entry),
        *rappel_samples(event),
        *gossipsub_samples(interest, event),
        *scribe_samples(event),
    ]


def scribe_samples(event: Event) -> list[Message]:
    four, name = NodeId(4), (NodeId(7), 1000, "a/b", 3)
    return [
        scribe.PastryJoin(four, 1),
        scribe.PastryRows((four, NodeId(5)), True),
        scribe.RowRequest(2),
        scribe.PastryProbe((four,)),
        scribe.PastryProbeOk(()),
        scribe.PastryAlive(True),
        scribe.PastryGone(False),
        scribe.ScribePublish(event, 1, 15, four),
        scribe.ScribePublished(name),
        scribe.ScribeMulticast(event, 2, 15),
        scribe.ScribeRecent((Recent(event.stream, 1, 3),)),
    ]


def rappel_samples(event: Event) -> list[Message]:
    place = Coordinates((1.5, -2.25), 0.5)
    line = rappel.Descent("news", NodeId(1), place, place, (NodeId(4), NodeId(1)))
    names = ((NodeId(7), 1000, "a/b", 3),)
    four = NodeId(4)
    return [
        rappel.PlaceProbe(),
        rappel.PlaceProbeOk(place, 0.5, True, (four,)),
        rappel.PingRequest(3, True, ("news",), names),
        rappel.PingAck(3, True, (four,), (line,), names),
        rappel.Fetch(),
        rappel.Fetched(3, place, bytes(128)),
        rappel.Befriend(),
        rappel.BefriendOk((four,)),
        rappel.BefriendDeny((four,)),
        rappel.Unfriend(),
        rappel.Departing(),
        rappel.JoinRequest("news", four, place),
        rappel.JoinOk(line, names),
        rappel.JoinForward("news", four),
        rappel.JoinDeny("news"),
        rappel.ChangeParent("news", four),
        rappel.Adopt("news", four),
        rappel.LeaveParent("news"),
        rappel.Lineage(line),
        rappel.OtherRoot("news", four),
        rappel.Update(event, 2, 15),
        rappel.FeedPull(names),
    ]


def gossipsub_samples(interest: Interest, event: Event) -> list[Message]:
    ids = (gossipsub.EventIds(event.stream, (3, 4)),)
    return [
        gossipsub.MeshSubscriptions(interest, True),
        gossipsub.Disconnected(),
        gossipsub.KeepAlive(),
        gossipsub.MeshGraft(("news",)),
        gossipsub.MeshPrune(("news",), 60_000),
        gossipsub.MeshIHave(ids),
        gossipsub.IWant(ids),
        gossipsub.IDontWant(event.stream, 3),
        gossipsub.MeshEvent(event, 2, 15),
    ]


def omen_samples(interest: Interest, entry: Descriptor) -> list[Message]:
    four, five = NodeId(4), NodeId(5)
    return [
        omen.Alive(True, True, 0, None, (four, five), (omen.ComponentLabel("news", four, 1000),)),
        omen.Alive(False, False, 1000, entry, (), ()),
        omen.LinkRequest(entry),
        omen.LinkAccept(entry),
        omen.LinkDown(),
        omen.Local(2000, 1000, entry, (omen.HeldNeighbor(entry, (four, five)),)),
        omen.Join(entry, interest, 2),
        omen.Leaving(),
        omen.Handled(four, 1000, "leave"),
        omen.Enlist(2, True, interest, five),
        omen.Probe(four, 2, (omen.ProbeLabel("news", five),)),
        omen.ShadowReport(
            2,
            3,
            (omen.Tie(four, interest),),
            (omen.ProbeLabel("news", five),),
            (omen.ProbeLabel("news", four),),
        ),
        omen.Mend((four, five)),
        omen.ViewAsk(four),
        omen.ViewTold(four, interest, (entry,), (entry,)),
        omen.Shed(2),
        omen.ShedTested(2),
        omen.Meet(entry, (omen.ComponentLabel("news", four, 1000),)),
    ]


def magnet_samples(interest: Interest, event: Event) -> list[Message]:
    node, place = NodeId(9), (1 << 63) + 5
    entry = magnet.RingDescriptor(node, NOTHING, 12, place)
    sample = magnet.Sample(node, interest, (), (("news", 1.5),), place, True, 12)
    samples = magnet.TopicSamples("news", (sample,))
    recent = Recent(event.stream, 1, 3)
    return [
        magnet.Ping(True, None),
        magnet.Ping(False, entry),
        magnet.Unlink(leaving=True),
        magnet.Ask(False, entry),
        magnet.Told(True, entry, (entry,), (4,)),
        magnet.Walk(node, 3, place, 7, 5),
        magnet.Walked(3, entry),
        magnet.Find(node, place, 2),
        magnet.Found(place, entry),
        magnet.Report(sample, ("a/b",), (samples,)),
        magnet.View((samples,)),
        magnet.Acquire(),
        magnet.Acquired(place),
        magnet.Acquired(None),
        magnet.JoinTree("news", node, place, False, 1),
        magnet.Grow("news", node, place, 7, NodeId(4), 3000, 2, 1),
        magnet.Beat(True, (magnet.Branching("a/b", 7, NodeId(4), 3000, 2, (recent,)),)),
        magnet.Have((recent,)),
        magnet.LeaveTree(("news",)),
        magnet.Publishing((NodeId(7), 1000, "a/b", 3), 1),
        magnet.Publish(event, 1, 15),
        magnet.Multicast(event, 2, 15),
    ]


def wire() -> str:
    kinds = dict.fromkeys(type(message) for message in samples())
    codec = Codec(kinds, TopicTable())
    return "".join(
        f"{type(message).__name__:<14} {codec.encode(message).hex(' ')}\n" for message in samples()
    )


SHORT: dict[str, dict[str, Any]] = {
    "magnet": {"cycle_ms": 200, "round_ms": 400, "join_ms": 400, "growth_ms": 100},
    "magnet-strawman": {"cycle_ms": 200, "join_ms": 400},
}
"""Settings with which the trees of an overlay stand before the first publication."""


def trace(name: str) -> str:
    """The first steps of a small run with a leave, a crash and some events."""
    scenario = Scenario(
        overlay=name,
        params=QUICK.get(name, {}) | SHORT.get(name, {}),
        workload=WorkloadSpec(nodes=6, topics=4, subscriptions_per_node="2"),
        publish=PublishSpec(per_topic=2),
        churn=ChurnSpec(model="exponential", on_ms=6000, off_ms=2000),
        run=RunSpec(warmup_ms=3000, drain_ms=2000),
    )
    records = simulate(scenario, 1, find(name)).records
    lines = []
    for table in ("nodes", "interests", "links", "publications", "deliveries", "sends"):
        lines.append(f"# {table}: {', '.join(records[table].spec.names)}")
        lines += [" ".join(map(str, row)) for row in records[table].rows()]
    return "\n".join([*lines, f"# digest {records.digest()}", ""])


def goldens() -> dict[str, str]:
    files = {f"trace-{name}.txt": trace(name) for name in OVERLAYS}
    return {"wire.txt": wire(), **files}


if __name__ == "__main__":
    for file, text in goldens().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
