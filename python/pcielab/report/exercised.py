"""The tests that an emulated run exercised, instead of figures: their number by name and status."""

from dataclasses import dataclass

from pcielab.charts.run import Run


@dataclass(frozen=True)
class Exercised:
    """The tests of a run.

    Attributes:
        label: The run's name.
        entry: The run as legends name it.
        device: Name of the device.
        heads: Column heads: name, number of tests, and number by status.
        lines: One for each name, in the order of the suite.
    """

    label: str
    entry: str
    device: str
    heads: list[str]
    lines: list[list[str]]


def exercised_of(run: Run) -> Exercised:
    """The tests of a run by name."""
    tests = run.store.tests
    ends = [str(status) for status in tests["status"].unique()]
    lines = [
        [str(name), str(len(rows)), *(str(int((rows["status"] == end).sum())) for end in ends)]
        for name, rows in tests.groupby("name", sort=False)
    ]
    device = run.manifest.get("device") or {}
    return Exercised(run.label, run.entry, str(device.get("name", "unknown")), ["test", "tests", *ends], lines)
