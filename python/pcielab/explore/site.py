"""The page without a server: files for any web server, in which the browser computes everything itself.

The compiled half comes as WebAssembly from `make site`. Shipped systems are resolved here; the page has the
tables of their files, too, which a file of the user may name.

Stands alone: only `make site` loads it.
"""

import json
from pathlib import Path
from typing import Any

from pcielab.explore.page_files import described, html, page_file, page_files, setting_of
from pcielab.explore.question import Question, Systems
from pcielab.library.profiles import KINDS
from pcielab.library.shipped import profile_tables
from pcielab.report.html import vega_script
from pcielab.strict_json import strict_json

_PAGES = ("nics", "messages", "expanders", "cores")
_LINKS = {"./": "explore", **{f"{name}.html": name for name in _PAGES}, "../": "documentation"}
_COMPILED = tuple(f"pcie_{module}{kind}" for module in ("page", "doctor") for kind in (".js", "_bg.wasm"))


def site_files(compiled: Path) -> dict[str, bytes]:
    """The content of each file of the page, by its path.

    Args:
        compiled: The folder with the WebAssembly modules and their scripts.
    """
    systems = Systems()
    return {
        "index.html": html("explore", _LINKS, without_server=True).encode(),
        **{f"{name}.html": html(name, _LINKS, without_server=True).encode() for name in _PAGES},
        "vega.js": vega_script().encode(),
        "data/setting.json": _json(setting_of(systems)),
        "data/profiles.json": _json(profile_tables(*KINDS)),
        "data/nics.json": _json(profile_tables("nic")),
        "data/messages.json": _json(profile_tables("messages")),
        **{f"data/{name}.json": _json(_described(systems, name)) for name in systems.names},
        **{f"pages/{name}": page_file(name) for name in sorted(page_files())},
        **{f"pages/{name}": (compiled / name).read_bytes() for name in _COMPILED},
    }


def _described(systems: Systems, name: str) -> dict[str, Any]:
    """A system as pages take it, and resolved as the simulator takes it."""
    system = systems.resolved(Question(system=name))
    return {**described(system), "system": json.loads(system.to_json())}


def _json(content: object) -> bytes:
    return strict_json(content, separators=(",", ":"), ensure_ascii=False).encode()
