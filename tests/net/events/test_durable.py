import contextlib
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.messages import Event, Seal
from orbweaver.net.events.durable import DurableLog
from orbweaver.net.events.window import EVENT_COST, EventLog

EVERYTHING = 1 << 60


def event(seq, topic="t", publisher=1, epoch=0, payload=b"x", seal=None):
    return Event(topic, publisher, epoch, seq, payload, seal)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "window.db"


@contextlib.contextmanager
def opened(path, now=0, **limits):
    log = DurableLog(path, now, **limits)
    try:
        yield log
    finally:
        log.close()


@contextlib.contextmanager
def killed_after(path, now=0, **limits):
    """A log whose process ends here, without closing it."""
    log = DurableLog(path, now, **limits)
    try:
        yield log
    finally:
        log._database.close()


def fill(log, *events, now=0):
    for each in events:
        assert log.put(each, 0, now)


def kept(log, topic="t", now=0):
    return log.missing_of(topic, {}, EVERYTHING, EVERYTHING, now)


def seqs(log, topic="t", now=0):
    return [e.seq for e, _ in kept(log, topic, now)]


def rows(path, table="events"):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


# -- across a restart


def test_what_was_kept_is_kept_and_what_was_seen_is_seen(path):
    with opened(path) as log:
        fill(log, event(0, payload=b"\x00\xff"), event(2), event(5, "u/ü", 1 << 62, epoch=-7))
        positions = log.positions("t")
        before = kept(log), kept(log, "u/ü")
    with opened(path) as log:
        assert (kept(log), kept(log, "u/ü")) == before
        assert log.positions("t") == positions == {(1, 0, "t"): (1, 2, 3)}
        assert log.sizes() == {"events": 3, "bytes": 3 * EVENT_COST + 4, "streams": 2, "topics": 2}
        assert not log.put(event(2), 0, 0)
        assert log.put(event(1), 0, 0)
    with opened(path) as log:
        assert seqs(log) == [0, 1, 2]
        assert log.positions("t") == {(1, 0, "t"): (3,)}


def test_what_was_seen_but_not_kept_is_seen_too(path):
    with opened(path, age_ms_max=100) as log:
        assert log.put(event(0), 101, 0)
    with opened(path, events_max=0) as log:
        assert log.unwritten == 0
        assert not log.put(event(0), 0, 0)
        fill(log, event(1))
    with opened(path) as log:
        assert not log.put(event(1), 0, 0)
        assert seqs(log) == []


def test_a_run_is_written_event_by_event(path):
    with opened(path) as log:
        assert log.put(event(0), 0, 0, None, (b"1", b"2"))
        log.flush()
        assert log.put(event(3), 0, 0, None, (b"4",))
    assert rows(path) == 5
    with opened(path) as log:
        assert [(e.seq, e.payload) for e, _ in kept(log)] == [
            (0, b"x"), (1, b"1"), (2, b"2"), (3, b"x"), (4, b"4")
        ]  # fmt: skip
        assert log.put(event(5), 0, 0, None, (b"6",))
        log.drop_topic("t")
    assert rows(path) == 0


def test_events_grow_older_while_the_node_is_down(path):
    with opened(path, now=1000, age_ms_max=500) as log:
        log.put(event(0), 300, 1000)
        log.put(event(1), 100, 1000)
    with opened(path, now=1300, age_ms_max=500) as log:
        assert [(e.seq, age) for e, age in kept(log, now=1300)] == [(1, 400)]
        assert log.seen(event(0))
    assert rows(path) == 1
    with opened(path, now=2000, age_ms_max=500) as log:
        assert log.sizes()["streams"] == 1
    with opened(path, now=2001, age_ms_max=500) as log:
        assert log.sizes() == {"events": 0, "bytes": 0, "streams": 0, "topics": 0}


def test_a_clock_that_was_put_back_makes_nothing_last_for_ever(path):
    with opened(path, now=10**9) as log:
        fill(log, event(0), now=10**9)
    with opened(path, now=0, age_ms_max=500) as log:
        assert [age for _, age in kept(log, now=300)] == [300]
        log.expire(501)
        assert log.sizes()["events"] == 0
        log.expire(1001)
        assert log.sizes()["streams"] == 0


