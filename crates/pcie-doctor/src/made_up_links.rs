//! Links that a hypervisor, a tunnel or a superchip makes up.

use std::sync::LazyLock;

use pcie_evidence::{Function, Tree};
use regex::Regex;

const EMULATED_PORTS: [(u32, u32); 3] = [(0x1B36, 0x000C), (0x1B36, 0x000B), (0x15AD, 0x07A0)];
const NVIDIA: u32 = 0x10DE;
const SUPERCHIPS: [u32; 4] = [0x2342, 0x2345, 0x2348, 0x2941];

#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static EMULATED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)QEMU|VMware|VirtualBox|Parallels|Hyper-V|Red Hat, Inc\. |Virtio").expect("a pattern")
});
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static SUPERCHIP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"NVIDIA Corporation .*\b(?:GH200|GB200|GB300)\b").expect("a pattern"));
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static TUNNEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)Thunderbolt|USB4|\bJHL\d|(?:Alpine|Titan|Maple|Goshen|Barlow) Ridge").expect("a pattern")
});

/// Why the registers do not describe a real link; None if they seem to.
///
/// An endpoint on a root bus has no port above it, which hardware does not allow (PCIe 6.0, section 1.3.2): the
/// machine is virtual, or the text is incomplete.
pub(crate) fn made_up(tree: &Tree, port: Option<&Function>, device: &Function) -> Option<String> {
    let ends = || port.into_iter().chain([device]);
    if let Some(function) = ends().find(|function| is_emulated(function)) {
        return Some(format!("{} ({}) is made by a hypervisor", function.short_slot(), function.name()));
    }
    if ends().any(|function| TUNNEL.is_match(&function.title)) {
        let reason = "it is tunnelled, so its ports report about 2.5 GT/s whatever the tunnel carries";
        return Some(reason.to_owned());
    }
    if is_superchip(device) {
        return Some("its data cross NVLink-C2C, not this link".to_owned());
    }
    if port.is_none() && device.is_endpoint() && !tree.is_selection() {
        return Some(tree.host().hypervisor.as_ref().map_or_else(
            || "the port above is hidden, as in a virtual machine, or the text is incomplete".to_owned(),
            |hypervisor| format!("the machine is virtual ({hypervisor}) and does not show the port above"),
        ));
    }
    None
}

fn is_emulated(function: &Function) -> bool {
    let ids = function.vendor_id.zip(function.device_id);
    ids.is_some_and(|ids| EMULATED_PORTS.contains(&ids)) || EMULATED.is_match(&function.title)
}

fn is_superchip(device: &Function) -> bool {
    let by_id =
        device.vendor_id == Some(NVIDIA) && device.device_id.is_some_and(|id| SUPERCHIPS.contains(&id));
    by_id || SUPERCHIP.is_match(&device.title)
}
