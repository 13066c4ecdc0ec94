//! The devices that may be taken from their drivers. All others are refused: their uses are not known.

use crate::obstacle;
use crate::tree::Function;
use pcie_refusal::Refusal;

/// A kind of device whose uses are looked for.
struct Takeable {
    /// Class, and the bits of it that count.
    class: u32,
    mask: u32,
    name: &'static str,
    /// Drivers whose uses are looked for, besides no driver; none for any.
    drivers: Option<&'static [&'static str]>,
}

/// Drivers that show a device's users: a node of VFIO or UIO.
const PASS_THROUGH: [&str; 4] = ["vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio"];
const DISPLAY_DRIVERS: &[&str] = &[
    "amdgpu",
    "ast",
    "bochs-drm",
    "cirrus",
    "hibmc-drm",
    "i915",
    "mgag200",
    "nouveau",
    "nvidia",
    "qxl",
    "radeon",
    "virtio-pci",
    "xe",
];

/// Drivers that give an accelerator to programs through nodes below it.
const ACCELERATOR_DRIVERS: &[&str] = &["amdxdna", "habanalabs", "intel_vpu", "qaic"];
/// Drivers of boards with an FPGA, which do the same.
const BOARD_DRIVERS: &[&str] = &["qdma-pf", "xclmgmt", "xdma", "xocl"];

const TAKEABLE: [Takeable; 9] = [
    Takeable { class: 0x01_08_00, mask: 0xff_ff_00, name: "NVMe drives", drivers: Some(&["nvme"]) },
    // A NIC's driver has an interface below the function, or else the NIC is refused.
    Takeable { class: 0x02_00_00, mask: 0xff_00_00, name: "NICs", drivers: None },
    Takeable { class: 0x03_00_00, mask: 0xff_00_00, name: "GPUs", drivers: Some(DISPLAY_DRIVERS) },
    Takeable { class: 0x05_00_00, mask: 0xff_00_00, name: "memory", drivers: Some(BOARD_DRIVERS) },
    Takeable { class: 0x0b_40_00, mask: 0xff_ff_00, name: "coprocessors", drivers: Some(BOARD_DRIVERS) },
    Takeable { class: 0x11_00_00, mask: 0xff_00_00, name: "signal processors", drivers: Some(BOARD_DRIVERS) },
    Takeable {
        class: 0x12_00_00,
        mask: 0xff_00_00,
        name: "accelerators",
        drivers: Some(ACCELERATOR_DRIVERS),
    },
    Takeable {
        class: 0x00_ff_00,
        mask: 0xff_ff_00,
        name: "devices without a class",
        drivers: Some(BOARD_DRIVERS),
    },
    Takeable {
        class: 0xff_00_00,
        mask: 0xff_00_00,
        name: "devices of a class of their own",
        drivers: Some(BOARD_DRIVERS),
    },
];

impl Function {
    /// Refuses a device of a class, or with a driver, whose uses pcielab does not know.
    pub fn check_takeable(&self) -> Result<(), Refusal> {
        let found = TAKEABLE.iter().find(|kind| self.class & kind.mask == kind.class);
        let names: Vec<&str> = TAKEABLE.iter().map(|kind| kind.name).collect();
        let kind =
            found.ok_or_else(|| obstacle::not_takeable(self.address, self.class, &names.join(", ")))?;
        let driver = self.driver.as_deref().filter(|driver| !PASS_THROUGH.contains(driver));
        match (driver, kind.drivers) {
            (Some(driver), Some(known)) if !known.contains(&driver) => {
                Err(obstacle::unknown_driver(self.address, driver, kind.name))
            }
            _ => Ok(()),
        }
    }
}
