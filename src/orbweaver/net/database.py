"""The file of a durable log: how it is opened, and what is said when it cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError

VERSION = 1
APPLICATION = int.from_bytes(b"ORBW", "big")
"""Marks a database as one of ours."""

WAIT_S = 0.2
"""Another process may hold the file for so long: one that is about to end."""

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
    """The database, made if it is not there, and held against other processes until it is
    closed. After a commit it survives the end of the process at any moment; after a loss of
    power it may be some seconds old, but whole."""
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
            "use the version that wrote it, or move it away to start with nothing"
        )
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with transaction(database):
        # Takes the lock, also if there is nothing to do.
        for statement in _SCHEMA if is_new else ():
            database.execute(statement)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the file into one line that says what to do."""
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
    return UsageError(f"{path} is damaged ({error}): move it away to start with nothing")
