//! A pointer chase in memory: each unit holds the address of the next, so that a read has to wait for the one
//! before it.

use std::hint::black_box;
use std::ptr::NonNull;

/// Bytes of an address.
const ADDRESS_BYTES: usize = size_of::<*const u8>();
/// Reads in an iteration of the loop, so that counting them costs less than the least latency of a read.
const UNROLLED: u64 = 16;

/// A cycle of addresses laid out in a mapping, and the chase's current position on it.
#[derive(Debug)]
pub(crate) struct Chain {
    at: NonNull<u8>,
}

impl Chain {
    /// Writes the address of each offset to the offset before it, and that of the first to the last; none for an
    /// empty cycle, or if an address is not within the mapping or overlaps another.
    ///
    /// # Safety
    /// `start` has `length` mapped bytes, to none of which a reference exists. While the chain is used, they stay
    /// mapped and nothing else writes them.
    pub(crate) unsafe fn laid_out(start: NonNull<u8>, length: usize, cycle: &[u64]) -> Option<Self> {
        let last = length.checked_sub(ADDRESS_BYTES)?;
        let fits = |offset: &u64| usize::try_from(*offset).is_ok_and(|offset| offset <= last);
        if !cycle.iter().all(fits) {
            return None;
        }
        // SAFETY: all offsets are within the mapping.
        let address = |offset: u64| unsafe { start.add(offset as usize) };
        let first = address(*cycle.first()?);
        let links = || {
            let next = cycle.iter().skip(1).copied().map(address).chain([first]);
            cycle.iter().map(|offset| address(*offset).cast::<NonNull<u8>>()).zip(next)
        };
        for (at, next) in links() {
            // SAFETY: an address fits there, within the mapping.
            unsafe { at.write_unaligned(next) };
        }
        // An address that another one overlaps has changed.
        // SAFETY: the address is within the mapping. It is read as a number: every value is one.
        let is_whole = |(at, next): (NonNull<NonNull<u8>>, NonNull<u8>)| unsafe {
            at.cast::<usize>().read_unaligned() == next.as_ptr() as usize
        };
        links().all(is_whole).then_some(Self { at: first })
    }

    /// Follows the chain for `reads` reads from where it is.
    #[inline(never)]
    pub(crate) fn follow(&mut self, reads: u64) {
        let mut at = self.at;
        // SAFETY: `at` is on the cycle that `laid_out` wrote, whose addresses have not changed: each of them is
        // mapped and holds the next.
        let next = |at: NonNull<u8>| unsafe { at.cast::<NonNull<u8>>().read_unaligned() };
        for _ in 0..reads / UNROLLED {
            for _ in 0..UNROLLED {
                at = next(at);
            }
        }
        for _ in 0..reads % UNROLLED {
            at = next(at);
        }
        self.at = black_box(at);
    }

    #[cfg(test)]
    pub(crate) fn position(&self) -> usize {
        self.at.as_ptr() as usize
    }
}

#[cfg(test)]
mod tests {
    use crate::buffer::Buffer;
    use crate::options::PageSize;
    use crate::topology::Topology;

    fn buffer() -> Buffer {
        Buffer::allocate(4096, PageSize::FourKib, None, &Topology::here()).unwrap()
    }

    #[test]
    fn chase_visits_the_offsets_in_order_and_begins_again() {
        let mut buffer = buffer();
        let cycle = [0, 640, 64, 4088, 73];
        assert!(buffer.link(&cycle));
        let start = buffer.address();
        let chain = buffer.chain_mut().unwrap();
        for reads in [0, 1, 1, 1, 1, 1, 16, 37, 5_000_003] {
            let before =
                cycle.iter().position(|offset| start + *offset as usize == chain.position()).unwrap();
            chain.follow(reads);
            let expected = cycle[(before + reads as usize) % cycle.len()];
            assert_eq!(chain.position() - start, expected as usize);
        }
    }

    #[test]
    fn chain_ends_when_anything_may_have_been_written() {
        type Write = fn(&mut Buffer);
        let writes: [Write; 5] = [
            |buffer| assert!(buffer.fill(0, 1, 0)),
            |buffer| assert!(buffer.copy_in(64, &[1])),
            |buffer| assert!(buffer.put_words(0, &[1])),
            |buffer| buffer.own_bytes_mut().unwrap()[0] = 1,
            Buffer::lend,
        ];
        for write in writes {
            let mut buffer = buffer();
            assert!(buffer.link(&[0, 64]));
            buffer.rewrite(0);
            assert!(buffer.chain_mut().is_some());
            write(&mut buffer);
            assert!(buffer.chain_mut().is_none());
        }
    }

    #[test]
    fn chain_that_overlaps_leaves_the_buffer_or_is_lent_is_refused() {
        let mut buffer = buffer();
        assert!(!buffer.link(&[0, 4089]) && !buffer.link(&[u64::MAX]) && !buffer.link(&[]));
        assert!(!buffer.link(&[0, 64, 65]));
        buffer.lend();
        assert!(!buffer.link(&[0]));
    }
}
