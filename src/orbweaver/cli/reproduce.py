"""`orbweaver reproduce`: a paper's claims, run again and set beside its numbers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from orbweaver.cli.compare import print_verdicts
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.sweep import STORE, report_failures, run_sweep
from orbweaver.cli.terminal import out, print_json
from orbweaver.core.errors import UsageError, nearest
from orbweaver.records.files import check_file
from orbweaver.report.ledger import write_ledger
from orbweaver.study.claims import gather
from orbweaver.study.spidercast.experiments import FULL, QUICK, scenarios
from orbweaver.study.spidercast.verdicts import CLAIMS, judge, needed


def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper: spidercast.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's own scale, or a tenth of it.")
    ] = False,
    claims: Annotated[
        str | None, typer.Option(help="Only these, as in S1,S4. [default: all]")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds, as in 0-2 or 1,5,9.")] = "0-2",
    store: Annotated[Path, typer.Option(help="Where results are kept.")] = STORE,
    master: Annotated[
        str | None, typer.Option(help="Spark master or Connect URL. [default: this machine]")
    ] = None,
    out_file: Annotated[Path, typer.Option("--out", help="Where the HTML page goes.")] = Path(
        "reproduce.html"
    ),
    json: Annotated[
        bool, typer.Option("--json", help="The last line on stdout is one JSON object.")
    ] = False,
) -> None:
    """Run a paper's evaluation again and judge each claim.

    `--quick` takes minutes and says at what scale it ran; `--full` takes hours and is the
    papers' own. Runs are kept in the store, so going on after Ctrl-C costs nothing.

    Example:

        orbweaver reproduce spidercast --claims S1,S2,S14
    """
    if paper != "spidercast":
        raise UsageError(f"no claims of '{paper}': {nearest(paper, ['spidercast'])}")
    chosen = [c.strip().upper() for c in claims.split(",")] if claims else list(CLAIMS)
    scale = FULL if full else QUICK
    check_file(out_file)
    jobs = [(one, seed) for one in scenarios(needed(chosen), scale) for seed in parse_seeds(seeds)]
    swept = run_sweep(jobs, store, master, 6.0)
    report_failures(swept.failures)
    series = gather(swept.results)
    verdicts = judge(chosen, series)
    command = "orbweaver " + shlex.join(sys.argv[1:])
    write_ledger(out_file, "SpiderCast", scale.name, len(parse_seeds(seeds)), command, verdicts,
                 series)  # fmt: skip
    if json:
        plain = {"scale": scale.name, "claims": verdicts, "page": str(out_file)}
        print_json(msgspec.to_builtins(plain))
        return
    out.print(f"Scale: {scale.name}; {len(jobs)} runs, {swept.ran} of them new.", soft_wrap=True)
    print_verdicts(verdicts)
    out.print(f"The page with plots: {out_file}", soft_wrap=True)
