"""List the error codes that no test has reached.

    SHOAL_CODES=/tmp/codes .venv/bin/python -m pytest tests/unit tests/integration
    python tools/codes.py /tmp/codes

The tests append the code of each error to that file (tests/conftest.py). Errors of other processes are not seen.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

CATALOGUE = Path(__file__).parents[1] / "src" / "shoal" / "locale" / "en.toml"


def unreached(reached: Path) -> list[str]:
    """Return the codes of the catalogue that a recording lacks."""
    known = set(reached.read_text(encoding="utf-8").split())
    return [code for code in tomllib.loads(CATALOGUE.read_text(encoding="utf-8")) if code not in known]


def main() -> None:
    """Print the codes, and how many there are of each kind."""
    codes = unreached(Path(sys.argv[1]))
    print("\n".join(codes))
    kinds = Counter(code.partition(".")[0] for code in codes)
    print(f"{len(codes)} codes: {', '.join(f'{count} {kind}' for kind, count in kinds.most_common())}", file=sys.stderr)


if __name__ == "__main__":
    main()
