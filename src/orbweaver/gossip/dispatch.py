"""Messages to functions: what overlays made of several parts have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.overlay import Overlay

Handler = Callable[[Any, NodeId, Any], None]


class DispatchingOverlay(Overlay):
    handlers: ClassVar[dict[type[Message], Handler]] = {}
    """One function for each message type; subclasses extend the table. On the class, not
    the instance: a hundred thousand nodes share it."""

    def receive(self, sender: NodeId, message: Message) -> None:
        handler = self.handlers.get(type(message))
        if handler is None:
            raise ProtocolError(f"{self.name} does not know {type(message).__name__}")
        handler(self, sender, message)
