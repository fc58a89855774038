"""``shoal serve``: the whole workflow in a browser."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

MAX_VISITORS = 100


def serve(
    file: Annotated[Path | None, typer.Argument(help="A table, a plan (TOML), or a folder to choose from.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port. Default: a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link without opening a browser.")] = False,
    root: Annotated[
        Path | None, typer.Option(help="Folder that the page may access. Default: that of the file.")
    ] = None,
    projects: Annotated[Path | None, typer.Option(help="Folder of projects. Default: ROOT/shoal-projects.")] = None,
    api_only: Annotated[
        bool, typer.Option("--api-only", help="Serve the API without pages; the token is in SHOAL_TOKEN.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on. Beyond this machine, use TLS.")] = "127.0.0.1",
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="TLS private key (PEM).")] = None,
    memory: Annotated[
        float | None, typer.Option(min=0.25, help="Memory per run, in gigabytes. Default: most of the machine's.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=1, help="Time limit per run, in seconds.")] = 3600.0,
    database: Annotated[
        list[str] | None, typer.Option(help="Database that plans on the page may read: env:NAME; may be repeated.")
    ] = None,
    visitors: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas, or a number: each visitor gets a link and a folder below the root."
        ),
    ] = None,
    largest_upload: Annotated[float, typer.Option(min=0.001, help="Size limit of an upload, in gigabytes.")] = 2.0,
) -> None:
    """Serve a local page that leads from a file to a verified release.

    The printed link has a token. Anyone with the link controls the page and can read the tables below the folder. With
    --visitors each visitor has a link, and sees only their own files. Nothing leaves the machine. Needs shoal[web].

    \b
    Example:  shoal serve patients.csv
              shoal serve --port 8765 --no-open
              shoal serve --visitors anna,ben --root /srv/tables
              CLINIC=postgresql://... shoal serve plan.toml
              SHOAL_TOKEN=... shoal serve --api-only --port 8765
    """
    from shoal.errors import InputError
    from shoal.runtime.signals import Stopped

    try:
        from shoal.web.server import Settings, is_loopback
        from shoal.web.server import serve as run
    except ModuleNotFoundError as error:
        raise InputError("page.package-missing", package=error.name) from None
    if (certificate is None) != (key is None):
        raise InputError("page.tls-incomplete")
    token = os.environ.get("SHOAL_TOKEN") or None
    if api_only and (token is None or len(token) < 16):
        raise InputError("page.token-missing")
    folder = file if file is not None and file.is_dir() else None
    table = file if folder is None else None
    if table is not None and not table.exists():
        raise InputError("page.file-not-found", file=str(table))
    reached = root or folder or (table.resolve().parent if table is not None else Path.cwd())
    if not reached.is_dir():
        raise InputError("page.root-not-a-folder", folder=str(reached))
    named = _visitor_names(visitors)
    if named and (table is not None or projects is not None or api_only):
        raise InputError("page.visitors-need-root")
    settings = Settings(
        root=reached,
        projects=projects or reached / "shoal-projects",
        host=host,
        port=port,
        api_only=api_only,
        token=token if api_only else None,
        certificate=certificate,
        key=key,
        memory=_default_memory_bytes() if memory is None else int(memory * 1e9),
        seconds=time_limit,
        max_upload_bytes=int(largest_upload * 1e9),
        databases=tuple(database or ()),
        visitors=named,
    )
    if not settings.projects.resolve().is_relative_to(reached.resolve()):
        raise InputError("page.projects-outside-root")
    if not is_loopback(host) and certificate is None:
        typer.echo("Warning: without TLS, everybody on the way can read the tables and the token.", err=True)
    # a server ends only by being stopped
    with contextlib.suppress(KeyboardInterrupt, Stopped):
        run(settings, table, lambda links: _announce(links, api_only, no_open))


def _default_memory_bytes() -> int | None:
    """Return four fifths of the machine's memory in bytes.

    With this limit, a run that needs too much memory fails alone.
    """
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 4 // 5
    except (ValueError, OSError):
        return None


def _visitor_names(given: str | None) -> tuple[str, ...]:
    """Return the names of the visitors, each the name of a folder.

    >>> _visitor_names("2"), _visitor_names("anna, ben"), _visitor_names(None)
    (('visitor-1', 'visitor-2'), ('anna', 'ben'), ())
    """
    from shoal.errors import InputError
    from shoal.web.file_access import sanitize_name

    if given is None:
        return ()
    if given.strip().isdecimal() and 1 <= int(given) <= MAX_VISITORS:
        return tuple(f"visitor-{number + 1}" for number in range(int(given)))
    names = tuple(name.strip() for name in given.split(","))
    usable = all(name and name == sanitize_name(name, "") and not name.isdecimal() for name in names)
    if not usable or len({name.casefold() for name in names}) < len(names) or len(names) > MAX_VISITORS:
        raise InputError("page.visitors-not-usable", maximum=MAX_VISITORS)
    return names


def _announce(links: Mapping[str, str], api_only: bool, no_open: bool) -> None:
    if len(links) > 1 or "" not in links:
        for name, link in links.items():
            print(f"{name}: {link}", flush=True)
        print("Each link is for one visitor. Stop with Ctrl-C. Nothing leaves this machine.", flush=True)
        return
    (link,) = links.values()
    if api_only:
        print(f"Serving the API at {link.partition('?')[0]}api (token: SHOAL_TOKEN)", flush=True)
        return
    print(f"Open {link}", flush=True)
    print("Stop with Ctrl-C. Nothing leaves this machine.", flush=True)
    if not no_open:
        import webbrowser

        webbrowser.open(link)
