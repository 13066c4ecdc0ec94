//! The parts of a row that a prediction simulates, and the states before them. They are kept from call to call:
//! a fit asks for the same rows many times, of machines that differ in times.

use super::Effort;
use pcie_sim::{Machine, State};
use pcie_workload::{AddressList, CacheState, Test};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Stretches of a test that are simulated, where the test changes the machine's state.
const STRETCHES: u64 = 2;
/// Uncounted transactions before each stretch of a bandwidth test, which fill the pipeline.
pub(super) const WARM_UP: u64 = 768;
/// Sets of stretches kept for a row: the middle and both ends of a step, and one to go back to.
const KEPT_OF_A_ROW: usize = 4;
/// Bytes of kept states, about: the states of further rows are computed in each call.
const KEPT_BYTES_MAX: u64 = 512 << 20;

/// Some transactions of a test, and the part of the state before them that the test can see.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) state: State,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// The stretches of a test to simulate: whole passes over a window that is visited in order.
pub(super) fn stretches(
    machine: &Machine,
    mut state: State,
    test: &Test,
    list: &AddressList,
    effort: Effort,
) -> Vec<Stretch> {
    let asked =
        if test.operation.is_latency() { effort.latency_samples } else { effort.bandwidth_transactions };
    let stretches = if machine.leaves_traces(test) { STRETCHES } else { 1 };
    let count = (asked / stretches).max(1).next_multiple_of(list.pass());
    if (count + WARM_UP) * stretches >= test.transactions {
        let state = machine.visible_state(&state, test, list);
        return vec![Stretch { state, first: 0, count: test.transactions }];
    }
    let (mut at, mut advances) = (0, machine.advances(test, list));
    let mut found = Vec::new();
    for stretch in 0..stretches {
        // Even, so that the stretches of a read-write test start alike.
        let first = ((2 * stretch + 1) * (test.transactions - count - WARM_UP) / (2 * stretches)) & !1;
        if machine.leaves_traces(test) && machine.sees_state(test) {
            advances.advance(&mut state, at..first);
            at = first;
        }
        found.push(Stretch { state: machine.visible_state(&state, test, list), first, count });
    }
    found
}

/// What the stretches of a row depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DependsOn {
    /// Number of the history, which fixes lines, sets, pages and the size of the IO-TLB.
    history: u64,
    /// Share of the caches that the CPU's lines get, where the CPU warms them.
    host_share: Option<f64>,
    transactions: u64,
    effort: Effort,
}

impl DependsOn {
    pub(super) fn new(history: u64, machine: &Machine, test: &Test, effort: Effort) -> Self {
        let host_warms = test.cache == CacheState::HostWarm;
        Self {
            history,
            host_share: host_warms.then_some(machine.system().host.llc.host_share),
            transactions: test.transactions,
            effort,
        }
    }
}

type Kept = (DependsOn, Arc<[Stretch]>);

/// The stretches of each row that were used last.
#[derive(Debug)]
pub(super) struct KeptStretches {
    rows: Vec<Mutex<Vec<Kept>>>,
    bytes: AtomicU64,
}

impl KeptStretches {
    pub(super) fn of_rows(count: usize) -> Self {
        Self { rows: (0..count).map(|_| Mutex::default()).collect(), bytes: AtomicU64::new(0) }
    }

    /// The stretches of a row; computes them if they are not kept.
    pub(super) fn get(
        &self,
        row: usize,
        depends_on: DependsOn,
        compute: impl FnOnce() -> Vec<Stretch>,
    ) -> Arc<[Stretch]> {
        let mut kept = self.rows[row].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nth) = kept.iter().position(|(other, _)| *other == depends_on) {
            kept[..=nth].rotate_right(1);
            return Arc::clone(&kept[0].1);
        }
        let computed: Arc<[Stretch]> = compute().into();
        while kept.len() >= KEPT_OF_A_ROW
            && let Some((_, oldest)) = kept.pop()
        {
            self.bytes.fetch_sub(bytes_of(&oldest), Ordering::Relaxed);
        }
        let bytes = bytes_of(&computed);
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= KEPT_BYTES_MAX {
            kept.insert(0, (depends_on, Arc::clone(&computed)));
        } else {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        computed
    }

    /// Drops what follows from a history.
    pub(super) fn forget(&mut self, history: u64) {
        let bytes = self.bytes.get_mut();
        for row in &mut self.rows {
            row.get_mut().unwrap_or_else(PoisonError::into_inner).retain(|(depends_on, stretches)| {
                let stays = depends_on.history != history;
                if !stays {
                    *bytes -= bytes_of(stretches);
                }
                stays
            });
        }
    }
}

fn bytes_of(stretches: &[Stretch]) -> u64 {
    stretches.iter().map(|stretch| stretch.state.bytes()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { latency_samples: 1, bandwidth_transactions: 1 };

    fn of(history: u64) -> DependsOn {
        DependsOn { history, host_share: None, transactions: 1, effort: EFFORT }
    }

    #[test]
    fn a_row_keeps_the_stretches_used_last_until_their_history_goes() {
        let mut kept = KeptStretches::of_rows(2);
        let computes = |kept: &KeptStretches, row, history| {
            let mut computed = false;
            kept.get(row, of(history), || {
                computed = true;
                Vec::new()
            });
            computed
        };
        assert!(computes(&kept, 0, 1) && !computes(&kept, 0, 1));
        assert!(computes(&kept, 1, 1), "of another row");
        let others: Vec<bool> = (2..5).map(|history| computes(&kept, 0, history)).collect();
        assert_eq!(others, [true; 3]);
        assert!(!computes(&kept, 0, 1), "four are kept");
        assert!(computes(&kept, 0, 5) && computes(&kept, 0, 2), "the one used longest ago makes room");
        kept.forget(5);
        assert!(computes(&kept, 0, 5) && !computes(&kept, 0, 1));
    }
}
