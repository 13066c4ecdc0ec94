//! DRAM refresh: the slow second mode of the measured latencies.
//!
//! An access that meets a refresh waits for its end. The extra time is uniform up to the length of a refresh, as the
//! measured distributions show, which break off where the tRFC of the machine's memory says.

use crate::machine::Machine;
use pcie_time::{Draws, Picoseconds};

/// How long an access to memory waits for a refresh, if it meets one.
pub(crate) fn refresh(machine: &Machine, draws: Draws, index: u64) -> Picoseconds {
    let refresh = &machine.system.host.memory.refresh;
    if refresh.interval_ns <= 0.0 {
        return Picoseconds::ZERO;
    }
    let share = refresh.share * refresh.duration_ns / refresh.interval_ns;
    let place = draws.fraction(index);
    if place < share {
        Picoseconds::from_ns(refresh.duration_ns * (1.0 - place / share))
    } else {
        Picoseconds::ZERO
    }
}
