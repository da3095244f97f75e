"""`orbweaver`: the door for people and scripts."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from orbweaver import __version__
from orbweaver.cli import (
    characterise,
    compare,
    ingest,
    keys,
    measure,
    overlays,
    reproduce,
    sample,
    simulate,
    status,
    sweep,
    synthesise,
    top,
)
from orbweaver.core.errors import UsageError

app = typer.Typer(
    name="orbweaver",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Publish/subscribe without a broker, on overlays woven out of interests.\n\n"
    "Start with `orbweaver overlays`, then `orbweaver simulate --overlay spidercast`, "
    "or see several overlays side by side with `orbweaver compare`.",
)
app.command("overlays")(overlays.overlays)
app.command("simulate")(simulate.simulate)
app.command("compare")(compare.compare)
app.command("reproduce")(reproduce.reproduce)
app.command("ingest")(ingest.ingest)
app.command("sample")(sample.sample)
app.command("synthesise")(synthesise.synthesise)
app.command("characterise")(characterise.characterise)
app.command("sweep")(sweep.sweep)
app.command("replay")(sweep.replay)
app.command("measure")(measure.measure)
app.command("report")(measure.report)
app.command("status")(status.status)
app.command("top")(top.top)
app.add_typer(keys.app, name="keys")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"orbweaver {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Bad input is one line and exit code 2; Ctrl-C is 130, with whole files only."""
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        _fail(str(error))
    except TyperException as error:
        if error.__class__.__name__ == "NoArgsIsHelpError":
            sys.exit(2)
        _fail(error.format_message())
    except BrokenPipeError:
        # The reader of our output has gone; say nothing more, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        print("orbweaver: interrupted; files are whole or not there", file=sys.stderr)
    sys.exit(code or 0)


def _fail(message: str) -> None:
    line = " ".join(message.split())
    print(f"orbweaver: {line}", file=sys.stderr)
    sys.exit(2)
