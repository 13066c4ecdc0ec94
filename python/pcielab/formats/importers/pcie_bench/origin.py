"""Where the numbers of a folder in the published format come from: our exports say so in a file."""

from dataclasses import dataclass
from pathlib import Path

from pcielab.errors import refusal
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import NFP6000_TIMER, ORIGIN_FILE, Timer


@dataclass(frozen=True)
class FolderOrigin:
    """Origin of the numbers of a folder, and the device: published ones were measured by an NFP-6000."""

    origin: str = "measured"
    device: str = "nfp6000"
    title: str | None = None
    timer: Timer = NFP6000_TIMER


def folder_origin(directory: Path) -> FolderOrigin:
    """What `ORIGIN.txt` of a folder says; without it, that of the published folders.

    Raises:
        InputError: The file lacks a key, or a value is wrong.
    """
    path = directory / ORIGIN_FILE
    if not path.is_file():
        return FolderOrigin()
    facts = dict(line.split(": ", 1) for line in read_text(path).splitlines() if ": " in line)
    try:
        return FolderOrigin(
            origin=facts["origin"],
            device=facts["device"],
            title=facts.get("title"),
            timer=Timer.of_texts(facts["tick_ns"], facts["tick_cycles"]),
        )
    except (KeyError, ValueError) as error:
        raise refusal(
            "missing",
            f"{path}: has no usable origin, device, tick_ns and tick_cycles: export the folder again, or delete "
            "this file",
        ) from error
