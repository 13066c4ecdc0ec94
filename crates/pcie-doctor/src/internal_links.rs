//! Recognise links inside a chip or package: their registers are nominal, and no lanes leave the silicon.
//!
//! AMD processors attach USB, SATA, the PSP and the DMA engines below *Internal PCIe GPP Bridges*. Both ends
//! report the full speed and width of the family (16 GT/s x16 in an EPYC) and the default MPS, whatever the
//! fabric below carries, and no setting there matters. Intel attaches the network controllers of its chipsets and
//! SoCs in the same way (Linux, `ixgbe`: bus type *internal*). A link is internal if one of these holds:
//!
//! * the port is an internal bridge or a virtual switch port, by ID or by name;
//! * the device is a dummy function or an integrated network controller, by ID or by name;
//! * the port is a root port without a slot, both ends support x16, and the device has a function of AMD itself.
//!   This covers processors that the lists below do not have. Graphics cards have ATI's vendor ID, and chipsets
//!   have fewer lanes.
//!
//! Endpoints that the PCI Express capability calls *integrated* have no link at all: the tree gives them none.

use std::sync::LazyLock;

use pcie_evidence::{Function, Kind};
use regex::Regex;

const AMD: u32 = 0x1022;
const HYGON: u32 = 0x1D94;
const INTEL: u32 = 0x8086;
const NOMINAL_LANES: u32 = 16;

#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static BRIDGE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bInternal (?:PCIe )?GPP Bridge|\bvirtual switch port").expect("a pattern")
});
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static DEVICE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let named = r"\bPCIe Dummy Function|\bReserved SPP\b";
    let ethernet = r"Intel Corporation Ethernet Connection (?:X722|X55[23]|E82[23]|I354)\b";
    Regex::new(&format!("{named}|{ethernet}")).expect("a pattern")
});

/// Why a link is internal, as words for people; None if it is not, as far as its registers show.
pub(crate) fn internal(port: Option<&Function>, functions: &[&Function]) -> Option<&'static str> {
    if port.is_some_and(is_internal_bridge) {
        return Some("it is inside the chip, below an internal bridge");
    }
    if functions.iter().any(|function| is_internal_device(function)) {
        return Some("it is inside the chip: the device is integrated");
    }
    if port.is_some_and(|port| is_nominal(port, functions)) {
        return Some("it is inside the chip: a root port without a slot, above a function of the processor");
    }
    None
}

fn is_internal_bridge(port: &Function) -> bool {
    let known = match (port.vendor_id, port.device_id) {
        (Some(AMD), Some(device)) => matches!(
            device,
            0x1454
                | 0x1484
                | 0x14A7
                | 0x14B9
                | 0x14DD
                | 0x14EB
                | 0x13E5
                | 0x13E6
                | 0x15DB
                | 0x15DC
                | 0x15FD
                | 0x15FE
                | 0x162A
                | 0x1635
                | 0x1648
        ),
        (Some(HYGON), Some(device)) => device == 0x1454,
        // Switch of the C620 chipset, above its X722 and QuickAssist.
        (Some(INTEL), Some(device)) => matches!(device, 0x37C0 | 0x37C2..=0x37C5),
        _ => false,
    };
    known || BRIDGE_NAME.is_match(&port.title)
}

fn is_internal_device(function: &Function) -> bool {
    let known = match (function.vendor_id, function.device_id) {
        (Some(AMD), Some(device)) => {
            matches!(device, 0x1455 | 0x145A | 0x1485 | 0x148A | 0x14AC | 0x14DE)
        }
        (Some(HYGON), Some(device)) => matches!(device, 0x1455 | 0x145A),
        // X722, X552 and X553, E82x, I354.
        (Some(INTEL), Some(device)) => matches!(
            device,
            0x0DDA
                | 0x37CC
                | 0x37CE..=0x37D4
                | 0x15AA..=0x15AE
                | 0x15B0
                | 0x15C2..=0x15C4
                | 0x15C6..=0x15C8
                | 0x15CE
                | 0x15E4
                | 0x15E5
                | 0x124C..=0x124F
                | 0x151D
                | 0x188A..=0x188E
                | 0x1890..=0x1894
                | 0x1897..=0x189A
                | 0x1F40
                | 0x1F41
                | 0x1F45
        ),
        _ => false,
    };
    known || DEVICE_NAME.is_match(&function.title)
}

fn is_nominal(port: &Function, functions: &[&Function]) -> bool {
    let Some(device) = functions.first() else { return false };
    let supports_all =
        |one: &Function| one.link.as_ref().is_some_and(|end| end.max_lanes == Some(NOMINAL_LANES));
    port.kind == Some(Kind::RootPort)
        && port.has_slot == Some(false)
        && is_amd(port)
        && supports_all(port)
        && supports_all(device)
        && device.is_endpoint()
        && functions.iter().any(|function| is_amd(function))
}

fn is_amd(function: &Function) -> bool {
    function.vendor_id.map_or_else(
        || function.title.contains("Advanced Micro Devices, Inc. [AMD] "),
        |vendor| vendor == AMD,
    )
}
