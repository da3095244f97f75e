"""zenoh (Rust, with a Python binding), peer to peer over TCP: subscribers call the publisher.

Reliable, batching (not express), and a full queue makes `put` wait. The subscriber is a
callback, which is faster than its queues. No multicast and no gossip: one hop each.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import zenoh

from wire.payload import TOPIC, Tally
from wire.talk import answer_for, publish_by, tell


def _open(**endpoints: list[str]) -> zenoh.Session:
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("scouting/gossip/enabled", "false")
    for kind in ("listen", "connect"):
        config.insert_json5(f"{kind}/endpoints", json.dumps(endpoints.get(kind, [])))
    return zenoh.open(config)


def publisher(spec: dict[str, Any]) -> None:
    address = f"127.0.0.1:{spec['port']}"
    session = _open(listen=[f"tcp/{address}"])
    made = session.declare_publisher(
        TOPIC,
        congestion_control=zenoh.CongestionControl.BLOCK,
        reliability=zenoh.Reliability.RELIABLE,
        express=False,
    )
    tell(address=address)
    publish_by(made.put)


def subscriber(spec: dict[str, Any]) -> None:
    tally = Tally()
    session = _open(connect=[f"tcp/{spec['address']}"])
    kept = session.declare_subscriber(TOPIC, lambda sample: tally.take(sample.payload.to_bytes()))
    answer_for(tally)
    tell(ready=True)
    threading.Event().wait()
    del kept
