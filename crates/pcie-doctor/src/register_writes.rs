//! Finished `setpci` lines for fixes that are one register write.
//!
//! A mask keeps the other bits of the register. Every line is risky: a write may hang the machine, a driver may
//! undo it, and the next reset does. A fix that needs both ends of a link, or several writes, has a line for each, in
//! the order in which they are safe. Registers are those of the PCI Express capability (PCIe 6.0, section 7.5.3).

use pcie_evidence::Function;
use pcie_evidence::tree::{PAYLOADS, SPEEDS};

const DEVICE_CONTROL: u32 = 0x08;
const LINK_CONTROL: u32 = 0x10;
const DEVICE_CONTROL_2: u32 = 0x28;
const LINK_CONTROL_2: u32 = 0x30;
const RETRAIN: u32 = 1 << 5;

/// Set the maximum read request size: DevCtl 14:12. None for a size that no register has.
pub(crate) fn set_mrrs(function: &Function, mrrs_bytes: u32) -> Option<String> {
    Some(write(&[function], DEVICE_CONTROL, size_code(mrrs_bytes)? << 12, 7 << 12))
}

/// Switch relaxed ordering on or off: DevCtl 4.
pub(crate) fn set_relaxed_ordering(functions: &[&Function], is_on: bool) -> String {
    write(functions, DEVICE_CONTROL, u32::from(is_on) << 4, 1 << 4)
}

/// Switch 8-bit tags on: DevCtl 8. The device must have no read in flight: unload its driver first.
pub(crate) fn set_extended_tags(function: &Function) -> String {
    write(&[function], DEVICE_CONTROL, 1 << 8, 1 << 8)
}

/// Switch ASPM off at the lower end, which has to come first (section 5.4.1.4): LnkCtl 1:0.
pub(crate) fn switch_aspm_off(device: &Function) -> String {
    write(&[device], LINK_CONTROL, 0, 3)
}

/// Switch ASPM off at the lower end, then at the upper one (section 5.4.1.4).
pub(crate) fn switch_aspm_off_at_both_ends(port: &Function, devices: &[&Function]) -> [String; 2] {
    [write(devices, LINK_CONTROL, 0, 3), write(&[port], LINK_CONTROL, 0, 3)]
}

/// Set the maximum payload size of functions in this order: DevCtl 7:5. None for a size that no register has.
///
/// What sends less than before comes first; what accepts more comes first.
pub(crate) fn set_mps(functions: &[&Function], mps_bytes: u32) -> Vec<String> {
    let Some(code) = size_code(mps_bytes) else { return Vec::new() };
    functions.iter().map(|one| write(&[one], DEVICE_CONTROL, code << 5, 7 << 5)).collect()
}

/// Raise the target speed of a port and retrain its link: LnkCtl2 3:0, LnkCtl 5.
pub(crate) fn retrain(port: &Function, speed_gtps: f64) -> Vec<String> {
    let Some(code) = (1..).zip(SPEEDS).find_map(|(code, known)| (known == speed_gtps).then_some(code)) else {
        return Vec::new();
    };
    vec![write(&[port], LINK_CONTROL_2, code, 0xF), write(&[port], LINK_CONTROL, RETRAIN, RETRAIN)]
}

/// Clear Link Disable of a port: LnkCtl 4.
pub(crate) fn enable_link(port: &Function) -> String {
    write(&[port], LINK_CONTROL, 0, 1 << 4)
}

/// Clear Completion Timeout Disable: DevCtl2 4.
pub(crate) fn switch_completion_timeout_on(function: &Function) -> String {
    write(&[function], DEVICE_CONTROL_2, 0, 1 << 4)
}

/// Clear P2P Request Redirect and P2P Completion Redirect: ACS control 2 and 3 (section 7.7.11.3).
pub(crate) fn clear_redirection(port: &Function) -> String {
    format!("sudo setpci -s {} ECAP_ACS+6.w=0000:000c", port.slot)
}

fn size_code(bytes: u32) -> Option<u32> {
    (0..).zip(PAYLOADS).find_map(|(code, known)| (known == bytes).then_some(code))
}

fn write(functions: &[&Function], offset: u32, bits: u32, mask: u32) -> String {
    let writes = functions
        .iter()
        .map(|function| format!(" -s {} CAP_EXP+{offset:x}.w={bits:04x}:{mask:04x}", function.slot));
    std::iter::once("sudo setpci".to_owned()).chain(writes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_write_the_bits_of_the_register() {
        let port = Function { slot: "0000:00:01.0".to_owned(), ..Function::default() };
        let card = Function { slot: "0000:01:00.0".to_owned(), ..Function::default() };
        assert_eq!(set_mrrs(&card, 4096).unwrap(), "sudo setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000");
        assert_eq!(set_mps(&[&card], 256), ["sudo setpci -s 0000:01:00.0 CAP_EXP+8.w=0020:00e0"]);
        assert_eq!(set_mps(&[&card], 300), Vec::<String>::new());
        assert_eq!(
            retrain(&port, 16.0),
            [
                "sudo setpci -s 0000:00:01.0 CAP_EXP+30.w=0004:000f",
                "sudo setpci -s 0000:00:01.0 CAP_EXP+10.w=0020:0020"
            ]
        );
        assert_eq!(
            set_relaxed_ordering(&[&port, &card], true),
            "sudo setpci -s 0000:00:01.0 CAP_EXP+8.w=0010:0010 -s 0000:01:00.0 CAP_EXP+8.w=0010:0010"
        );
    }
}
