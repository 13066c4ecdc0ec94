"""A question to the simulator: one test on one system, of transfers, frames or messages.

Questions are independent, and the address of one is a digest of everything that determines its numbers, as that of
a point of a sweep is: a store of answers serves every later search.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pcielab import _core
from pcielab.design.targets import Kind
from pcielab.sweeps.point import Point
from pcielab.work.options import Samples

SEED = 1


@dataclass(frozen=True)
class Question:
    """A test on a system.

    Attributes:
        kind: The kind of work.
        system: The system as canonical JSON.
        device: The NIC or the message profile as JSON; empty for transfers.
        work: The test, as the simulator takes work of this kind.
        samples: All transactions of a test of transfers, or as many as the confidence interval needs.
    """

    kind: Kind
    system: str
    device: str
    work: str
    samples: Samples = "adaptive"

    @cached_property
    def address(self) -> str:
        """Digest of what determines the answer."""
        if self.kind == "transfers":
            return Point(self.system, self.work, self.samples, SEED).address
        content = [_core.__version__, self.kind, self.system, self.device, self.work, SEED]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def answer(self) -> str:
        """Simulate it: status, message and numbers as canonical JSON, as `Point.result` gives them."""
        if self.kind == "transfers":
            return Point(self.system, self.work, self.samples, SEED).result()
        system = _core.System.of_json(self.system)
        if self.kind == "frames":
            frame_bytes = json.loads(self.work)[0]["frame_bytes"]
            backend = _core.Backend.nic(system, _core.Nic.of_json(self.device, "design"), frame_bytes)
        else:
            profile = _core.Messages.of_json(self.device, "design")
            backend = _core.Backend.messages(system, profile, seed=SEED)
        record = json.loads(_core.run_alone(backend, self.work, seed=SEED, samples=self.samples))
        numbers = {
            f"{row['metric']}|{row['unit']}": row["value"] for row in record["scalars"] if not row["subject"]
        }
        found: dict[str, Any] = {"status": record["status"], "message": record["message"], "numbers": numbers}
        binding = [row["subject"] for row in record["scalars"] if row["metric"] == "binds"]
        if binding:
            found["message"] = found["message"] or binding[0]
        return json.dumps(found, sort_keys=True, separators=(",", ":"))
