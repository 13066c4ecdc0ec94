//! Decode the registers of a function's configuration space into fields of a [`Function`].
//!
//! Offsets and bits are those of the PCI Express base specification 6.0, chapter 7 (and of Linux's `pci_regs.h`). Only
//! registers that the tree keeps are read, one by one, since each costs a read of the device; serial numbers and vital
//! product data are never read. Registers that cannot be read, as by users other than root, are None.

use std::collections::HashMap;

use crate::tree::{Control, ErrorReporting, Function, Kind, LANES, LinkEnd, PAYLOADS, ResizableBar, SPEEDS};

const POWER_MANAGEMENT: u32 = 0x01;
const EXPRESS: u32 = 0x10;
const AER: u32 = 0x0001;
const ACS: u32 = 0x000d;
const ATS: u32 = 0x000f;
const REBAR: u32 = 0x0015;
const SECONDARY: u32 = 0x0019;
const CONTAINMENT: u32 = 0x001d;
const L1_PM_SUBSTATES: u32 = 0x001e;
const DVSEC: u32 = 0x0023;
const DEVICE_3: u32 = 0x002f;
const CXL_VENDOR: u32 = 0x1e98;
const CXL_DEVICE: u32 = 0;
const HEADER_BYTES: usize = 64;
const CAPABILITIES_MOST: usize = 48;
const EXTENDED_MOST: usize = (4096 - 256) / 8;
const SLOT_IMPLEMENTED: u32 = 1 << 8;
const BARS_MOST: u32 = 6;
/// Access control services by their bits, as lspci prints them.
pub(crate) const ACS_SERVICES: [&str; 7] =
    ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"];
const CORRECTABLE: [&str; 16] = [
    "RxErr",
    "",
    "",
    "",
    "",
    "",
    "BadTLP",
    "BadDLLP",
    "Rollover",
    "",
    "",
    "",
    "Timeout",
    "AdvNonFatalErr",
    "CorrIntErr",
    "HeaderOF",
];
const UNCORRECTABLE: [&str; 27] = [
    "",
    "",
    "",
    "",
    "DLP",
    "SDES",
    "",
    "",
    "",
    "",
    "",
    "",
    "TLP",
    "FCP",
    "CmpltTO",
    "CmpltAbrt",
    "UnxCmplt",
    "RxOF",
    "MalfTLP",
    "ECRC",
    "UnsupReq",
    "ACSViol",
    "UncorrIntErr",
    "BlockedTLP",
    "AtomicOpBlocked",
    "TLPBlockedErr",
    "PoisonTLPBlocked",
];
/// Messages of the root error status by their bits, as lspci prints them.
pub(crate) const ROOT_STATUS: [&str; 7] =
    ["CERcvd", "MultCERcvd", "UERcvd", "MultUERcvd", "FirstFatal", "NonFatalMsg", "FatalMsg"];
const L1_SUBSTATES: [&str; 4] = ["PCI-PM L1.2", "PCI-PM L1.1", "ASPM L1.2", "ASPM L1.1"];
/// Sizes of atomic operations by their bits, as lspci prints them.
pub(crate) const ATOMICS: [&str; 3] = ["32bit", "64bit", "128bitCAS"];
const CXL_PROTOCOLS: [&str; 3] = ["Cache", "IO", "Mem"];
const ASPM_STATES: [&str; 2] = ["L0s", "L1"];
const L0S_EXIT_NS: [Option<f64>; 8] =
    [Some(64.0), Some(128.0), Some(256.0), Some(512.0), Some(1e3), Some(2e3), Some(4e3), None];
const L1_EXIT_NS: [Option<f64>; 8] =
    [Some(1e3), Some(2e3), Some(4e3), Some(8e3), Some(16e3), Some(32e3), Some(64e3), None];

/// Why downstream port containment triggered: reason and extension of the reason (PCIe 6.0, section 7.9.14.5).
pub(crate) fn containment_reason(reason: u32, extension: u32) -> &'static str {
    match (reason, extension) {
        (0, 0) => "an uncorrectable error of the port itself",
        (1, 0) => "an ERR_NONFATAL message from below",
        (2, 0) => "an ERR_FATAL message from below",
        (3, 0) => "an error of programmed I/O at the root port",
        (3, 1) => "software",
        _ => "an unknown reason",
    }
}

