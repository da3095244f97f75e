"""The command `orbweaver`: its list of commands, and how their errors are printed."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

from orbweaver import __version__
from orbweaver.core.errors import UsageError

COMMANDS: dict[str, tuple[str, ...]] = {
    "A network of your own": (
        "node", "pub", "sub", "status", "top", "swarm", "gather", "watch", "trace",
        "keys.app",
    ),
    "The lab: simulate and compare": (
        "advise", "overlays", "simulate", "compare", "design", "reproduce",
    ),
    "The lab: traces and sweeps": (
        "ingest", "sample", "synthesise", "characterise", "sweep", "sweep.replay", "stores.store",
        "measure", "measure.report",
    ),
}  # fmt: skip
"""The commands under each heading of `--help`: the module in `orbweaver.cli`, then a dot and the
name of the function where it differs from the module's."""


def make_app(only: str | None = None) -> typer.Typer:
    """Build the application with all commands, or with the command `only` if it exists.
    Loading all commands takes longer than starting a node."""
    app = typer.Typer(
        name="orbweaver",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        help="Publish/subscribe without a broker: nodes link to nodes with the same interests.\n\n"
        "Try it on this machine: `orbweaver swarm 10`. By hand: run `orbweaver node`, "
        "`orbweaver sub news` and `orbweaver pub news hello`, each in its own terminal. "
        "In the lab, begin with `orbweaver advise`.",
    )
    app.callback()(options)
    found = {}
    for panel, places in COMMANDS.items():
        for place in places:
            module, _, attribute = place.partition(".")
            name = module if attribute in ("", "app") else attribute
            found[name] = (panel, module, attribute or module)
    for name in [only] if only in found else found:
        panel, module, attribute = found[name]
        command = getattr(import_module(f"orbweaver.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        print(f"orbweaver {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Bad input prints one line and exits with 2; Ctrl-C exits with 130 and
    leaves no file half written."""
    try:
        code = make_app(sys.argv[1] if len(sys.argv) > 1 else None)(standalone_mode=False)
    except UsageError as error:
        _fail(str(error))
    except TyperException as error:
        if error.__class__.__name__ == "NoArgsIsHelpError":
            sys.exit(2)
        _fail(error.format_message())
    except BrokenPipeError:
        # The reader of our output has closed it; write nothing more, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        print("orbweaver: interrupted; no file is half written", file=sys.stderr)
    sys.exit(code or 0)


def _fail(message: str) -> None:
    line = " ".join(message.split())
    print(f"orbweaver: {line}", file=sys.stderr)
    sys.exit(2)
