"""Requests that a real server must refuse."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from shoal.errors import InputError
from tests.builders.errors import has_code
from tests.builders.server import COMMAND, Server

PRIVATE = ["/", "/p/patients/columns", "/api/projects", "/api/files", "/api/openapi.json", "/static/app.js"]


@pytest.mark.parametrize("path", PRIVATE)
def test_no_answer_without_the_token(server, path):
    assert server.ask("GET", path, bare="yes")[0] == 401
    assert server.ask("GET", path, cookie=f"shoal-{server.port}=wrong")[0] == 401
    assert server.ask("GET", path, bare="yes", Authorization="Bearer wrong")[0] == 401
    assert server.ask("GET", path, bare="yes", Authorization=f"Basic {server.token}")[0] == 401


def test_a_refused_browser_gets_a_page_with_a_way_on(server):
    status, headers, text = server.ask("GET", "/old-prefix/p/patients/run", bare="yes", Accept="text/html,*/*")
    assert (status, headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"its link is a new one" in text
    assert b"hat er einen neuen Link" in text
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b"error" in server.ask("GET", "/old-prefix/api/projects", bare="yes")[2]
    old_link = server.ask("GET", "/?token=old", bare="yes", Accept="text/html")
    assert (old_link[0], b"its link is a new one" in old_link[2]) == (401, True)


def test_wrong_token_in_the_link_sets_no_cookie(server):
    status, headers, _ = server.ask("GET", "/?token=wrong", bare="yes")
    assert status == 401
    assert "set-cookie" not in headers


def test_token_is_exchanged_for_a_strict_cookie(server):
    """Scripts and other sites do not get the cookie."""
    status, headers, _ = server.ask("GET", f"/?token={server.token}", bare="yes")
    assert status == 303
    cookie, prefix = headers["set-cookie"], headers["location"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert server.token not in cookie + prefix
    assert server.ask("GET", prefix, cookie=cookie.partition(";")[0])[0] == 200


def enter(server, token=None):
    """Follow a link as a browser does; return the cookie and the prefix."""
    headers = server.ask("GET", f"/?token={token or server.token}", bare="yes")[1]
    return headers["set-cookie"].partition(";")[0], headers["location"].rstrip("/")


def test_cookie_and_path_prefix_are_useless_alone(server):
    """A cookie of the whole host would go to servers on its other ports.

    The browser sends this one only with paths that no other server is asked for.
    """
    cookie, prefix = enter(server)
    other, elsewhere = enter(server)
    assert server.ask("GET", f"{prefix}/api/projects", cookie=cookie)[0] == 200
    for path in ("/", "/api/projects", "/static/app.js", f"{elsewhere}/api/projects", f"/x{prefix}/api/projects"):
        assert server.ask("GET", path, cookie=cookie)[0] == 401, path
    assert server.ask("GET", f"{prefix}/api/projects", cookie=other)[0] == 401
    assert server.ask("GET", f"{prefix}/api/projects", bare="yes")[0] == 401


def test_cookie_is_not_sent_to_another_port(server):
    """By the rules of RFC 6265, as Python's cookie jar applies them."""
    import http.cookiejar
    import http.server
    import urllib.request

    heard = []

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.headers.get("Cookie"))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(server.link) as page:
        assert page.status == 200
    assert all(len(cookie.path) > 40 for cookie in jar)
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=lambda: [other.handle_request() for _ in range(3)])
        thread.start()
        for path in ("/", "/api/projects", "/p/patients/columns"):
            browser.open(f"http://127.0.0.1:{other.server_port}{path}").close()
        thread.join()
    assert heard == [None, None, None]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
