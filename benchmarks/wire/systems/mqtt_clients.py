"""paho-mqtt clients of a mosquitto broker.

The publisher has no thread of its own: then paho writes each message at once, while its
threaded loop wakes a second thread for each. At QoS 0 it lets paho's queue run empty
now and then, since nothing else limits it; at QoS 1 it keeps at most `INFLIGHT`
messages unconfirmed. The subscriber runs `loop_forever` in its main thread.
"""

from __future__ import annotations

from typing import Any

import paho.mqtt.client as mqtt

from wire.payload import TOPIC, Tally
from wire.talk import answer_for, publish_by, tell

INFLIGHT = 1000


def _client(spec: dict[str, Any]) -> mqtt.Client:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
    client.max_inflight_messages_set(2 * INFLIGHT)
    client.max_queued_messages_set(0)
    host, port = spec["address"].split(":")
    client.connect(host, int(port))
    return client


def publisher(spec: dict[str, Any]) -> None:
    client = _client(spec)
    while not client.is_connected():
        client.loop(0.1)
    qos = spec["qos"]
    unconfirmed = 0

    def confirmed(*_: Any) -> None:
        nonlocal unconfirmed
        unconfirmed -= 1

    if qos:
        client.on_publish = confirmed

    def publish(payload: bytes) -> None:
        nonlocal unconfirmed
        unconfirmed += qos
        client.publish(TOPIC, payload, qos)

    def breathe() -> None:
        if qos:
            client.loop(0)
        while client.want_write() or unconfirmed > INFLIGHT:
            client.loop(0.1)

    def drained() -> None:
        while client.want_write() or unconfirmed:
            client.loop(0.1)

    tell(address=spec["address"])
    publish_by(publish, breathe, drained)


def subscriber(spec: dict[str, Any]) -> None:
    tally = Tally()
    client = _client(spec)

    def subscribed(*_: Any) -> None:
        answer_for(tally)
        tell(ready=True)

    client.on_subscribe = subscribed
    client.on_connect = lambda *_: client.subscribe(TOPIC, spec["qos"])
    client.on_message = lambda client, userdata, message: tally.take(message.payload)
    client.loop_forever()
