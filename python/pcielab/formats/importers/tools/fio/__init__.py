"""Read fio 3: JSON (`--output-format=json`, or json+), what it prints for people, and its terse lines 3 to 5.

Each operation of a job becomes a test of the store. Source: fio's HOWTO, "Interpreting the output", "Terse output"
and "JSON output".
"""

from pcielab.formats.importers.tools.fio.json import read_json
from pcielab.formats.importers.tools.fio.normal import BEGINS, read_normal
from pcielab.formats.importers.tools.fio.terse import TERSE, read_terse

__all__ = ["BEGINS", "TERSE", "read_json", "read_normal", "read_terse"]
