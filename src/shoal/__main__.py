"""``python -m shoal``: the command line, where its script is not on the path."""

from shoal.cli import main

if __name__ == "__main__":
    main()
