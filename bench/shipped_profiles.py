"""Recalibrates the shipped systems of measured machines, each from the rows of the pack and its `sys-*.txt`.

Systems that are known only from packs are calibrated like the others. If a machine was measured with memory or
program on the other socket, its root complex time under load comes from the variant with all on one socket: remote
rows determine only a sum that contains it.

Calibration writes the `[set]` table of a system; its host profile stays unchanged, as a start for similar hosts.
With `--card`, the device's constants are fitted on the machines' rows first, and their values replaced in the
device profile. Run it after a change of mechanisms.
"""

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import tomlkit

import pcielab
from leave_one_out import machines_of_card, rows_of
from pcielab.analysis.calibrate import calibrate, read_measured, read_pack
from pcielab.analysis.calibrate.card import fit_card
from pcielab.library.profiles import names

LOADED = "host.root_complex.busy_read_ns"
NOT_IN_PACKS = ("host.memory.refresh.hit_share",)
"""Keys that no row of a pack determines: calibration passes them on, and the host's value stays."""
SYSTEMS, CARD = Path("profiles/systems"), Path("profiles/devices/nfp6000.toml")


def with_constants(text: str, constants: Mapping[str, float | int]) -> str:
    """Replace values in the text of a device profile; comments and order stay."""
    table = ""
    lines = []
    for line in text.splitlines():
        if head := re.match(r"\[([\w.]+)\]", line):
            table = head[1] + "."
        key = re.match(r"(\w+) = ", line)
        value = constants.get(f"device.{table}{key[1]}") if key else None
        lines.append(line if key is None or value is None else f"{key[1]} = {round(value, 3)}" + comment(line))
    return "\n".join(lines) + "\n"


def comment(line: str) -> str:
    """The comment at the end of a line, with the space before it."""
    found = re.search(r"\s+#.*$", line)
    return found[0] if found else ""


def with_settings(text: str, calibrated: str) -> str:
    """Put the host values of a calibrated system into the `[set]` table of a system profile."""
    found = tomllib.loads(calibrated)
    notes = {key: note for key, note in found["provenance"]["keys"].items() if key.startswith("host.")}
    system = tomlkit.parse(text)
    system.pop("set", None)
    system["set"] = {
        name: a_line_each(value)
        for key in notes
        for name, value in leaves(key, reduce(getitem, key.split("."), found))
        if name not in NOT_IN_PACKS
    }
    keys: Any = system["provenance"]["keys"]
    for key in [key for key in keys if key.startswith("host.")]:
        del keys[key]
    keys.update(notes)
    return tomlkit.dumps(system)


def leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A dotted key and its value; for a table, every key in it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(f"{key}.{name}", inner)
    else:
        yield key, value


def a_line_each(value: Any) -> Any:
    """Format a list of tables with one table on each line; return other values unchanged."""
    if not isinstance(value, list):
        return value
    lines = tomlkit.array().multiline(True)
    for table in value:
        line = tomlkit.inline_table()
        line.update(table)
        lines.append(line)
    return lines


def constants_from_one_socket(system: str) -> dict[str, float]:
    """Values that only the variant with all on one socket determines."""
    resolved = pcielab.resolve(system).system
    if resolved.program_socket == resolved.device_socket:
        return {}
    near = re.sub(r"-0\d\d", "-000", system)
    return {LOADED: pcielab.resolve(near).system.host.root_complex.busy_read_ns}


def main() -> None:
    """Write the profiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", action="store_true", help="fit the constants of the device first")
    parser.add_argument("--system", action="append", help="only this one; repeatable")
    parser.add_argument("--output", type=Path, default=SYSTEMS, help="folder to write to")
    options = parser.parse_args()
    data = Path(
        os.environ.get("PCIELAB_DATA")
        or sys.exit("shipped_profiles: set PCIELAB_DATA to the folder of the published data")
    )
    pack = data.parent / "calibration-pack.csv"
    if options.card:
        found = fit_card(machines_of_card(data), read_pack(pack))
        fitted = {key: one.value for key, one in found.items() if one.identified}
        CARD.write_text(with_constants(CARD.read_text(), fitted))
    for system in options.system or names("system"):
        folder = rows_of(system, data)
        if folder is None:
            continue
        print(system, file=sys.stderr)
        twin = calibrate(read_measured(folder, pack), system, constants=constants_from_one_socket(system))
        profile = options.output / f"{system}.toml"
        profile.write_text(with_settings((SYSTEMS / profile.name).read_text(), twin.to_toml()))


if __name__ == "__main__":
    main()
