"""The command line: parses arguments, calls the library, prints the results.

stdout carries data and stderr everything else; `exits` has the exit codes, `commands` the list of commands. Each
command has a module of its own, loaded when the command is called, and only calls the public library. Command
modules import their dependencies inside functions, so that help and completion start fast.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command line; the entry point of the `pcielab` script."""
    # Imported inside `try`, so that Ctrl-C is handled during the imports.
    try:
        from pcielab.cli.commands import app
        from pcielab.cli.exits import exit_code_of

        code = exit_code_of(app)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
