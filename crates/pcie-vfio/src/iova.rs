//! Chooses bus addresses within the ranges that the kernel allows.

use crate::obstacle;
use pcie_refusal::Refusal;

/// Interrupt addresses on x86: never used for memory, even where the kernel allows them.
const INTERRUPTS: (u64, u64) = (0xfee0_0000, 0xfeef_ffff);
/// Lowest address used: faulty devices access addresses near 0.
const FIRST: u64 = 1 << 20;

/// The lowest aligned address of `bytes` free bytes within one of `ranges` (first and last address), outside
/// `taken` (first address, bytes). `alignment` is a power of two.
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
    fn addresses_are_aligned_and_free() {
        assert_eq!(choose(&X86, &[], 64 << 20, 2 << 20), Ok(2 << 20));
        assert_eq!(choose(&X86, &[(2 << 20, 64 << 20)], 4096, 4096), Ok(1 << 20));
        assert_eq!(choose(&X86, &[(2 << 20, 64 << 20)], 4 << 20, 2 << 20), Ok(66 << 20));
    }

    #[test]
    fn interrupt_addresses_are_avoided() {
        assert_eq!(choose(&[(0, u64::MAX)], &[], 3 << 30, 1 << 30), Ok(4 << 30));
        assert_eq!(choose(&[(0xfee0_0000, u64::MAX)], &[], 4096, 4096), Ok(0xfef0_0000));
    }

    #[test]
    fn missing_room_is_refused() {
        for ranges in [&[][..], &[(0, 0xffff)], &[(u64::MAX - 4095, u64::MAX)]] {
            let chosen = choose(ranges, &[], 1 << 20, 4096).map_err(|error| error.to_string());
            assert!(chosen.is_err_and(|text| text.contains("1048576 bytes of bus addresses")));
        }
        assert!(choose(&X86, &[], 0, 4096).is_err());
    }
}