/// The configuration space of one function, read through a function of offset and size that returns fewer bytes if no
/// more can be read.
pub(crate) struct ConfigSpace<'a> {
    read: &'a dyn Fn(usize, usize) -> Vec<u8>,
    header: Vec<u8>,
    /// Whether the capabilities could be read; without root only the first 64 bytes can.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the reader of /sys alone asks for it"))]
    pub(crate) is_complete: bool,
    capabilities: HashMap<u32, usize>,
    extended: HashMap<u32, usize>,
}

impl<'a> ConfigSpace<'a> {
    pub(crate) fn new(read: &'a dyn Fn(usize, usize) -> Vec<u8>) -> Self {
        let (header, is_complete) = (read(0, HEADER_BYTES), read(HEADER_BYTES, 4).len() == 4);
        let mut space =
            Self { read, header, is_complete, capabilities: HashMap::new(), extended: HashMap::new() };
        if is_complete {
            space.capabilities = space.chain();
            space.extended = space.extended_chain();
        }
        space
    }

    /// Whether the function answers: an absent one reads as all ones.
    pub(crate) fn is_present(&self) -> bool {
        self.header.len() >= 16 && self.header[..4] != [0xff; 4]
    }

    /// The header and the capabilities as fields of a [`Function`] without slot and title.
    pub(crate) fn fields(&self) -> Function {
        let mut found = Function {
            vendor_id: self.number(0, 2),
            device_id: self.number(2, 2),
            class_code: self.number(0x0a, 2),
            bus_master: flag(self.number(4, 2), 2),
            ..Function::default()
        };
        if let (Some([0x01 | 0x81]), Some([_, secondary, subordinate])) =
            (self.header.get(0x0e..0x0f), self.header.get(0x18..0x1b))
        {
            (found.secondary_bus, found.subordinate_bus) = (Some(*secondary), Some(*subordinate));
        }
        let power = self.capabilities.get(&POWER_MANAGEMENT).and_then(|base| self.number(base + 4, 2));
        found.power_state = power.map(|state| ["D0", "D1", "D2", "D3hot"][(state & 3) as usize].to_owned());
        self.add_express(&mut found);
        self.add_extensions(&mut found);
        found
    }

    fn add_express(&self, found: &mut Function) {
        let Some(base) = self.capabilities.get(&EXPRESS).copied() else { return };
        let Some(flags) = self.number(base + 2, 2) else { return };
        let has_second_half = flags & 0xf >= 2;
        found.kind = kind(flags);
        found.control = Some(self.control(base, has_second_half));
        if !matches!(found.kind, Some(Kind::IntegratedEndpoint | Kind::EventCollector)) {
            found.link = Some(self.link(base, has_second_half));
        }
        if found.is_port() {
            self.add_slot(found, base, flags);
        }
    }

    /// The slot of a root port or downstream port, from SltCap, SltCtl and SltSta.
    fn add_slot(&self, found: &mut Function, base: usize, flags: u32) {
        let has_slot = flags & SLOT_IMPLEMENTED != 0;
        found.has_slot = Some(has_slot);
        if has_slot {
            let switched = flag(self.number(base + 0x14, 4), 1) == Some(true);
            found.card_present = flag(self.number(base + 0x1a, 2), 6);
            found.slot_off = if switched { flag(self.number(base + 0x18, 2), 10) } else { Some(false) };
        }
    }

    fn control(&self, base: usize, has_second_half: bool) -> Control {
        let second = |offset, size| has_second_half.then(|| self.number(base + offset, size)).flatten();
        let (capable, control) = (self.number(base + 4, 4), self.number(base + 8, 2));
        let (capable_2, control_2) = (second(0x24, 4), second(0x28, 2));
        let control_3 = self.extended.get(&DEVICE_3).and_then(|base| self.number(base + 8, 4));
        Control {
            max_payload_bytes: size(capable, 0),
            mps_bytes: size(control, 5),
            mrrs_bytes: size(control, 12),
            extended_tags_possible: flag(capable, 5),
            extended_tags: flag(control, 8),
            ten_bit_completer: flag(capable_2, 16),
            ten_bit_requester: flag(capable_2, 17),
            ten_bit_tags: flag(control_2, 12),
            fourteen_bit_tags: flag(control_3, 2),
            relaxed_ordering: flag(control, 4),
            completion_timeout_off: flag(control_2, 4),
            atomics_routed: flag(capable_2, 6),
            atomics_completed: capable_2.map(|register| names(register >> 7 & 7, &ATOMICS)),
            atomics_requested: flag(control_2, 6),
            atomics_blocked: flag(control_2, 7),
            ltr: if flag(capable_2, 11) == Some(true) { flag(control_2, 10) } else { None },
        }
    }

