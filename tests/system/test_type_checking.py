"""Public API as type checkers and editors see it.

Covers mypy --strict, pyright, and the completions of an editor. Pyright comes from npm (``make checkers``); tests that
need it are skipped where it is missing. Mypy is always there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from tests.builders.typed_code import BAD, GOOD

ROOT = Path(__file__).parents[2]
PYRIGHT = ROOT / "tests" / "system" / "browser" / "node_modules" / "pyright"
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.py") if "tests" not in path.parts)
needs_pyright = pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is missing: make checkers, which needs npm")


def settings(folder):
    """Write settings that are strict, except for libraries without types."""
    packages = [Path(shoal.__file__).parents[1], *sorted((ROOT / "examples").glob("*/src"))]
    found = {
        "pythonVersion": "3.11", "extraPaths": [str(folder) for folder in packages], "typeCheckingMode": "strict",
        **{f"reportUnknown{what}Type": False for what in ("Member", "Variable", "Argument", "Parameter", "Lambda")},
        "reportMissingTypeStubs": False, "reportMissingModuleSource": False, "reportMissingTypeArgument": False,
    }  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(found))
    return folder / "pyrightconfig.json"


def faults(folder, *files):
    """Return what pyright finds, as file, line and message."""
    for file in files:
        (folder / file.name).write_text(file.read_text())
    command = ["node", str(PYRIGHT / "index.js"), "-p", str(settings(folder)), "--outputjson"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable], capture_output=True, text=True, cwd=folder, check=False
    )
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] > 0
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in answer["generalDiagnostics"]
        if one["severity"] == "error"
    ]


@needs_pyright
def test_pyright_on_right_and_wrong_code(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    found = faults(tmp_path)
    assert not [one for one in found if one[0] == "good.py"]
    assert {line for name, line, _ in found if name == "bad.py"} == {4, 5, 6, 7, 8, 9}


@needs_pyright
def test_pyright_finds_nothing_in_the_examples(tmp_path):
    assert EXAMPLES
    assert faults(tmp_path, *EXAMPLES) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_mypy_finds_nothing_in_the_examples(path, tmp_path):
    text = (ROOT / "pyproject.toml").read_text().replace('packages = ["shoal"]\n', "")
    (tmp_path / "pyproject.toml").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(tmp_path / "pyproject.toml"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


# -- what an editor offers -------------------------------------------------------------------------

OFFERED = {
    "import shoal\nshoal.": set(shoal.__all__),
    "import shoal\nrelease = shoal.anonymize([1], k=5)\nrelease.": {
        "table", "certificate", "utility", "risk", "warnings", "report", "explain", "save",
    },
    "import shoal\nshoal.check('t.csv', 'k-anonymity k=5', quasi_identifiers='age').": {"holds", "models", "groups"},
    "import shoal\nplan = shoal.Plan(columns={}, models='k-anonymity k=5')\nplan.": {
        "with_", "to_toml", "from_toml", "read", "schema", "models", "method",
    },
    "import shoal\nshoal.draft([1]).": {"plan", "text", "save", "profile", "tried"},
    "import shoal\nshoal.explore('plan.toml').": {"plot", "trials"},
}  # fmt: skip


class Editor:
    """Minimal editor that asks a language server for completions."""

    def __init__(self, folder):
        server = ["node", str(PYRIGHT / "langserver.index.js"), "--stdio"]
        self.pipe = subprocess.Popen(
            server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        self.folder, self.last = folder, 0
        self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={},
                 workspaceFolders=[{"uri": folder.as_uri(), "name": "x"}])  # fmt: skip
        self.notify("initialized")

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.pipe.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.pipe.stdin.flush()

    def notify(self, method, **given):
        self.send(method=method, params=given)

    def ask(self, method, **given):
        self.last += 1
        self.send(id=self.last, method=method, params=given)
        while True:
            length = 0
            while (line := self.pipe.stdout.readline().strip()) or not length:
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            message = json.loads(self.pipe.stdout.read(length))
            if message.get("id") == self.last and "method" not in message:
                return message["result"]
            if "id" in message:  # the server asks for settings: there are none
                nothing = [{}] * len(message.get("params", {}).get("items", [])) if "params" in message else None
                self.send(id=message["id"], result=nothing)

    def offers(self, name, text):
        uri = (self.folder / name).as_uri()
        self.notify("textDocument/didOpen",
                  textDocument={"uri": uri, "languageId": "python", "version": 1, "text": text})  # fmt: skip
        lines = text.split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        found = self.ask("textDocument/completion", textDocument={"uri": uri}, position=position)
        return {one["label"] for one in found["items"]}


@needs_pyright
def test_editor_completions(tmp_path):
    settings(tmp_path)
    editor = Editor(tmp_path)
    try:
        for number, (text, expected) in enumerate(OFFERED.items()):
            offered = editor.offers(f"t{number}.py", text)
            assert expected <= offered, (text, expected - offered)
    finally:
        editor.pipe.kill()
        editor.pipe.communicate()
