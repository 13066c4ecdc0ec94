"""Copies of shipped profiles as JSON for Rust tests and benchmarks, since only Python reads TOML.

A separate process makes them, to load the Python models that were just written.
"""

import json
import subprocess
import sys

_SYSTEMS = (
    "clx-6234",
    "e3",
    "gen5-x16",
    "hsw2620",
    "ib-000-nosp",
    "ib-011-nosp",
    "kpio-2012",
    "netfpga-hsw",
    "snb",
)
_SYSTEMS_OF_CORE = ("snb", "snb-iommu")
_CORE = ("device=pcielab-fpga", "link.tags=64")


def fixtures() -> dict[str, str]:
    """The text of each fixture by its path."""
    command = [sys.executable, "-m", "generate.fixtures"]
    made: dict[str, str] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return made


def _resolved() -> dict[str, str]:
    """The fixtures, from the models that this process has loaded."""
    from pcielab import fabric, model
    from pcielab.library.profiles import resolve

    systems = {f"pcie-sim/tests/fixtures/{name}.json": resolve(name).to_json() for name in _SYSTEMS}
    core = {
        f"pcie-rtl/tests/fixtures/{name}.json": resolve(name, list(_CORE)).to_json() for name in _SYSTEMS_OF_CORE
    }
    messages = json.dumps(model.load_message_profile("kpio-2012").as_question(), separators=(",", ":"))
    testbed = json.dumps(json.loads(fabric.load("fabrex-u55c").to_json()), sort_keys=True)
    others = {
        "pcie-model/tests/fixtures/kpio-2012.json": messages,
        "pcie-fabric/src/fixtures/fabrex-u55c.json": testbed,
    }
    return {f"crates/{path}": f"{text}\n" for path, text in {**systems, **core, **others}.items()}


if __name__ == "__main__":
    json.dump(_resolved(), sys.stdout)