def test_foreign_host_is_refused_even_with_the_token(server, host):
    assert server.ask("GET", "/api/projects", Host=host.format(port=server.port))[0] == 421
    assert server.ask("GET", f"/?token={server.token}", bare="yes", Host=host.format(port=server.port))[0] == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "file://"]
)
def test_foreign_origin_is_refused(server, origin):
    given = origin.format(port=server.port)
    for method, path in (("POST", "/api/projects"), ("GET", "/api/projects")):
        cookie, prefix = enter(server)
        assert server.ask(method, prefix + path, {"sample": "patients"}, cookie=cookie, Origin=given)[0] == 403
        assert server.ask(method, path, {"sample": "patients"}, Origin=given)[0] == 403


def test_change_by_cookie_needs_an_origin(server):
    cookie, prefix = enter(server)
    assert server.ask("POST", f"{prefix}/api/projects", {"sample": "patients"}, cookie=cookie)[0] == 403
    assert server.ask("DELETE", f"{prefix}/api/projects/x/runs/y", cookie=cookie)[0] == 403
    made = server.ask("POST", f"{prefix}/api/projects", {"sample": "patients"}, cookie=cookie, Origin=server.address)
    assert made[0] == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_requests_are_refused(server, site):
    """Images, forms and frames of other sites.

    Another port of this machine is the same site to a browser.
    """
    for mode in ("no-cors", "navigate", "cors"):
        cookie, prefix = enter(server)
        headers = {"cookie": cookie, "Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode}
        path = f"{prefix}/api/projects"
        assert server.ask("GET", path, **headers)[0] == 403
        assert server.ask("POST", path, {"sample": "patients"}, **headers, Origin=server.address)[0] == 403


def test_every_answer_has_security_headers(server):
    for path in ("/", "/nothing", "/api/projects", "/static/app.js"):
        headers = server.ask("GET", path)[1]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.fixture
def link(server, tmp_path):
    """Symbolic link below the root to a folder outside."""
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n3,4\n")
    link = server.root / "link"
    os.symlink(tmp_path, link)
    yield link
    link.unlink()


@pytest.mark.parametrize(
    "path",
    [
        "../",
        "..",
        "../../etc",
        "/etc",
        "a/../../..",
        "link",
        "link/secret.csv",
        "%2e%2e/",
        "..\\..",
        "\0",
        "sub/../../x.csv",
    ],
)
def test_no_path_leads_out_of_the_root(server, link, path):
    from urllib.parse import quote

    assert server.ask("GET", f"/api/files?path={quote(path)}")[0] in (404, 422)
    assert server.ask("POST", "/api/projects", {"path": path})[0] in (404, 422)
    for target in (f"/static/{path}", f"/p/{path}/columns", f"/api/projects/{path}"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest("GET", quote(target, safe="/%."), skip_host=False)
        connection.putheader("Authorization", f"Bearer {server.token}")
        connection.endheaders()
        assert connection.getresponse().status in (404, 405)
        connection.close()
    assert "link" not in json.loads(server.ask("GET", "/api/files")[2])["folders"]


@pytest.mark.parametrize(
    "text",
    [
        '[source]\npath = "/etc/passwd"\n',
        '[source]\npath = "../../../../etc/passwd"\n',
        '[source]\npath = "patients.csv"\n[output]\npath = "/tmp/shoal-escaped.csv"\n',
        '[source]\npath = "patients.csv"\n[output]\npath = "x.csv"\npseudonym_key = "/etc/hostname"\n',
        '[source]\npath = "patients.csv"\n[method]\nname = "population-grid"\nk = 2\nledger = "/etc/ledger"\n',
        '[source]\npath = "patients.csv"\n[engine]\nname = "spark"\nmaster = "spark://evil.example"\n',
        '[source]\ndatabase = "env:HOME"\ntable = "x"\n',
        '[source]\npath = "patients.csv"\n[output]\ndatabase = "env:HOME"\ntable = "x"\n',
        '[source]\npath = "s3://bucket/patients.csv"\n',
        '[source]\npath = "${HOME}/patients.csv"\n',
        '[source]\npath = "patients.csv"\nmissing = ["${HOME}"]\n',
        '[source]\npath = "patients.csv"\n[output]\npath = "s3://bucket/x.csv"\n',
        '[source]\npath = ["patients.csv", "/etc/passwd"]\n',
        '[source]\npath = "**/../../../../../*.csv"\n',
        '[source]\npath = "/etc/*"\n',
        '[source]\npath = "../../link/*.csv"\n',
    ],
)
def test_no_plan_leads_out_of_the_root(server, link, text):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    text += '[columns.age]\nrole = "quasi-identifier"\n[[models]]\nname = "k-anonymity"\nk = 2\n'
    answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])
    assert "below the folder" in answer["error"] or "shoal release" in answer["error"], answer
    for action in ("look", "check", "release"):
        assert server.ask("POST", f"/api/projects/{project}/runs", {"action": action})[0] == 422


