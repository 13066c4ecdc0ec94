"""NIC profiles: TOML files, the shipped ones found by name. The crate pcie-model checks their steps."""

import json
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import found_in
from pcielab.library import shipped
from pcielab.library.lookup import profile_file
from pcielab.library.nic_parts import Interactions, Queues, Step
from pcielab.library.validation import read_as


class NicProfile(Interactions):
    """A NIC: the PCIe accesses of the NIC and its driver for each packet."""

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        return self.model_dump(mode="json", exclude_none=True)


def shipped_nics() -> list[str]:
    """Names of the shipped NICs."""
    return list(shipped.profile_files("nic"))


def load_nic(name_or_file: str | Path) -> NicProfile:
    """Read a NIC by name or file.

    Raises:
        InputError: The NIC is missing or wrong; the message names the file and the key.
    """
    path = profile_file("nic", name_or_file)
    profile = read_as(NicProfile, path)
    with found_in(path):
        _core.model_check_nic(json.dumps(profile.as_question()))
    return profile


__all__ = ["NicProfile", "Queues", "Step", "load_nic", "shipped_nics"]
