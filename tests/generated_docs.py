"""docs/reference.md, the settings in docs/network.md and the pictures, printed from the code
(`make docs`)."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from orbweaver.cli.node import DEFAULTS
from orbweaver.cli.node_config import as_table
from orbweaver.cli.overlays import as_plain
from orbweaver.metrics import minutes
from orbweaver.metrics.summary import MEANING
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.records.schema import TABLES
from orbweaver.report.comparison import woven
from orbweaver.report.look import svg
from orbweaver.workload import scenario
from orbweaver.workload.popularity import CORRELATED, GROUPED, LAWS

PARTS = {
    "[workload]": "WorkloadSpec",
    "[latency]": "LatencySpec",
    "[faults]": "FaultSpec",
    "[[faults.partitions]]": "PartitionSpec",
    "[churn]": "ChurnSpec",
    "[links]": "LinksSpec",
    "[[interests]]": "InterestChange",
    "[publish]": "PublishSpec",
    "[run]": "RunSpec",
    "[study]": "StudySpec",
}
DOCS = Path(__file__).parent.parent / "docs"


def reference() -> str:
    lines = [
        "# Reference",
        "",
        "Overlays with their parameters, scenario files, metrics and records. `make docs` prints",
        "this page from the code. Terms are in the [glossary](glossary.md), the settings of a node",
        "in [running a network](network.md#settings).",
        "",
        "## Overlays",
        "",
    ]
    for name, overlay in OVERLAYS.items():
        plain = as_plain(overlay)
        promises = [k.replace("_", " ") for k, held in plain["claims"].items() if held is True]
        lines += [
            f"### {name}",
            "",
            f"{_sentence(plain['summary'])} {_sentence(plain['paper'])}",
            "",
            f"Promises: {', '.join(promises)}; degree bound: {plain['claims']['degree_bound']}.",
            "",
            "| parameter | default | meaning | source of the default |",
            "|---|---|---|---|",
        ]
        for info in plain["parameters"]:
            choices = f" ({info['type'].replace('|', ', ')})" if "|" in info["type"] else ""
            lines.append(
                f"| `{info['name']}` | {info['default']} | {info['description']}{choices} | "
                f"{info['source']} |"
            )
        lines.append("")
    lines += ["## Popularity laws", "", "| law | meaning |", "|---|---|"]
    lines += [f"| `{law}` | {meaning} |" for law, meaning in (LAWS | GROUPED | CORRELATED).items()]
    lines += scenario_files()
    lines += ["", "## Metrics", "", "| metric | meaning |", "|---|---|"]
    lines += [f"| `{key}` | {meaning} |" for key, meaning in MEANING.items()]
    lines += ["", "## Records", ""]
    for spec in TABLES.values():
        lines += [f"### {spec.name}", "", _sentence(spec.meaning), ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in spec.columns]
        lines.append("")
    lines += ["## Minutes", "", *minute_columns(), ""]
    return "\n".join(lines)


def minute_columns() -> list[str]:
    """Describe the table of `orbweaver watch`: the fields of `Minute`, each by the string below
    it."""
    lines = [
        "The Delta table `minutes` of `orbweaver watch`: a row for each minute and topic.",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    tree = ast.parse(inspect.getsource(minutes))
    (body,) = (n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Minute")
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            meaning = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                meaning = " ".join(str(after.value.value).split()).replace("`ALL`", "empty for all")
            name, kind = ast.unparse(field.target), ast.unparse(field.annotation)
            lines.append(f"| `{name}` | {kind} | {meaning} |")
    control = "Bytes of messages that carry no event, in rows of all topics; else null."
    return [*lines, f"| `control_bytes` | int | {control} |"]


def scenario_files() -> list[str]:
    """Describe the specs of `workload/scenario.py`, each field by the string below it."""
    tree = ast.parse(inspect.getsource(scenario))
    specs = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    lines = [
        "",
        "## Scenario files",
        "",
        "A scenario is a TOML file, as in `scenarios/`. It begins with `overlay` and `name`, and",
        "the tables below follow. A setting that is left out has its default. The table `[params]`",
        "takes the parameters of the overlay.",
        "",
    ]
    for title, name in PARTS.items():
        lines += [f"### {title}", "", "| setting | default | meaning |", "|---|---|---|"]
        body = specs[name].body
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign):
                default = ast.unparse(field.value) if field.value is not None else ""
                meaning = _choices(field.annotation)
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    meaning = " ".join(f"{meaning} {after.value.value}".split())
                lines.append(f"| `{ast.unparse(field.target)}` | {default} | {meaning.strip()} |")
        lines.append("")
    return lines[:-1]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _choices(annotation: ast.expr) -> str:
    text = ast.unparse(annotation)
    return f"{text[8:-1].replace(chr(39), '')}." if text.startswith("Literal[") else ""


def network() -> str:
    """Return the page with its table of settings printed anew."""
    table = "\n".join(["<!-- settings -->", *as_table(DEFAULTS), "<!-- end of settings -->"])
    page = (DOCS / "network.md").read_text(encoding="utf-8")
    return re.sub("<!-- settings -->.*<!-- end of settings -->", lambda _: table, page, flags=re.S)


if __name__ == "__main__":
    (DOCS / "network.md").write_text(network(), encoding="utf-8")
    (DOCS / "reference.md").write_text(reference(), encoding="utf-8")
    picture, _ = woven()
    (DOCS / "img" / "web.svg").write_text(svg(picture), encoding="utf-8")
