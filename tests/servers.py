"""Local servers for tests and benchmarks, private to the process."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


class NoServer(Exception):
    """A server cannot be started; the message has the reason."""


@contextlib.contextmanager
def postgres(*settings: str) -> Iterator[str]:
    """Start a PostgreSQL server on a private socket; yield its address.

    ``settings`` are further ones, as name=value.
    """
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
    if not found[-1]:
        raise NoServer("no PostgreSQL server is installed (scripts/postgres)")
    programs = Path(found[-1]).parent
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    prefix = []
    try:
        if os.getuid() == 0:  # the server refuses to run as root
            if subprocess.run(["id", "postgres"], capture_output=True).returncode:
                raise NoServer("PostgreSQL does not run as root, and there is no user postgres")
            shutil.chown(folder, "postgres", "postgres")
            prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = folder / "data"
        subprocess.run([*prefix, str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "anna", "-E", "UTF8",
                        "--no-locale", "--no-sync"], check=True, capture_output=True)  # fmt: skip
        given = ["listen_addresses=''", f"unix_socket_directories='{folder}'", *settings]
        options = " ".join(f"-c {setting}" for setting in given)
        control = [*prefix, str(programs / "pg_ctl"), "-D", str(data)]
        started = [*control, "-w", "-l", str(folder / "log"), "-o", options, "start"]
        subprocess.run(started, check=True, capture_output=True)
        try:
            yield f"postgresql://anna@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], capture_output=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def object_store(key: str, secret: str, *buckets: str) -> Iterator[tuple[str, Path]]:
    """Start an S3 server on a local port; yield its address and folder.

    The subfolders of the folder are the buckets. Tests may read them, but must write through the server, which caches
    its state.
    """
    program = shutil.which("rclone", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        raise NoServer("no server of objects is installed (rclone, of requirements/dev.txt)")
    folder = Path(tempfile.mkdtemp(prefix="shoal-s3-"))
    for bucket in buckets:
        (folder / bucket).mkdir()
    command = [program, "serve", "s3", str(folder), "--addr", "127.0.0.1:0", "--auth-key", f"{key},{secret}",
               "--config", ""]  # fmt: skip
    log = (folder / "log").open("w")
    started = subprocess.Popen(command, stderr=log)
    try:
        for _ in range(1000):
            if found := re.search(r"http://127\.0\.0\.1:\d+", (folder / "log").read_text()):
                break
            time.sleep(0.01)
        else:
            raise NoServer("the server of objects does not start")
        yield found[0], folder
    finally:
        started.kill()
        started.wait()
        log.close()
        shutil.rmtree(folder, ignore_errors=True)
