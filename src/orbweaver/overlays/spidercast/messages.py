"""These are the messages of SpiderCast (its Figures 2 and 4) and of ring-per-topic."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.topics import Interest


class Connect(Message, frozen=True, gc=False, tag="connect"):
    """The sender asks for a link, for one of its tasks. Degree and target are the sender's."""

    task: int
    degree: int
    target: int
    interest: Interest


class ConnectOk(Message, frozen=True, gc=False, tag="connect-ok"):
    """The sender accepts a link. Degree and target are the sender's, as in CONNECT."""

    task: int
    degree: int
    target: int
    interest: Interest


class Redirect(Message, frozen=True, gc=False, tag="redirect"):
    """The sender refuses a link, and names another candidate if there is one."""

    task: int
    peer: NodeId | None
    interest: Interest | None


class Disconnect(Message, frozen=True, gc=False, tag="disconnect"):
    """The sender asks to give up a link that it does not need."""

    task: int


class DisconnectOk(Message, frozen=True, gc=False, tag="disconnect-ok"):
    """The sender agrees to give the link up."""

    task: int


class Leave(Message, frozen=True, gc=False, tag="leave"):
    """The sender ends its links: the links of one task, or all links if `task` is None."""

    task: int | None


class TaskState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a heartbeat tells of one task."""

    degree: int
    target: int


class Heartbeat(Message, frozen=True, gc=False, tag="heartbeat"):
    """The sender is alive, and tells degree and target of each task (Sec. 2.3). Its interest comes
    along for a while after it has changed (Sec. 2.4)."""

    purpose: ClassVar[Purpose] = "keepalive"
    tasks: tuple[TaskState, ...]
    interest: Interest | None


class Follow(Message, frozen=True, gc=False, tag="ring-follow"):
    """The receiver is the sender's successor on these topics, and on no others."""

    topics: Interest
    interest: Interest


class Followed(Message, frozen=True, gc=False, tag="ring-followed"):
    """The answer to FOLLOW, and what a node sends when its interest has changed."""

    interest: Interest


class Closer(Message, frozen=True, gc=False, tag="ring-closer"):
    """On this topic, `peer` is between the receiver and the sender."""

    topic: Topic
    peer: NodeId


class RingLeave(Message, frozen=True, gc=False, tag="ring-leave"):
    """The sender leaves all rings."""


class RingHeartbeat(Message, frozen=True, gc=False, tag="ring-heartbeat"):
    purpose: ClassVar[Purpose] = "keepalive"
