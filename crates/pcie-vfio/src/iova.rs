//! Choosing bus addresses, from what the kernel says can be used.

use crate::obstacle;
use pcie_refusal::Refusal;

/// Where interrupts are sent on x86: no memory may be there, whatever the kernel says.
const INTERRUPTS: (u64, u64) = (0xfee0_0000, 0xfeef_ffff);
/// Addresses below this are left alone: an address of 0, or nearly so, is what broken things use.
const FIRST: u64 = 1 << 20;

/// The lowest range of `bytes` bytes that begins at a multiple of `alignment`, a power of two, lies within one of `ranges`
/// (first and last address), and touches none of `taken` (first address, bytes).
pub(crate) fn choose(
    ranges: &[(u64, u64)],
    taken: &[(u64, u64)],
    bytes: u64,
    alignment: u64,
) -> Result<u64, Refusal> {
    let none = || obstacle::no_room(bytes);
    let Some(extent) = bytes.checked_sub(1) else { return Err(none()) };
    let blocked: Vec<(u64, u64)> = taken
        .iter()
        .map(|&(start, length)| (start, start.saturating_add(length - 1)))
        .chain([INTERRUPTS])
        .collect();
    let mut best: Option<u64> = None;
    for &(first, last) in ranges {
        let mut start = first.max(FIRST).checked_next_multiple_of(alignment);
        while let Some(candidate) = start {
            let Some(end) = candidate.checked_add(extent).filter(|end| *end <= last) else { break };
            let hit = blocked.iter().find(|(low, high)| *low <= end && candidate <= *high);
            match hit {
                None => {
                    best = Some(best.map_or(candidate, |other| other.min(candidate)));
                    break;
                }
                Some((_, high)) => {
                    start = high.checked_add(1).and_then(|next| next.checked_next_multiple_of(alignment));
                }
            }
        }
    }
    best.ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: [(u64, u64); 2] = [(0, 0xfedf_ffff), (0xfef0_0000, 0xffff_ffff_ffff)];

    #[test]
    fn ranges_are_aligned_and_beside_what_is_taken() {
        assert_eq!(choose(&X86, &[], 64 << 20, 2 << 20), Ok(2 << 20));
        assert_eq!(choose(&X86, &[(2 << 20, 64 << 20)], 4096, 4096), Ok(1 << 20));
        assert_eq!(choose(&X86, &[(2 << 20, 64 << 20)], 4 << 20, 2 << 20), Ok(66 << 20));
    }

    #[test]
    fn nothing_is_where_interrupts_go() {
        assert_eq!(choose(&[(0, u64::MAX)], &[], 3 << 30, 1 << 30), Ok(4 << 30));
        assert_eq!(choose(&[(0xfee0_0000, u64::MAX)], &[], 4096, 4096), Ok(0xfef0_0000));
    }

    #[test]
    fn where_there_is_no_room_it_says_so() {
        for ranges in [&[][..], &[(0, 0xffff)], &[(u64::MAX - 4095, u64::MAX)]] {
            let told = choose(ranges, &[], 1 << 20, 4096).map_err(|error| error.to_string());
            assert!(told.is_err_and(|text| text.contains("1048576 bytes of bus addresses")));
        }
        assert!(choose(&X86, &[], 0, 4096).is_err());
    }
}
