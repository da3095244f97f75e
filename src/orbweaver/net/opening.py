"""Open what a node's settings name: its parameters, key, certificates, window and records."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Seal
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import Params, build, differing
from orbweaver.net.events.window import EventLog
from orbweaver.net.keys.identity import Identity
from orbweaver.net.logger import Logger
from orbweaver.net.settings import Settings
from orbweaver.net.wire.seals import BatchSeal, SealChecker
from orbweaver.records.live import LiveRecorder

if TYPE_CHECKING:
    from orbweaver.net.keys.members import Members

CLOCK_MS = 60_000
"""How many milliseconds the clock by which windows are kept may drift from the time of day."""

log = Logger()


def open_params(overlay: type[Overlay], settings: Settings) -> Params:
    return build(overlay.Params, settings.params, f"overlay '{overlay.name}'")


def key_path(settings: Settings) -> Path | None:
    """Return where the node's key is, or will be; None if each start makes a new key."""
    if settings.tls:
        return Path(settings.tls) / "node.key"
    if settings.key:
        return Path(settings.key)
    return Path(settings.state) / "node.key" if settings.state else None


def epoch_path(settings: Settings) -> Path | None:
    key = key_path(settings)
    return None if key is None else key.with_suffix(".epoch")


def kept_path(settings: Settings) -> Path | None:
    """Where what the overlay keeps over a restart is, beside the key; None without a key file."""
    key = key_path(settings)
    return None if key is None else key.with_suffix(f".{settings.overlay.replace(':', '.')}")


def open_identity(settings: Settings) -> Identity:
    path = key_path(settings)
    if settings.tls and settings.key:
        raise UsageError(f"with tls the key is node.key in {settings.tls}; leave 'key' out")
    if path is None:
        return Identity.generate()
    if settings.tls or path.exists():
        return Identity.load(path)
    identity = Identity.generate()
    _make_folder(path.parent)
    identity.save(path)
    return identity


def open_tls(settings: Settings) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """Return the TLS contexts for calls that come in and for calls that go out, or None without
    TLS."""
    if not settings.tls:
        return None
    from orbweaver.net.keys.certificates import client_context, server_context

    folder = Path(settings.tls)
    return server_context(folder), client_context(folder)


def open_members(settings: Settings) -> Members | None:
    """Return what is known of the members of a cluster with an authority, or None without one."""
    if not settings.tls:
        return None
    from orbweaver.net.keys.members import Members

    return Members(Path(settings.tls))


def open_log(settings: Settings, now: int) -> EventLog:
    replay_s = settings.replay_s if settings.sign else 0.0
    limits = {
        "events_max": settings.window_events,
        "age_ms_max": round(1000 * settings.window_s),
        "bytes_max": settings.window_bytes,
        # Seen events are remembered for as long as a peer could bring them again: with a seal
        # ahead of our clock, twice as long as with an honest one.
        "forget_ms": round(2000 * max(settings.window_s, replay_s)),
        "sealed_ms_max": round(1000 * max(settings.window_s, replay_s)) + CLOCK_MS,
        "seal_to_bytes": _seal_to_bytes,
    }
    if not settings.state:
        return EventLog(**limits)  # type: ignore[arg-type]
    from orbweaver.net.events.durable import DurableLog

    folder = Path(settings.state)
    _make_folder(folder)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        log.warning("others can look into the state folder; run chmod 700", folder=str(folder))
    checker = SealChecker(settings.cluster)
    return DurableLog(folder / "window.db", now, bytes_to_seal=checker.check, **limits)


def open_records(settings: Settings, node: NodeId, params: Params) -> LiveRecorder | None:
    if not settings.records:
        return None

    def trouble(reason: str) -> None:
        log.warning("records are not written", folder=settings.records, reason=reason)

    folder = Path(settings.records)
    return LiveRecorder(
        folder,
        node,
        settings.overlay,
        differing(params),
        copies=settings.records_copies,
        trouble=trouble,
    )


def _seal_to_bytes(seal: Seal) -> bytes:
    return seal.data if isinstance(seal, BatchSeal) else b""


def _make_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into. A folder that exists stays as it is, since
    it may hold other files too."""
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from None
