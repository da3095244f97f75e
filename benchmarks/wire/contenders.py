"""Lists the systems that are compared, and what each does when a receiver is too slow."""

from __future__ import annotations

import dataclasses
import importlib.util
from typing import Any

MOSQUITTO = (
    "mosquitto",
    "-c",
    "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
    "set_tcp_nodelay true\nmax_queued_messages 0\nmax_inflight_messages 2000\nlog_type none\n",
)
NATS = (
    "nats-server",
    "-c",
    "listen: 127.0.0.1:{port}\nmax_pending: 1GB\nwrite_deadline: '60s'\nlogfile: '/dev/null'\n",
)


@dataclasses.dataclass(frozen=True)
class Contender:
    name: str
    system: str
    """The name of its module in `wire.systems`."""
    slow: str
    """What happens to a subscriber that does not keep up."""
    spec: dict[str, Any] = dataclasses.field(default_factory=dict)
    broker: tuple[str, str, str] | None = None
    needs: str = ""
    """The Python package that it needs, which may not be installed."""

    def missing(self) -> str:
        if self.needs and importlib.util.find_spec(self.needs) is None:
            return f"{self.needs} is not installed (benchmarks/requirements.txt)"
        return ""


OURS = "publish waits; relays slow the sender down, then drop the oldest, which is pulled again"
CONTENDERS = (
    Contender("bare node", "bare", "publish waits for the slowest"),
    Contender("unsigned", "orbweaver_nodes", OURS, {"sign": False}),
    Contender("signed", "orbweaver_nodes", OURS, {"sign": True}),
    Contender("signed one by one", "orbweaver_nodes", OURS, {"sign": True, "each": True}),
    Contender(
        "zenoh, peer to peer", "zenoh_peers", "put waits (BLOCK)", needs="zenoh"
    ),
    Contender(
        "mosquitto, QoS 0", "mqtt_clients", "the broker's queue grows (no limit set here)",
        {"qos": 0}, MOSQUITTO, "paho",
    ),
    Contender(
        "mosquitto, QoS 1", "mqtt_clients",
        "confirmed by the broker, whose queue grows (no limit set here)",
        {"qos": 1}, MOSQUITTO, "paho",
    ),
    Contender(
        "nats-server", "nats_clients",
        "the server's queue grows to 1 GB (set here), then it cuts the client off",
        {}, NATS, "nats",
    ),
)  # fmt: skip
