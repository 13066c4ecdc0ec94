"""Addresses as tools write them."""

import pytest

from pcielab import InputError
from pcielab.formats.importers.tools.given import full_address


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("17:00", "0000:17:00.0"),
        ("17:00.1", "0000:17:00.1"),
        ("000A:C1:00.0", "000a:c1:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        # Behind VMD, domains are longer.
        ("10000:e1:00.0", "10000:e1:00.0"),
    ],
)
def test_an_address_is_written_in_full(written: str, full: str) -> None:
    assert full_address(written) == full


@pytest.mark.parametrize("written", ["", "17", "1:00.0", "17:00.8", "123456789:17:00.0"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(InputError, match=r"not a PCI address: give one like 0000:17:00\.0"):
        full_address(written)
