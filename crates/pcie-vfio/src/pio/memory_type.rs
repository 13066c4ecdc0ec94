//! The memory type that the kernel granted to a mapping, from x86's list of memory types in debugfs.
//!
//! The kernel gives two mappings of the same bytes one type, that of the first: a mapping of `resourceN_wc`
//! may be granted `uncached-minus`. Only root can read the list, and only where debugfs is mounted.

use std::ops::Range;

/// The list, below the root of the machine's files.
pub(super) const LIST: &str = "sys/kernel/debug/x86/pat_memtype_list";
/// Times that the list is read before a mapping counts as not listed: the kernel walks it by number, and misses
/// entries while other mappings come and go.
pub(super) const READS: u32 = 4;

/// The type of the mapping of exactly these addresses, in the kernel's words: `write-combining`,
/// `uncached-minus`, `uncached`, `write-back`, `write-through` or `write-protected`. None if unlisted.
pub(super) fn granted(list: &str, addresses: &Range<u64>) -> Option<String> {
    list.lines().filter_map(entry).find(|(listed, _)| listed == addresses).map(|(_, name)| name.to_owned())
}

/// An entry (`arch/x86/mm/pat/memtype.c`): `PAT: [mem 0xfd000000-0xfd010000] write-combining`, or of older
/// kernels `write-combining @ 0xfd000000-0xfd010000`. The end is exclusive in both.
fn entry(line: &str) -> Option<(Range<u64>, &str)> {
    let (extent, name) = match line.trim().strip_prefix("PAT: [mem ") {
        Some(rest) => rest.split_once("] ")?,
        None => line.trim().split_once(" @ ").map(|(name, extent)| (extent, name))?,
    };
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (start, end) = extent.split_once('-')?;
    Some((address(start)?..address(end)?, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of kernel 6.1, with two mappings of one part of a BAR.
    const NEW: &str = "PAT memtype list:
PAT: [mem 0x00000000bffda000-0x00000000bffdb000] write-back
PAT: [mem 0x00000000f0400000-0x00000000f0410000] write-combining
PAT: [mem 0x00000000f0400000-0x00000000f0410000] write-combining
PAT: [mem 0x00000000f0400000-0x00000000f0401000] uncached-minus
PAT: [mem 0x00000000fed00000-0x00000000fed01000] uncached-minus
PAT: [mem 0x00000380fd000000-0x00000380fd010000] write-combining
";
    /// In the form of kernel 4.15.
    const OLD: &str = "PAT memtype list:
uncached-minus @ 0xfed90000-0xfed91000
write-combining @ 0xfd000000-0xfd001000
write-back @ 0xbf7d0000-0xbf7d1000
";

    #[test]
    fn type_is_that_of_exactly_the_mapped_addresses() {
        for (list, addresses, expected) in [
            (NEW, 0xf040_0000..0xf041_0000, Some("write-combining")),
            (NEW, 0xf040_0000..0xf040_1000, Some("uncached-minus")),
            (NEW, 0x380_fd00_0000..0x380_fd01_0000, Some("write-combining")),
            (NEW, 0xf040_0000..0xf042_0000, None),
            (NEW, 0xf041_0000..0xf042_0000, None),
            (OLD, 0xfd00_0000..0xfd00_1000, Some("write-combining")),
            (OLD, 0xfed9_0000..0xfed9_1000, Some("uncached-minus")),
            (OLD, 0xfd00_0000..0xfd00_2000, None),
        ] {
            assert_eq!(granted(list, &addresses).as_deref(), expected, "{addresses:x?}");
        }
    }

    #[test]
    fn lines_of_another_form_are_passed_over() {
        for line in [
            "",
            "PAT memtype list:",
            "PAT: [mem 0x1000-0x2000]",
            "PAT: [mem 0x1000] write-back",
            "PAT: [mem 1000-2000] write-back",
            "PAT: [mem 0x10000000000000000-0x2] write-back",
            "write-back @ 0x1000",
            "write-back 0x1000-0x2000",
        ] {
            assert_eq!(entry(line), None, "{line}");
        }
        assert_eq!(entry("PAT: [mem 0x1000-0x2000] write-back\r"), Some((0x1000..0x2000, "write-back")));
    }
}
