//! PCI functions as the kernel lists them in `/sys/bus/pci`. Only files are read; no device notices.

use crate::address::Address;
use crate::obstacle;
use pcie_bench::{Condition, LinkFacts};
use pcie_host::Root;
use pcie_refusal::Refusal;
use std::fs;
use std::path::{Path, PathBuf};

/// A machine's `sys`, `proc`, `dev` and `etc`.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Root,
}

/// A BAR, as the kernel laid it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its number, 0 to 5.
    pub number: u32,
    /// Its first address, as the processor sees it.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is memory rather than I/O ports.
    pub is_memory: bool,
    /// Whether reading it has no effects, so that stores may be combined.
    pub is_prefetchable: bool,
}

/// `linux/ioport.h`.
const RESOURCE_MEMORY: u64 = 0x200;
const RESOURCE_PREFETCH: u64 = 0x2000;

/// A PCI function.
#[derive(Clone, Debug)]
pub struct Function {
    /// PCI address.
    pub address: Address,
    /// The kernel's folder of it.
    pub folder: PathBuf,
    /// Vendor ID.
    pub vendor_id: u16,
    /// Device ID.
    pub device_id: u16,
    /// Class, subclass and programming interface.
    pub class: u32,
    /// Its driver.
    pub driver: Option<String>,
    /// Its IOMMU group.
    pub group: Option<u32>,
    /// The NUMA node that it is attached to.
    pub node: Option<u32>,
    /// Maximum of its link: GT/s and lanes.
    pub link: (Option<f64>, Option<u32>),
}

impl Tree {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        Self { root: Root::here() }
    }

    /// The machine whose `sys`, `proc`, `dev` and `etc` are in a directory.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: Root::at(root) }
    }

    /// Whether it is a copy of a machine's files, or a made-up machine, rather than this one.
    pub(crate) fn is_made_up(&self) -> bool {
        self.path("") != Path::new("/")
    }

    /// A path of that machine.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path(path)
    }

    /// All functions, by address.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        self.addresses().into_iter().filter_map(|address| self.read(address)).collect()
    }

    fn addresses(&self) -> Vec<Address> {
        let mut addresses: Vec<Address> =
            names(&self.path("sys/bus/pci/devices")).iter().filter_map(|name| name.parse().ok()).collect();
        addresses.sort();
        addresses
    }

    /// The function at an address; the error for none names the nearest addresses.
    pub fn function(&self, address: Address) -> Result<Function, Refusal> {
        self.read(address).ok_or_else(|| {
            let mut nearest = self.addresses();
            nearest.sort_by_key(|other| address.distance(*other));
            nearest.truncate(3);
            obstacle::not_there(address, &nearest)
        })
    }

    fn read(&self, address: Address) -> Option<Function> {
        let folder = self.path(&format!("sys/bus/pci/devices/{address}"));
        let identifier =
            |name: &str| u32::from_str_radix(text(&folder.join(name))?.trim_start_matches("0x"), 16).ok();
        let link = (
            text(&folder.join("max_link_speed")).and_then(|speed| speed.split(' ').next()?.parse().ok()),
            number(&folder.join("max_link_width"))
                .map(|lanes| lanes as u32)
                .filter(|lanes| (1..=32).contains(lanes)),
        );
        Some(Function {
            address,
            vendor_id: identifier("vendor")? as u16,
            device_id: identifier("device")? as u16,
            class: identifier("class")?,
            driver: target(&folder.join("driver")),
            group: target(&folder.join("iommu_group")).and_then(|name| name.parse().ok()),
            node: text(&folder.join("numa_node")).and_then(|node| node.parse().ok()),
            link,
            folder,
        })
    }

    /// The other functions of a group whose drivers prevent VFIO.
    #[must_use]
    pub fn live_others(&self, function: &Function) -> Vec<Function> {
        let others = names(&function.folder.join("iommu_group/devices"));
        let others =
            others.iter().filter_map(|name| name.parse().ok()).filter(|other| *other != function.address);
        // Bridges may keep their drivers, and vfio-pci and pci-stub do not disturb.
        let in_the_way = |other: &Function| {
            let driver = other.driver.as_deref();
            !other.is_bridge() && !matches!(driver, None | Some("vfio-pci" | "pci-stub"))
        };
        others.filter_map(|other| self.read(other)).filter(in_the_way).collect()
    }

    /// The function's own node (cdev) of vfio-pci, on kernels with one.
    #[must_use]
    pub fn device_node(&self, function: &Function) -> Option<PathBuf> {
        let name =
            names(&function.folder.join("vfio-dev")).into_iter().find(|name| name.starts_with("vfio"))?;
        Some(self.path(&format!("dev/vfio/devices/{name}")))
    }

    /// The IOMMU group of a function; an error if it has none, VFIO has no IOMMU, or other drivers share it.
    pub fn check_group(&self, function: &Function) -> Result<u32, Refusal> {
        let address = function.address;
        let group = function.group.ok_or_else(|| obstacle::no_iommu(address))?;
        let name = text(&function.folder.join("iommu_group/name"));
        if name.as_deref() == Some("vfio-noiommu") || self.path(&format!("dev/vfio/noiommu-{group}")).exists()
        {
            return Err(obstacle::no_iommu_mode(address));
        }
        let others = self.live_others(function);
        if others.is_empty() {
            return Ok(group);
        }
        let named = |other: &Function| {
            format!("{} ({})", other.address, other.driver.as_deref().unwrap_or("no driver"))
        };
        let others = others.iter().map(named).collect::<Vec<_>>().join(", ");
        Err(obstacle::shared_group(address, group, &others))
    }
}