def test_smaller_limits_hold_for_what_is_there(path):
    with opened(path) as log:
        fill(log, *(event(seq, publisher=seq) for seq in range(10)))
    with opened(path, events_max=4, streams_max=3) as log:
        assert seqs(log) == [6, 7, 8, 9]
        assert log.sizes()["streams"] == 3
    assert rows(path) == 4


def test_what_leaves_the_window_leaves_the_file(path):
    with opened(path, events_max=3) as log:
        for seq in range(10):
            fill(log, event(seq), event(seq, "u"))
            if seq % 2:
                log.flush()
        log.drop_topic("u")
        log.flush()
    assert rows(path) == 3
    with opened(path, events_max=3) as log:
        assert (seqs(log), seqs(log, "u")) == ([7, 8, 9], [])
        assert log.seen(event(9, "u"))


def test_forgotten_streams_leave_the_file(path):
    with opened(path, streams_max=10) as log:
        for publisher in range(3000):
            fill(log, event(0, publisher=publisher))
            if publisher % 5 == 0:
                log.flush()
    assert rows(path, "streams") < 1200
    with opened(path, streams_max=10) as log:
        assert sorted(key[0] for key in log.positions("t")) == list(range(2990, 3000))


def test_only_what_was_flushed_survives_the_end_of_the_process(path):
    with killed_after(path) as log:
        fill(log, event(0))
        assert log.unwritten == 1
        log.flush()
        assert log.unwritten == 0
        fill(log, event(1))
    with opened(path) as log:
        assert seqs(log) == [0]
        assert log.positions("t") == {(1, 0, "t"): (1,)}
        assert log.put(event(1), 0, 0)


def test_an_age_beyond_all_measure_does_not_get_in_the_way(path):
    with opened(path) as log:
        assert log.put(event(0), 1 << 64, 0)
        assert log.put(event(1), -1 << 64, 0)
    with opened(path) as log:
        assert seqs(log) == [1]


def test_a_flush_that_fails_half_way_has_not_happened(path):
    class Unlucky(Exception):
        pass

    def fail(seal):
        if seal.name == b"u":
            raise Unlucky
        return seal.data

    unlucky = Signed(b"", b"uuu")
    with opened(path, seal_to_bytes=fail, bytes_to_seal=signed) as log:
        fill(log, event(0, seal=unlucky))
        unlucky.name = b"u"
        with pytest.raises(Unlucky):
            log.flush()
        assert log._database.execute("SELECT count(*) FROM streams").fetchall() == [(0,)]
        unlucky.name = b"w"
        log.flush()
    assert (rows(path), rows(path, "streams"), rows(path, "seals")) == (1, 1, 1)


def test_an_idle_log_does_not_write(path):
    with opened(path) as log:
        fill(log, event(0))
        log.flush()
        changes = log._database.total_changes
        log.flush()
        log.put(event(0), 0, 0)
        log.flush()
        assert log._database.total_changes == changes


operations = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"),
            st.sampled_from("tu"),
            st.integers(1, 3),
            st.integers(0, 20),
            st.integers(0, 150),
        ),
        st.tuples(st.just("pass"), st.integers(0, 150)),
        st.tuples(st.just("flush")),
        st.tuples(st.just("drop"), st.sampled_from("tu")),
        st.tuples(st.just("restart")),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=50)
@given(operations)
def test_a_log_that_restarts_at_any_time_is_like_one_that_does_not(operations):
    limits = {"events_max": 4, "age_ms_max": 100, "bytes_max": 6 * EVENT_COST + 6}
    now = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "window.db"
        model, log = EventLog(**limits), DurableLog(path, now, **limits)
        for operation, *how in operations:
            if operation == "put":
                topic, publisher, seq, age = how
                both = [each.put(event(seq, topic, publisher), age, now) for each in (model, log)]
                assert both[0] == both[1]
            elif operation == "pass":
                now += how[0]
            elif operation == "flush":
                log.flush()
            elif operation == "drop":
                model.drop_topic(how[0])
                log.drop_topic(how[0])
            else:
                log.close()
                log = DurableLog(path, now, **limits)
            model.expire(now)
            log.expire(now)
            for topic in "tu":
                assert kept(log, topic, now) == kept(model, topic, now)
                assert log.positions(topic) == model.positions(topic)
            assert log.sizes() == model.sizes()
        log.close()
        assert rows(path) == log.sizes()["events"]
        assert rows(path, "streams") >= log.sizes()["streams"]


