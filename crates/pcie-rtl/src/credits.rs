//! The credits of the core, counted by the host: a core that sends without them is refused, as a root port would.

use crate::wire::Credit;
use pcie_port::{Tlp, Units};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Credits that the core has left, and those that are on their way back.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    left: [i64; 3],
    /// Clock, and which.
    returning: BinaryHeap<Reverse<(u64, [i64; 3])>>,
}

/// Kinds, in the order of a ledger.
const KINDS: [&str; 3] = ["posted header", "posted data", "non-posted header"];

fn numbers(units: Units) -> [i64; 3] {
    [units.posted_headers, units.posted_data, units.non_posted_headers].map(i64::from)
}

impl Ledger {
    /// Notes credits that reach the core at a clock: those that are advertised, or those of a TLP.
    pub(crate) fn give(&mut self, credit: &Credit) {
        let Credit { clock, posted_headers, posted_data, non_posted_headers } = *credit;
        let units = [posted_headers, posted_data, non_posted_headers].map(i64::from);
        self.returning.push(Reverse((clock, units)));
    }

    /// Takes the credits of a TLP whose last beat left at a clock.
    ///
    /// # Errors
    /// Names the kind of which the core had too few.
    pub(crate) fn take(&mut self, tlp: &Tlp, clock: u64) -> Result<(), String> {
        while let Some(&Reverse((at, units))) = self.returning.peek() {
            if at > clock {
                break;
            }
            self.returning.pop();
            self.left.iter_mut().zip(units).for_each(|(left, units)| *left += units);
        }
        self.left.iter_mut().zip(numbers(Units::of(tlp))).for_each(|(left, need)| *left -= need);
        match self.left.iter().position(|left| *left < 0) {
            Some(kind) => Err(format!("the core sent at clock {clock} without {} credits", KINDS[kind])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_port::Kind;

    fn credit(clock: u64, posted_headers: u32, posted_data: u32, non_posted_headers: u32) -> Credit {
        Credit { clock, posted_headers, posted_data, non_posted_headers }
    }

    #[test]
    fn a_tlp_without_credits_is_named_and_one_whose_credits_are_back_is_taken() {
        let write = Tlp { kind: Kind::Write, tag: 0, address: 0x1000, length: 64, relaxed: false };
        let read = Tlp { kind: Kind::Read, ..write };
        let mut ledger = Ledger::default();
        ledger.give(&credit(0, 2, 8, 1));
        ledger.take(&write, 5).unwrap();
        ledger.take(&read, 6).unwrap();
        ledger.give(&credit(20, 1, 4, 0));
        ledger.take(&write, 7).unwrap();
        ledger.take(&write, 20).unwrap();
        let refused = ledger.take(&write, 21).unwrap_err();
        assert_eq!(refused, "the core sent at clock 21 without posted header credits");
    }

    #[test]
    fn each_kind_has_credits_of_its_own() {
        let write = Tlp { kind: Kind::Write, tag: 0, address: 0x1000, length: 65, relaxed: false };
        for (given, tlp, kind) in [
            (credit(0, 9, 4, 9), write, "posted data"),
            (credit(0, 9, 9, 0), Tlp { kind: Kind::Read, ..write }, "non-posted header"),
        ] {
            let mut ledger = Ledger::default();
            ledger.give(&given);
            assert!(ledger.take(&tlp, 1).unwrap_err().contains(kind));
        }
    }
}