def test_hierarchy_file_outside_is_not_read(server, tmp_path):
    (tmp_path / "h.csv").write_text("secret-value;*\n")
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    text = server.ask("GET", f"/api/projects/{project}/plan")[2].decode()
    text = text.replace(
        '{ tree = { America = ["USA", "Canada"], Asia = ["China", "Japan", "India"] } }',
        f'{{ csv = "{tmp_path}/h.csv" }}',
    )
    answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])
    assert "below the folder" in answer["error"]
    assert "secret-value" not in json.dumps(answer)


def test_one_link_is_one_owner(server):
    """Two browsers with the link see the same projects."""
    (one, here), (other, there) = enter(server), enter(server)
    made = server.ask("POST", f"{here}/api/projects", {"sample": "patients"}, cookie=one, Origin=server.address)
    project = json.loads(made[2])["project"]
    assert server.ask("GET", f"{there}/api/projects/{project}", cookie=other)[0] == 200
    assert project in json.loads(server.ask("GET", f"{there}/api/projects", cookie=other)[2])["projects"]


def test_visitors_see_nothing_of_each_other(tmp_path):
    """Uploads, projects and runs, by name, by path and by a plan."""
    (tmp_path / "common.csv").write_text("name,age\nSecretPerson,1\n")
    server = Server(tmp_path, "--visitors", "anna,ben")
    try:
        assert server.first_line.startswith("anna: ")
        anna, ben = server.token, re.search(r"ben: \S+token=(\S+)", server.process.stdout.readline())[1]

        def ask(token, method, path, body=None):
            status, _, text = server.ask(method, path, body, bare="yes", Authorization=f"Bearer {token}")
            return status, json.loads(text)

        status, made = ask(anna, "POST", "/api/uploads?name=clinic.csv", "name,age\nSecretPerson,1\nOther,2\n")
        assert status == 201
        server.finish(made["project"], made["run"])
        run, project = made["run"], made["project"]
        assert (tmp_path / "anna" / "shoal-projects" / project / "clinic.csv").is_file()
        assert ask(ben, "GET", "/api/projects") == (200, {"projects": []})
        assert ask(ben, "GET", "/api/files") == (200, {"path": "", "folders": [], "files": []})
        for path in ("../anna", "..", "anna", "../common.csv", "common.csv", f"{tmp_path}/anna"):
            assert ask(ben, "GET", f"/api/files?path={path}")[0] == 422
            assert ask(ben, "POST", "/api/projects", {"path": path})[0] == 422
        assert ask(ben, "POST", "/api/projects", {"path": "../anna/shoal-projects/clinic/clinic.csv"})[0] == 422
        for path in ("", "/plan", f"/runs/{run}", "/releases/1"):
            assert ask(ben, "GET", f"/api/projects/{project}{path}")[0] == 404
        # a project of the same name is another project, with other runs
        own = ask(ben, "POST", "/api/uploads?name=clinic.csv", "name,age\nBen,1\nBob,2\n")[1]
        assert own["project"] == project
        assert ask(ben, "GET", f"/api/projects/{project}/runs/{run}")[0] == 404
        end = time.monotonic() + 60
        while time.monotonic() < end and not ask(ben, "GET", f"/api/projects/{project}")[1]["plan"]:
            time.sleep(0.1)
        plan = '[source]\npath = "../../../anna/shoal-projects/clinic/clinic.csv"\n'
        assert "below the folder" in ask(ben, "PUT", f"/api/projects/{project}/plan", plan)[1]["error"]
        cookie, prefix = enter(server, ben)
        page = server.ask("GET", f"{prefix}/", cookie=cookie)[2].decode()
        assert "anna" not in page
        assert "SecretPerson" not in page
    finally:
        server.stop()


