//! The parts of a test that an adaptive run simulates.
//!
//! Batches start at positions spread over the whole test, each with the machine in the state that the
//! transactions before it leave.

use crate::host::Before;
use pcie_sim::{Advances, State};
use pcie_workload::{AddressList, LIST_LENGTH, PAGE_BYTES, Pattern, Test};

/// Most batches of a round, each in its own section of the test.
const SECTIONS: u64 = 4;
/// Fractional parts of the multiples of the golden ratio spread most evenly over 0 to 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Least transfers above a page in a batch.
const LONG_TRANSFERS_LEAST: u64 = 16;
/// Least slices of a batch for comparing its beginning with its end.
const SLICES_LEAST: usize = 4;
/// A test is still settling if beginning and end differ by this many standard errors, and by this share of
/// the average.
const DRIFT_ERRORS: f64 = 3.0;
const DRIFT: f64 = 0.001;
/// Least batches for judging growth in flight.
const BATCHES_LEAST: usize = 4;

/// Transactions that move the bytes of `count` pages: fewer of longer transfers, so that no slice takes long.
pub(crate) fn in_pages(count: u64, test: &Test) -> u64 {
    count.min((count * PAGE_BYTES / test.size_bytes).max(LONG_TRANSFERS_LEAST))
}

/// A simulated part of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// Its first transaction.
    pub(crate) first: u64,
    /// Transactions of the warm-up.
    pub(crate) lead: u64,
    /// Transactions that count.
    pub(crate) count: u64,
    /// Whether to discard all batches before it.
    pub(crate) anew: bool,
}

/// Results of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Time per transaction of each slice, in order.
    pub(crate) times_ns: Vec<f64>,
    /// Growth of the transactions in flight from its beginning to its end, per counted transaction.
    pub(crate) filled: f64,
    /// Whether the test may end with it.
    pub(crate) is_enough: bool,
}

/// Sizes of batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Transactions that count in the shortest batch.
    pub(crate) least: u64,
    /// Least transactions of the warm-up.
    pub(crate) least_lead: u64,
    /// Whether a test that does not settle can start over.
    pub(crate) starts_over: bool,
}

impl Plan {
    /// Calls `simulate` with all of a test as one batch.
    pub(crate) fn whole(
        before: Before<'_>,
        test: &Test,
        list: &AddressList,
        simulate: &mut impl FnMut(&State, Batch) -> Seen,
    ) {
        let batch = Batch { first: 0, lead: 0, count: test.transactions, anew: false };
        let _ = simulate(&before.machine.visible_state(before.state, test, list), batch);
    }

    /// Calls `simulate` with each batch, and the state at its first transaction, until one is enough. `lead`
    /// returns the transactions that fill the machine, given the first batch's state and first transaction.
    ///
    /// Batches are whole passes over the window; each round doubles their length. If the ends of batches are
    /// faster or slower than their beginnings, or the transactions in flight keep growing, the lead is too
    /// short: the rounds start over with a longer one. If no further batch fits into the test, all of it is
    /// simulated.
    pub(crate) fn for_each_batch(
        self,
        before: Before<'_>,
        test: &Test,
        list: &AddressList,
        lead: impl FnOnce(&State, u64) -> u64,
        simulate: &mut impl FnMut(&State, Batch) -> Seen,
    ) {
        let total = test.transactions;
        let sections = Sections::of(test);
        let pass = list.pass();
        let shortest = self.least.next_multiple_of(pass);
        if 2 * shortest + self.least_lead >= sections.room {
            return Self::whole(before, test, list, simulate);
        }
        let mut reached = Reached::new(before, test, list);
        let first = sections.first(0, 0, self.least_lead + shortest);
        let mut lead = lead(reached.at(first), first);
        if 2 * shortest + lead >= sections.room {
            return Self::whole(before, test, list, simulate);
        }
        let (mut left, mut anew, mut filled) = (total, false, Vec::new());
        for round in 0u32.. {
            let most = (left / sections.count).min(sections.room.saturating_sub(lead));
            let length = (shortest << round.min(32)).min(most) / pass * pass;
            if length == 0 {
                if self.starts_over {
                    let batch = Batch { first: 0, lead: 0, count: total, anew: true };
                    let _ = simulate(reached.at(0), batch);
                }
                return;
            }
            left -= sections.count * length;
            let mut seen = Vec::with_capacity(sections.count as usize);
            for section in 0..sections.count {
                let first = sections.first(round.into(), section, lead + length);
                let batch = simulate(reached.at(first), Batch { first, lead, count: length, anew });
                anew = false;
                filled.push(batch.filled);
                if batch.is_enough && !fills(&filled) {
                    return;
                }
                seen.push(batch);
            }
            if self.starts_over && (fills(&filled) || drifts(&seen)) {
                (lead, left, anew) = (lead + length, total, true);
                filled.clear();
            }
        }
    }
}

/// The state at a transaction of a test.
struct Reached<'a> {
    /// The state before the test.
    before: State,
    /// The state at `transaction`; `None` if the test changes nothing that it sees.
    advanced: Option<(Advances<'a>, State)>,
    transaction: u64,
}

