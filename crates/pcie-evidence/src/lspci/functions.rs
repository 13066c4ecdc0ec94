//! Decode what lspci shows of one function; a hex dump fills in what the text does not decode.

use regex::Regex;

use super::blocks::Block;
use super::states::with_domain;
use crate::config_space::{ACS_SERVICES, ATOMICS, ConfigSpace, ROOT_STATUS, containment_reason};
use crate::pattern::{Pattern, compiled, first_group};
use crate::tree::{Control, ErrorReporting, Function, Kind, LANES, LinkEnd, PAYLOADS, ResizableBar, SPEEDS};

const HEADER_BYTES: usize = 64;
const BARS_MOST: usize = 6;
/// Digits of a whole number that is believed.
const DIGITS_MOST: usize = 10;
const KINDS: [(&str, Kind); 10] = [
    ("Root Complex Integrated Endpoint", Kind::IntegratedEndpoint),
    ("Root Complex Event Collector", Kind::EventCollector),
    ("Legacy Endpoint", Kind::LegacyEndpoint),
    ("Endpoint", Kind::Endpoint),
    ("Root Port", Kind::RootPort),
    ("Upstream Port", Kind::UpstreamPort),
    ("Downstream Port", Kind::DownstreamPort),
    ("PCI-Express to PCI", Kind::PcieToPciBridge),
    ("PCI/PCI-X to PCI-Express", Kind::PciToPcieBridge),
    ("PCI to PCI-Express", Kind::PciToPcieBridge),
];
const CLASSES: [(&str, u32); 12] = [
    ("SATA controller", 0x0106),
    ("Non-Volatile memory controller", 0x0108),
    ("Ethernet controller", 0x0200),
    ("Infiniband controller", 0x0207),
    ("Network controller", 0x0280),
    ("VGA compatible controller", 0x0300),
    ("3D controller", 0x0302),
    ("Display controller", 0x0380),
    ("Host bridge", 0x0600),
    ("PCI bridge", 0x0604),
    ("CXL", 0x0502),
    ("Processing accelerators", 0x1200),
];
const SUBSTATES: [(&str, &str); 4] = [
    ("PCI-PM_L1.2+", "PCI-PM L1.2"),
    ("PCI-PM_L1.1+", "PCI-PM L1.1"),
    ("ASPM_L1.2+", "ASPM L1.2"),
    ("ASPM_L1.1+", "ASPM L1.1"),
];
const CXL_PROTOCOLS: [&str; 3] = ["Cache", "IO", "Mem"];
const RESIZABLE: &str = "Physical Resizable BAR";

static EXPRESS: Pattern = Pattern::new(|| compiled(r"\] Express (?:\(v\d+\) )?([A-Z][A-Za-z/ -]*)"));
static PORT_WITH_SLOT: Pattern = Pattern::new(|| {
    compiled(r"(?:^|[^A-Za-z0-9])Express (?:\(v\d+\) )?(?:Root|Downstream) Port \(Slot([+-])")
});
static CLASS_CODE: Pattern =
    Pattern::new(|| compiled(r" \[([0-9a-f]{4})\]$|^([0-9a-f]{4})$|^Class ([0-9a-f]{4})$"));
