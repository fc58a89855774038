"""Real server in a separate process, for the tests of the page."""

from __future__ import annotations

import shutil

import pytest

from tests.builders.server import Server

pytest.importorskip("starlette", reason="the page needs shoal[web]")
pytest.importorskip("uvicorn", reason="the page needs shoal[web]")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    from shoal.datasets.patients import FOLDER

    shutil.copyfile(FOLDER / "patients.csv", root / "own.csv")
    made = Server(root)
    yield made
    if made.process.poll() is None:
        made.stop()