    fn link(&self, base: usize, has_second_half: bool) -> LinkEnd {
        let second = |offset| has_second_half.then(|| self.number(base + offset, 2)).flatten();
        let (capable, control) = (self.number(base + 0x0c, 4), self.number(base + 0x10, 2));
        let status = self.number(base + 0x12, 2);
        LinkEnd {
            max_speed_gtps: speed(capable),
            max_lanes: lanes(capable),
            speed_gtps: speed(status),
            lanes: lanes(status),
            target_speed_gtps: speed(second(0x30)),
            rcb_bytes: control.map(|register| if register & 8 == 0 { 64 } else { 128 }),
            aspm_enabled: control.map(|register| names(register, &ASPM_STATES)),
            l0s_exit_ns: capable.and_then(|register| L0S_EXIT_NS[(register >> 12 & 7) as usize]),
            l1_exit_ns: capable.and_then(|register| L1_EXIT_NS[(register >> 15 & 7) as usize]),
            flit_mode: flag(second(0x32), 10),
            active: if flag(capable, 20) == Some(true) { flag(status, 13) } else { None },
            disabled: flag(control, 4),
            lane_errors: self.lane_errors(lanes(capable)),
            aspm_supported: capable.map(|register| names(register >> 10 & 3, &ASPM_STATES)),
            l1_substates: self.l1_substates(),
            common_clock: flag(control, 6),
            retrained: status.map(|register| register >> 14 & 3 != 0),
        }
    }

    fn l1_substates(&self) -> Option<Vec<String>> {
        let control = self.number(self.extended.get(&L1_PM_SUBSTATES)? + 8, 4)?;
        Some(names(control & 0xf, &L1_SUBSTATES))
    }

    /// Lanes with errors, of those that the link has: the bits of the others are reserved.
    fn lane_errors(&self, lanes: Option<u32>) -> Option<Vec<u32>> {
        let status = self.number(self.extended.get(&SECONDARY)? + 8, 4)?;
        Some((0..lanes.unwrap_or(0).min(32)).filter(|lane| status >> lane & 1 == 1).collect())
    }

    fn add_extensions(&self, found: &mut Function) {
        let base = |capability| self.extended.get(&capability).copied();
        found.errors = base(AER).map(|base| self.errors(base, found.kind == Some(Kind::RootPort)));
        found.contained = base(CONTAINMENT)
            .and_then(|base| self.number(base + 8, 2))
            .filter(|status| status & 1 == 1)
            .map(|status| containment_reason(status >> 1 & 3, status >> 5 & 3).to_owned());
        let services = base(ACS).and_then(|base| self.number(base + 6, 2));
        found.acs_enabled = services.map(|register| names(register, &ACS_SERVICES));
        found.ats_enabled = base(ATS).and_then(|base| flag(self.number(base + 6, 2), 15));
        found.resizable_bars = base(REBAR).map(|base| self.resizable(base)).unwrap_or_default();
        let protocols = base(DVSEC).and_then(|base| self.number(base + 0x0c, 2)).unwrap_or(0);
        found.cxl_protocols = names(protocols, &CXL_PROTOCOLS);
    }

    fn errors(&self, base: usize, is_root: bool) -> ErrorReporting {
        let control = self.number(base + 0x18, 4);
        let shown =
            |offset, names: &[&str]| self.number(base + offset, 4).map(|register| named(register, names));
        ErrorReporting {
            ecrc_generated: flag(control, 6),
            ecrc_checked: flag(control, 8),
            correctable_status: shown(0x10, &CORRECTABLE),
            uncorrectable_status: shown(4, &UNCORRECTABLE),
            uncorrectable_masked: shown(8, &UNCORRECTABLE),
            root_status: shown(0x30, &ROOT_STATUS).filter(|_| is_root),
            ..ErrorReporting::default()
        }
    }

    fn resizable(&self, base: usize) -> Vec<ResizableBar> {
        let count = self.number(base + 8, 4).unwrap_or(0) >> 5 & 7;
        (0..count.min(BARS_MOST)).filter_map(|entry| self.resizable_bar(base + 8 * entry as usize)).collect()
    }