static IDS: Pattern =
    Pattern::new(|| compiled(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]|^([0-9a-f]{4}):([0-9a-f]{4})\b"));
static BUSES: Pattern = Pattern::new(|| compiled(r"\bsecondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})"));
static BAR: Pattern = Pattern::new(|| {
    compiled(r"BAR (\d): current\s+size:\s+(\S+),\s+supported:\s+((?:[0-9]{1,6}[KMGT]B\s*)+)")
});
static LISTED_LAST: Pattern = Pattern::new(|| compiled(r"(?: \((?:rev|prog-if) [^)]*\))+$"));
static ALL_ONES: Pattern = Pattern::new(|| {
    compiled(r"(?m)!!! Unknown header type 7f|\(rev ff\)(?: \(prog-if ff\)|$)|\[ffff:ffff\]")
});
static UNASSIGNED: Pattern = Pattern::new(|| compiled("Region ([0-9]): Memory at <(?:unassigned|ignored)>"));
static DRIVER: Pattern = Pattern::new(|| compiled(r"Kernel driver in use: (\S+)"));
static NODE: Pattern = Pattern::new(|| compiled("NUMA node: (-?[0-9]+)"));
static GROUP: Pattern = Pattern::new(|| compiled("IOMMU group: ([0-9]+)"));
static POWER: Pattern = Pattern::new(|| compiled(r"\n\s*Status: (D[0-3])\b"));
static SPEED: Pattern = Pattern::new(|| compiled(r"Speed:? ([0-9.]{1,5}) ?GT/s"));
static WIDTH: Pattern = Pattern::new(|| compiled(r"Width x([0-9]{1,3})\b"));
static MAX_PAYLOAD: Pattern = Pattern::new(|| compiled("MaxPayload ([0-9]{3,4}) bytes"));
static MAX_READ_REQUEST: Pattern = Pattern::new(|| compiled("MaxReadReq ([0-9]{3,4}) bytes"));
static BOUNDARY: Pattern = Pattern::new(|| compiled("RCB (64|128) bytes"));
static ASPM_ENABLED: Pattern = Pattern::new(|| compiled("ASPM ([^;]*)"));
static ASPM_SUPPORTED: Pattern = Pattern::new(|| compiled("ASPM ([^,]*)"));
static ASPM_STATE: Pattern = Pattern::new(|| compiled("L0s|L1"));
static L0S_EXIT: Pattern = Pattern::new(|| compiled("(?:L0s|L0) <([0-9]{1,6})(ns|us)"));
static L1_EXIT: Pattern = Pattern::new(|| compiled("L1 <([0-9]{1,6})(ns|us)"));
static LANE_ERRORS: Pattern = Pattern::new(|| compiled("^LaneErr at lane:((?: [0-9]{1,2})+)"));
static TRIGGERED: Pattern = Pattern::new(|| compiled(r"Trigger\+(?: Reason:([01]{2}))?"));
static TRIGGER_EXTENSION: Pattern = Pattern::new(|| compiled("TriggerExt:([01]{2})"));
static SET_BIT: Pattern = Pattern::new(|| compiled(r"\b([A-Z][A-Za-z0-9_]{1,20})\+"));

/// The function of a block.
pub(super) fn function(block: &Block) -> Function {
    let mut decoded = of_text(block);
    if block.space.len() >= HEADER_BYTES {
        let read = |offset: usize, size: usize| {
            let end = block.space.len().min(offset + size);
            block.space.get(offset..end).unwrap_or_default().to_vec()
        };
        add_bytes(&mut decoded, &ConfigSpace::new(&read));
    }
    decoded
}

/// Whether every register reads as ones: the device does not answer.
pub(super) fn reads_ones(block: &Block) -> bool {
    let (capable, status) = (block.register("LnkCap"), block.register("LnkSta"));
    let registers =
        capable.contains("Width x63") || (status.contains("Width x63") && status.contains("Train+"));
    registers || ALL_ONES.is_match(&block.text)
}

/// The type of the function in its PCI Express capability.
pub(super) fn kind(text: &str) -> Option<Kind> {
    let shown = first_group(&EXPRESS, text)?;
    KINDS.into_iter().find(|(name, _)| shown.starts_with(name)).map(|(_, kind)| kind)
}

/// Adds the fields of a hex dump that the text does not show.
fn add_bytes(decoded: &mut Function, space: &ConfigSpace<'_>) {
    if !space.is_present() {
        decoded.answers = Some(false);
        return;
    }
    let shown = space.fields();
    macro_rules! fill {
        ($($field:ident)*) => { $(if decoded.$field.is_none() { decoded.$field = shown.$field; })* };
    }
    fill!(vendor_id device_id class_code bus_master secondary_bus subordinate_bus power_state kind control link);
    fill!(has_slot card_present slot_off errors contained ats_enabled);
    if decoded.acs_enabled.as_ref().is_none_or(Vec::is_empty) {
        decoded.acs_enabled =
            shown.acs_enabled.filter(|services| !services.is_empty()).or(decoded.acs_enabled.take());
    }
    if decoded.resizable_bars.is_empty() {
        decoded.resizable_bars = shown.resizable_bars;
    }
    if decoded.cxl_protocols.is_empty() {
        decoded.cxl_protocols = shown.cxl_protocols;
    }
}

fn of_text(block: &Block) -> Function {
    let (class_name, name) = block.title.split_once(": ").unwrap_or((&block.title, ""));
    let (vendor_id, device_id) = ids(name).unzip();
    let (secondary_bus, subordinate_bus) = buses(&block.text).unzip();
    let text = &*block.text;
    let is_silent = reads_ones(block);
    let shows = |names: [&str; 2]| !is_silent && names.iter().any(|name| block.registers.contains_key(*name));
    Function {
        slot: with_domain(&block.slot),
        title: title(block),
        vendor_id,
        device_id,
        class_code: class_code(class_name),
        kind: kind(text),
        secondary_bus,
        subordinate_bus,
        is_virtual_function: block.title.contains("Virtual Function"),
        driver: first_group(&DRIVER, text).map(str::to_owned),
        bus_master: flag(text, "BusMaster"),
        power_state: power_state(text),
        numa_node: integer(text, &NODE),
        iommu_group: integer(text, &GROUP),
        link: shows(["LnkCap", "LnkSta"]).then(|| link(block)),
        control: shows(["DevCap", "DevCtl"]).then(|| control(block)),
        errors: if is_silent { None } else { errors(block) },
        contained: if is_silent { None } else { contained(block.register("DpcSta")) },
        unassigned_bars: UNASSIGNED.captures_iter(text).filter_map(|found| found[1].parse().ok()).collect(),
        acs_enabled: block.registers.get("ACSCtl").map(|shown| switched_on(shown, &ACS_SERVICES)),
        ats_enabled: flag(block.register("ATSCtl"), "Enable"),
        has_slot: first_group(&PORT_WITH_SLOT, text).map(|sign| sign == "+"),
        card_present: flag(block.register("SltSta"), "PresDet"),
        slot_off: slot_off(block),
        answers: is_silent.then_some(false),
        resizable_bars: resizable(text),
        cxl_protocols: switched_on(block.register("CXLCtl"), &CXL_PROTOCOLS),
        ..Function::default()
    }
}

fn title(block: &Block) -> String {
    let title = LISTED_LAST.replace(&block.title, "");
    if block.is_unnamed() { format!("{title}, line {}", block.line) } else { title.into_owned() }
}

fn ids(name: &str) -> Option<(u32, u32)> {
    let found = IDS.captures(name)?;
    let number = |group: usize| {
        let digits = found.get(group).or_else(|| found.get(group + 2))?.as_str();
        u32::from_str_radix(digits, 16).ok()
    };
    Some((number(1)?, number(2)?))
}

fn buses(text: &str) -> Option<(u8, u8)> {
    let found = BUSES.captures(text)?;
    Some((u8::from_str_radix(&found[1], 16).ok()?, u8::from_str_radix(&found[2], 16).ok()?))
}

fn class_code(name: &str) -> Option<u32> {
    let known = || CLASSES.into_iter().find(|(known, _)| *known == name).map(|(_, code)| code);
    match CLASS_CODE.captures(name) {
        Some(found) => {
            let digits = found.iter().skip(1).flatten().next()?.as_str();
            u32::from_str_radix(digits, 16).ok()
        }
        None => known(),
    }
}

fn power_state(text: &str) -> Option<String> {
    let shown = first_group(&POWER, text)?;
    Some(if shown == "D3" { "D3hot" } else { shown }.to_owned())
}

fn link(block: &Block) -> LinkEnd {
    let (capable, status, control) =
        (block.register("LnkCap"), block.register("LnkSta"), block.register("LnkCtl"));
    let max_lanes = lanes(capable);
    let lane_errors = block.registers.get("LaneErrStat");
    LinkEnd {
        max_speed_gtps: speed(capable),
        max_lanes,
        speed_gtps: speed(status),
        lanes: lanes(status),
        target_speed_gtps: speed(block.register("LnkCtl2")),
        rcb_bytes: first_group(&BOUNDARY, control).and_then(|size| size.parse().ok()),
        aspm_enabled: aspm_states(control, &ASPM_ENABLED),
        l0s_exit_ns: time_ns(capable, &L0S_EXIT),
        l1_exit_ns: time_ns(capable, &L1_EXIT),
        flit_mode: either_flag(block.register("LnkSta2"), &["Flit", "FltMode"]),
        active: if flag(capable, "LLActRep") == Some(true) { flag(status, "DLActive") } else { None },
        disabled: either_flag(control, &["LnkDisable", "Disabled"]),
        lane_errors: lane_errors.map(|shown| lanes_named(shown, max_lanes.unwrap_or(0))),
        aspm_supported: aspm_states(capable, &ASPM_SUPPORTED),
        l1_substates: block.registers.get("L1SubCtl1").map(|shown| substates(shown)),
        common_clock: flag(control, "CommClk"),
        retrained: flag(status, "BWMgmt").zip(flag(status, "ABWMgmt")).map(|(asked, alone)| asked || alone),
    }
}

/// Lanes of the lane error status, of those that the link has: the bits of the others are reserved.
fn lanes_named(shown: &str, lanes: u32) -> Vec<u32> {
    let named = first_group(&LANE_ERRORS, shown).unwrap_or_default();
    named.split_whitespace().filter_map(|lane| lane.parse().ok()).filter(|lane| *lane < lanes).collect()
}

fn aspm_states(register: &str, pattern: &Regex) -> Option<Vec<String>> {
    let shown = first_group(pattern, register)?;
    Some(ASPM_STATE.find_iter(shown).map(|state| state.as_str().to_owned()).collect())
}

fn substates(shown: &str) -> Vec<String> {
    SUBSTATES.iter().filter(|(bit, _)| shown.contains(bit)).map(|(_, name)| (*name).to_owned()).collect()
}

fn control(block: &Block) -> Control {
    let (capable, control) = (block.register("DevCap"), block.register("DevCtl"));
    let (capable_2, control_2) = (block.register("DevCap2"), block.register("DevCtl2"));
    let atomics = capable_2.split_once("AtomicOpsCap:").map_or("", |(_, shown)| shown);
    let atomics_set = control_2.split_once("AtomicOpsCtl:").map_or("", |(_, shown)| shown);
    Control {
        max_payload_bytes: size(capable, &MAX_PAYLOAD),
        mps_bytes: size(control, &MAX_PAYLOAD),
        mrrs_bytes: size(control, &MAX_READ_REQUEST),
        extended_tags_possible: flag(capable, "ExtTag"),
        extended_tags: flag(control, "ExtTag"),
        ten_bit_completer: flag(capable_2, "10BitTagComp"),
        ten_bit_requester: flag(capable_2, "10BitTagReq"),
        ten_bit_tags: flag(control_2, "10BitTagReq"),
        fourteen_bit_tags: flag(block.register("DevCtl3"), "14BitTagReq"),
        relaxed_ordering: flag(control, "RlxdOrd"),
        completion_timeout_off: flag(control_2, "TimeoutDis"),
        atomics_routed: flag(atomics, "Routing"),
        atomics_completed: (!atomics.is_empty()).then(|| switched_on(atomics, &ATOMICS)),
        atomics_requested: flag(atomics_set, "ReqEn"),
        atomics_blocked: flag(atomics_set, "EgressBlck"),
        ltr: if flag(capable_2, "LTR") == Some(true) { flag(control_2, "LTR") } else { None },
    }
}

/// Whether the slot's power is off; `Power+` in SltCtl means off, and counts where SltCap has a controller.
fn slot_off(block: &Block) -> Option<bool> {
    let switched = flag(block.register("SltCap"), "PwrCtrl") == Some(true);
    if switched { flag(block.register("SltCtl"), "Power") } else { Some(false) }
}

/// Why containment triggered; None if it did not.
fn contained(status: &str) -> Option<String> {
    let found = TRIGGERED.captures(status)?;
    let code = |bits: &str| u32::from_str_radix(bits, 2).unwrap_or(0);
    let reason = found.get(1).map_or(0, |bits| code(bits.as_str()));
    let extension = first_group(&TRIGGER_EXTENSION, status).map_or(0, code);
    Some(containment_reason(reason, extension).to_owned())
}

fn errors(block: &Block) -> Option<ErrorReporting> {
    let shown = |name: &str| block.registers.get(name).map(String::as_str);
    if ["AERCap", "CESta", "UESta", "RootErrSta"].into_iter().all(|name| shown(name).is_none()) {
        return None;
    }
    let control = block.register("AERCap");
    let messages = |root: &str| {
        let seen = ROOT_STATUS.iter().filter(|name| flag(root, name) == Some(true));
        seen.map(|name| (*name).to_owned()).collect()
    };
    Some(ErrorReporting {
        ecrc_generated: either_flag(control, &["ECRCGenEn", "CGenEn"]),
        ecrc_checked: either_flag(control, &["ECRCChkEn", "ChkEn"]),
        correctable_status: shown("CESta").map(set_bits),
        uncorrectable_status: shown("UESta").map(set_bits),
        uncorrectable_masked: shown("UEMsk").map(set_bits),
        root_status: shown("RootErrSta").map(messages),
        ..ErrorReporting::default()
    })
}

/// The names of the bits that a register shows as set.
fn set_bits(register: &str) -> Vec<String> {
    SET_BIT.captures_iter(register).map(|found| found[1].to_owned()).collect()
}

/// Those of the names that a register shows as on.
fn switched_on(register: &str, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .filter(|name| register.contains(&format!("{name}+")))
        .map(|name| (*name).to_owned())
        .collect()
}

fn resizable(text: &str) -> Vec<ResizableBar> {
    let Some((_, shown)) = text.split_once(RESIZABLE) else { return Vec::new() };
    let bar = |found: regex::Captures<'_>| {
        let largest = found[3].split_whitespace().filter_map(bytes).max()?;
        Some(ResizableBar {
            bar: found[1].parse().ok()?,
            size_bytes: bytes(&found[2])?,
            largest_bytes: largest,
        })
    };
    BAR.captures_iter(shown).take(BARS_MOST).filter_map(bar).collect()
}

