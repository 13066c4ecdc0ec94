//! Commands by the clock: one after the other, or as many at once as a device takes. Drives and NICs have this in common: they are
//! handed commands, and asked again and again what has become of them.

use crate::opened::Interrupt;
use pcie_bench::{BandwidthSlice, DeviceError, LatencySlice, Stop};
use pcie_host::Clock;
use pcie_statistics::Histogram;
use pcie_store::Scalar;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A command that says nothing for so long will not any more.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// Longest slice: results come this often.
const SLICE: Duration = Duration::from_millis(20);
/// Samples in a slice of a latency test at most.
const LATENCY_SLICE: usize = 512;
/// Looks at the queue between two looks at the clock.
const LOOKS: u32 = 256;
/// What a command may take to end after the run was told to.
const GRACE: Duration = Duration::from_millis(100);
/// How long an interrupt is waited for before the stop is looked at.
const INTERRUPT_WAIT: Duration = Duration::from_millis(10);
/// Commands that a part is the median of.
const COMMANDS: usize = 65;

/// What is handed commands.
pub(crate) trait Engine {
    /// A command.
    type Command: Copy;
    /// What people call it.
    const NAME: &'static str;

    /// Commands that it takes at once.
    fn depth(&self) -> u64;

    /// Hands over a command; never more than [`Engine::depth`] of them.
    ///
    /// # Errors
    /// It is gone.
    fn submit(&mut self, command: Self::Command) -> Result<(), DeviceError>;

    /// Tells it of what was handed over, where handing over did not.
    ///
    /// # Errors
    /// It is gone.
    fn ring(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// How many commands have ended since the last time; the first that ended badly is left in `wrong`.
    ///
    /// # Errors
    /// It is gone, or makes no sense.
    fn ended(&mut self, wrong: &mut Option<DeviceError>) -> Result<u64, DeviceError>;

    /// What tells that something has ended; none where it is looked for.
    fn interrupt(&self) -> Option<&Interrupt> {
        None
    }
}

/// Carries out one command, and waits for it.
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

/// Keeps an engine busy with `total` commands, of which `command` makes each from its number, and tells how many were done in
/// which time. Ends with nothing in flight.
pub(crate) fn many<E: Engine>(
    engine: &mut E,
    (clock, stop): (&Clock, &Stop),
    (total, outstanding): (u64, Option<u32>),
    command: &mut dyn FnMut(u64) -> E::Command,
    sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
) -> Result<(), DeviceError> {
    let depth = outstanding.map_or(engine.depth(), u64::from);
    let (mut next, mut done, mut told) = (0, 0, 0);
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
            let enough =
                sink(BandwidthSlice { transactions: done - told, elapsed_ns, anew: false }).is_break();
            told = done;
            started = clock.now();
            if enough || stop.is_requested() || wrong.is_some() {
                // What is in flight is waited for, and told to nobody.
                end = next;
            }
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// Times `total` transactions one after the other, and tells their latencies slice by slice; all that were told come back too.
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

/// The median time of some commands of one kind, ns.
pub(crate) fn median_ns<E: Engine>(
    engine: &mut E,
    command: E::Command,
    (clock, stop): (&Clock, &Stop),
) -> Result<f64, DeviceError> {
    let mut times = Vec::with_capacity(COMMANDS);
    while times.len() < COMMANDS && (times.is_empty() || !stop.is_requested()) {
        let before = clock.now();
        one(engine, command, stop)?;
        times.push(clock.now() - before);
    }
    times.sort_unstable();
    Ok(clock.ns(times[times.len() / 2]))
}

/// A part of what was timed.
pub(crate) fn part(subject: &str, metric: &str, value_ns: f64) -> Scalar {
    Scalar { subject: subject.into(), metric: metric.into(), unit: "ns".into(), value: value_ns }
}

/// Places of transfers that have no order: which of `units` is next.
pub(crate) fn scattered(seed: u32, units: u64) -> impl FnMut() -> u64 {
    let mut state = u64::from(seed) ^ 0x9e37_79b9_7f4a_7c15;
    move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((u128::from(state) * u128::from(units)) >> 64) as u64
    }
}

/// How long a command is waited for.
struct Patience<'a> {
    stop: &'a Stop,
    looks: u32,
    since: Option<Instant>,
    told: Option<Instant>,
}