# -- seals


class Signed(Seal):
    __slots__ = ("data",)

    def __init__(self, name, data):
        super().__init__(name)
        self.data = data


def signed(data):
    if data == b"forged":
        raise ProtocolError("a seal that its publisher did not sign")
    return Signed(data[:1], data)


SEALS = {"seal_to_bytes": lambda seal: seal.data, "bytes_to_seal": signed}


def test_seals_are_kept_once_and_for_as_long_as_their_events(path):
    a, b = signed(b"aaa"), signed(b"bbb")
    with opened(path, events_max=3, **SEALS) as log:
        fill(log, event(0, seal=a), event(1, seal=a), event(2, seal=b))
    assert rows(path, "seals") == 2
    with opened(path, events_max=3, **SEALS) as log:
        first, second, third = [e.seal for e, _ in kept(log)]
        assert first is second
        assert (first.data, third.data) == (b"aaa", b"bbb")
        fill(log, event(3))
        log.flush()
        fill(log, event(4, seal=signed(b"aaa")))
        log.flush()
        assert [e.seal and e.seal.name for e, _ in kept(log)] == [b"b", None, b"a"]
        assert log._database.execute("SELECT name FROM seals").fetchall() == [(b"a",), (b"b",)]
        log.drop_topic("t")
    assert rows(path, "seals") == 0


def test_a_seal_that_goes_and_comes_between_two_flushes_stays(path):
    a = signed(b"aaa")
    with opened(path, events_max=1, **SEALS) as log:
        fill(log, event(0, seal=a))
        log.flush()
        fill(log, event(1, seal=a))
        log.flush()
        fill(log, event(2), event(3, seal=a))
    with opened(path, **SEALS) as log:
        assert [e.seal for e, _ in kept(log)] == [a]


def test_without_signing_seals_are_left_out(path):
    with opened(path) as log:
        fill(log, event(0, seal=signed(b"aaa")))
    assert rows(path, "seals") == 0
    with opened(path) as log:
        assert [e.seal for e, _ in kept(log)] == [None]


@pytest.mark.parametrize(
    "damage", ["UPDATE seals SET data = CAST('forged' AS BLOB)", "DELETE FROM seals"]
)
def test_events_whose_seal_was_changed_are_not_trusted(path, damage):
    with opened(path, **SEALS) as log:
        fill(log, event(0, seal=signed(b"aaa")))
    change(path, damage)
    with pytest.raises(UsageError, match=r"damaged .* move the file away"):
        DurableLog(path, 0, **SEALS)


# -- subscriptions and peers


def test_subscriptions_are_remembered(path):
    with killed_after(path) as log:
        log.remember_subscription("t", 5)
        log.remember_subscription("u", 6)
        log.remember_subscription("t", 7)
        log.forget_subscription("u")
        log.forget_subscription("never")
        assert log.subscriptions() == {"t": 7}
    with opened(path) as log:
        assert log.subscriptions() == {"t": 7}


def test_the_last_peers_are_remembered(path):
    with killed_after(path) as log:
        assert log.peers() == []
        log.remember_peers([(3, b"c"), (1, b"a"), (2, b"b")])
        log.remember_peers([((1 << 63) - 1, b"z"), (1, b"\x00")])
    with opened(path) as log:
        assert log.peers() == [((1 << 63) - 1, b"z"), (1, b"\x00")]
        log.remember_peers([])
        assert log.peers() == []


# -- files that cannot be used


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def refused(path):
    with pytest.raises(UsageError) as caught:
        DurableLog(path, 0)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_another_format_is_refused(path):
    with opened(path):
        pass
    change(path, "PRAGMA user_version = 99")
    message = refused(path)
    assert "format 99" in message
    assert "reads 2" in message


