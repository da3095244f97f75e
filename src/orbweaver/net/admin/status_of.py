"""Take a reading of a node, as its status page shows it."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.net.admin.status import LinkStatus, Status, TopicStatus, id_text
from orbweaver.net.host import Host


def status_of(
    host: Host,
    readers: Mapping[Topic, int],
    since: Mapping[Topic, int],
    log: dict[str, int],
    uptime_s: float,
) -> Status:
    queues = [peer.queue for peer in host.peers]
    return Status(
        id=id_text(host.me),
        overlay=host.settings.overlay,
        listen=host.card.address,
        udp=host.card.udp,
        secure="tls" if host.settings.tls else "plain",
        uptime_s=uptime_s,
        topics=[
            TopicStatus(topic=topic, subscribers=count, since_s=(host.now() - since[topic]) / 1000)
            for topic, count in readers.items()
        ],
        links=[_link(host, peer) for peer in host.links()],
        connections=host.peers.connected(),
        peers_known=len(host.book),
        queued_messages=sum(len(queue) for queue in queues),
        queued_bytes=sum(queue.bytes for queue in queues),
        overlay_state=host.overlay.status(),
        log=log,
        counters=host.counters.as_dict(),
    )


def _link(host: Host, node: NodeId) -> LinkStatus:
    peer = host.peers.known(node)
    card = host.book.get(node)
    return LinkStatus(
        peer=id_text(node),
        address=card.address if card is not None else "",
        connected=peer is not None and peer.connection is not None,
        queued_messages=len(peer.queue) if peer is not None else 0,
        queued_bytes=peer.queue.bytes if peer is not None else 0,
        messages_in=peer.messages_in if peer is not None else 0,
        messages_out=peer.queue.sent if peer is not None else 0,
    )