@pytest.mark.parametrize(
    "options",
    [("--visitors", "0"), ("--visitors", "../x,ben"), ("--visitors", "Ben,ben"), ("--visitors", "a,,b"),
     ("--visitors", "2", "own.csv"), ("--visitors", "2", "--projects", "p"), ("--visitors", "2", "--api-only")],
)  # fmt: skip
def test_visitors_without_folders_of_their_own_are_refused(tmp_path, options):
    (tmp_path / "own.csv").write_text("a,b\n1,2\n")
    done = subprocess.run(
        [*COMMAND, *options, "--no-open"], capture_output=True, text=True, cwd=tmp_path, timeout=60,
        env={**os.environ, "SHOAL_TOKEN": "a-token-of-sufficient-length"},
    )  # fmt: skip
    assert done.returncode == 2
    assert "isitors" in done.stderr


def test_folder_of_a_visitor_is_no_link(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "ben").symlink_to(tmp_path)
    done = subprocess.run(
        [*COMMAND, "--visitors", "ben", "--root", "root", "--no-open"], capture_output=True, text=True, cwd=tmp_path,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 2


@pytest.mark.parametrize("action", ["look", "check", "release", "levels", "explore", "minimal"])
def test_worker_reads_the_plan_that_was_checked(tmp_path, action):
    """No plan and no link that was put there after the check."""
    from shoal.web import worker
    from shoal.web.api import Api
    from shoal.web.projects import Projects
    from shoal.web.runs import Runs

    jobs = []

    class Waiting(Runs):
        def start(self, project, job, on_done, on_partial=None):
            jobs.append(json.loads(json.dumps(job)))

    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.csv").write_text("name,age,zip,nationality,condition\nSecretPerson,1,2,3,4\n" * 5)
    projects = Projects(root, root / "shoal-projects")
    project = projects.open_sample("patients")
    own = project.folder / "patients.csv"
    Api(projects, Waiting()).begin(project, {"action": action, "column": "age"})
    (job,) = jobs
    text = project.text
    project.save(text.replace('path = "patients.csv"', f'path = "{tmp_path}/secret.csv"'))
    events = []

    class Writer(worker.EventWriter):
        def emit(self, event, **fields):
            events.append(fields)

    done = worker.ACTIONS[action](job, Writer(None))
    assert "SecretPerson" not in json.dumps([done, events], default=str)
    own.unlink()
    own.symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError, match="below the folder"):
        worker.ACTIONS[action](job, Writer(None))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin-1", "cp1252"])
