"""Lists the reasons why a line was not used, in the words that people see."""

from __future__ import annotations

BLANK = "blank line"
COMMENT = "comment"
HEADER = "header"

SELF_LOOP = "self-loop"
DUPLICATE = "duplicate"
REPEATED_EDIT = "further edit of the same page"
UPDATE = "UPDATE event"
ALREADY_UP = "join of a node that is up"
ALREADY_DOWN = "leave of a node that is down"
RESTART = "restart within a millisecond"
DOWN_INTERVAL = "interval of being down"
OVERLAP = "session that touches another of its node"
MISSING_CELL = "missing cell"
DIAGONAL = "cell on the diagonal"

NOT_UTF8 = "not UTF-8"
TOO_FEW = "too few fields"
EMPTY = "empty field"
UNBALANCED = "quote that is not closed"
BAD_TOPIC = "topic name that cannot be used"
BAD_COUNT = "count that does not match"
BAD_TIME = "time that is not a number"
BAD_STAMP = "time that is not ISO 8601"
TIME_RANGE = "time out of range"
BAD_EVENT = "unknown event"
BAD_STATE = "unknown state"
BACKWARDS = "end before start"
BAD_NUMBER = "not a number"
NUMBER_RANGE = "number out of range"
NOT_SQUARE = "matrix that is not square"
WRONG_WIDTH = "wrong number of cells"
NOT_CLOSED = "node that is not closed"
NOT_TWO = "other than two coordinates"
BAD_RELATIONSHIP = "unknown relationship"

SKIPPED = (BLANK, COMMENT, HEADER)
"""Notes of lines that are not data."""

DROPPED = (
    SELF_LOOP,
    UPDATE,
    ALREADY_UP,
    ALREADY_DOWN,
    RESTART,
    DOWN_INTERVAL,
    MISSING_CELL,
    DIAGONAL,
)
"""Notes of data that is understood and adds nothing to the tables."""
