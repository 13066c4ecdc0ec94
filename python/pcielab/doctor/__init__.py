"""Find PCIe settings that cost bandwidth or latency: one tree from three sources, rules, findings worst first.

    from pcielab.doctor import examine, read_lspci, read_sysfs

    for finding in examine(read_sysfs()).findings:
        print(finding.device, finding.what)

The doctor is read-only and leaves sleeping devices asleep. The cost of a finding is modelled, not measured.
"""

from pcielab.doctor.devices import device_links
from pcielab.doctor.examine import Examination, changes, examine
from pcielab.doctor.finding import RULES, Finding, Loss, Severity, Sureness, Value
from pcielab.doctor.merged import merged
from pcielab.doctor.reading import (
    machine_of_text,
    read_file,
    read_lspci,
    read_lspci_file,
    read_lspci_stream,
    read_machine,
    read_sysfs,
    saved,
)
from pcielab.doctor.topology import Position, Topology, topology
from pcielab.doctor.tree import Control, ErrorReporting, Function, Host, LinkEnd, ResizableBar, Tree
from pcielab.library.causes import Cause, causes

__all__ = [
    "RULES",
    "Cause",
    "Control",
    "ErrorReporting",
    "Examination",
    "Finding",
    "Function",
    "Host",
    "LinkEnd",
    "Loss",
    "Position",
    "ResizableBar",
    "Severity",
    "Sureness",
    "Topology",
    "Tree",
    "Value",
    "causes",
    "changes",
    "device_links",
    "examine",
    "machine_of_text",
    "merged",
    "read_file",
    "read_lspci",
    "read_lspci_file",
    "read_lspci_stream",
    "read_machine",
    "read_sysfs",
    "saved",
    "topology",
]
