//! Times commands of drives and NICs, one after the other or many at once.

use crate::median::Median;
use crate::opened::Interrupt;
use pcie_bench::{BandwidthSlice, DeviceError, LatencySlice, Stop};
use pcie_host::Clock;
use pcie_statistics::Histogram;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Silence after which a command counts as lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// Longest slice: the interval of results.
const SLICE: Duration = Duration::from_millis(20);
/// Most samples in a slice of a latency test.
const LATENCY_SLICE: usize = 512;
/// Polls of the queue between two reads of the clock.
const POLLS: u32 = 256;
/// Time for a command to complete after a stop request: an emulated drive on a busy machine takes a second.
const GRACE: Duration = Duration::from_secs(2);
/// Wait for an interrupt between two checks of the stop request.
const INTERRUPT_WAIT: Duration = Duration::from_millis(10);
/// Most samples of the median of a part.
const PART_SAMPLES_MOST: u64 = 257;
/// Longest time for them: parts are measured after a test has been broken off, which has to end soon.
const PART_TIME: Duration = Duration::from_millis(20);

/// A device that takes commands.
pub(crate) trait Engine {
    type Command: Copy;
    /// Name in messages.
    const NAME: &'static str;

    /// Most commands in flight.
    fn depth(&self) -> u64;

    /// Submits a command, with fewer than [`Engine::depth`] in flight; fails if the device is gone.
    fn submit(&mut self, command: Self::Command) -> Result<(), DeviceError>;

