//! Fault injection: a device that fails some tests on purpose. A seed determines which tests, and how.

use crate::backend::{Backend, Bench, OpenError, forward_to_backend};
use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start, forward_to_device};
use crate::facts::Condition;
use crate::messages::{MessageDevice, MessageResult, MessageStart};
use pcie_store::Origin;
use pcie_time::{Draws, Stream};
use pcie_workload::Test;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Shares of the tests with each fault, together 1 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Seed of the selection.
    pub seed: u64,
    /// Position in the suite of the first test that may fail.
    pub from: u64,
    /// The test fails; the device recovers.
    pub failures: f64,
    /// The device is lost.
    pub losses: f64,
    /// The device neither answers nor heeds a stop for [`Faults::silence_ms`].
    pub silences: f64,
    /// Length of a silence, ms.
    pub silence_ms: u64,
    /// The device returns more results than asked for.
    pub wrong_counts: f64,
}

/// A back end with injected faults. It opens `B`, as [`Backend`] does.
pub struct Faulty<B = Bench> {
    inner: Arc<dyn Backend<B>>,
    faults: Faults,
}

impl<B> Faulty<B> {
    /// Injects faults into the devices of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend<B>>, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

impl<B: Breakable> Backend<B> for Faulty<B> {
    forward_to_backend!();

    /// The options of `inner`, and the faults, so that the run is not mistaken for one without.
    fn options(&self) -> Map<String, Value> {
        let mut options = self.inner.options();
        options.insert("faults".into(), json!(self.faults));
        options
    }

    fn open(&self) -> Result<B, OpenError> {
        Ok(self.inner.open()?.broken(self.faults))
    }
}

/// A device that accepts injected faults.
pub trait Breakable {
    /// The device with faults.
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
    /// The fault of the test at a position.
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
    /// Faults before anything is measured.
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

/// Most latencies made up at once: those of the longest published test fit.
const AT_ONCE_MAX: u64 = 1 << 25;

struct FaultyDevice {
    device: Box<dyn Device>,
    faults: Faults,
    next: Option<Fault>,
}

impl Device for FaultyDevice {
    forward_to_device!();

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_their_shares_and_depend_on_the_seed() {
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
