"""How fast do nodes publish and deliver over real sockets, compared with other systems?

All systems run on loopback and take turns, three rounds each, since machines differ and are
never quite idle. Every publisher, subscriber and broker is a process
of its own. Payloads are the same everywhere and contain a number and the time. A
subscriber counts each number, so the loss of a single one is seen.

Beside our nodes (SpiderCast; unsigned, signed, and with a signature for each event) stand

- a bare node: the same loop, frames, messages and codec, one write for each tick, which
  only decodes, looks up the id and calls. The ceiling of what Python can do;
- zenoh, peer to peer: reliable, batching, a full queue makes `put` wait;
- mosquitto with paho-mqtt: QoS 0 and 1, no limits on queues, no Nagle;
- nats-server with nats-py: callbacks, no limits on what waits.

The latency part shows the whole distribution, of ten rounds in which all take turns and every
process is new.

Then, of our own nodes only: how long one takes to start and what it keeps in memory; and a
crowd of them on many topics, at rates that rise until something is lost.

Each system is used in the way that is fastest for it (see wire/systems). A system that is not
installed is left out with a message. benchmarks/requirements.txt has the packages; mosquitto and
nats-server are looked for on the path. Nothing is asserted.

    python benchmarks/bench_wire.py                      # about forty minutes
    python benchmarks/bench_wire.py --only one --systems "bare node" unsigned
    python benchmarks/bench_wire.py --only latency --systems unsigned signed --settle 1 3 5
    python benchmarks/bench_wire.py --only crowd --overlays vitis --steps 0 100 1000
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from wire import crowd, fanout, startup, tail
from wire.contenders import CONTENDERS

STEPS = [0.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0]
PARTS = ("start", "one", "many", "latency", "crowd")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--systems", nargs="+", choices=[c.name for c in CONTENDERS], default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="of payloads")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1000.0, help="where latency is measured")
    parser.add_argument("--rate-many", type=float, default=250.0, help="the same with many")
    parser.add_argument("--many", type=int, default=20, help="subscribers")
    parser.add_argument("--latency-rounds", type=int, default=10)
    parser.add_argument(
        "--settle", type=float, nargs="+", default=[5.0], help="seconds before latency is measured"
    )
    parser.add_argument("--nodes", type=int, default=50, help="of the crowd")
    parser.add_argument("--topics", type=int, default=200, help="of the crowd")
    parser.add_argument("--overlays", nargs="+", default=["spidercast", "vitis"])
    parser.add_argument("--steps", type=float, nargs="+", default=STEPS, help="events a second")
    args = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 150)
    say = Console(stderr=True).print
    if "start" in args.only:
        console.print(startup.table(args.rounds, say))
    for part, subscribers, rate in (("one", 1, args.rate), ("many", args.many, args.rate_many)):
        if part in args.only:
            plan = fanout.Plan(args.sizes, args.seconds, args.rounds, rate)
            scores = fanout.measure(subscribers, plan, args.systems, say)
            console.print(fanout.table(subscribers, plan, scores))
            console.print(fanout.goals(subscribers, plan, scores))
    if {"one", "many"} & set(args.only):
        console.print(fanout.manners())
    if "latency" in args.only:
        tails = tail.Plan(
            args.many, args.sizes[0], args.rate_many, args.seconds, args.settle, args.latency_rounds
        )
        console.print(tail.table(tails, tail.measure(tails, args.systems, say)))
    if "crowd" in args.only:
        steps = crowd.Plan(args.nodes, args.topics, 10, args.sizes[0], args.steps, 5.0)
        found = {overlay: crowd.measure(overlay, steps, say) for overlay in args.overlays}
        console.print(crowd.table(steps, found))


if __name__ == "__main__":
    main()