/// A size as lspci shows it: `16GB`.
fn bytes(shown: &str) -> Option<u64> {
    let (number, unit) = shown.strip_suffix('B')?.split_at_checked(shown.len().checked_sub(2)?)?;
    let bits = [("K", 10), ("M", 20), ("G", 30), ("T", 40)].into_iter().find(|(name, _)| *name == unit)?.1;
    let plain = (1..=6).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| number.parse::<u64>().ok()).flatten().map(|number| number << bits)
}

fn speed(register: &str) -> Option<f64> {
    let shown = first_group(&SPEED, register)?;
    SPEEDS.into_iter().find(|speed| speed.to_string() == shown)
}

fn lanes(register: &str) -> Option<u32> {
    let lanes = first_group(&WIDTH, register)?.parse().ok()?;
    (lanes == 0 || LANES.contains(&lanes)).then_some(lanes)
}

fn size(register: &str, pattern: &Regex) -> Option<u32> {
    let size = first_group(pattern, register)?.parse().ok()?;
    PAYLOADS.contains(&size).then_some(size)
}

fn time_ns(register: &str, pattern: &Regex) -> Option<f64> {
    let found = pattern.captures(register)?;
    let number: f64 = found[1].parse().ok()?;
    Some(if &found[2] == "us" { number * 1e3 } else { number })
}

