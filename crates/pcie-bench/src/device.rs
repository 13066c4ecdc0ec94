//! The interface of a device under test.

use crate::facts::{Condition, DeviceFacts, Remarks};
use crate::stop::Stop;
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_trace::Segment;
use pcie_workload::{AddressList, Test};
use std::ops::ControlFlow;
use thiserror::Error;

/// A device that runs micro-benchmarks: simulated, in RTL, or real.
///
/// Results come in slices, in order; after each, the sink decides whether to go on. A slice of a real device
/// takes at most 100 ms of wall time, and each wait in it ends by the deadline of the device's facts.
///
/// Methods return [`DeviceError::NotSupported`] beyond the device's limits, and another error after a failure.
pub trait Device {
    /// Identity and limits of the device.
    fn facts(&self) -> DeviceFacts;

    /// Changing values, read now: before and after a run and after each test.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Announces the next test, before its caches are prepared.
    fn begin(&mut self, start: Start<'_>);

    /// Writes random lines over the whole host buffer, 128 MiB of them.
    fn thrash(&mut self) -> Result<(), DeviceError>;

    /// Writes the first `window_bytes` of the host buffer, twice.
    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError>;

    /// Runs a latency test until it is complete or `sink` breaks off.
    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// Runs a bandwidth test until it is complete or `sink` breaks off.
    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// The trace of the first `span` of a test whose caches are prepared: TLPs, phases and counters. It changes neither the
    /// device nor the host.
    fn trace(&mut self, _test: &Test, _span: Picoseconds) -> Result<Vec<Segment>, DeviceError> {
        let name = self.facts().name;
        Err(DeviceError::NotSupported(format!(
            "--trace: {name} has no trace: leave it out, or simulate a system"
        )))
    }

    /// Remarks on the last test, beside its numbers.
    fn remarks(&mut self) -> Remarks {
        Remarks::default()
    }

    /// Whether a test or its preparation affects the next test despite the host's thrash, so that tests done
    /// elsewhere must be replayed. Only simulated devices can know this.
    fn is_stateful(&self) -> bool {
        false
    }

    /// Takes on the state that a test leaves which was done in an earlier run or by another job.
    fn replay_state(&mut self, _test: &Test) {}

    /// Recovers from a failure, so that the next test can work.
    ///
    /// # Errors
    /// The device is lost.
    fn recover(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Releases its resources and reports failures; dropping the device releases them, too. May be called
    /// repeatedly, after all tests.
    ///
    /// # Errors
    /// A resource could not be released.
    fn close(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Implements the methods of [`Device`] that a wrapper passes to its `device` unchanged.
macro_rules! forward_to_device {
    () => {
        fn facts(&self) -> $crate::DeviceFacts {
            self.device.facts()
        }

        fn conditions(&mut self) -> Vec<$crate::Condition> {
            self.device.conditions()
        }

        fn trace(
            &mut self,
            test: &Test,
            span: pcie_time::Picoseconds,
        ) -> Result<Vec<pcie_trace::Segment>, DeviceError> {
            self.device.trace(test, span)
        }

        fn remarks(&mut self) -> $crate::Remarks {
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
    };
}
pub(crate) use forward_to_device;

/// A test's position in its run.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Position in the suite, from 0.
    pub position: u64,
    /// Seed of the run; the addresses of a test are drawn from it.
    pub seed: u64,
    /// The test.
    pub test: &'a Test,
    /// Stop request of the run: a device may keep a clone to poll or to wait on.
    pub stop: &'a Stop,
}

impl Start<'_> {
    /// The addresses that the test visits, the same on every device.
    #[must_use]
    pub fn addresses(&self) -> AddressList {
        AddressList::new(self.test, Draws::new(self.seed, self.position, Stream::Addresses))
    }
}

/// Some transactions of a latency test.
#[derive(Clone, Debug, Default)]
pub struct LatencySlice {
    /// Their latencies in ticks of the device's timer, in order.
    pub ticks: Vec<u32>,
    /// Their total time, the loop between them included, ns.
    pub elapsed_ns: f64,
}

/// Some transactions of a bandwidth test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BandwidthSlice {
    /// How many.
    pub transactions: u64,
    /// Their total time, ns.
    pub elapsed_ns: f64,
    /// Whether to discard the slices before it: the device found that they were not in steady state.
    pub anew: bool,
}

/// Why a device did not run a test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The device does not support the test; names the limit.
    #[error("{0}")]
    NotSupported(String),
    /// The device failed, and may work again.
    #[error("{0}")]
    Failed(String),
    /// The device is gone: the run ends, and a resumed run repeats the test.
    #[error("{0}")]
    Lost(String),
}