@pytest.mark.parametrize("location", ["data", "earlier", "copied", "renamed", "digits"])
def test_no_key_is_read_as_a_table(tmp_path, monkeypatch, encoding, location):
    """Whatever its encoding, its place below the root and its name."""
    from shoal.web.projects import Projects

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    projects = Projects(tmp_path, tmp_path / "shoal-projects")
    project = projects.open_sample("patients")
    made = Path(project.ensure_pseudonym_key())
    assert (made.stat().st_mode & 0o077, made.parent.stat().st_mode & 0o077) == (0, 0)
    key = bytes.fromhex("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
    (project.folder / "keys").mkdir()
    paths = {
        "data": made,
        "earlier": project.folder / "keys" / "pseudonyms",
        "copied": project.folder / "key",
        "renamed": project.folder / "key.csv",
        "digits": project.folder / "key.txt",
    }
    if location != "data":
        paths[location].write_bytes(key.hex().encode() + b"\n" if location == "digits" else key)
    for section in ("source", "csv"):
        text = project.text
        if section == "source":
            text = text.replace(
                'path = "patients.csv"', f'path = "{paths[location]}"\nencoding = "{encoding}"\nformat = "csv"', 1
            )
        else:
            tree = '{ tree = { America = ["USA", "Canada"], Asia = ["China", "Japan", "India"] } }'
            assert tree in text
            text = text.replace(tree, f'{{ csv = "{paths[location]}" }}')
        before = project.text
        project.save(text)
        with pytest.raises(InputError, match=r"below the folder|is a key and not a table"):
            project.plan()
        project.save(before)
    with pytest.raises(InputError, match=r"below the folder|is a key and not a table"):
        projects.open_path(paths[location])
    project.save(project.text.replace("[output]\n", f'[output]\npseudonym_key = "{made}"\n'))
    assert project.plan().output.pseudonym_key == made  # to make pseudonyms, it is read
    other = projects.open_sample("patients")
    other.save(project.text)
    with pytest.raises(InputError, match="below the folder"):
        other.plan()  # the key of another project


def send_parts(server, name, parts):
    """Upload part by part, without a length.

    Returns the status, and the bytes that were sent before it.
    """
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    head = f"POST /api/uploads?name={name} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    head += f"Authorization: Bearer {server.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.sendall(head.encode())
    sent = 0
    try:
        for part in parts:
            if select.select([connection], [], [], 0)[0]:
                break  # it has answered: nothing more is wanted
            connection.sendall(b"%x\r\n%b\r\n" % (len(part), part))
            sent += len(part)
        else:
            connection.sendall(b"0\r\n\r\n")
    except ConnectionError:
        pass
    try:
        answer = connection.recv(65536)
    except ConnectionError:
        answer = b""
    connection.close()
    return int(answer.split()[1]) if answer else None, sent


def files_below(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def test_upload_with_too_large_length_is_refused_unread(tmp_path):
    server = Server(tmp_path, "--largest-upload", "0.001")
    try:
        before = files_below(tmp_path)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest("POST", "/api/uploads?name=big.csv")
        connection.putheader("Authorization", f"Bearer {server.token}")
        connection.putheader("Content-Length", str(10 * 10**9))
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()
        assert files_below(tmp_path) == before
        assert not (tmp_path / "shoal-projects" / "big").exists()
    finally:
        server.stop()


def test_endless_upload_is_stopped_at_the_limit(tmp_path):
    """Parts without a length are counted, and do not fill the disk.

    Up to 10 GB would come if the server did not stop them.
    """
    largest: list[int] = []

    def parts():
        for _ in range(100_000):
            found = [path.stat().st_size for path in tmp_path.rglob("big*.csv")]
            largest.append(max(found, default=0))
            yield b"1,2\n" * 25_000

    server = Server(tmp_path, "--largest-upload", "0.001")
    try:
        status, sent = send_parts(server, "big.csv", parts())
        assert status in (413, None)  # None: the connection was closed while parts were being sent
        assert sent < 50_000_000
        assert max(largest) <= 1_000_000
        end = time.monotonic() + 20
        while time.monotonic() < end and (tmp_path / "shoal-projects" / "big").exists():
            time.sleep(0.05)
        assert files_below(tmp_path) == set()
        # an upload within the limit is accepted
        assert send_parts(server, "small.csv", [b"a,b\n", b"1,2\n" * 1000])[0] == 201
    finally:
        server.stop()


class Parts:
    """Request with a body in the given parts."""

    def __init__(self, parts):
        self.parts = parts

    async def stream(self):
        for part in self.parts:
            yield part


def test_compressed_upload_is_refused_in_any_parts(tmp_path):
    import asyncio

    from shoal.errors import InputError
    from shoal.web import api

    for number, sign in enumerate(api.COMPRESSION_SIGNATURES):
        with pytest.raises(InputError, check=has_code("page.table-packed")):
            asyncio.run(api._receive(Parts([bytes([byte]) for byte in sign] + [b"x" * 50]), tmp_path / f"{number}.csv"))
    asyncio.run(api._receive(Parts([b"P", b"K,", b"b\n1,2\n"]), tmp_path / "table.csv"))
    assert (tmp_path / "table.csv").read_bytes() == b"PK,b\n1,2\n"


def test_upload_leaves_disk_space_free(tmp_path, monkeypatch):
    import asyncio
    import shutil

    from shoal.errors import InputError
    from shoal.web import api

    free = iter(range(api.MIN_FREE_DISK_BYTES + 5_500, 0, -1000))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(api.shutil, "disk_usage", lambda _: usage._replace(free=next(free)))
    with pytest.raises(InputError, check=has_code("page.disk-full")):
        asyncio.run(api._receive(Parts([b"x" * 1000] * 10), tmp_path / "table.csv"))
    assert (tmp_path / "table.csv").stat().st_size <= 5_000
    assert (tmp_path / "table.csv").stat().st_mode & 0o077 == 0


def bomb(name="xl/worksheets/sheet1.xml", size=300_000_000):
    """Make a small zip that becomes hundreds of megabytes.

    It has a few hundred kilobytes.
    """
    import io
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as file:
        block = b"<row/>" * 100_000
        for _ in range(size // len(block)):
            file.write(block)
    return made.getvalue()


@pytest.mark.parametrize("name", ["bomb.csv", "bomb.parquet", "bomb.txt", "bomb.xlsx", "bomb.zip"])
def test_zip_bomb_is_refused(server, name):
    body = bomb(size=60_000_000)
    assert len(body) < 200_000
    assert server.ask("POST", f"/api/uploads?name={name}", body)[0] == 422
    assert send_parts(server, name, [body[n : n + 50_000] for n in range(0, len(body), 50_000)])[0] == 422
    assert not list((server.root / "shoal-projects").glob("bomb*"))


def test_workbook_bomb_below_the_root_is_refused(tmp_path):
    """A separate process reads it and reports the failure.

    The server goes on.
    """
    (tmp_path / "bomb.xlsx").write_bytes(bomb(size=1_500_000_000))
    assert (tmp_path / "bomb.xlsx").stat().st_size < 5_000_000
    server = Server(tmp_path, "--memory", "2")
    try:
        made = server.json("POST", "/api/projects", {"path": "bomb.xlsx"})
        answer = server.finish(made["project"], made["run"])
        assert answer["state"] == "failed"
        assert answer["error"]["text"]
        assert server.ask("GET", f"/p/{made['project']}/columns")[0] == 200
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("bomb.csv", b"\x1f\x8b" + b"0" * 100),
        ("x.exe", b"a,b\n"),
        ("empty.csv", b""),
    ],
)
def test_compressed_or_invalid_uploads_are_refused(server, name, body):
    assert server.ask("POST", f"/api/uploads?name={name}", body)[0] == 422
    assert not (server.root / "shoal-projects" / name.partition(".")[0]).exists()


def test_links_out_of_the_root_are_neither_listed_nor_read(server, tmp_path):
    """Links to a file, within a folder of parts, as a project and below it."""
    (tmp_path / "secret.csv").write_text("name,age\nSecretPerson,1\n")
    (tmp_path / "plan.toml").write_text('[source]\npath = "secret.csv"\n')
    os.symlink(tmp_path / "secret.csv", server.root / "linked.csv")
    (server.root / "parts").mkdir()
    (server.root / "parts" / "1.csv").write_text("name,age\na,1\n")
    os.symlink(tmp_path / "secret.csv", server.root / "parts" / "2.csv")
    answer = server.json("GET", "/api/files")
    assert "linked.csv" not in [file["name"] for file in answer["files"]]
    assert server.json("GET", "/api/files?path=parts")["files"] == [{"name": "1.csv", "bytes": 13}]
    for path in ("linked.csv", "parts", "parts/2.csv", "parts/*.csv"):
        assert server.ask("POST", "/api/projects", {"path": path})[0] == 422, path
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    os.symlink(tmp_path, server.root / "shoal-projects" / "outside")
    assert server.ask("GET", "/api/projects/outside")[0] == 404
    assert server.ask("GET", "/p/outside/columns")[0] == 404
    own = server.root / "shoal-projects" / project
    os.symlink(tmp_path / "secret.csv", own / "patients-linked.csv")
    text = server.ask("GET", f"/api/projects/{project}/plan")[2].decode()
    text = text.replace('path = "patients.csv"', 'path = "patients-linked.csv"')
    assert "below the folder" in json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])["error"]
    os.unlink(server.root / "shoal-projects" / "outside")


