"""A point: one test alone on one simulated system, for sweeps and live questions.

Points are independent: caches start as in a run of this one test, so the numbers equal those of `pcielab run
--test` in any order and process. A point's address is a digest of everything that determines its numbers, so that
no point is computed twice.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.work.options import Samples

_BACKENDS_KEPT = 8


@dataclass(frozen=True)
class Point:
    """A test on a system.

    Attributes:
        system: The resolved system, as canonical JSON.
        suite: A suite of this one test, as canonical JSON.
        samples: All transactions of the test, or as many as the confidence interval needs.
        seed: Seed of the addresses.
    """

    system: str
    suite: str
    samples: "Samples" = "adaptive"
    seed: int = 1

    @cached_property
    def address(self) -> str:
        """Digest of version, system, test, samples and seed, which determine its numbers."""
        content = json.dumps([_core.__version__, self.system, self.suite, self.samples, self.seed])
        return hashlib.sha256(content.encode()).hexdigest()

    def record(self, stop: _core.Stop | None = None) -> dict[str, Any]:
        """Simulate it: status, scalars, distributions and series, as a store keeps them."""
        backend = _backend(self.system, self.samples)
        text = _core.run_alone(backend, self.suite, seed=self.seed, samples=self.samples, stop=stop)
        record: dict[str, Any] = json.loads(text)
        return record

    def result(self) -> str:
        """Simulate it: status, message and numbers as canonical JSON, without distributions."""
        record = self.record()
        numbers = {
            f"{row['metric']}|{row['unit']}": row["value"] for row in record["scalars"] if not row["subject"]
        }
        found = {"status": record["status"], "message": record["message"], "numbers": numbers}
        return json.dumps(found, sort_keys=True, separators=(",", ":"))


Plain = tuple[str, str, "Samples", int]
"""A point in the form for another process."""


def plain(points: Iterable[Point]) -> list[Plain]:
    """Points in the form for another process."""
    return [(point.system, point.suite, point.samples, point.seed) for point in points]


def results(points: Sequence[Plain], version: str) -> list[str]:
    """The results of points from another process."""
    if version != _core.__version__:
        raise refusal(
            "unsupported",
            f"a worker has pcielab {_core.__version__}, the sweep has {version}: install the same version",
        )
    return [Point(*point).result() for point in points]


@lru_cache(maxsize=_BACKENDS_KEPT)
def _backend(system: str, samples: "Samples") -> _core.Backend:
    return _core.Backend.simulated(_core.System.of_json(system), samples=samples, engine="fast")
