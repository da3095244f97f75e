"""Tables of a swarm: one that is updated while it runs, and one of its result."""

from __future__ import annotations

import time

from rich.table import Table
from rich.text import Text

from orbweaver.cli.reading import printable, size, trouble
from orbweaver.cli.terminal import show, table
from orbweaver.swarm.conductor import Swarm
from orbweaver.swarm.totals import Summary


def moving(swarm: Swarm) -> Table:
    totals, plans = swarm.totals, swarm.plans
    now = time.monotonic()
    links = totals.links() or [0]
    title = f"{swarm.state}, {now - swarm.begun_at:.0f} s  "
    grid = Table(title=title, title_justify="left", show_header=False, min_width=48)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    up = swarm.children.up()
    grid.add_row("nodes up", Text(f"{up} of {len(plans)}", "" if up == len(plans) else "yellow"))
    mean = sum(links) / len(links)
    grid.add_row("links of a node", f"{mean:.1f}  (from {min(links)} to {max(links)})")
    grid.add_row("published", f"{totals.published:,}")
    grid.add_row("delivered", f"{totals.delivered:,}  ({totals.rate(now):,.0f}/s)")
    grid.add_row("under way or missing", f"{totals.missing:,}")
    grid.add_row("latency, median", _ms(totals.latency(0.5)))
    grid.add_row("latency, 99 %", _ms(totals.latency(0.99)))
    grid.add_row("messages queued", f"{totals.queued():,}")
    found = trouble(totals.counters())
    said = ", ".join(f"{name} {count:,}" for name, count in found.items())
    grid.add_row("trouble", Text(said or "none", "yellow" if said else ""))
    return grid


def result(summary: Summary) -> Table:
    s = summary
    grid = table(f"{s.overlay}, {s.nodes} processes, {s.seconds:.1f} s of events", "what", "")
    missing = Text(f"{s.missing:,}", "red" if s.missing else "")
    rows: list[tuple[str, str | Text]] = [
        ("events published", f"{s.published:,}"),
        ("deliveries expected", f"{s.expected:,}"),
        ("deliveries", f"{s.delivered:,}"),
        ("missing", missing),
        ("share delivered", f"{100 * s.share:.4g} %"),
        ("latency, median", _ms(s.latency_ms_median, 1)),
        ("latency, 99 %", _ms(s.latency_ms_p99, 1)),
        ("links of a node, mean", f"{s.degree_mean:.1f}"),
        ("processor, of one core", f"{100 * s.cpu_mean:.1f} % (most {100 * s.cpu_max:.1f} %)"),
        ("memory", f"{size(s.memory_mean)} (most {size(s.memory_max)})"),
    ]
    if s.repeated:
        rows.append(("delivered twice", Text(f"{s.repeated:,}", "red")))
    rows += [(name, Text(show(count), "yellow")) for name, count in s.trouble.items()]
    rows += [(f"{name} was lost", Text(printable(words), "red")) for name, words in s.lost.items()]
    for row in rows:
        grid.add_row(*row)
    return grid


def _ms(value: float | None, scale: float = 1000) -> str:
    return "-" if value is None else f"{scale * value:.1f} ms"
