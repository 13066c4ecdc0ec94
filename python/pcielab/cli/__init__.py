"""The command line: parses what people type, calls the library, prints what comes back.

stdout carries data and stderr everything else; `exits` has the exit codes, `commands` the list of commands. Each
command lives in a module of this package, which is loaded when the command is called, and does nothing that a
notebook could not do with the library. Modules of commands load what they work with inside of their functions, so
that help and completion wait for none of it.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command line; the entry point of the `pcielab` script."""
    # Loaded here because Ctrl-C can be answered from here on, and hardly anything is loaded before.
    try:
        from pcielab.cli.commands import app
        from pcielab.cli.exits import exit_code_of

        code = exit_code_of(app)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