/// Whether the bit of a name is set; None if the register does not show it.
fn flag(register: &str, name: &str) -> Option<bool> {
    either_flag(register, &[name])
}

/// Whether the first bit with one of the names is set.
fn either_flag(register: &str, names: &[&str]) -> Option<bool> {
    names.iter().filter_map(|name| first_flag(register, name)).min().map(|(_, is_set)| is_set)
}

/// Where a name with a sign stands by itself, and whether the sign is a plus.
fn first_flag(register: &str, name: &str) -> Option<(usize, bool)> {
    let letters = register.as_bytes();
    register.match_indices(name).find_map(|(start, _)| {
        let before = start.checked_sub(1).and_then(|before| letters.get(before));
        let sign = letters.get(start + name.len())?;
        let stands_alone = !before.is_some_and(u8::is_ascii_alphanumeric) && matches!(sign, b'+' | b'-');
        stands_alone.then_some((start, *sign == b'+'))
    })
}

fn integer(text: &str, pattern: &Regex) -> Option<i64> {
    first_group(pattern, text).filter(|digits| digits.len() <= DIGITS_MOST)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::blocks::blocks;
    use super::*;

    fn shown(lines: &str) -> Function {
        function(
            &blocks(
                &format!("01:00.0 Ethernet controller: Example (rev 01)\n{lines}"),
                crate::stop::Stop::NEVER,
            )
            .unwrap()[0],
        )
    }

    #[test]
    fn registers_of_a_link_are_decoded() {
        let function = shown(concat!(
            "\tCapabilities: [40] Express (v2) Endpoint, MSI 00\n",
            "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x8, ASPM L0s L1, Exit Latency L0s <512ns, L1 <16us\n",
            "\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+\n",
            "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)\n",
            "\t\t\tTrErr- Train- BWMgmt+ ABWMgmt-\n",
        ));
        let link = function.link.unwrap();
        assert_eq!((link.max_speed_gtps, link.max_lanes), (Some(16.0), Some(8)));
        assert_eq!((link.speed_gtps, link.lanes), (Some(8.0), Some(4)));
        assert_eq!((link.l0s_exit_ns, link.l1_exit_ns), (Some(512.0), Some(16_000.0)));
        assert_eq!(link.aspm_supported.unwrap(), ["L0s", "L1"]);
        assert_eq!(link.aspm_enabled.unwrap(), ["L1"]);
        assert_eq!((link.common_clock, link.disabled, link.retrained), (Some(true), Some(false), Some(true)));
        assert_eq!((function.kind, &*function.title), (Some(Kind::Endpoint), "Ethernet controller: Example"));
    }

    #[test]
    fn a_flag_stands_by_itself() {
        assert_eq!(flag("ABWMgmt+ BWMgmt-", "BWMgmt"), Some(false));
        assert_eq!(flag("LTR LTR+", "LTR"), Some(true));
        assert_eq!((flag("", "LTR"), flag("LTR", "LTR")), (None, None));
        assert_eq!(either_flag("Disabled- LnkDisable+", &["LnkDisable", "Disabled"]), Some(false));
    }

    #[test]
    fn errors_and_services_are_decoded() {
        let function = shown(concat!(
            "\tCapabilities: [100 v1] Advanced Error Reporting\n\t\tUESta:\tDLP- SDES+ MalfTLP+\n",
            "\t\tCESta:\tRxErr+ BadTLP-\n\t\tAERCap:\tECRCGenCap+ ECRCGenEn- ECRCChkEn+\n",
            "\t\tRootSta: CERcvd+ MultCERcvd- UERcvd-\n",
            "\tCapabilities: [200 v1] Access Control Services\n\t\tACSCtl:\tSrcValid+ ReqRedir- CmpltRedir+\n",
            "\t\tDpcSta:\tTrigger+ Reason:10 TriggerExt:00\n",
        ));
        let errors = function.errors.unwrap();
        assert_eq!(errors.uncorrectable_status.unwrap(), ["SDES", "MalfTLP"]);
        assert_eq!(errors.correctable_status.unwrap(), ["RxErr"]);
        assert_eq!((errors.ecrc_generated, errors.ecrc_checked), (Some(false), Some(true)));
        assert_eq!(errors.root_status.unwrap(), ["CERcvd"]);
        assert_eq!(function.acs_enabled.unwrap(), ["SrcValid", "CmpltRedir"]);
        assert_eq!(function.contained.unwrap(), "an ERR_FATAL message from below");
    }

    #[test]
    fn a_device_that_reads_as_ones_does_not_answer_and_has_no_link() {
        let function = shown("\t!!! Unknown header type 7f\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n");
        assert_eq!((function.answers, function.link), (Some(false), None));
    }

    #[test]
    fn sizes_of_bars_are_read() {
        let function = shown(
            "\tCapabilities: [1 v1] Physical Resizable BAR\n\t\tBAR 1: current size: 256MB, supported: 256MB 16GB\n",
        );
        let bar = ResizableBar { bar: 1, size_bytes: 1 << 28, largest_bytes: 1 << 34 };
        assert_eq!(function.resizable_bars, [bar]);
        assert_eq!((bytes("B"), bytes("KB"), bytes("1234567KB"), bytes("éB")), (None, None, None, None));
    }

    #[test]
    fn classes_and_ids_are_found_in_any_verbosity() {
        assert_eq!(class_code("Ethernet controller [0200]"), Some(0x0200));
        assert_eq!(
            (class_code("0604"), class_code("Class 0108"), class_code("Thing")),
            (Some(0x0604), Some(0x0108), None)
        );
        assert_eq!(ids("15b3:1021 (rev 01)"), Some((0x15b3, 0x1021)));
        assert_eq!(ids("Example [15b3:1021]"), Some((0x15b3, 0x1021)));
    }
}
