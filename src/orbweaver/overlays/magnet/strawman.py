"""The strawman that the paper compares Magnet with: the same trees on a name-independent DHT.

Places on the skewed ring are hashes, and fingers are never biased. It behaves like Scribe, with the
trees built from the top (Sec. 4).
"""

from __future__ import annotations

from typing import ClassVar

from orbweaver.core.errors import UsageError
from orbweaver.core.overlay import Context
from orbweaver.overlays.magnet.node import Magnet
from orbweaver.overlays.magnet.params import MagnetParams


class MagnetStrawman(Magnet):
    name: ClassVar[str] = "magnet-strawman"
    summary: ClassVar[str] = "the same trees on a ring where nodes stand anywhere"
    paper: ClassVar[str] = "baseline of Magnet, Sec. 4"
    CLUSTERED: ClassVar[bool] = False

    def __init__(self, context: Context, params: MagnetParams) -> None:
        if params.biased:
            raise UsageError("magnet-strawman is blind to interests; biased=true is for magnet")
        super().__init__(context, params)
