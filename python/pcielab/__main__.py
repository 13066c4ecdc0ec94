"""`python -m pcielab` is the command line."""

from pcielab.cli import main

if __name__ == "__main__":
    main()
