//! The registers that the lines of one function show: name and text, and bytes of a hex dump.

use std::collections::HashMap;

use crate::letters::{expand_tabs, trim};
use crate::pattern::{Pattern, compiled};

/// Blanks before a register; deeper lines continue it.
const INDENTATION: usize = 16;
const SPACE_BYTES: usize = 4096;
/// Registers that are found in a text without its indentation, too.
const REGISTERS: [&str; 44] = [
    "DevCap",
    "DevCtl",
    "DevSta",
    "DevCap2",
    "DevCtl2",
    "DevCap3",
    "DevCtl3",
    "DevSta3",
    "LnkCap",
    "LnkCtl",
    "LnkSta",
    "LnkCap2",
    "LnkCtl2",
    "LnkSta2",
    "LnkCtl3",
    "LaneErrStat",
    "SltCap",
    "SltCtl",
    "SltSta",
    "RootCap",
    "RootCtl",
    "RootSta",
    "RootCmd",
    "ErrorSrc",
    "UESta",
    "UEMsk",
    "UESvrt",
    "CESta",
    "CEMsk",
    "AERCap",
    "HeaderLog",
    "ACSCap",
    "ACSCtl",
    "ARICap",
    "ARICtl",
    "CXLCap",
    "CXLCtl",
    "CXLSta",
    "DpcCap",
    "DpcCtl",
    "DpcSta",
    "L1SubCap",
    "L1SubCtl1",
    "L1SubCtl2",
];
const AFTER_REGISTERS: [&str; 3] = ["Capabilities:", "Kernel driver in use:", "Kernel modules:"];

static REGISTER: Pattern =
    Pattern::new(|| compiled(r"^( *)([A-Z][A-Za-z]+[0-9]?|L1SubCap|L1SubCtl[12]):(?:\s+(.*))?$"));
static HEX: Pattern = Pattern::new(|| compiled(r"^\s*([0-9a-f]{2,3}): ((?:[0-9a-f]{2} ){0,15}[0-9a-f]{2})$"));

/// Whether a line starts a register.
pub(super) fn is_register(line: &str) -> bool {
    let line = expand_tabs(line);
    REGISTER.captures(&line).is_some_and(|found| REGISTERS.contains(&&found[2]))
}

/// Whether a line is of a hex dump.
pub(super) fn is_hex(line: &str) -> bool {
    HEX.is_match(line)
}

/// Text of each decoded register, continuation lines included: `DevCtl`, `LnkSta`, `AERCap`...
pub(super) fn registers<'a>(lines: impl Iterator<Item = &'a str>) -> HashMap<String, String> {
    let mut registers: HashMap<String, String> = HashMap::new();
    let mut open: Option<String> = None;
    for line in lines {
        let expanded = expand_tabs(line);
        let register = REGISTER
            .captures(&expanded)
            .filter(|found| found[1].len() == INDENTATION || REGISTERS.contains(&&found[2]));
        if let Some(register) = register {
            let value = register.get(3).map_or("", |value| value.as_str());
            // The root status of the error capability has the name of that of the PCI Express capability.
            let is_root_error = &register[2] == "RootSta" && value.contains("CERcvd");
            let key = if is_root_error { "RootErrSta" } else { &register[2] };
            // The first register of a name counts: several capabilities have `Caps`.
            open = (!registers.contains_key(key)).then(|| key.to_owned());
            registers.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        } else if AFTER_REGISTERS.iter().any(|after| line.trim_start().starts_with(after)) {
            open = None;
        } else if let Some(text) = open.as_ref().and_then(|name| registers.get_mut(name)) {
            text.push(' ');
            text.push_str(trim(line));
        }
    }
    registers
}

/// The start of a configuration space, from a hex dump (`-x` to `-xxxx`); empty without one.
pub(super) fn space<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut space = Vec::new();
    for found in lines.filter_map(|line| HEX.captures(line)) {
        if usize::from_str_radix(&found[1], 16) == Ok(space.len()) {
            space.extend(found[2].split(' ').filter_map(|byte| u8::from_str_radix(byte, 16).ok()));
        }
    }
    space.truncate(SPACE_BYTES);
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_has_its_continuation_lines() {
        let text = "\t\tDevCtl:\tCorrErr-\n\t\t\tMaxPayload 256 bytes\n\t\tLnkSta:\tSpeed 8GT/s\n\tKernel modules: a\n b";
        let found = registers(text.lines());
        assert_eq!(found["DevCtl"], "CorrErr- MaxPayload 256 bytes");
        assert_eq!(found["LnkSta"], "Speed 8GT/s");
    }

    #[test]
    fn the_first_register_of_a_name_counts_and_the_error_status_of_a_root_has_its_own() {
        let found = registers("RootSta: PME-\nRootSta: CERcvd+\n  more\nRootSta: second\n  lost".lines());
        assert_eq!(found["RootSta"], "PME-");
        assert_eq!(found["RootErrSta"], "CERcvd+ more");
    }

    #[test]
    fn rows_of_a_hex_dump_follow_each_other() {
        assert_eq!(space("00: 86 80\n10: ff\n02: 01".lines()), [0x86, 0x80, 0x01]);
        assert!(is_hex("00: 86 80") && !is_hex("00: 86 8"));
    }
}
