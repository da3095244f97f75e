"""`orbweaver keys` makes the keys and certificates with which nodes prove their identity and that
they may take part."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from orbweaver.cli.options import Json
from orbweaver.cli.terminal import out, print_json
from orbweaver.core.errors import UsageError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Make keys and certificates for a cluster that uses TLS.\n\n"
    "A cluster has an authority, made once with `keys init`. `keys issue` makes a folder for each "
    "node: the node's key, its certificate, and the authority's certificate. The node's id follows "
    "from its key. Give each node its own folder and keep the authority's folder to yourself: "
    "`ca.key` can admit any node.",
)

Authority = Annotated[
    Path, typer.Argument(metavar="DIR", help="The authority's folder, as `keys init` makes it.")
]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the authority.")],
    name: Annotated[
        str, typer.Option(metavar="CLUSTER", help="Name of the authority.")
    ] = "orbweaver",
    json: Json = False,
) -> None:
    """Make the authority of a cluster: `ca.key`, which signs, and `ca.pem`, which nodes need.

    The authority is valid for ten years. An authority that already exists in the folder is
    left alone.

    To replace an authority: make a new one in its own folder. Append its `ca.pem` to the
    `ca.pem` of every node and restart the nodes. Then issue every node's certificate from the
    new authority. At last remove the old certificate from every `ca.pem`.

    Examples:

        orbweaver keys init authority

        orbweaver keys init authority --name "exchange, London"
    """
    from orbweaver.net.keys.authority import AUTHORITY_KEY, make_authority
    from orbweaver.net.keys.certificates import AUTHORITY

    make_authority(folder, name)
    _print([folder / AUTHORITY_KEY, folder / AUTHORITY], json)
    if not json:
        out.print(Text(f"next: orbweaver keys issue {folder} --name NODE"), soft_wrap=True)


@app.command()
def issue(
    authority: Authority,
    name: Annotated[str, typer.Option(metavar="NODE", help="Name of the node.")],
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The node's folder. [default: NODE, beside DIR]"),
    ] = None,
    days: Annotated[int, typer.Option(help="Days for which the certificate is valid.")] = 365,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name or address to put into the certificate, for tools that check "
            "it; repeatable. Nodes check keys only."
        ),
    ] = None,
    public_key: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="Public half of a key that the node keeps elsewhere."),
    ] = None,
    json: Json = False,
) -> None:
    """Make a node's folder: `node.key`, `node.pem` and `ca.pem`.

    The command renews the certificate of a folder that already exists: it keeps the key, and so
    the node keeps its id.

    The key need not leave the node's machine. Make it there and print its public half; pass that
    as --public-key here, and copy only the certificates to the node:

        openssl genpkey -algorithm ed25519 -out node.key; orbweaver keys show node.key

    Examples:

        orbweaver keys issue authority --name london-1

        orbweaver keys issue authority --name london-1 --out /etc/orbweaver --days 30

        orbweaver keys issue authority --name london-2 --public-key 6f2c...
    """
    from orbweaver.net.keys.authority import equip
    from orbweaver.net.keys.certificates import AUTHORITY, CERTIFICATE, KEY

    if out_folder is None:
        if name in ("", ".", "..") or "/" in name:
            raise UsageError(
                f"--name {name!r} cannot name a folder: say where it goes with --out DIR"
            )
        out_folder = Path(os.path.normpath(authority / ".." / name))
    equip(authority, out_folder, name, days, host or (), public_key=_unhex(public_key))
    files = [out_folder / file for file in (KEY, CERTIFICATE)]
    _print([file for file in files if file.exists()], json)
    if not json:
        out.print(
            Text(f"and the authority's certificate: {out_folder / AUTHORITY}"), soft_wrap=True
        )


@app.command()
def show(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A key, a certificate, or a folder with these.")
    ],
    json: Json = False,
) -> None:
    """Show keys and certificates: node id, name, issuer and validity.

    Private keys are not printed. A certificate that has ended or has not begun is marked;
    nodes refuse it.

    Examples:

        orbweaver keys show london-1

        orbweaver keys show node.pem --json
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".key", ".pem"))
        if not files:
            raise UsageError(
                f"{path} has no files *.key or *.pem; `orbweaver keys issue` makes them"
            )
    _print(files, json)


def _unhex(text: str | None) -> bytes | None:
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise UsageError(
            f"--public-key {text!r} is not hexadecimal: `orbweaver keys show node.key` prints it"
        ) from None


def _print(files: list[Path], json: bool) -> None:
    rows = [row for file in files for row in _rows(file)]
    if json:
        print_json({"files": rows})
        return
    grid = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(Text(row["kind"], "not dim bold"), _text(row["file"]))
        for key, value in row.items():
            if key not in ("kind", "file") and value not in (None, []):
                grid.add_row("  " + key.replace("_", " "), _text(value))
    out.print(grid)


def _text(value: Any) -> Text:
    """Return the value as plain text. A name may have brackets, which could be taken for markup."""
    return Text(", ".join(value) if isinstance(value, list) else str(value))


def _rows(path: Path) -> list[dict[str, Any]]:
    """Return a row for each key or certificate in a file."""
    from orbweaver.net.admin.status import id_text
    from orbweaver.net.keys.authority import AUTHORITY_KEY
    from orbweaver.net.keys.certificate_parts import show
    from orbweaver.net.keys.identity import Identity, node_of

    try:
        is_key = b"PRIVATE KEY-----" in path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if is_key:
        identity = Identity.load(path)
        whose = {"public_key": identity.public_key.hex()}
        if path.name != AUTHORITY_KEY:
            whose = {"id": id_text(identity.node)} | whose
        return [{"kind": "key", "file": str(path), **whose}]
    rows = []
    now = datetime.now(UTC)
    for found in show(path):
        row: dict[str, Any] = {"kind": "certificate", "file": str(path), "name": found.name}
        if found.authority:
            row["kind"] = "authority"
        elif found.public_key is not None:
            row["id"] = id_text(node_of(found.public_key))
        row["public_key"] = found.public_key.hex() if found.public_key else None
        row["issuer"] = found.issuer
        row["from"] = found.not_before.isoformat()
        row["until"] = found.not_after.isoformat()
        row["state"] = "good"
        if now < found.not_before:
            row["state"] = "not yet"
        elif now > found.not_after:
            row["state"] = "ended"
        row["days_left"] = max(0, (found.not_after - now).days)
        row["hosts"] = list(found.hosts)
        rows.append(row)
    return rows
