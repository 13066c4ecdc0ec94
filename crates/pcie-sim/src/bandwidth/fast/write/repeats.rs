//! Writes that repeat are not simulated.
//!
//! Each step of a run that only writes is a function of the times, counts and addresses before it, and adding the
//! same time to all of them adds it to the step. So if two moments differ by a shift in time alone, and the
//! same addresses follow, all later moments repeat with that shift. The proof is in `docs/concepts/engines.md`.

use super::WriteRun;
use crate::bandwidth::fast::NEVER;
use crate::bandwidth::start::Start;
use crate::profile::IommuMode;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, LINE_BYTES, LIST_LENGTH, PAGE_BYTES, Pattern};

/// The search for moments of a run that differ by a shift in time alone.
#[derive(Debug)]
pub(super) struct Repeats {
    /// Transactions after which the addresses repeat; 1 where none affects a time.
    every: u64,
    /// Whether the line that a write ended in affects the next one.
    lines_matter: bool,
    /// The moment that later ones are compared with.
    kept: Option<Moment>,
    /// Completed transactions at which a later moment is kept instead.
    keeps_at: u64,
    found: Option<Period>,
}

/// A moment right after a completion.
#[derive(Debug)]
struct Moment {
    completed: u64,
    /// When the uplink is free, to the picosecond below.
    at: Picoseconds,
    /// All that later steps depend on, with times relative to `at`.
    relative: Vec<u64>,
}

/// After `transactions`, a run is where it was, and all times are `time` later.
#[derive(Clone, Copy, Debug)]
struct Period {
    transactions: u64,
    time: Picoseconds,
}

impl Repeats {
    /// `None` for a run in which chance, page walks, long transfers, replays or the start of flits decide about times.
    pub(super) fn new(start: &Start<'_>, alike: bool) -> Option<Self> {
        let Start { machine, test, list, .. } = start;
        let host = &machine.system.host;
        let chance = host.root_complex.write_pool_lines.is_some() || host.writable_gbytes_per_s().is_some();
        if chance
            || machine.link().flit_mode()
            || machine.sends_again()
            || machine.system.iommu != IommuMode::Off
            || test.size_bytes > PAGE_BYTES
        {
            return None;
        }
        // A write that is all of its DMA and leaves its line partial delays the next one there.
        let in_line = test.host_offset_bytes % LINE_BYTES;
        let lines_matter = !alike
            || (in_line + test.size_bytes < LINE_BYTES && host.root_complex.partial_line_busy_ns > 0.0);
        let every = if lines_matter { repeats_after(test.pattern, list) } else { 1 };
        Some(Self { every, lines_matter, kept: None, keeps_at: every, found: None })
    }
}

/// Transactions after which a list's addresses repeat, at its end too.
fn repeats_after(pattern: Pattern, list: &AddressList) -> u64 {
    let pass = if pattern == Pattern::Random { LIST_LENGTH } else { list.pass() };
    if LIST_LENGTH.is_multiple_of(pass) { pass } else { LIST_LENGTH }
}