def test_incomplete_requests_are_closed(server):
    """Other requests are answered meanwhile.

    A connection that sends nothing, or sends it slowly, is closed.
    """
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")
    start = time.monotonic()
    assert server.ask("GET", "/api/projects")[0] == 200
    assert time.monotonic() - start < 5
    slow[0].settimeout(40)
    assert slow[0].recv(1) == b""
    for one in slow:
        one.close()


def test_thousand_requests_at_once_are_answered(server):
    found = []

    def ask():
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(50)]
        for connection in connections:
            connection.request("GET", "/api/openapi.json", headers={"Authorization": f"Bearer {server.token}"})
        for connection in connections:
            found.append(connection.getresponse().status)
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1000
    assert set(found) == {200}


def test_no_token_or_record_is_printed_after_the_link(tmp_path):
    (tmp_path / "t.csv").write_text("name,age\nSecretPerson,1\nOtherPerson,2\n")
    server = Server(tmp_path)
    server.ask("GET", f"/?token={server.token}", bare="yes")
    made = server.json("POST", "/api/projects", {"path": "t.csv"})
    server.finish(made["project"], made["run"])
    server.ask("GET", "/p/t/table")
    out, err = server.stop()
    assert server.token not in out + err
    assert "Person" not in out + err
    for file in tmp_path.rglob("log.jsonl"):
        assert "Person" not in file.read_text()


