"""The web page: startup and response times for a large table.

The table is opened by its path.

python -m benchmarks.serve [rows]
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import measure, show
from shoal.datasets.census import write_census

PROFILE = "from shoal.advice.profile import profile"


class _Page:
    """A running server and its client."""

    def __init__(self, root: Path) -> None:
        begin = time.perf_counter()
        command = [sys.executable, "-m", "shoal", "serve", "--root", str(root), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", self.process.stdout.readline())
        assert found is not None
        self.port, self.token = int(found[1]), found[2]
        self.printed = time.perf_counter() - begin

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse().read()
        connection.close()
        return answer

    def finish(self, project: str, run: str) -> tuple[list[float], float]:
        """Poll the page while a run works.

        Returns the response times, and the time until the page had the columns.
        """
        took = []
        start, displayed_after = time.perf_counter(), 0.0
        while True:
            begin = time.perf_counter()
            page = self.ask("GET", f"/p/{project}/columns")
            took.append(time.perf_counter() - begin)
            if not displayed_after and b"data-row" in page:
                displayed_after = time.perf_counter() - start
            if json.loads(self.ask("GET", f"/api/projects/{project}/runs/{run}"))["state"] != "running":
                return took, displayed_after
            time.sleep(0.05)


def main(rows: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_census(root / "large.parquet", rows)
        alone = measure(PROFILE, f"profile({str(root / 'large.parquet')!r})")
        page = _Page(root)
        try:
            begin = time.perf_counter()
            page.ask("GET", "/")
            first = time.perf_counter() - begin
            begin = time.perf_counter()
            made = json.loads(page.ask("POST", "/api/projects", {"path": "large.parquet"}))
            took, displayed_after = page.finish(made["project"], made["run"])
            drawn = time.perf_counter() - begin
            run = json.loads(page.ask("POST", f"/api/projects/{made['project']}/runs", {"action": "release"}))["run"]
            during, _ = page.finish(made["project"], run)
        finally:
            page.process.terminate()
            page.process.wait()
    show(
        f"The page and a table of {rows:,} rows",
        ("what", "seconds"),
        [
            ["from the command to the printed link", page.printed],
            ["the first page, after the link was printed", first],
            ["the profile, in a process of its own", alone["seconds"]],
            ["from the choice of the table to the page with its columns and reasons", displayed_after],
            ["and with the histogram of every column", drawn],
            ["the page, at worst, while the table is looked at", max(took)],
            ["the page, at worst, while a release is made", max(during)],
        ],
    )


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))
