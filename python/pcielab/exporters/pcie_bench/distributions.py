"""The distributions of a details family in the three published forms.

Each begins with its lowest value at a share of 0. Only the `.dat` and `.txt` forms name the sections.
"""

from collections.abc import Sequence

from pcielab.errors import InputError
from pcielab.exporters.pcie_bench.rows import CACHE_WORDS, Row
from pcielab.published import CDF_HEAD
from pcielab.store import Store


def distribution_files(family: str, store: Store, rows: Sequence[Row]) -> dict[str, str]:
    """The three `_cdf` files of a family, by name; none if the store has none of its distributions.

    Raises:
        InputError: Some of the family's tests have a distribution, and others have not.
    """
    points = [_points(store, row) for row in rows]
    if not any(points):
        return {}
    for row, section in zip(rows, points, strict=True):
        if not section:
            raise InputError(
                f"{store.path}: test {row.test['id']} ({family}, {row.test['name']}) has no distribution, though "
                "others of its family have: the published format has one for each row"
            )
    cells = [f"{cycles},{ns},{share}" for section in points for cycles, ns, share in section]
    texts = [
        "\n".join([_label(row), *(f"{cycles:8d} {ns:8.0f} {share:10.8f}" for cycles, ns, share in section)])
        for row, section in zip(rows, points, strict=True)
    ]
    head = "{:>8} {:>8} {:>10}".format(*CDF_HEAD)
    return {
        f"{family}_cdf.csv": "".join(f"{line}\r\n" for line in [",".join(CDF_HEAD), *cells]),
        f"{family}_cdf.dat": f"#{head}\n#" + "\n\n\n#".join(texts) + "\n",
        f"{family}_cdf.txt": f"{head}\n" + "\n\n".join(texts) + "\n",
    }


def _points(store: Store, row: Row) -> list[tuple[int, float, float]]:
    """(cycles, ns, share) of a test: its lowest value at 0, then each value with the share up to it."""
    frame = store.distribution(row.test["id"])
    cycles = [int(ticks) * row.timer.cycles for ticks in frame["bin"]]
    cycle = row.timer.cycle_ns
    upto = [
        (count, count * cycle.numerator / cycle.denominator, share)
        for count, share in zip(cycles, frame["cdf"].tolist(), strict=True)
    ]
    return [(*upto[0][:2], 0), *upto] if upto else []


def _label(row: Row) -> str:
    test = row.test
    cache = CACHE_WORDS[test["cache"]].lower()
    return f"test={test['name']} trans_sz={test['size_bytes']} win_sz={test['window_bytes']} cache={cache}"
