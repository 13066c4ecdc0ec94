"""Write the page without a server into a folder: `python page/build.py COMPILED FOLDER`.

COMPILED has the WebAssembly modules and their scripts, as `make site` builds them.
"""

import sys
from pathlib import Path

from pcielab.explore.site import site_files

compiled, folder = map(Path, sys.argv[1:])
for name, content in site_files(compiled).items():
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
