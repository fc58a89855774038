"""Add the SHA-256 of every file of a version to each `name==version`.

The hashes come from the indexes that pip is configured to use; none of their addresses is written down. pip has no
command for this, so its internal modules are used: those of the pip of a fresh environment, in :file:`scripts/lock`,
and nowhere else.
"""

from __future__ import annotations

import sys

from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link
from pip._vendor.packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import InvalidVersion, Version


def version_of(filename: str) -> Version | None:
    """Return the version in a file name, or None if it has none."""
    parse = parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename
    try:
        return parse(filename)[1]
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return None


def main() -> None:
    """Read pins from standard input; write them with hashes."""
    command = create_command("install")
    options, _ = command.parse_args(["shoal"])
    with command.main_context():
        finder = command._build_package_finder(options, command.get_default_session(options))
        for pin in sys.stdin.read().split():
            name, _, version = pin.partition("==")
            hashes = set()
            for index in finder.search_scope.index_urls:
                page = finder._link_collector.fetch_response(Link(f"{index.rstrip('/')}/{canonicalize_name(name)}/"))
                links = parse_links(page) if page else ()
                hashes |= {
                    link.hash
                    for link in links
                    if link.hash_name == "sha256" and version_of(link.filename) == Version(version)
                }
            if not hashes:
                sys.exit(f"No hash was found for {pin}.")
            print(" \\\n".join([pin, *(f"    --hash=sha256:{found}" for found in sorted(hashes))]))


if __name__ == "__main__":
    main()
