//! Conflicts inside the host: a read waits for a busy ring or agent.
//!
//! They spread the latencies of single reads from cache and memory: the measured distributions have a tail of
//! some 30 ns behind their main mode. Under load, the spread of the busy root complex includes them.

use crate::profile::RootComplex;
use pcie_time::Picoseconds;

/// Values of the part of a draw that is used.
const VALUES: u32 = 1 << 16;

/// The waits of reads in conflicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// Values below this mean a conflict.
    met: u32,
    longest: u64,
}

impl Conflict {
    pub(crate) fn new(complex: &RootComplex) -> Self {
        Self {
            met: (complex.conflict_share * f64::from(VALUES)).round() as u32,
            longest: Picoseconds::from_ns(complex.conflict_ns).0,
        }
    }

    /// The wait of a read, from a draw.
    ///
    /// Uses bits 32 to 47, the low part of a half; other uses take the high bits, and are independent.
    #[inline]
    pub(crate) fn wait(self, bits: u64) -> Picoseconds {
        let value = (bits >> 32) as u32 % VALUES;
        if value < self.met {
            Picoseconds(self.longest * u64::from(self.met - value) / u64::from(self.met))
        } else {
            Picoseconds::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;
    use pcie_time::{Draws, Stream};

    #[test]
    fn a_share_of_reads_waits_uniformly_up_to_the_longest() {
        let mut complex = snb().system().host.root_complex.clone();
        (complex.conflict_share, complex.conflict_ns) = (0.02, 30.0);
        let (conflict, draws) = (Conflict::new(&complex), Draws::new(1, 0, Stream::Transaction));
        let waits: Vec<u64> = (0..200_000).map(|index| conflict.wait(draws.bits(index)).0).collect();
        let met = waits.iter().filter(|wait| **wait > 0).count() as f64;
        let mean_ns = waits.iter().sum::<u64>() as f64 / met / 1e3;
        assert!((met / waits.len() as f64 - 0.02).abs() < 0.001, "{met}");
        assert!((mean_ns - 15.0).abs() < 0.5, "{mean_ns}");
        assert!(waits.iter().max() <= Some(&30_000));
        complex.conflict_share = 0.0;
        assert_eq!(Conflict::new(&complex).wait(0), Picoseconds::ZERO);
    }
}
