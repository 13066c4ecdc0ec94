"""`pcielab explore`: the live instrument in a browser.

Stands alone: `commands.py` loads each command at its use.
"""

from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import print_text, say


def explore(
    given: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN|SYSTEM|FABRIC...", help="Stores (*.db), systems and fabrics (*.toml) that pages may show."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 means any free port.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser, or only print the address.")] = True,
    stay: Annotated[bool, typer.Option("--stay", help="Keep running when the last page closes.")] = False,
) -> None:
    """Explore a system live in a browser: move a slider and see what changes.

    The server listens on the loopback address for this user's browser only. It ends with Ctrl-C or when its last
    page closes. It reads shipped profiles and the given files, and writes nothing.

    For example:

        pcielab explore

        pcielab explore measured.db snb.db mine.toml
    """
    from pcielab.extras import needed

    needed("uvicorn", "explore")
    needed("starlette", "explore")
    from pcielab.explore.serve import serve

    def tell(address: str) -> None:
        print_text(address)
        say("serving this machine only; Ctrl-C ends it")

    serve(given or [], port=port, browse=browser, stay=stay, announce=tell)
