"""Open the file of a durable log, and explain why it cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError

VERSION = 2
"""Version of the file's format."""
APPLICATION = int.from_bytes(b"ORBW", "big")
"""The application id that marks a database as a durable log of Orbweaver."""

WAIT_S = 0.2
"""Seconds to wait for another process that holds the file, in case it is about to end."""

_SCHEMA = (
    """CREATE TABLE events (number INTEGER PRIMARY KEY, topic TEXT, publisher INTEGER,
        epoch INTEGER, seq INTEGER, published INTEGER, seal BLOB, payload BLOB)""",
    "CREATE TABLE seals (name BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID",
    """CREATE TABLE streams (topic TEXT, publisher INTEGER, epoch INTEGER, number INTEGER,
        last INTEGER, edges BLOB, PRIMARY KEY (topic, publisher, epoch)) WITHOUT ROWID""",
    "CREATE TABLE subscriptions (topic TEXT PRIMARY KEY, since INTEGER) WITHOUT ROWID",
    "CREATE TABLE peers (number INTEGER PRIMARY KEY, node INTEGER, card BLOB)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)

_NOT_THE_FILE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database, or make it if it does not exist, and lock it until it is closed.

    A commit survives the end of the process at any moment. After a loss of power the database
    may have lost the last seconds, but it is consistent.
    """
    try:
        path.touch(mode=0o600)
    except OSError as error:
        raise UsageError(f"cannot open {path}: {error.strerror}") from None
    with explained(path):
        database = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    [(application,)] = database.execute("PRAGMA application_id")
    [(version,)] = database.execute("PRAGMA user_version")
    [(tables,)] = database.execute("SELECT count(*) FROM sqlite_master")
    is_new = not (application or version or tables)
    if not is_new and application != APPLICATION:
        raise UsageError(f"{path} is a database of another program; name another file")
    if not is_new and version != VERSION:
        raise UsageError(
            f"{path} has format {version}, and this version of Orbweaver reads {VERSION}: "
            "use the version that wrote it, or move the file away to start with an empty window"
        )
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with transaction(database):
        # The transaction takes the lock, even if there is nothing to do.
        for statement in _SCHEMA if is_new else ():
            database.execute(statement)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction: all of its changes are made, or none."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the file into a `UsageError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise UsageError(f"{path} is in use by another process: stop it first") from None
        if code in _NOT_THE_FILE:
            raise UsageError(f"cannot use {path}: {error}") from None
        raise _damaged(path, error) from None
    except (msgspec.MsgspecError, ProtocolError, ValueError, OverflowError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(
        f"{path} is damaged ({error}): move the file away to start with an empty window"
    )
