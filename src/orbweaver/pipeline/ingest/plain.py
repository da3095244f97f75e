"""Recognises the lines of a trace that can be used as they are, which is nearly all of them.

A plain line begins with two names that any table may hold, with one separator between them. One
regular expression finds that out, and none of the tests for defects needs to be made. The other
lines go the long way. The result is the same, in a quarter of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F

from orbweaver.core.ids import TOPIC_BYTES_MAX
from orbweaver.workload.dialect import SEPARATORS

NAME = r"\w.@-"
"""Characters of a plain name, apart from the colon, which may be the separator. The minus sign has
to be the last of a class."""
END = r"(?![\s\S])"
"""The end of the text. A `$` also stands before a last character that Java takes for a line's
end, such as U+2028."""
ANYWHERE = "\t,; "
"""What may separate the cells of a kind that does not name its separator."""


def find_plain(head: Iterable[str], separator: str, comments: str) -> str:
    """Return the character that separates the two names of a plain line, or nothing if plain lines
    are not to be expected. `head` holds the first lines, `separator` is the name of the separator
    or empty if it may be any."""
    if any(re.fullmatch(f"[:{NAME}]", character, re.ASCII) for character in comments):
        return ""
    lines = list(head)
    found = {
        character: sum(bool(re.match(pattern(character), line, re.ASCII)) for line in lines)
        for character in (SEPARATORS[separator] if separator else ANYWHERE)
    }
    best = max(found, key=lambda character: found[character])
    return best if found[best] else ""


def pattern(separator: str) -> str:
    """Return what a plain line matches. What follows the two names is ignored, unless it holds a
    quote, which may be one that is not closed, or a character that stands for broken UTF-8."""
    name = f"[{NAME}]" if separator == ":" else f"[:{NAME}]"
    name = f"{name}{{1,{TOPIC_BYTES_MAX}}}"
    return f'^{name}{separator}{name}({separator}[^"\N{REPLACEMENT CHARACTER}]*)?{END}'


def left_name(text: Column, separator: str) -> Column:
    """Return the first name of a plain line; null for the other lines."""
    if not separator:
        return F.lit(None).cast("string")
    return F.when(text.rlike(pattern(separator)), F.substring_index(text, separator, 1))


def right_name(text: Column, separator: str) -> Column:
    """Return the second name of a line that is known to be plain."""
    if not separator:
        return F.lit(None).cast("string")
    return F.substring_index(F.substring_index(text, separator, 2), separator, -1)
