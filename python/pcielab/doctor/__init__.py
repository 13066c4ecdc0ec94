"""Whether a machine's PCIe is what it should be: one tree from three sources, rules over it, findings worst first.

    from pcielab.doctor import examine, read_lspci, read_sysfs

    for finding in examine(read_sysfs()).findings:
        print(finding.device, finding.what)

Nothing is written to any device, and nothing is woken. What a finding costs is modelled, not measured.
"""

from pcielab.doctor.causes import Cause, causes
from pcielab.doctor.examine import Examination, examine
from pcielab.doctor.files import read_file, read_lspci_file
from pcielab.doctor.finding import Finding, Loss, Severity, Sureness, Value
from pcielab.doctor.lspci_text import read_lspci
from pcielab.doctor.rules import RULES
from pcielab.doctor.saved import saved
from pcielab.doctor.sysfs import read_sysfs
from pcielab.doctor.tree import Control, ErrorReporting, Function, Host, Link, LinkEnd, ResizableBar, Tree
from pcielab.doctor.watch import changes

__all__ = [
    "RULES",
    "Cause",
    "Control",
    "ErrorReporting",
    "Examination",
    "Finding",
    "Function",
    "Host",
    "Link",
    "LinkEnd",
    "Loss",
    "ResizableBar",
    "Severity",
    "Sureness",
    "Tree",
    "Value",
    "causes",
    "changes",
    "examine",
    "read_file",
    "read_lspci",
    "read_lspci_file",
    "read_sysfs",
    "saved",
]