impl<'a> Patience<'a> {
    fn new(stop: &'a Stop) -> Self {
        Self { stop, looks: 0, since: None, told: None }
    }

    /// Nothing has come: waits a little, or gives up.
    #[inline]
    fn wait<E: Engine>(&mut self, engine: &E) -> Result<(), DeviceError> {
        self.looks += 1;
        match engine.interrupt() {
            Some(interrupt) => drop(interrupt.wait(INTERRUPT_WAIT)),
            None if !self.looks.is_multiple_of(LOOKS) => {
                std::hint::spin_loop();
                return Ok(());
            }
            None => {}
        }
        let now = Instant::now();
        let silent = now - *self.since.get_or_insert(now);
        if silent > SILENCE {
            return Err(DeviceError::Failed(format!(
                "{} did not answer a command for {} s",
                E::NAME,
                SILENCE.as_secs()
            )));
        }
        if self.stop.is_requested() && now - *self.told.get_or_insert(now) > GRACE {
            return Err(DeviceError::Failed(format!(
                "the run was told to stop while {} was silent",
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

    /// Ends the commands that it was rung for, one with each look.
    #[derive(Default)]
    struct OneByOne {
        given: u64,
        rung: u64,
        ended: u64,
        most_in_flight: u64,
        /// The command that ends badly.
        bad: Option<u64>,
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
                wrong.get_or_insert(DeviceError::Failed("a bad one".into()));
            }
            self.ended += 1;
            Ok(1)
        }
    }

    /// Carries out many; what was told of them, and what came of it.
    fn carried(
        engine: &mut OneByOne,
        outstanding: Option<u32>,
        enough: bool,
    ) -> (u64, Result<(), DeviceError>) {
        let (clock, stop) = (Clock::measured(&Topology::here()), Stop::default());
        let mut told = 0;
        let result = many(engine, (&clock, &stop), (1000, outstanding), &mut |number| number, &mut |slice| {
            told += slice.transactions;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (told, result)
    }

    #[test]
    fn as_many_are_in_flight_as_it_takes_or_as_was_asked_for_and_all_are_told() {
        for (outstanding, most) in [(None, 8), (Some(3), 3)] {
            let mut engine = OneByOne::default();
            assert_eq!(carried(&mut engine, outstanding, false), (1000, Ok(())));
            assert_eq!((engine.ended, engine.most_in_flight), (1000, most));
        }
    }

    #[test]
    fn what_ends_badly_is_told_when_nothing_is_in_flight_any_more() {
        let mut engine = OneByOne { bad: Some(500), ..OneByOne::default() };
        let (_, result) = carried(&mut engine, None, false);
        assert_eq!(result, Err(DeviceError::Failed("a bad one".into())));
        assert_eq!(engine.given, engine.ended);
        let stop = Stop::default();
        let mut engine = OneByOne { bad: Some(0), ..OneByOne::default() };
        assert_eq!(one(&mut engine, 0, &stop), Err(DeviceError::Failed("a bad one".into())));
        assert_eq!(one(&mut engine, 1, &stop), Ok(()));
    }

    #[test]
    fn each_latency_is_told_once_and_none_after_enough_was_heard() {
        let (clock, stop) = (Clock::measured(&Topology::here()), Stop::default());
        let mut told = Vec::new();
        let seen = latencies((&clock, &stop), 1300, &mut |_| Ok(()), &mut |slice| {
            told.push(slice.ticks.len());
            if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen.map(|seen| seen.count()), Ok(told.iter().sum::<usize>() as u64));
        assert_eq!(told.len(), 2);
        stop.request();
        let none = latencies((&clock, &stop), 10, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
        assert_eq!(none.map(|seen| seen.count()), Ok(0));
    }
}
