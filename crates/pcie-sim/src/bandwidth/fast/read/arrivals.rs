//! Arrivals of completions at the device, which a DLLP acknowledges each.

use crate::bandwidth::fast::NEVER;
use crate::bandwidth::fast::layouts::FEW;
use pcie_time::Picoseconds;

/// Acknowledged arrivals to keep until they are dropped.
const GONE_MOST: usize = 256;

/// The arrivals in order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Those from `arrived` on mean nothing.
    times: Vec<Picoseconds>,
    arrived: usize,
    acknowledged: usize,
}

impl Arrivals {
    /// The first `count` of some completions arrive.
    #[inline(always)]
    pub(super) fn add_few(&mut self, times: [Picoseconds; FEW], count: usize) {
        if self.times.len() < self.arrived + FEW {
            self.make_room();
        }
        self.times[self.arrived..self.arrived + FEW].copy_from_slice(&times);
        self.arrived += count;
    }

    /// A completion arrives.
    #[inline(always)]
    pub(super) fn add(&mut self, time: Picoseconds) {
        if self.times.len() < self.arrived + FEW {
            self.make_room();
        }
        self.times[self.arrived] = time;
        self.arrived += 1;
    }

    #[cold]
    fn make_room(&mut self) {
        self.times.resize(2 * self.times.len() + FEW, NEVER);
    }

    /// The first arrival that is not acknowledged; [`NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn next(&self) -> Picoseconds {
        if self.acknowledged < self.arrived { self.times[self.acknowledged] } else { NEVER }
    }

    #[inline(always)]
    pub(super) fn acknowledge(&mut self) {
        self.acknowledged += 1;
    }

    /// Drops acknowledged arrivals, once they are many.
    pub(super) fn forget(&mut self) {
        if self.acknowledged > GONE_MOST {
            self.times.copy_within(self.acknowledged..self.arrived, 0);
            self.arrived -= self.acknowledged;
            self.acknowledged = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_acknowledged_in_order_however_many_come_at_once() {
        let mut arrivals = Arrivals::default();
        let (mut came, mut seen) = (0, 0);
        for round in 0..1000 {
            for _ in 0..round % 17 {
                arrivals.add(Picoseconds(came));
                came += 1;
            }
            let count = round % (FEW + 1);
            arrivals.add_few(std::array::from_fn(|nth| Picoseconds(came + nth as u64)), count);
            came += count as u64;
            while seen + (round as u64 % 9) < came {
                assert_eq!(arrivals.next(), Picoseconds(seen));
                arrivals.acknowledge();
                seen += 1;
            }
            arrivals.forget();
        }
        while seen < came {
            assert_eq!(arrivals.next(), Picoseconds(seen));
            arrivals.acknowledge();
            seen += 1;
        }
        assert_eq!(arrivals.next(), NEVER);
    }
}
