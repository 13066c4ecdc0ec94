//! A device that goes wrong on purpose, now and then, so that what is around it can be tried: which tests, and how, is a
//! function of a seed.

use crate::backend::{Backend, Bench, OpenError};
use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start};
use crate::facts::{Condition, DeviceFacts, Remarks};
use crate::messages::{MessageDevice, MessageResult, MessageStart};
use pcie_store::Origin;
use pcie_time::{Draws, Stream};
use pcie_workload::Test;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// How often what goes wrong: shares of the tests, together 1 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Names which tests.
    pub seed: u64,
    /// Place in the suite of the first test that may go wrong.
    pub from: u64,
    /// Fails, and works again.
    pub failures: f64,
    /// Is lost.
    pub losses: f64,
    /// Does not answer, and does not look at the stop, for as long as [`Faults::silence_ms`] says.
    pub silences: f64,
    /// How long a silence is, ms.
    pub silence_ms: u64,
    /// Returns more results than were asked for.
    pub wrong_counts: f64,
}

/// A back end whose devices go wrong. `B` is what it opens, as of [`Backend`].
pub struct Faulty<B = Bench> {
    inner: Arc<dyn Backend<B>>,
    faults: Faults,
}

impl<B> Faulty<B> {
    /// Makes what `inner` opens go wrong.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend<B>>, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

impl<B: Breakable> Backend<B> for Faulty<B> {
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    fn origin(&self) -> Origin {
        self.inner.origin()
    }

    /// Those of the back end inside, and the faults: nobody is to take such a run for another.
    fn options(&self) -> Map<String, Value> {
        let mut options = self.inner.options();
        options.insert("faults".into(), json!(self.faults));
        options
    }

    fn jobs_most(&self) -> usize {
        self.inner.jobs_most()
    }

    fn attachments(&self) -> Vec<(String, String)> {
        self.inner.attachments()
    }

    fn open(&self) -> Result<B, OpenError> {
        Ok(self.inner.open()?.broken(self.faults))
    }
}

/// What can be made to go wrong.
pub trait Breakable {
    /// The same, going wrong.
    #[must_use]
    fn broken(self, faults: Faults) -> Self;
}

impl Breakable for Bench {
    fn broken(self, faults: Faults) -> Self {
        let Self { device, host } = self;
        Self { device: Box::new(FaultyDevice { device, faults, next: None }), host }
    }
}

impl Breakable for Box<dyn MessageDevice> {
    fn broken(self, faults: Faults) -> Self {
        Box::new(FaultyMessageDevice { device: self, faults })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Failure,
    Loss,
    Silence,
    WrongCount,
}

impl Faults {
    /// What goes wrong in the test at a position.
    fn at(&self, position: u64) -> Option<Fault> {
        if position < self.from {
            return None;
        }
        let drawn = Draws::new(self.seed, position, Stream::Stalls).fraction(0);
        let mut limit = 0.0;
        let shares = [
            (self.failures, Fault::Failure),
            (self.losses, Fault::Loss),
            (self.silences, Fault::Silence),
            (self.wrong_counts, Fault::WrongCount),
        ];
        shares.into_iter().find_map(|(share, fault)| {
            limit += share;
            (drawn < limit).then_some(fault)
        })
    }
}

impl Faults {
    /// What goes wrong before anything is measured.
    fn go_wrong(self, fault: Option<Fault>) -> Result<(), DeviceError> {
        match fault {
            Some(Fault::Failure) => Err(DeviceError::Failed("a failure on purpose".into())),
            Some(Fault::Loss) => Err(DeviceError::Lost("a loss on purpose".into())),
            Some(Fault::Silence) => {
                std::thread::sleep(Duration::from_millis(self.silence_ms));
                Ok(())
            }
            Some(Fault::WrongCount) | None => Ok(()),
        }
    }
}

struct FaultyMessageDevice {
    device: Box<dyn MessageDevice>,
    faults: Faults,
}

impl MessageDevice for FaultyMessageDevice {
    fn identity(&self) -> Map<String, Value> {
        self.device.identity()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.device.conditions()
    }

    fn deadline(&self) -> Option<Duration> {
        self.device.deadline()
    }

    fn send(&mut self, start: MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        let fault = self.faults.at(start.position);
        self.faults.go_wrong(fault)?;
        let mut result = self.device.send(start)?;
        if fault == Some(Fault::WrongCount) {
            result.latencies_ns.push(result.elapsed_ns);
        }
        Ok(result)
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        self.device.recover()
    }
}

/// More latencies than this are not made up at once: those of the longest published test fit.
const AT_ONCE_MAX: u64 = 1 << 25;

struct FaultyDevice {
    device: Box<dyn Device>,
    faults: Faults,
    next: Option<Fault>,
}

impl Device for FaultyDevice {
    fn facts(&self) -> DeviceFacts {
        self.device.facts()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.device.conditions()
    }

    fn begin(&mut self, start: Start<'_>) {
        self.next = self.faults.at(start.position);
        self.device.begin(start);
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        self.device.thrash()
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.device.warm(window_bytes)
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.faults.go_wrong(self.next)?;
        if self.next == Some(Fault::WrongCount) {
            let ticks = vec![1; usize::try_from(test.transactions.min(AT_ONCE_MAX)).unwrap_or(0) + 1];
            let elapsed_ns = ticks.len() as f64 * 1e3;
            let _ = sink(&LatencySlice { ticks, elapsed_ns });
        }
        self.device.latency(test, sink)
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        self.faults.go_wrong(self.next)?;
        if self.next == Some(Fault::WrongCount) {
            let transactions = test.transactions.saturating_add(1);
            let _ = sink(BandwidthSlice { transactions, elapsed_ns: transactions as f64, anew: false });
        }
        self.device.bandwidth(test, sink)
    }

    fn remarks(&mut self) -> Remarks {
        self.device.remarks()
    }

    fn is_stateful(&self) -> bool {
        self.device.is_stateful()
    }

    fn replay_state(&mut self, test: &Test) {
        self.device.replay_state(test);
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        self.device.recover()
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.device.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_a_seed_names_which() {
        let faults = Faults { failures: 0.1, losses: 0.05, ..Faults::default() };
        let count = |faults: Faults, fault| (0..10_000).filter(|at| faults.at(*at) == Some(fault)).count();
        assert!((900..1_100).contains(&count(faults, Fault::Failure)));
        assert!((400..600).contains(&count(faults, Fault::Loss)));
        assert_eq!(count(faults, Fault::Silence), 0);
        let other = Faults { seed: 1, ..faults };
        assert!((0..100).any(|at| faults.at(at) != other.at(at)));
        let later = Faults { from: 50, failures: 1.0, ..faults };
        assert_eq!([later.at(49), later.at(50)], [None, Some(Fault::Failure)]);
    }
}