impl Function {
    /// Its folder without links.
    pub(crate) fn real_folder(&self) -> PathBuf {
        self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone())
    }

    /// Whether its class is that of a bridge.
    #[must_use]
    pub fn is_bridge(&self) -> bool {
        self.class >> 16 == 0x06
    }

    /// Refuses a function that leads to other functions, whatever its class.
    pub fn check_no_bridge(&self) -> Result<(), Refusal> {
        /// Header type; its top bit means several functions, the rest is 0 for an endpoint.
        const HEADER_TYPE: usize = 14;
        let config = fs::read(self.folder.join("config")).unwrap_or_default();
        let header = config.get(HEADER_TYPE).map_or(0, |kind| kind & 0x7f);
        let leads = |name: &String| {
            let domain = name.strip_prefix("pci").is_some_and(|rest| rest.contains(':'));
            domain || name.parse::<Address>().is_ok()
        };
        match self.is_bridge() || header != 0 || names(&self.folder).iter().any(leads) {
            true => Err(obstacle::bridge(self.address)),
            false => Ok(()),
        }
    }

    /// Whether it is an NVMe drive.
    #[must_use]
    pub fn is_nvme(&self) -> bool {
        self.class == 0x01_08_02
    }

    /// Whether it is an Intel 82574, a NIC.
    #[must_use]
    pub fn is_e1000e(&self) -> bool {
        self.class >> 8 == 0x02_00 && self.vendor_id == 0x8086 && matches!(self.device_id, 0x10d3 | 0x10f6)
    }

    /// Whether it is a display controller.
    #[must_use]
    pub fn is_display(&self) -> bool {
        self.class >> 16 == 0x03
    }

    /// Its BARs.
    #[must_use]
    pub fn bars(&self) -> Vec<Bar> {
        let resources = text(&self.folder.join("resource")).unwrap_or_default();
        let bar = |(number, line): (u32, &str)| {
            let mut words = line
                .split_whitespace()
                .map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
            let (start, end, flags) = (words.next()??, words.next()??, words.next()??);
            (end > start).then_some(Bar {
                number,
                start,
                bytes: end - start + 1,
                is_memory: flags & RESOURCE_MEMORY != 0,
                is_prefetchable: flags & RESOURCE_PREFETCH != 0,
            })
        };
        (0..6).zip(resources.lines()).filter_map(bar).collect()
    }

    /// The maximum of its link, with MPS and MRRS if readable: from the kernel's file, as VFIO shows a copy.
    #[must_use]
    pub fn link_facts(&self) -> LinkFacts {
        let (rate_gtps, lanes) = self.link;
        let space = fs::read(self.folder.join("config")).unwrap_or_default();
        let control = device_control(&space);
        let bytes =
            |shift: u32| control.map(|control| 128 << (control >> shift & 7)).filter(|bytes| *bytes <= 4096);
        LinkFacts { rate_gtps, lanes, mps_bytes: bytes(5), mrrs_bytes: bytes(12) }
    }

    /// Current rate and width of its link.
    #[must_use]
    pub fn link_conditions(&self) -> Vec<Condition> {
        let (rate, lanes) = (self.folder.join("current_link_speed"), self.folder.join("current_link_width"));
        let rate = text(&rate).and_then(|speed| speed.split(' ').next()?.parse().ok());
        vec![
            Condition::new("link_rate", "GT/s", rate),
            Condition::new("link_lanes", "1", number(&lanes).map(|lanes| lanes as f64)),
        ]
    }

    /// Refuses a function in power state D3.
    pub fn check_awake(&self) -> Result<(), Refusal> {
        let state = text(&self.folder.join("power_state")).unwrap_or_default();
        if !state.starts_with("D3") {
            return Ok(());
        }
        Err(obstacle::asleep(self.address, &state, &self.folder.join("power/control")))
    }

    /// Refuses a function whose memory decoding is off, so that its BARs do not answer.
    pub fn check_decoding(&self) -> Result<(), Refusal> {
        const MEMORY: u8 = 2;
        let command = fs::read(self.folder.join("config")).ok().and_then(|space| space.get(4).copied());
        if command.is_none_or(|command| command & MEMORY != 0) {
            return Ok(());
        }
        Err(obstacle::no_decoding(self.address, &self.folder.join("enable")))
    }
}

