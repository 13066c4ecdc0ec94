//! Which parts of a test are simulated, when not all of it is.
//!
//! Sampling is honest about the history within a test: batches start at places spread over the whole published run, each
//! with the machine in the state in which the transactions before it leave it.

use crate::host::SharedMachine;
use pcie_sim::State;
use pcie_workload::{AddressList, LIST_LENGTH, PAGE_BYTES, Pattern, Test};

/// Places of the run that each round of batches looks at, at most.
const PLACES: u64 = 4;
/// Its multiples divide a whole more evenly than those of any other number.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Transfers above a page in a batch, at least.
const LONG_TRANSFERS_LEAST: u64 = 16;
/// Slices of a batch before its beginning is held against its end.
const SLICES_LEAST: usize = 4;
/// By so many standard errors, and by so much of the average, beginning and end differ if a test is still settling.
const DRIFT_ERRORS: f64 = 3.0;
const DRIFT: f64 = 0.001;
/// Batches before what comes to be in flight is judged.
const BATCHES_LEAST: usize = 4;

/// As many transactions of a test as move the bytes of `count` transfers of a page: of longer transfers fewer are enough, and
/// no slice takes long.
pub(crate) fn in_pages(count: u64, test: &Test) -> u64 {
    count.min((count * PAGE_BYTES / test.size_bytes).max(LONG_TRANSFERS_LEAST))
}

/// A part of a test that is simulated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// Its first transaction.
    pub(crate) first: u64,
    /// Transactions before those that count.
    pub(crate) lead: u64,
    /// Transactions that count.
    pub(crate) count: u64,
    /// Whether all batches before it count no longer.
    pub(crate) anew: bool,
}

/// What a batch showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Times per transaction of its slices, in order.
    pub(crate) times_ns: Vec<f64>,
    /// Transactions that came to be in flight from its beginning to its end, for each that it counts.
    pub(crate) filled: f64,
    /// Whether the test may end with it.
    pub(crate) is_enough: bool,
}

/// What batches are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Transactions that count in the shortest batch.
    pub(crate) least: u64,
    /// Transactions before them, at least.
    pub(crate) least_lead: u64,
    /// Whether a test that does not settle can start over.
    pub(crate) starts_over: bool,
}

impl Plan {
    /// Calls `simulate` with all of a test as one batch.
    pub(crate) fn whole(
        shared: &SharedMachine,
        test: &Test,
        simulate: &mut impl FnMut(State, Batch) -> Seen,
    ) {
        let batch = Batch { first: 0, lead: 0, count: test.transactions, anew: false };
        let _ = simulate(shared.state().clone(), batch);
    }

    /// Calls `simulate` with each batch, and the state at its first transaction, until one is enough. `lead` says how many
    /// transactions fill the machine, from the first batch's state and first transaction.
    ///
    /// Batches are whole passes over the window. Each round of them takes twice as many as the one before. Where the end of
    /// long batches is faster or slower than their beginning, or where more and more comes to be in flight, the lead is too
    /// short: the rounds begin anew with a longer one. Where no further batch fits into the test, all of it is simulated.
    pub(crate) fn for_each_batch(
        self,
        shared: &SharedMachine,
        test: &Test,
        list: &AddressList,
        lead: impl FnOnce(&State, u64) -> u64,
        simulate: &mut impl FnMut(State, Batch) -> Seen,
    ) {
        let total = test.transactions;
        let places = Places::of(test);
        let pass = list.pass();
        let shortest = self.least.next_multiple_of(pass);
        if 2 * shortest + self.least_lead >= places.room {
            return Self::whole(shared, test, simulate);
        }
        let advanced = |(at, mut state): (u64, State), first: u64| {
            if shared.machine().leaves_traces(test) {
                shared.machine().advance(&mut state, test, list, at..first);
            }
            (first, state)
        };
        let from_start = || (0, shared.state().clone());
        let mut ahead = Some(advanced(from_start(), places.first(0, 0, self.least_lead + shortest)));
        let mut lead = ahead.as_ref().map_or(self.least_lead, |(first, state)| lead(state, *first));
        if 2 * shortest + lead >= places.room {
            return Self::whole(shared, test, simulate);
        }
        let (mut left, mut anew, mut filled) = (total, false, Vec::new());
        for round in 0u32.. {
            let most = (left / places.count).min(places.room.saturating_sub(lead));
            let length = (shortest << round.min(32)).min(most) / pass * pass;
            if length == 0 {
                if self.starts_over {
                    let batch = Batch { first: 0, lead: 0, count: total, anew: true };
                    let _ = simulate(shared.state().clone(), batch);
                }
                return;
            }
            left -= places.count * length;
            let mut seen = Vec::with_capacity(places.count as usize);
            let mut reached = from_start();
            for place in 0..places.count {
                let first = places.first(round.into(), place, lead + length);
                if let Some(further) = ahead.take_if(|(at, _)| *at <= first) {
                    reached = further;
                }
                reached = advanced(reached, first);
                let batch = simulate(reached.1.clone(), Batch { first, lead, count: length, anew });
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

/// Where in a test batches start.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// Of each round.
    count: u64,
    /// Transactions that a batch has room for.
    room: u64,
    /// Of a test that visits its units in order, how many address lists it replays, and where the first begins.
    lists: Option<(u64, u64)>,
}

impl Places {
    fn of(test: &Test) -> Self {
        let total = test.transactions;
        match test.pattern {
            Pattern::Random | Pattern::Fixed => Self { count: PLACES, room: total / PLACES, lists: None },
            // Which of a read and a write comes to a page first, and so how fast both are, may be decided where a list
            // begins, and stay so to its end.
            Pattern::Sequential | Pattern::Strided => {
                let lists = total / LIST_LENGTH;
                let room = if lists > 1 { LIST_LENGTH } else { 0 };
                Self { count: lists.clamp(1, PLACES), room, lists: Some((lists, total % LIST_LENGTH)) }
            }
        }
    }

    /// The first transaction of a batch of `length`, lead and all.
    fn first(&self, round: u64, place: u64, length: u64) -> u64 {
        if let Some((lists, first)) = self.lists {
            let in_turn = lists / self.count;
            return first + (place * in_turn + round % in_turn) * LIST_LENGTH;
        }
        // The room of a place holds whole lists of addresses: at the same part of each, batches would visit the same.
        let shift = ((self.count * round + place + 1) as f64 * GOLDEN).fract();
        // Even, so that the batches of a read-write test start alike.
        (place * self.room + ((self.room - length) as f64 * shift) as u64) & !1
    }
}

/// Whether batches take another time at their ends than at their beginnings.
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

/// Whether batches end with more in flight than they began with, all in all, or with less.
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
    fn a_batch_that_becomes_slower_drifts_and_one_that_scatters_does_not() {
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
        assert!(!drifts(&[vec![1.0; 3], vec![2.0; 3]].map(of)), "too short to tell");
        assert!(!drifts(&[vec![1.0, 1.0, 1.0005, 1.0005]].map(of)), "nobody would notice");
    }

    #[test]
    fn batches_fill_a_queue_where_all_of_them_do() {
        assert!(fills(&[0.005, 0.006, 0.005, 0.004]) && fills(&[-0.02; 4]));
        assert!(!fills(&[0.02, -0.015, 0.01, -0.012]), "it goes up and down");
        assert!(!fills(&[0.0005; 4]), "nobody would notice");
        assert!(!fills(&[0.02; 3]), "too few to tell");
    }
}
