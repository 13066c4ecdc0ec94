"""The links of a machine's devices, as a manifest has them."""

from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import Tree


@refuses_wrong_types
def device_links(tree: Tree) -> dict[str, dict[str, Any]]:
    """The negotiated link of each device by address, with the keys of a manifest's `device.link`.

    Unknown values are left out; so are devices without a link that is up.
    """
    found = {}
    for function in tree.functions:
        end, control = function.link, function.control
        if end is None or not end.is_up or function.is_port:
            continue
        link = {
            "rate_gtps": end.speed_gtps,
            "lanes": end.lanes,
            "rcb_bytes": end.rcb_bytes,
            "mps_bytes": control.mps_bytes if control else None,
            "mrrs_bytes": control.mrrs_bytes if control else None,
            "ecrc": function.errors.ecrc_generated if function.errors else None,
        }
        found[function.slot] = {key: value for key, value in link.items() if value is not None}
    return found