def test_api_only_token_from_the_environment(tmp_path):
    refused = subprocess.run(
        [*COMMAND, "--api-only"], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "SHOAL_TOKEN": ""}
    )
    assert refused.returncode == 2
    server = Server(tmp_path, "--api-only", env={"SHOAL_TOKEN": "a-token-of-sufficient-length"})
    try:
        assert "a-token" not in server.first_line
        assert server.ask("GET", "/api/projects")[0] == 200
        assert server.ask("GET", "/p/x/columns")[0] == 404
    finally:
        server.stop()


def test_public_server_without_tls_warns(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", "from shoal.cli import main; main()", "serve", "--host", "0.0.0.0", "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    process.stdout.readline()
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert "without TLS" in err


def test_slow_body_is_not_waited_for():
    import asyncio

    from shoal.web.security import Guard, TooSlow

    found = []

    async def app(scope, receive, send):
        try:
            while (await receive()).get("more_body"):
                pass
        except TooSlow:
            found.append("too slow")

    async def begun(message={"type": "http.request", "body": b"x", "more_body": True}):  # noqa: B006
        if not message:
            await asyncio.sleep(30)
        copy = dict(message)
        message.clear()
        return copy

    async def nowhere(message):
        pass

    headers = [(b"host", b"here:1"), (b"authorization", b"Bearer secret")]
    scope = {"type": "http", "method": "POST", "path": "/api/projects", "query_string": b"", "headers": headers}
    guard = Guard(app, {"": "secret"}, frozenset({"here:1"}), "cookie", body_timeout=0.1)
    start = time.monotonic()
    asyncio.run(guard(scope, begun, nowhere))
    assert found == ["too slow"]
    assert time.monotonic() - start < 10
