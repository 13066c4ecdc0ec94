//! Forms of texts that show no PCI function, for messages: what was pasted by mistake.

use std::sync::LazyLock;

use regex::Regex;

use crate::letters::first_letters;
use crate::pattern::compiled;

const HEAD_LETTERS: usize = 65_536;

static FORMS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    [
        ("binary data", r"\x00"),
        ("a shell's error message", r"(?:command )?not found$|Permission denied$|No such file or directory$"),
        ("the output of lshw", r#"^\s*\*-\w+|bus info: pci@|"id" ?: ?"\w+".*"class" ?:"#),
        ("the output of lstopo", r"^\s*(?:Machine \(|HostBridge|PCIBridge|<object type=)"),
        ("the output of nvidia-smi -q", "^==============NVSMI LOG|GPU Link Info"),
        ("the table of nvidia-smi", "NVIDIA-SMI [0-9]"),
        ("the output of lsusb", "^Bus [0-9]{3} Device [0-9]{3}: ID "),
        ("the output of lscpu", r"^(?:Architecture|CPU op-mode\(s\)): "),
        ("the output of dmidecode", "^Handle 0x[0-9A-F]{4}, DMI type"),
        ("the output of ethtool", r"^Settings for |^\s*Supported link modes: "),
        ("the output of ibstat", r"^CA '\w+'|CA type: "),
        ("the output of inxi", r"^(?:System|Machine|Graphics|Network):$|^\s*Device-1: "),
        ("the output of hwinfo", r"^[0-9]{2}: PCI .*\[Created at"),
        ("a device tree", r#"^/dts-v1/;|compatible = ""#),
        ("the table of /proc/iomem", r"^\s*[0-9a-f]{8,16}-[0-9a-f]{8,16} : "),
        ("the output of fio", r"^\s*(?:read|write): IOPS="),
        ("the output of perftest", "^ *#bytes +#iterations"),
        ("an HTML page", r"<!DOCTYPE html|<html\b"),
        ("a hex dump without the line that names its function", "^[0-9a-f]{2,8}: (?:[0-9a-f]{2,4} ){4}"),
        ("a kernel log without a message about PCIe", r"^\[ *[0-9]+\.[0-9]{6}\] "),
        ("JSON", r"\A\s*[\[{]"),
        ("XML", r"\A\s*<[?!\w]"),
    ]
    .map(|(form, pattern)| (form, compiled(&format!("(?m){pattern}"))))
    .into()
});

/// The form of a text as words: `the output of lshw`; None if it is none that is known.
pub(crate) fn form_of(text: &str) -> Option<&'static str> {
    let head = first_letters(text, HEAD_LETTERS);
    FORMS.iter().find(|(_, pattern)| pattern.is_match(head)).map(|(form, _)| *form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_known_by_their_lines() {
        for (text, form) in [
            ("a\0b", "binary data"),
            ("  *-network\n", "the output of lshw"),
            ("| NVIDIA-SMI 550.54 |", "the table of nvidia-smi"),
            ("Bus 001 Device 001: ID 1d6b:0002 Linux\n", "the output of lsusb"),
            ("$ ethtool eth0\nSettings for eth0:\n", "the output of ethtool"),
            ("00: 86 80 00 00 00\n", "a hex dump without the line that names its function"),
            ("[    0.000000] Linux version\n", "a kernel log without a message about PCIe"),
            (" [1]", "JSON"),
            ("<a/>", "XML"),
        ] {
            assert_eq!(form_of(text), Some(form), "{text}");
        }
        assert_eq!(form_of("hello"), None);
    }
}
