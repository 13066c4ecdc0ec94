"""`export json`: the whole store, with identical bytes for identical runs.

The start time and the computer are left out. Tests are in suite order, one per line, so that `diff` can compare
two exports.
"""

import json
from pathlib import Path
from typing import Any

from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store

NOT_IDENTICAL = ("started", "machine")
"""Manifest keys that differ between runs of the same version, system, suite and seed."""


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
