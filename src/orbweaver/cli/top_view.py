"""The screen of `orbweaver top` shows a table of nodes and, below it, the chosen node in detail.
Each node is read in a thread, so that a node that does not answer delays neither the other nodes
nor the keyboard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from rich.text import Text
from textual.app import App, ComposeResult, ScreenStackError
from textual.containers import Horizontal
from textual.css.query import NoMatches
from textual.widgets import DataTable, Footer, Sparkline, Static

from orbweaver.cli.reading import duration, printable, size
from orbweaver.cli.terminal import show
from orbweaver.cli.watching import Read, Watched
from orbweaver.core.errors import UsageError

THREADS = 32
"""Most nodes that are read at the same moment."""
ROWS_MAX = 500
"""Most links and topics that are shown; more would be slow to draw."""

NODES = (
    "address", "node", "overlay", "links", "in/s", "out/s", "delivered/s", "queued", "memory",
    "trouble",
)  # fmt: skip
LINKS = ("peer", "address", "connected", "in", "out", "queued")
TOPICS = ("topic", "subscribers", "for")
TROUBLE = ("counter", "count", "new")


class Top(App[None]):
    CSS = """
    #nodes { height: 1fr; }
    #about { height: 1; }
    #delivered { height: 2; }
    #detail { height: 1fr; }
    #links { width: 3fr; }
    #topics { width: 2fr; }
    #trouble { width: 2fr; }
    """
    BINDINGS = [("q", "quit", "Quit")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, addresses: Sequence[str], read: Read, interval: float) -> None:
        super().__init__()
        self.nodes = {address: Watched(address) for address in addresses}
        self._read = read
        self._interval = interval
        self._asked: set[str] = set()
        self._chosen = addresses[0]
        self._closed = False
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="top")

    def compose(self) -> ComposeResult:
        yield DataTable(id="nodes", cursor_type="row")
        yield Static(id="about")
        yield Sparkline(id="delivered")
        with Horizontal(id="detail"):
            yield DataTable(id="links", cursor_type="none")
            yield DataTable(id="topics", cursor_type="none")
            yield DataTable(id="trouble", cursor_type="none")
        yield Footer()

    def on_mount(self) -> None:
        titles = {"nodes": NODES, "links": LINKS, "topics": TOPICS, "trouble": TROUBLE}
        for name, columns in titles.items():
            for column in columns:
                self._table(name).add_column(column, key=column)
        self._fill("nodes", {address: _row(node) for address, node in self.nodes.items()})
        self._table("nodes").focus()
        self._start()
        self.set_interval(self._interval, self._start)

    def on_unmount(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.data_table.id == "nodes" and event.row_key.value in self.nodes:
            self._chosen = event.row_key.value
            self._show(self.nodes[self._chosen])

    async def poll(self) -> None:
        """Read every node that is not being read already."""
        await asyncio.gather(*(self._poll(node) for node in self.nodes.values()))

    def _start(self) -> None:
        self.run_worker(self.poll())

    async def _poll(self, node: Watched) -> None:
        if node.address in self._asked or self._closed:
            return
        self._asked.add(node.address)
        try:
            loop = asyncio.get_running_loop()
            node.took(await loop.run_in_executor(self._threads, self._read, node.address))
        except UsageError as error:
            node.failed(str(error))
        finally:
            self._asked.discard(node.address)
        self._show(node)

    def _show(self, node: Watched) -> None:
        # At the end, widgets are removed while readings still come in.
        with contextlib.suppress(NoMatches, ScreenStackError):
            self._update(self._table("nodes"), node.address, NODES, _row(node))
            if node.address == self._chosen:
                self._show_detail(node)

    def _show_detail(self, node: Watched) -> None:
        self.query_one("#about", Static).update(_about(node))
        self.query_one("#delivered", Sparkline).data = list(node.delivered)
        status = node.now.status if node.now else None
        links = status.links[:ROWS_MAX] if status else []
        self._fill(
            "links",
            {
                link.peer: [
                    _left(link.peer),
                    _left(link.address),
                    _left(show(link.connected), "" if link.connected else "yellow"),
                    *(_right(show(n)) for n in (link.messages_in, link.messages_out)),
                    _right(show(link.queued_messages)),
                ]
                for link in links
            },
        )
        topics = status.topics[:ROWS_MAX] if status else []
        self._fill(
            "topics",
            {
                t.topic: [_left(t.topic), _right(show(t.subscribers)), _right(duration(t.since_s))]
                for t in topics
            },
        )
        self._fill(
            "trouble",
            {
                name: [_left(name, _alarm(new)), *(_right(show(n), _alarm(new)) for n in (n, new))]
                for name, (n, new) in node.trouble().items()
            },
        )

    def _table(self, name: str) -> DataTable[Text]:
        return self.query_one(f"#{name}", DataTable)

    def _fill(self, name: str, rows: Mapping[str, Sequence[Text]]) -> None:
        """Make `rows` the content of the table, and keep its scroll position."""
        table = self._table(name)
        for key in [key for key in table.rows if key.value not in rows]:
            table.remove_row(key)
        columns = [str(key.value) for key in table.columns]
        for key_text, cells in rows.items():
            if key_text in table.rows:
                self._update(table, key_text, columns, cells)
            else:
                table.add_row(*cells, key=key_text)

    @staticmethod
    def _update(
        table: DataTable[Text], row: str, columns: Sequence[str], cells: Sequence[Text]
    ) -> None:
        for column, cell in zip(columns, cells, strict=True):
            if table.get_cell(row, column) != cell:
                table.update_cell(row, column, cell, update_width=True)


def _left(text: str, style: str = "") -> Text:
    return Text(printable(text), style)


def _right(text: str, style: str = "") -> Text:
    return Text(printable(text), style, justify="right")


def _alarm(new: int) -> str:
    """Return red for a counter that is growing and yellow for one that grew earlier."""
    return "bold red" if new > 0 else "yellow"


def _rate(value: float | None) -> Text:
    return _right("-" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}")


def _row(node: Watched) -> list[Text]:
    if node.now is None or node.error:
        known = node.now.status.id if node.now else "-"
        why = _left("no answer", "bold red") if node.error else _left("asking")
        cells = [_left(node.address), _left(known, "dim")]
        return [*cells, *(_right("-") for _ in NODES[3:]), why]
    status, found = node.now.status, node.trouble()
    new = sum(new for _, new in found.values())
    worried = _right(show(sum(n for n, _ in found.values())), _alarm(new) if found else "")
    links = f"{status.links_connected}/{len(status.links)}"
    return [
        _left(node.address),
        _left(status.id),
        _left(status.overlay),
        _right(links, "" if status.links_connected else "yellow"),
        *(_rate(node.rate(name)) for name in ("messages_in", "messages_out", "delivered")),
        _right(show(status.queued_messages)),
        _right("-" if node.now.memory is None else size(node.now.memory)),
        worried,
    ]


def _about(node: Watched) -> Text:
    if node.error:
        return _left(node.error, "bold red")
    if node.now is None:
        return _left(f"{node.address}: asking")
    s = node.now.status
    how = "TLS" if s.secure == "tls" else "not encrypted"
    return _left(
        f"{s.id} on {s.listen}, {how}, up {duration(s.uptime_s)}; {s.connections} connections, "
        f"{s.peers_known} peers known; delivered/s:"
    )