    /// Rings the doorbell for the submitted commands, if submitting does not; fails if the device is gone.
    fn ring(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Commands completed since the last call; stores their first failure in `wrong`.
    fn ended(&mut self, wrong: &mut Option<DeviceError>) -> Result<u64, DeviceError>;

    /// The completion interrupt; none if completions are polled.
    fn interrupt(&self) -> Option<&Interrupt> {
        None
    }
}

/// Runs one command to completion.
#[inline]
pub(crate) fn one<E: Engine>(engine: &mut E, command: E::Command, stop: &Stop) -> Result<(), DeviceError> {
    engine.submit(command)?;
    engine.ring()?;
    let mut wrong = None;
    let mut patience = Patience::new(stop);
    while engine.ended(&mut wrong)? == 0 {
        patience.wait(engine)?;
    }
    wrong.map_or(Ok(()), Err)
}

/// Keeps an engine busy with `total` commands, which `command` makes from their numbers, and reports slices
/// to `sink`. Returns with nothing in flight.
pub(crate) fn many<E: Engine>(
    engine: &mut E,
    (clock, stop): (&Clock, &Stop),
    (total, outstanding): (u64, Option<u32>),
    command: &mut dyn FnMut(u64) -> E::Command,
    sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
) -> Result<(), DeviceError> {
    let depth = outstanding.map_or(engine.depth(), u64::from);
    let (mut next, mut done, mut reported) = (0, 0, 0);
    let mut end = total;
    let mut wrong = None;
    let mut patience = Patience::new(stop);
    let mut started = clock.now();
    while done < end {
        let before = next;
        while next < end && next - done < depth {
            engine.submit(command(next))?;
            next += 1;
        }
        if next > before {
            engine.ring()?;
        }
        let ended = engine.ended(&mut wrong)?;
        done += ended;
        if ended == 0 {
            patience.wait(engine)?;
            continue;
        }
        patience = Patience::new(stop);
        let elapsed_ns = clock.ns(clock.now() - started);
        if elapsed_ns >= SLICE.as_nanos() as f64 || done == end {
            let transactions = done - reported;
            let enough = sink(BandwidthSlice { transactions, elapsed_ns, anew: false }).is_break();
            reported = done;
            started = clock.now();
            if enough || stop.is_requested() || wrong.is_some() {
                // Commands in flight are awaited but not reported.
                end = next;
            }
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// Times `total` transactions in sequence and reports slices to `sink`; returns all reported latencies.
pub(crate) fn latencies(
    (clock, stop): (&Clock, &Stop),
    total: u64,
    transaction: &mut dyn FnMut(u64) -> Result<(), DeviceError>,
    sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
) -> Result<Histogram, DeviceError> {
    let mut seen = Histogram::default();
    let mut number = 0;
    while number < total && !stop.is_requested() {
        let mut ticks = Vec::with_capacity(LATENCY_SLICE);
        let started = clock.now();
        while ticks.len() < LATENCY_SLICE && number < total {
            let before = clock.now();
            transaction(number)?;
            let after = clock.now();
            ticks.push(clock.ticks(after - before));
            number += 1;
            if clock.ns(after - started) > SLICE.as_nanos() as f64 {
                break;
            }
        }
        let elapsed_ns = clock.ns(clock.now() - started);
        ticks.iter().for_each(|ticks| seen.add(*ticks));
        if sink(&LatencySlice { ticks, elapsed_ns }).is_break() {
            break;
        }
    }
    Ok(seen)
}

/// The median time of commands that run one after the other; `commands` makes those of each sample from its
/// number.
pub(crate) fn median<E: Engine, C: IntoIterator<Item = E::Command>>(
    engine: &mut E,
    (clock, stop): (&Clock, &Stop),
    commands: impl Fn(u64) -> C,
) -> Result<Median, DeviceError> {
    let mut seen = Histogram::default();
    let started = Instant::now();
    let goes_on = || !stop.is_requested() && started.elapsed() < PART_TIME;
    while seen.count() < PART_SAMPLES_MOST && (seen.count() == 0 || goes_on()) {
        let commands = commands(seen.count());
        let before = clock.now();
        for command in commands {
            one(engine, command, stop)?;
        }
        seen.add(clock.ticks(clock.now() - before));
    }
    Ok(Median::of(&seen, clock))
}

/// Pseudo-random unit numbers below `units`.
pub(crate) fn scattered(seed: u32, units: u64) -> impl FnMut() -> u64 {
    let mut state = u64::from(seed) ^ 0x9e37_79b9_7f4a_7c15;
    move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((u128::from(state) * u128::from(units)) >> 64) as u64
    }
}

/// Limits the wait for a command.
struct Patience<'a> {
    stop: &'a Stop,
    polls: u32,
    since: Option<Instant>,
    stopped: Option<Instant>,
}

impl<'a> Patience<'a> {
    fn new(stop: &'a Stop) -> Self {
        Self { stop, polls: 0, since: None, stopped: None }
    }

    /// Waits a little after an unsuccessful poll, or gives up.
    #[inline]
    fn wait<E: Engine>(&mut self, engine: &E) -> Result<(), DeviceError> {
        self.polls += 1;
        match engine.interrupt() {
            Some(interrupt) => drop(interrupt.wait(INTERRUPT_WAIT)),
            None if !self.polls.is_multiple_of(POLLS) => {
                std::hint::spin_loop();
                return Ok(());
            }
            None => {}
        }
        let now = Instant::now();
        let silent = now - *self.since.get_or_insert(now);
        if silent > SILENCE {
            let seconds = SILENCE.as_secs();
            return Err(DeviceError::Failed(format!("{} did not answer a command for {seconds} s", E::NAME)));
        }
        if self.stop.is_requested() && now - *self.stopped.get_or_insert(now) > GRACE {
            let seconds = GRACE.as_secs();
            return Err(DeviceError::Failed(format!(
                "the run was stopped, and {} did not answer its last command within {seconds} s",
                E::NAME
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_host::Topology;

    /// Completes one rung command with each poll.
    #[derive(Default)]
    struct OneByOne {
        given: u64,
        rung: u64,
        ended: u64,
        most_in_flight: u64,
        bad: Option<u64>,
        /// Time that each command takes.
        takes: Duration,
    }

    impl Engine for OneByOne {
        type Command = u64;
        const NAME: &'static str = "the counter";

        fn depth(&self) -> u64 {
            8
        }

        fn submit(&mut self, command: u64) -> Result<(), DeviceError> {
            assert_eq!(command, self.given, "in order");
            self.given += 1;
            self.most_in_flight = self.most_in_flight.max(self.given - self.ended);
            Ok(())
        }

        fn ring(&mut self) -> Result<(), DeviceError> {
            self.rung = self.given;
            Ok(())
        }

        fn ended(&mut self, wrong: &mut Option<DeviceError>) -> Result<u64, DeviceError> {
            if self.ended == self.rung {
                return Ok(0);
            }
            if self.bad == Some(self.ended) {
                wrong.get_or_insert(DeviceError::Failed("bad".into()));
            }
            std::thread::sleep(self.takes);
            self.ended += 1;
            Ok(1)
        }
    }

    /// Runs 1000 commands; the number of reported ones, and the result.
    fn run(engine: &mut OneByOne, outstanding: Option<u32>) -> (u64, Result<(), DeviceError>) {
        let (clock, stop) = (Clock::measured(&Topology::here()), Stop::default());
        let mut reported = 0;
        let result = many(engine, (&clock, &stop), (1000, outstanding), &mut |number| number, &mut |slice| {
            reported += slice.transactions;
            ControlFlow::Continue(())
        });
        (reported, result)
    }

    #[test]
    fn keeps_depth_or_outstanding_in_flight_and_reports_all() {
        for (outstanding, most) in [(None, 8), (Some(3), 3)] {
            let mut engine = OneByOne::default();
            assert_eq!(run(&mut engine, outstanding), (1000, Ok(())));
            assert_eq!((engine.ended, engine.most_in_flight), (1000, most));
        }
    }

    #[test]
    fn failure_is_returned_with_nothing_in_flight() {
        let mut engine = OneByOne { bad: Some(500), ..OneByOne::default() };
        let (_, result) = run(&mut engine, None);
        assert_eq!(result, Err(DeviceError::Failed("bad".into())));
        assert_eq!(engine.given, engine.ended);
        let stop = Stop::default();
        let mut engine = OneByOne { bad: Some(0), ..OneByOne::default() };
        assert_eq!(one(&mut engine, 0, &stop), Err(DeviceError::Failed("bad".into())));
        assert_eq!(one(&mut engine, 1, &stop), Ok(()));
    }

    #[test]
    fn median_of_a_part_is_that_of_its_commands_and_ends_soon() {
        let (clock, stop) = (Clock::measured(&Topology::here()), Stop::default());
        let mut quick = OneByOne::default();
        let pair = |number: u64| [2 * number, 2 * number + 1];
        assert!(median(&mut quick, (&clock, &stop), pair).is_ok());
        assert_eq!(quick.ended, 2 * PART_SAMPLES_MOST);
        let takes = Duration::from_millis(3);
        let mut slow = OneByOne { takes, ..OneByOne::default() };
        let found = median(&mut slow, (&clock, &stop), pair).unwrap();
        assert!(found.value_ns >= 6e6, "{found:?}");
        assert!((2..=2 * 5).contains(&slow.ended), "{}", slow.ended);
    }

    #[test]
    fn latencies_are_reported_once_and_none_after_a_break() {
        let (clock, stop) = (Clock::measured(&Topology::here()), Stop::default());
        let mut slices = Vec::new();
        let seen = latencies((&clock, &stop), 1300, &mut |_| Ok(()), &mut |slice| {
            slices.push(slice.ticks.len());
            if slices.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen.map(|seen| seen.count()), Ok(slices.iter().sum::<usize>() as u64));
        assert_eq!(slices.len(), 2);
        stop.request();
        let none = latencies((&clock, &stop), 10, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
        assert_eq!(none.map(|seen| seen.count()), Ok(0));
    }
}
