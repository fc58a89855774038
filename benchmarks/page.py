"""Write docs/benchmarks.md, its charts and docs/benchmarks.json.

The input is what the benchmarks recorded.
"""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import record
from benchmarks.measure import markdown
from shoal.report.line_chart import line_chart

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS / "benchmarks.json"
PICTURES = DOCS / "pictures"
INTRODUCTION = """\
# Benchmarks

`make bench` measures what is on this page and writes it, charts included; the figures are in
[benchmarks.json](benchmarks.json). `python -m benchmarks NAME ...` measures single ones again, and each part says when
and by which command it was measured. Times differ from machine to machine, from run to run by a tenth or more, and
where other work runs beside them by half or more: compare what stands in one table, for that comes from one
run. Figures of ARX and sdcMicro are not from these runs: they were measured elsewhere, on another machine of two cores,
and say so.

## The record

What was to become fast, what was asked for, and what is measured now; *no* where any part of it is not reached. What
was before and what peers need is quoted, for it was measured elsewhere; the parts below have the limits of this
machine beside each figure.
"""


def machine() -> dict[str, object]:
    """Describe the machine of the measurement."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.now(UTC).date().isoformat(),
    }


def load() -> dict[str, dict]:
    """Load earlier results, by benchmark."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}


def write(results: dict[str, dict]) -> None:
    """Write the page, its charts and the figures."""
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("benchmark-*.svg"):
        old.unlink()
    lines = [INTRODUCTION, markdown(record.HEADER, record.report(results)), ""]
    lines += [f"- [{_title(name)}](#{_title(name).replace(' ', '-')})" for name in sorted(results)]
    for name in sorted(results):
        result = results[name]
        at = result["machine"]
        lines += ["", f"## {_title(name)}", "", result["about"], ""]
        lines.append(
            f"*{at['date']}, {at['cores']} cores, {at['memory_gb']} GB, Python {at['python']}, {at['system']}; "
            f"`python -m benchmarks {name}`, {result['seconds']:.0f} s"
            f"{'' if result.get('whole', True) else ', and ended before its end'}*"
        )
        for entry in result["entries"]:
            lines += ["", *(_table(entry) if entry["kind"] == "table" else _chart(name, entry))]
    (DOCS / "benchmarks.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _title(name: str) -> str:
    return name.replace("_", " ")


def _table(entry: dict) -> list[str]:
    note = ["", entry["says"]] if entry["says"] else []
    return [f"### {entry['title']}", "", markdown(entry["header"], entry["rows"]), *note]


def _chart(name: str, entry: dict) -> list[str]:
    slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {entry['title']}".lower()).strip("-")
    path = PICTURES / f"benchmark-{slug}.svg"
    series = {line: [(x, y) for x, y in points] for line, points in entry["series"].items()}
    axes = {"log_x": entry["log_x"], "log_y": entry["log_y"]}
    picture = line_chart(entry["title"], entry["x_title"], entry["y_title"], series, **axes)
    path.write_text(picture, encoding="utf-8")
    return [f"![{entry['title']}](pictures/{path.name})"]