def test_somebody_elses_database_is_left_as_it_is(path):
    change(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    assert "another program" in refused(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_as_it_is(path):
    path.write_bytes(b"Dear diary, " * 1000)
    assert "move the file away" in refused(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_folder_that_is_not_there(tmp_path):
    assert "No such file" in refused(tmp_path / "nowhere" / "window.db")


def test_a_folder_in_its_place(tmp_path):
    assert "cannot use" in refused(tmp_path)


def test_two_nodes_cannot_share_a_file(path):
    with opened(path) as log:
        assert "in use" in refused(path)
        fill(log, event(0))
        log.flush()
        assert "in use" in refused(path)
    with opened(path) as log:
        assert seqs(log) == [0]


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE events",
        "UPDATE events SET seq = 'many'",
        "UPDATE events SET payload = NULL",
        "UPDATE events SET topic = CAST(x'ff' AS TEXT)",
        "UPDATE events SET seq = 1 << 62, publisher = 7",
        "UPDATE streams SET edges = x'c1'",
        "UPDATE streams SET edges = x'90'",
        "UPDATE streams SET edges = x'930503ff'",
        "UPDATE streams SET edges = x'91cfffffffffffffffff'",
    ],
)
def test_nonsense_in_the_tables_is_damage(path, damage):
    with opened(path) as log:
        fill(log, event(0), event(3))
    change(path, damage)
    message = refused(path)
    assert "damaged" in message
    assert "move the file away" in message


def test_damage_anywhere_is_refused_or_does_no_harm(path):
    with opened(path) as log:
        fill(log, *(event(seq, f"t{seq % 5}", payload=bytes(300)) for seq in range(300)))
    whole = path.read_bytes()
    chance = random.Random(4)
    refusals = 0
    for _ in range(60):
        hurt = bytearray(whole)
        at = chance.randrange(len(hurt))
        if chance.random() < 0.2:
            del hurt[at:]
        else:
            hurt[at : at + 64] = chance.randbytes(64)
        path.write_bytes(hurt)
        try:
            with opened(path) as log:
                fill(log, event(10**6, "new"))
        except UsageError:
            refusals += 1
    assert 5 < refusals < 60


def test_nobody_else_may_read_it(path):
    with opened(path) as log:
        fill(log, event(0))
        log.flush()
        files = list(path.parent.iterdir())
        assert len(files) > 1
        assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files} == {0}


def test_a_full_disk_loses_nothing_once_there_is_room(path):
    with opened(path, events_max=50, **SEALS) as log:
        fill(log, *(event(seq, seal=signed(b"aaa")) for seq in range(50)))
        log.flush()
        log._database.execute("PRAGMA max_page_count = 1")
        fill(log, *(event(s, payload=bytes(9000), seal=signed(b"bbb")) for s in range(50, 80)))
        for _ in range(2):
            with pytest.raises(UsageError, match=r"cannot use .*full"):
                log.flush()
        with pytest.raises(UsageError, match="full"):
            log.remember_peers([(n, bytes(5000)) for n in range(100)])
        assert log.unwritten == 30
        fill(log, *(event(seq, payload=bytes(9000)) for seq in range(80, 110)))
        log._database.execute("PRAGMA max_page_count = 100000")
        log.flush()
    with opened(path, events_max=50, **SEALS) as log:
        assert seqs(log) == list(range(60, 110))
        assert log.positions("t") == {(1, 0, "t"): (110,)}
        assert [name for (name,) in log._database.execute("SELECT name FROM seals")] == [b"b"]


# -- killed at any time

WRITER = """
import sys
from pathlib import Path
from orbweaver.core.messages import Event
from orbweaver.net.events.durable import DurableLog

log = DurableLog(Path(sys.argv[1]), 0, events_max=300)
[edges] = log.positions("t").values() or [(0,)]
seq = edges[-1]
while True:
    for _ in range(37):
        assert log.put(Event("t", 1, 0, seq, b"x" * (seq % 700)), 0, 0)
        seq += 1
    log.flush()
    print(seq, flush=True)
"""


def test_a_process_that_is_killed_leaves_its_last_flush(path):
    chance = random.Random(1)
    at_least = 0
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for _ in range(chance.randrange(2, 120)):
                at_least = int(child.stdout.readline())
            os.kill(child.pid, signal.SIGKILL)
            at_least = max([at_least, *map(int, child.stdout.read().split())])
        assert child.returncode == -signal.SIGKILL
        with killed_after(path, events_max=60) as log:
            [(upto,)] = log.positions("t").values()
            # One more flush may have been made than the child could tell of; none in part.
            assert upto in (at_least, at_least + 37)
            assert [e.seq for e, _ in kept(log)] == list(range(max(0, upto - 60), upto))
            assert all(e.payload == b"x" * (e.seq % 700) for e, _ in kept(log))
