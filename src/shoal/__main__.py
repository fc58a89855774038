"""Command line as ``python -m shoal``, for shells without its script."""

from shoal.cli import main

if __name__ == "__main__":
    main()