impl<'a> Reached<'a> {
    fn new(before: Before<'a>, test: &'a Test, list: &'a AddressList) -> Self {
        let machine = before.machine;
        let changes = machine.leaves_traces(test) && machine.sees_state(test);
        let before = machine.visible_state(before.state, test, list);
        let advanced = changes.then(|| (machine.advances(test, list), before.clone()));
        Self { before, advanced, transaction: 0 }
    }

    /// The state at transaction `first`.
    fn at(&mut self, first: u64) -> &State {
        let Some((advances, state)) = &mut self.advanced else { return &self.before };
        if first < self.transaction {
            state.clone_from(&self.before);
            self.transaction = 0;
        }
        advances.advance(state, self.transaction..first);
        self.transaction = first;
        state
    }
}

/// The sections of a test, one for each batch of a round.
#[derive(Clone, Copy, Debug)]
struct Sections {
    /// Number of sections.
    count: u64,
    /// Transactions of a section.
    room: u64,
    /// For a test that visits its units in order: the address lists that it replays, and where the first
    /// begins.
    lists: Option<(u64, u64)>,
}

impl Sections {
    fn of(test: &Test) -> Self {
        let total = test.transactions;
        match test.pattern {
            Pattern::Random | Pattern::Fixed => Self { count: SECTIONS, room: total / SECTIONS, lists: None },
            // The start of a list can determine whether reads or writes come to a page first, and so the
            // speed of both to its end.
            Pattern::Sequential | Pattern::Strided => {
                let lists = total / LIST_LENGTH;
                let room = if lists > 1 { LIST_LENGTH } else { 0 };
                Self { count: lists.clamp(1, SECTIONS), room, lists: Some((lists, total % LIST_LENGTH)) }
            }
        }
    }

    /// The first transaction of a batch of `length`, lead and all.
    fn first(&self, round: u64, section: u64, length: u64) -> u64 {
        if let Some((lists, first)) = self.lists {
            let in_turn = lists / self.count;
            return first + (section * in_turn + round % in_turn) * LIST_LENGTH;
        }
        // Sections contain whole lists of addresses: batches at the same offset in each would visit the same
        // addresses.
        let shift = ((self.count * round + section + 1) as f64 * GOLDEN).fract();
        // Even, so that the batches of a read-write test start alike.
        (section * self.room + ((self.room - length) as f64 * shift) as u64) & !1
    }
}

/// Whether batches are faster or slower at their ends than at their beginnings.
fn drifts(batches: &[Seen]) -> bool {
    if batches.iter().any(|batch| batch.times_ns.len() < SLICES_LEAST) {
        return false;
    }
    let slices = || batches.iter().map(|batch| &batch.times_ns);
    let beginnings: Vec<f64> = slices().flat_map(|times| &times[..times.len() / 4]).copied().collect();
    let ends: Vec<f64> = slices().flat_map(|times| &times[times.len() / 2..]).copied().collect();
    let apart = (mean(&ends) - mean(&beginnings)).abs();
    let error = (squared_error(&beginnings) + squared_error(&ends)).sqrt();
    apart > DRIFT_ERRORS * error && apart > DRIFT * mean(&ends)
}

/// Whether transactions in flight grow or shrink over the batches.
fn fills(filled: &[f64]) -> bool {
    let growth = mean(filled).abs();
    filled.len() >= BATCHES_LEAST && growth > DRIFT && growth > DRIFT_ERRORS * squared_error(filled).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The square of the standard error of the mean.
fn squared_error(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().pow(2) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_become_slower_drift_and_scattered_ones_do_not() {
        let scattered = |nth: usize| 1.0 + 0.01 * ((nth * 7 % 5) as f64 - 2.0);
        let of = |times_ns: Vec<f64>| Seen { times_ns, ..Seen::default() };
        let batch = |from: usize, later: f64| {
            of((from..from + 16)
                .map(|nth| scattered(nth) + if nth - from > 6 { later } else { 0.0 })
                .collect())
        };
        let batches = |later: f64| [0, 3, 8, 11].map(|from| batch(from, later));
        assert!(!drifts(&batches(0.0)));
        assert!(drifts(&batches(0.02)) && drifts(&batches(-0.02)));
        assert!(!drifts(&[vec![1.0; 3], vec![2.0; 3]].map(of)), "too few slices");
        assert!(!drifts(&[vec![1.0, 1.0, 1.0005, 1.0005]].map(of)), "below the share of the average");
    }

    #[test]
    fn batches_fill_a_queue_if_all_of_them_grow() {
        assert!(fills(&[0.005, 0.006, 0.005, 0.004]) && fills(&[-0.02; 4]));
        assert!(!fills(&[0.02, -0.015, 0.01, -0.012]), "no trend");
        assert!(!fills(&[0.0005; 4]), "below the share");
        assert!(!fills(&[0.02; 3]), "too few batches");
    }
}
