"""Server of the page in a separate process."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.builders.plans import write_plan

COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()", "serve"]


class Server:
    """Server under test, with methods to send requests."""

    def __init__(self, root: Path, *options: str, env: dict[str, str] | None = None) -> None:
        self.root = root
        self.data = root.parent / f"{root.name}-data"
        """Folder of the user's data, keys included, outside of the root."""
        self.process = subprocess.Popen(
            [*COMMAND, *options, "--root", str(root), "--no-open"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "XDG_DATA_HOME": str(self.data), **(env or {})},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/(?:\?token=(\S+))?", self.first_line)
        assert found, self.first_line
        self.link, self.port, self.token = found[0], int(found[1]), found[2] or (env or {}).get("SHOAL_TOKEN", "")
        self.address = f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, **headers):
        """Return status, headers and body of an answer.

        Requests carry the token unless headers say otherwise.
        """
        given = {"Authorization": f"Bearer {self.token}"} if "cookie" not in headers and "bare" not in headers else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items() if name != "bare"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, sent, given)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def json(self, method, path, body=None):
        status, _, text = self.ask(method, path, body)
        assert status < 300, (status, text)
        return json.loads(text)

    def finish(self, project, run, seconds=300):
        """Wait for the end of a run and return its state.

        Compiling code first takes its time on a busy machine.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.json("GET", f"/api/projects/{project}/runs/{run}")
            if answer["state"] != "running":
                return answer
            time.sleep(0.1)
        raise AssertionError("the run did not end")

    def act(self, project, **job):
        return self.finish(project, self.json("POST", f"/api/projects/{project}/runs", job)["run"])

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)
        out, err = self.process.stdout.read(), self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return out, err


def slow_project(root):
    """Write a table and a plan that takes long."""
    from shoal.datasets.census import write_census

    write_census(root / "big.parquet", 60_000)
    quasi = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
    write_plan(
        root,
        columns={**dict.fromkeys(quasi, "quasi-identifier"), "occupation": "sensitive"},
        models="k-anonymity k=5",
        method="mdav",
        source="big.parquet",
        output="big-released.csv",
        name="big",
    )