impl WriteRun<'_> {
    /// Whether the run looks for a period at the present completion.
    #[inline(always)]
    pub(super) fn looks_for_period(&self) -> bool {
        self.completed == self.looks_at
    }

    /// Compares the present moment with the one that was kept.
    #[inline(never)]
    pub(super) fn look_for_period(&mut self) {
        let Some(repeats) = &self.repeats else { return };
        let (at, rest) = self.uplink.free_exactly();
        let since = |time: Picoseconds| time.0.wrapping_sub(at.0);
        let first = [rest, since(self.engine_free), since(self.sent_at)];
        let keeps_at = repeats.keeps_at;
        let promising = repeats.kept.as_ref().filter(|kept| kept.relative.starts_with(&first));
        let found = promising
            .filter(|kept| kept.relative == self.relative())
            .map(|kept| Period { transactions: self.completed - kept.completed, time: at - kept.at });
        // Moments twice as far apart each time find a period of any length.
        let kept = (found.is_none() && self.completed >= keeps_at).then(|| Moment {
            completed: self.completed,
            at,
            relative: self.relative(),
        });
        let Some(repeats) = &mut self.repeats else { return };
        if let Some(kept) = kept {
            repeats.kept = Some(kept);
            repeats.keeps_at = 2 * keeps_at;
        }
        self.looks_at = if found.is_some() { u64::MAX } else { self.completed + repeats.every };
        repeats.found = found;
    }

    /// Goes on by whole periods, to less than one before `target` completions or the last transaction.
    pub(super) fn skip_periods(&mut self, target: u64) {
        let Some(Period { transactions, time }) = self.repeats.as_ref().and_then(|repeats| repeats.found)
        else {
            return;
        };
        // The last transaction of a test has none behind it, so it is simulated.
        let periods = (target.saturating_sub(self.completed) / transactions)
            .min(self.left.saturating_sub(1) / transactions);
        if periods == 0 {
            return;
        }
        let by = Picoseconds(time.0 * periods);
        self.completed += periods * transactions;
        self.next += periods * transactions;
        self.left -= periods * transactions;
        self.planned.continue_at(self.next);
        for time in [&mut self.issues_at, &mut self.engine_free, &mut self.sent_at, &mut self.last] {
            *time += by;
        }
        for tlp in &mut self.outgoing {
            tlp.ready += by;
            tlp.ends = tlp.ends.map(|transaction| transaction + periods * transactions);
        }
        self.workers.shift(by);
        self.headers.shift(by);
        if let Some(data) = &mut self.data {
            data.shift(by);
        }
        self.uplink.shift(by);
        self.complex.shift_writes(by);
    }

    /// All that the steps from here on depend on. A time that can no longer delay anything is given as the
    /// latest at which that is so.
    fn relative(&self) -> Vec<u64> {
        let (at, rest) = self.uplink.free_exactly();
        let since = |time: Picoseconds| if time == NEVER { u64::MAX } else { time.0.wrapping_sub(at.0) };
        let gap_bytes = self.planned.layouts.writes.iter().map(|write| u64::from(write.gap_bytes)).max();
        let unit_bytes = gap_bytes.filter(|bytes| *bytes > 0).unwrap_or(1);
        let mut all = vec![
            rest,
            since(self.engine_free),
            since(self.sent_at),
            self.uplink.busy_bytes() % unit_bytes,
            since(self.issues_at.max(self.engine_free)),
            self.next - self.first - self.completed,
            self.workers.taken() as u64,
        ];
        all.extend(self.workers.in_turn().map(|free_at| since(free_at.max(self.engine_free))));
        all.extend(self.headers.in_turn().map(|free_at| since(free_at.max(self.sent_at))));
        if let Some(data) = &self.data {
            all.push(u64::from(data.free()));
            all.push(data.returns().len() as u64);
            all.extend(
                data.returns().flat_map(|(back, count)| [since(back.max(self.sent_at)), count.into()]),
            );
        }
        let (passed, gate_free, closed) = self.complex.writes_until();
        all.extend([since(passed), since(gate_free.max(at + self.flight))]);
        if self.repeats.as_ref().is_some_and(|repeats| repeats.lines_matter) {
            let (line, open_at) =
                closed.map_or((u64::MAX, 0), |(line, open_at)| (line.into(), since(open_at)));
            all.extend([line, open_at]);
        }
        all.push(self.outgoing.len() as u64);
        for tlp in &self.outgoing {
            all.push(since(tlp.ready));
            self.add_layout(tlp.layout, &mut all);
        }
        for layout in self.head.tlps.clone() {
            self.add_layout(layout, &mut all);
        }
        all
    }

    /// The parts of a TLP's layout that affect times, and so whether it is the last of its DMA.
    fn add_layout(&self, layout: u32, all: &mut Vec<u64>) {
        let write = &self.planned.layouts.writes[layout as usize];
        all.extend([
            write.start,
            write.length.into(),
            write.uplink_bytes,
            write.gap_bytes.into(),
            write.pull_time.0,
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::history::TestKey;
    use crate::machine::Machine;
    use crate::test_systems::{ib_011_nosp, snb};
    use pcie_time::Stream;
    use pcie_workload::{Operation, Test};

    /// Transactions of the period that a run of a million finds.
    fn period(machine: &Machine, test: &Test) -> Option<u64> {
        let key = TestKey { seed: 1, test: 0 };
        let list = AddressList::new(test, key.draws(Stream::Addresses));
        let start =
            Start { machine, test, list: &list, key, state: machine.boot().without_lines(), first: 0 };
        let mut run = WriteRun::new(start);
        run.run(1_000_000, None);
        run.repeats.and_then(|repeats| repeats.found).map(|found| found.transactions)
    }

    fn stretched(uplink: f64) -> Machine {
        let mut system = snb().system;
        system.host.root_complex.uplink_stretch = uplink;
        Machine::new(system).unwrap()
    }

    #[test]
    fn writes_repeat_where_neither_chance_nor_the_link_decides() {
        let write = |size, window| Test::random_dma(Operation::BwWr, size, window, 1 << 23);
        let snb = snb();
        assert!(period(&snb, &write(64, 8192)).is_some_and(|period| period < 100), "its data engine");
        assert!(period(&snb, &write(64, 64 << 20)).is_some(), "a window with short and long addresses");
        // While the link is never idle, times in parts of 2^-32 ps do not come back, unless a byte takes few bits.
        assert_eq!(period(&stretched(1.01461), &write(2048, 8192)), None);
        assert!(period(&stretched(1.014), &write(2048, 8192)).is_some_and(|period| period < 100));
        assert_eq!(period(&ib_011_nosp(), &write(64, 8192)), None, "pages are walked");
        let in_turn = Test { pattern: Pattern::Sequential, ..write(24, 4096) };
        assert!(
            period(&snb, &in_turn).is_some_and(|period| period.is_multiple_of(64)),
            "lines are left partial"
        );
    }
}
