"""Only the core with flat ports lists the signals of streams; all other modules take interfaces."""

import re

from simulator import SOURCES

FLAT_PORT = re.compile(r"^ +(?:input|output) .*\b(?:tx|rx|reg|store)_valid\b", re.MULTILINE)


def test_one_module_lists_the_signals_of_streams() -> None:
    listing = {path.name for path in SOURCES.glob("*.sv") if FLAT_PORT.search(path.read_text())}
    assert listing == {"pcielab_core.sv"}