    fn resizable_bar(&self, base: usize) -> Option<ResizableBar> {
        let (sizes, control) = (self.number(base + 4, 4)? >> 4, self.number(base + 8, 4)?);
        // Bit 4 of the sizes is 1 MiB. Sizes from 256 TiB on, in the control register, are ignored.
        let largest = sizes.checked_ilog2()?;
        let size = 20 + (control >> 8 & 0x3f);
        let size_bytes = 1_u64.checked_shl(size)?;
        Some(ResizableBar { bar: control & 7, size_bytes, largest_bytes: 1 << (20 + largest) })
    }

    /// Offset of each capability; the first of a kind counts.
    fn chain(&self) -> HashMap<u32, usize> {
        let mut found = HashMap::new();
        if self.number(6, 2).is_none_or(|status| status & 0x10 == 0) {
            return found;
        }
        let mut offset = (self.number(0x34, 1).unwrap_or(0) & 0xfc) as usize;
        for _ in 0..CAPABILITIES_MOST {
            if offset < HEADER_BYTES {
                break;
            }
            let Some(head) = self.number(offset, 2).filter(|head| *head != 0xffff) else { break };
            found.entry(head & 0xff).or_insert(offset);
            offset = (head >> 8 & 0xfc) as usize;
        }
        found
    }

    fn extended_chain(&self) -> HashMap<u32, usize> {
        let (mut found, mut offset) = (HashMap::new(), 0x100);
        for _ in 0..EXTENDED_MOST {
            if offset < 0x100 {
                break;
            }
            let Some(head) = self.number(offset, 4).filter(|head| ![0, 0xffff_ffff].contains(head)) else {
                break;
            };
            let identifier = head & 0xffff;
            if identifier != DVSEC || (!found.contains_key(&DVSEC) && self.is_cxl(offset)) {
                found.entry(identifier).or_insert(offset);
            }
            offset = (head >> 20 & 0xffc) as usize;
        }
        found
    }

    /// Whether a designated vendor-specific capability is that of CXL devices (CXL 2.0, section 8.1.3).
    fn is_cxl(&self, offset: usize) -> bool {
        self.number(offset + 4, 2) == Some(CXL_VENDOR) && self.number(offset + 8, 2) == Some(CXL_DEVICE)
    }

    fn number(&self, offset: usize, size: usize) -> Option<u32> {
        let bytes = if offset + size <= HEADER_BYTES {
            self.header.get(offset..offset + size)?.to_vec()
        } else {
            (self.read)(offset, size)
        };
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
        (bytes.len() == size).then(|| number(&bytes))
    }
}

fn kind(flags: u32) -> Option<Kind> {
    Some(match flags >> 4 & 0xf {
        0 => Kind::Endpoint,
        1 => Kind::LegacyEndpoint,
        4 => Kind::RootPort,
        5 => Kind::UpstreamPort,
        6 => Kind::DownstreamPort,
        7 => Kind::PcieToPciBridge,
        8 => Kind::PciToPcieBridge,
        9 => Kind::IntegratedEndpoint,
        10 => Kind::EventCollector,
        _ => return None,
    })
}

fn flag(register: Option<u32>, bit: u32) -> Option<bool> {
    register.map(|register| register >> bit & 1 == 1)
}

/// The names of the bits that are set, from bit 0 on.
fn names(register: u32, names: &[&str]) -> Vec<String> {
    let is_set = |(bit, _): &(usize, &&str)| register >> bit & 1 == 1;
    names.iter().enumerate().filter(is_set).map(|(_, name)| (*name).to_owned()).collect()
}

/// The names of the bits that are set and have one.
fn named(register: u32, all: &[&str]) -> Vec<String> {
    names(register, all).into_iter().filter(|name| !name.is_empty()).collect()
}

fn size(register: Option<u32>, bit: u32) -> Option<u32> {
    PAYLOADS.get((register? >> bit & 7) as usize).copied()
}

fn speed(register: Option<u32>) -> Option<f64> {
    let code = (register? & 0xf).checked_sub(1)?;
    SPEEDS.get(code as usize).copied()
}

fn lanes(register: Option<u32>) -> Option<u32> {
    let lanes = register? >> 4 & 0x3f;
    (lanes == 0 || LANES.contains(&lanes)).then_some(lanes)
}

#[cfg(test)]
mod tests;
