//! A page's question: tests of bandwidth and latency with common parameters.

use pcie_refusal::Refusal;
use pcie_workload::{
    CacheState, Operation, Path, Pattern, Suite, Test, TestRecord, published_name, published_transactions,
};
use serde::Deserialize;

/// The words of a page's address, less the system and its changes. Missing ones have the defaults of tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) bandwidth: Operation,
    pub(crate) latency: Operation,
    pub(crate) size: u64,
    pub(crate) window: u64,
    pub(crate) cache: CacheState,
    pub(crate) pattern: Pattern,
    pub(crate) host_offset: u64,
    pub(crate) device_offset: u64,
    pub(crate) stride: u64,
    pub(crate) outstanding: Option<u32>,
    pub(crate) seed: u64,
    /// A measured bandwidth to explain, Gb/s.
    pub(crate) measured: Option<f64>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            bandwidth: Operation::BwRd,
            latency: Operation::LatRd,
            size: 64,
            window: 8192,
            cache: CacheState::default(),
            pattern: Pattern::default(),
            host_offset: 0,
            device_offset: 0,
            stride: 1,
            outstanding: None,
            seed: 1,
            measured: None,
        }
    }
}

impl Question {
    /// The test of an operation; `details`: with its full distribution.
    pub(crate) fn test(&self, operation: Operation, details: bool) -> Test {
        Test {
            cache: self.cache,
            details,
            device_offset_bytes: self.device_offset,
            host_offset_bytes: self.host_offset,
            operation,
            outstanding: self.outstanding,
            path: Path::Dma,
            pattern: self.pattern,
            size_bytes: self.size,
            stride_units: self.stride,
            transactions: published_transactions(operation, details),
            window_bytes: self.window,
        }
    }
}

/// Published name of an operation on the DMA path.
pub(crate) fn name_of(operation: Operation) -> Result<&'static str, Refusal> {
    let remedy = "give an operation that DMA engines have";
    published_name(operation, Path::Dma)
        .ok_or_else(|| Refusal::of("operation", format!("{operation:?}"), remedy))
}

/// A suite of one test, as `pcielab run --test` makes it.
pub(crate) fn suite(test: Test) -> Result<Suite, Refusal> {
    test.validate()?;
    let name = name_of(test.operation)?;
    let record = TestRecord { family: "single".into(), name: name.into(), parameters: test };
    Ok(Suite { name: "single".into(), title: format!("One test: {name}"), tests: vec![record] })
}