/// The device control register (PCI Express base specification, section 7.5.3.4).
pub(crate) fn device_control(space: &[u8]) -> Option<u32> {
    const CAPABILITIES: usize = 0x34;
    const EXPRESS: u8 = 0x10;
    let mut capability = usize::from(*space.get(CAPABILITIES)?);
    // Each holds the offset of the next. There is room for 48; the limit ends a ring.
    for _ in 0..48 {
        if capability < 0x40 {
            return None;
        }
        if *space.get(capability)? == EXPRESS {
            let control = space.get(capability + 8..)?.first_chunk()?;
            return Some(u32::from(u16::from_le_bytes(*control)));
        }
        capability = usize::from(*space.get(capability + 1)?);
    }
    None
}

/// Whether a link leads to a folder or below it.
pub(crate) fn leads_below(link: &Path, folder: &Path) -> bool {
    link.canonicalize().is_ok_and(|path| path.starts_with(folder))
}

/// Sorted names in a folder; empty if there is no folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

pub(crate) fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// The last name of a link's target.
pub(crate) fn target(link: &Path) -> Option<String> {
    fs::read_link(link).ok()?.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_control_is_found_through_the_capability_list() {
        let mut space = vec![0; 256];
        space[0x34] = 0x40;
        space[0x40..0x42].copy_from_slice(&[0x01, 0x70]);
        space[0x70..0x72].copy_from_slice(&[0x10, 0x00]);
        // MPS 256, MRRS 512.
        space[0x78..0x7a].copy_from_slice(&0x2820u16.to_le_bytes());
        assert_eq!(device_control(&space), Some(0x2820));
        // Configuration space cut off for other users than root, no capability, and a ring.
        assert_eq!(device_control(&space[..64]), None);
        space[0x70] = 0x05;
        assert_eq!(device_control(&space), None);
        space[0x71] = 0x40;
        assert_eq!(device_control(&space), None);
        assert_eq!(device_control(&[]), None);
    }
}
