"""All benchmarks, one after the other; each prints Markdown tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SKIP = {"__init__", "__main__", "measure"}


def main() -> None:
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SKIP)
    for name in names:
        print(f"\n## {name.replace('_', ' ')}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False, cwd=HERE.parent)


if __name__ == "__main__":
    main()
