"""The rules: each is one function from a tree to what it sees there.

A docstring says why the rule is right to speak, with the section of the specification, and when it stays silent. A
new rule is a function under `@rule(cause)`, an entry in `RULES`, a tree in the tests on which it fires, and an
example in the guide.
"""

from pcielab.doctor.rules import bars, errors, host, link, ordering, payload, power, requests, sharing
from pcielab.doctor.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    link.below_both_ends,
    link.target_speed_lowered,
    link.port_limits_card,
    link.card_limits_port,
    link.path_limits_card,
    link.made_up_link,
    link.chipset_slot,
    payload.mps_below_path,
    payload.mps_differs,
    payload.mps_limited,
    payload.ecrc_on,
    requests.mrrs_small,
    requests.extended_tags_off,
    requests.ten_bit_tags_off,
    requests.tags_limited,
    requests.completion_timeout_off,
    requests.bus_master_off,
    ordering.relaxed_ordering_off,
    ordering.relaxed_ordering_harmful,
    errors.errors_counted,
    power.aspm_on,
    power.asleep,
    power.deep_idle,
    power.slow_governor,
    sharing.uplink_shared,
    sharing.acs_redirects,
    host.node_unknown,
    host.node_without_memory,
    host.interrupts_elsewhere,
    host.iommu_strict,
    host.iommu_small_pages,
    host.passthrough_not_in_effect,
    host.vfio_without_iommu,
    bars.bar_not_resized,
    bars.cxl_memory,
)
"""In no particular order: findings are sorted by what they cost."""
