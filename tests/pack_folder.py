"""A folder as a user measures it for calibration: the rows of the pack, the facts, and one distribution."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

from pcielab.analysis.calibrate.measured import REFRESH_TEST, read_pack

_CACHE_COLUMN, _NAME_COLUMN = "Cache", "Test"


def write_pack_folder(
    measured: Path, pack: Path, folder: Path, keep: Callable[[dict[str, str]], bool] = lambda _row: True
) -> int:
    """Copy rows of a pack that `keep` accepts, the recorded facts and one distribution; return the row count."""
    chosen = read_pack(pack)
    folder.mkdir(parents=True)
    count = 0
    for path in sorted(measured.glob("*.csv")):
        if path.stem.endswith("_cdf"):
            continue
        with path.open(newline="") as file:
            table = csv.DictReader(file)
            rows = [row for row in table if _key(path.stem, row) in chosen and not _offset(row) and keep(row)]
        if rows:
            with (folder / path.name).open("w", newline="") as file:
                writer = csv.DictWriter(file, table.fieldnames or [])
                writer.writeheader()
                writer.writerows(rows)
        count += len(rows)
    for path in measured.glob("sys-*.txt"):
        (folder / path.name).write_bytes(path.read_bytes())
    text = (measured / "lat_dma_details_cdf.dat").read_text()
    head, *sections = re.split(r"(?m)^(?=#test=)", text)
    section = next(one for one in sections if one.startswith(f"#{REFRESH_TEST}\n".replace("test=", "test=", 1)))
    (folder / "lat_dma_details_cdf.dat").write_text(head + section)
    return count


def _key(family: str, row: dict[str, str]) -> tuple[str, str, str, int, int]:
    window, size = int(float(row["WinSZ"])), int(float(row["SZ"]))
    return family, row[_NAME_COLUMN], row[_CACHE_COLUMN], window, size


def _offset(row: dict[str, str]) -> bool:
    return bool(int(float(row["HO"])) or int(float(row["DO"])))
