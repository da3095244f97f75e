"""`orbweaver.Node`: a network node with its overlay chosen by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings, make_settings, read_settings
from orbweaver.overlays.catalog import find


class Node(NetworkNode):
    """
    async with orbweaver.Node(overlay="vitis", listen="127.0.0.1:0", join=[...]) as node:
        news = await node.subscribe("news/sport")

    Settings are those of `orbweaver.net.settings.Settings`, by name; `config` is a TOML
    file with the same names, which arguments go before.
    """

    def __init__(self, *, config: str | Path | None = None, **settings: Any) -> None:
        given = read_settings(Path(config)) if config is not None else {}
        made: Settings = make_settings({**given, **settings})
        super().__init__(find(made.overlay), made)
