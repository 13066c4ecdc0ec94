"""The distributions of a details family in the three published forms.

Each begins with its lowest value at a share of 0. Only the `.dat` and `.txt` forms name the sections.
"""

from collections.abc import Sequence

from pcielab.errors import refusal
from pcielab.formats.exporters.pcie_bench.rows import CACHE_WORDS, Row
from pcielab.formats.exporters.pcie_bench.shape import Shape
from pcielab.formats.published import CDF_HEAD
from pcielab.store import Store

_COLUMNS = "{:>8} {:>8} {:>10}"
_HEAD = _COLUMNS.format(*CDF_HEAD)


def distribution_files(family: str, store: Store, rows: Sequence[Row], shape: Shape) -> dict[str, str]:
    """The three `_cdf` files of a family, by name; only the `.dat` if the store has none of its distributions.

    Raises:
        InputError: Some tests of the family have a distribution, and others lack it.
    """
    points = [_points(store, row) for row in rows]
    if not any(points):
        return cdf_of_none(family, shape)
    for row, section in zip(rows, points, strict=True):
        if not section:
            raise refusal(
                "missing",
                f"{store.path}: test {row.test['id']} ({family}, {row.test['name']}) has no distribution, though "
                "others of its family have: the published format has one for each row",
            )
    cells = [f"{cycles},{ns},{share}" for section in points for cycles, ns, share in section]
    texts = [_section(row, section) for row, section in zip(rows, points, strict=True)]
    by_test = {row.test["id"]: text for row, text in zip(rows, texts, strict=True)}
    ordered = shape.ordered(f"{family}_cdf", [[row] for row in rows], [[row] for row in shape.rows(family)])
    dat = [_lacking(row) if row.lacking else by_test[row.test["id"]] for [row] in ordered]
    return {
        f"{family}_cdf.csv": "".join(f"{line}\r\n" for line in [",".join(CDF_HEAD), *cells]),
        f"{family}_cdf.dat": _dat(dat),
        f"{family}_cdf.txt": f"{_HEAD}\n" + "\n\n".join(texts) + "\n",
    }


def cdf_of_none(family: str, shape: Shape) -> dict[str, str]:
    """The `.dat` form of a published family without distributions, its sections filled."""
    ordered = shape.ordered(f"{family}_cdf", [], [[row] for row in shape.rows(family)])
    return {f"{family}_cdf.dat": _dat([_lacking(row) for [row] in ordered])} if ordered else {}


def _dat(texts: Sequence[str]) -> str:
    return f"#{_HEAD}\n#" + "\n\n\n#".join(texts) + "\n"


def _section(row: Row, points: Sequence[tuple[int, float, float]]) -> str:
    lines = (f"{cycles:8d} {ns:8.0f} {share:10.8f}" for cycles, ns, share in points)
    return "\n".join([_label(row), *lines])


def _lacking(row: Row) -> str:
    return f"{_label(row)}\n" + _COLUMNS.format(*["NaN"] * len(CDF_HEAD))


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
