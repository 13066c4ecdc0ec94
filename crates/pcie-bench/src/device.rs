//! What a device must be able to do to be benchmarked.

use pcie_time::TickLength;
use pcie_workload::Test;
use serde::Serialize;
use std::ops::ControlFlow;
use thiserror::Error;

/// A card that can run the micro-benchmarks: simulated, in RTL, or real.
///
/// Results come in slices, in order, and the receiver says after each whether it wants more.
pub trait Device {
    /// What the device says of itself.
    fn facts(&self) -> DeviceFacts;

    /// Says which test of which suite comes next, before anything is prepared for it.
    fn begin(&mut self, start: Start<'_>);

    /// Writes random lines over the whole host buffer, 128 MiB of them.
    ///
    /// # Errors
    /// The device cannot, or failed.
    fn thrash(&mut self) -> Result<(), DeviceError>;

    /// Writes the first `window_bytes` of the host buffer, twice.
    ///
    /// # Errors
    /// The device cannot, or failed.
    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError>;

    /// Runs a latency test until it is complete or `sink` breaks off.
    ///
    /// # Errors
    /// The device cannot run the test, or failed.
    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// Runs a bandwidth test until it is complete or `sink` breaks off.
    ///
    /// # Errors
    /// The device cannot run the test, or failed.
    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// Whether anything of a test, or of what prepared it, can be seen after the host's thrash before the next.
    fn remembers(&self) -> bool {
        true
    }

    /// A test was done in an earlier run, or elsewhere: takes on the state in which it leaves things, where the device has
    /// a way to.
    fn pass_over(&mut self, _test: &Test) {}
}

/// Where in a run a test stands.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Place in the suite, counted from 0.
    pub position: u64,
    /// The test.
    pub test: &'a Test,
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// Its timer: length of a tick as a fraction, and clock cycles in it.
    pub timer: TimerFacts,
    /// Longest transfer of the DMA path, bytes.
    pub dma_transfer_bytes_most: u32,
    /// Longest transfer of the command path, bytes; null without one.
    pub command_transfer_bytes_most: Option<u32>,
    /// DMAs in flight at most.
    pub outstanding: u32,
}

/// The timer of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimerFacts {
    /// Length of a tick, ns: numerator.
    pub numerator_ns: u64,
    /// Length of a tick, ns: denominator.
    pub denominator: u64,
    /// Clock cycles in a tick.
    pub cycles: u64,
}

impl TimerFacts {
    /// The length of a tick.
    #[must_use]
    pub fn tick(self) -> TickLength {
        TickLength { numerator_ns: self.numerator_ns, denominator: self.denominator }
    }

    /// The length of a tick as the store writes it, such as `40/3`.
    #[must_use]
    pub fn as_fraction(self) -> String {
        format!("{}/{}", self.numerator_ns, self.denominator)
    }
}

/// Some transactions of a latency test.
#[derive(Clone, Debug, Default)]
pub struct LatencySlice {
    /// Their latencies in ticks of the device's timer, in order.
    pub ticks: Vec<u32>,
    /// The time that they took altogether, the loop between them included, ns.
    pub elapsed_ns: f64,
}

/// Some transactions of a bandwidth test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthSlice {
    /// How many.
    pub transactions: u64,
    /// The time that they took, ns.
    pub elapsed_ns: f64,
}

/// Why a device did not run a test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// It lacks something that the test needs.
    #[error("{0}")]
    NotSupported(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}
