"""`export json`: everything that a store has, the same bytes for the same run.

What differs between identical runs is left out: the start time and the computer. Tests are in suite order, one to
a line, so that two exports can be compared with `diff`.
"""

import json
from pathlib import Path
from typing import Any

from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store

NOT_IDENTICAL = ("started", "machine")
"""Manifest keys that tell one run from another of the same version, system, suite and seed."""


def _encoded(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    manifest = {key: value for key, value in store.manifest.items() if key not in NOT_IDENTICAL}
    tests = ",\n".join(_encoded(record) for record in store.records())
    attachments = _encoded(store.attachments)
    text = f'{{"manifest":{_encoded(manifest)},\n"tests":[\n{tests}\n],\n"attachments":{attachments}}}\n'
    write_file(output, text.encode(), overwrite=overwrite)


EXPORTER = Exporter(
    "json", "Write everything, distributions included; identical runs give identical bytes.", _write
)
