"""`examples/chat.py` as people use it: a process each, and what one types the others read."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cli.commands import DEADLINE_S

CHAT = Path(__file__).parent.parent.parent / "examples" / "chat.py"


class Person:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[str] = []

    @classmethod
    async def arrive(cls, name: str, *join: str) -> Person:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(CHAT), name, "--room", "tests", *join,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        person = cls(process)
        await person.hears(["chat/tests, node "])
        return person

    @property
    def join(self) -> tuple[str, str]:
        found = re.search(r"--join (\S+)$", self.heard[0])
        assert found is not None
        return "--join", found[1]

    def says(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def hears(self, beginnings: Sequence[str]) -> None:
        """Read until the last lines begin so."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        count = len(self.heard) + len(beginnings)
        async with asyncio.timeout(DEADLINE_S):
            while len(self.heard) < count:
                line = await self.process.stdout.readline()
                assert line, (await self.process.stderr.read()).decode()
                self.heard.append(line.decode().rstrip("\n"))
        for line, beginning in zip(self.heard[-len(beginnings) :], beginnings, strict=True):
            assert line.startswith(beginning)

    async def leaves(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        out, err = await asyncio.wait_for(self.process.communicate(), DEADLINE_S)
        assert (self.process.returncode, out) == (0, b""), err.decode()
        assert b"no node was there" not in err


def test_people_talk_and_a_latecomer_is_told_what_was_said() -> None:
    async def main() -> None:
        ada = await Person.arrive("ada")
        people = [ada]
        try:
            bob = await Person.arrive("bob", *ada.join)
            people.append(bob)
            ada.says("hello", "who is there?")
            await bob.hears(["ada: hello", "ada: who is there?"])
            bob.says("me, \x1b[2J")
            await ada.hears(["bob: me, ?[2J"])
            await ada.leaves()
            eve = await Person.arrive("eve", *bob.join)
            people.append(eve)
            await eve.hears(["", "", ""])
            assert sorted(eve.heard[1:]) == [
                "ada: hello", "ada: who is there?", "bob: me, ?[2J",
            ]  # fmt: skip
            eve.says("too late")
            await bob.hears(["eve: too late"])
            await eve.leaves()
            await bob.leaves()
        finally:
            for person in people:
                if person.process.returncode is None:
                    person.process.kill()
                    await person.process.wait()

    asyncio.run(main())


def test_an_address_that_is_none_is_told_in_one_line() -> None:
    async def main() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(CHAT), "ada", "--join", "nowhere:x",
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, err = await asyncio.wait_for(process.communicate(), DEADLINE_S)
        assert process.returncode == 1
        assert err.decode().splitlines()[-1].startswith("'nowhere:x' is not an address")
        assert b"Traceback" not in err

    asyncio.run(main())
