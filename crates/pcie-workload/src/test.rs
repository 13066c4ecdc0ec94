//! One test: a row of a suite.

use pcie_refusal::Refusal;
use pcie_schema::relief::{Who, any, less, more, off};
use pcie_schema::{Fitting, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Cache lines are 64 bytes on every machine the suite knows.
pub const LINE_BYTES: u64 = 64;
/// A transfer within a page of this size must not cross into the next; a longer one is whole pages.
pub const PAGE_BYTES: u64 = 4096;
/// An address, which each read of a pointer chase returns.
pub const ADDRESS_BYTES: u64 = 8;
/// Longest transfer.
pub const TRANSFER_BYTES_MOST: u64 = 1 << 30;

/// The micro-benchmarks: the five published ones, and one of dependent reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Latency of a read.
    #[default]
    LatRd,
    /// Latency of a write and the read of the same address behind it.
    LatWrrd,
    /// Bandwidth of reads.
    BwRd,
    /// Bandwidth of writes.
    BwWr,
    /// Bandwidth of alternating reads and writes; one direction counts.
    BwRdwr,
    /// Latency of reads each of which returns the address of the next (pointer chase), as an average over many.
    LatChase,
}

impl Operation {
    /// Whether the result is a latency: a time per transaction, not per byte.
    #[must_use]
    pub fn is_latency(self) -> bool {
        matches!(self, Self::LatRd | Self::LatWrrd | Self::LatChase)
    }

    /// Whether any transaction writes to the host.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::LatRd | Self::BwRd | Self::LatChase)
    }
}

/// Which of the device's two paths to the host carries the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Descriptors and a DMA engine.
    #[default]
    Dma,
    /// Small reads and writes from registers.
    Command,
}

/// Order in which the units of the window are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The first unit, always.
    Fixed,
    /// One after the other, and again from the start.
    Sequential,
    /// Every n-th unit, wrapping round.
    Strided,
    /// Drawn once into a list, which is replayed.
    #[default]
    Random,
}

/// Preparation of the caches just before the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// The host thrashes its caches.
    #[default]
    Cold,
    /// Then the device writes random lines over the whole buffer, twice 64 MiB of them.
    DeviceThrash,
    /// Or the device writes the window, twice.
    DeviceWarm,
    /// Or the CPU writes the window, four times.
    HostWarm,
}

/// A test: the parameters of one row.
///
/// As JSON it is canonical: these keys, in this order, each of them present.
///
/// From the attributes of its fields `make generate` makes the options of `pcielab run`, the keywords of
/// `single_test`, the axes of sweeps and suites, the columns of tables and the reference. `x-word` is the
/// name for users, `x-column` the position among columns, `x-axis` the axis in suites.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// State of the caches before it.
    #[schemars(extend("x-word" = "cache", "x-heading" = "cache", "x-column" = 4, "x-axis" = "cache", "default" = "cold"))]
    #[schemars(extend("x-relief" = any(Who::Workload)))]
    pub cache: CacheState,
    /// Whether a latency test stores its full distribution, as the `_details` families do, and each sample if
    /// there are at most 1,048,576.
    #[schemars(extend("x-word" = "details", "x-heading" = "details", "x-column" = 12, "default" = false))]
    #[schemars(extend("x-fact" = "what is recorded"))]
    pub details: bool,
    /// Offset from an 8 KiB boundary on the device, bytes.
    #[schemars(extend("x-word" = "device_offset", "x-heading" = "device offset (B)", "x-column" = 8, "x-axis" = "offset", "default" = 0))]
    #[schemars(range(min = 0, max = 4095))]
    #[schemars(extend("x-relief" = off(Who::Workload)))]
    pub device_offset_bytes: u64,
    /// Offset from a cache line on the host, bytes.
    #[schemars(extend("x-word" = "host_offset", "x-heading" = "host offset (B)", "x-column" = 7, "x-axis" = "offset", "default" = 0))]
    #[schemars(range(min = 0, max = 4095))]
    #[schemars(extend("x-relief" = off(Who::Workload)))]
    pub host_offset_bytes: u64,
    /// The micro-benchmark.
    #[schemars(extend("x-word" = "test", "x-heading" = "test", "x-column" = 1, "x-axis" = "test"))]
    #[schemars(extend("x-fact" = "the question"))]
    pub operation: Operation,
    /// Maximum number of requests in flight; by default (null) the device's own limit.
    #[schemars(extend("x-word" = "outstanding", "x-heading" = "outstanding", "x-column" = 10, "x-axis" = "outstanding"))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    #[schemars(extend("x-relief" = more(Who::Workload)))]
    pub outstanding: Option<u32>,
    /// Path on the device.
    #[schemars(extend("x-word" = "path", "x-heading" = "path", "x-column" = 2, "default" = "dma"))]
    #[schemars(extend("x-fact" = "the question"))]
    pub path: Path,
    /// Order of the accesses to the window.
    #[schemars(extend("x-word" = "pattern", "x-heading" = "pattern", "x-column" = 3, "x-axis" = "pattern", "default" = "random"))]
    #[schemars(extend("x-fact" = "the question"))]
    pub pattern: Pattern,
    /// Transfer size, bytes.
    #[schemars(extend("x-word" = "size", "x-heading" = "size (B)", "x-column" = 5, "x-axis" = "size", "default" = 64, "x-size" = true))]
    #[schemars(range(min = 1, max = TRANSFER_BYTES_MOST))]
    #[schemars(extend("x-relief" = more(Who::Workload)))]
    pub size_bytes: u64,
    /// Distance of a strided pattern's accesses, in units (a transfer in whole cache lines); 1 for others.
    #[schemars(extend("x-word" = "stride", "x-heading" = "stride (units)", "x-column" = 9, "x-axis" = "stride", "default" = 1))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    #[schemars(extend("x-fact" = "the question"))]
    pub stride_units: u64,
    /// Number of transactions; by default that of the published suite.
    #[schemars(extend("x-word" = "transactions", "x-heading" = "transactions", "x-column" = 11, "default" = 2097152))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    #[schemars(extend("x-fact" = "how long the test is"))]
    pub transactions: u64,
    /// Window, bytes.
    #[schemars(extend("x-word" = "window", "x-heading" = "window", "x-column" = 6, "x-axis" = "window", "default" = 8192, "x-size" = true))]
    #[schemars(range(min = 1, max = i64::MAX))]
    #[schemars(extend("x-relief" = less(Who::Workload)))]
    pub window_bytes: u64,
}

/// A test as it stands in a suite: with its family and its published name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// The family, which is the stem of the published file.
    pub family: String,
    /// The published name, for example `LAT_CMD_RD`.
    pub name: String,
    /// Its parameters.
    pub parameters: Test,
}

impl Test {
    /// The plainest test: DMA over cold caches to random aligned units of a window.
    #[must_use]
    pub fn random_dma(operation: Operation, size_bytes: u64, window_bytes: u64, transactions: u64) -> Self {
        Self { operation, size_bytes, window_bytes, transactions, stride_units: 1, ..Self::default() }
    }

    /// Size of a unit: transfer and offset in whole cache lines.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        (self.size_bytes + self.host_offset_bytes).next_multiple_of(LINE_BYTES)
    }

    /// Refuses a test that no machine could carry out.
    ///
    /// Source: the published suite, whose accesses stay inside a page and the window. Longer ones are whole
    /// pages.
    pub fn validate(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        self.validate_extent()?;
        self.validate_units()?;
        if self.details && !self.operation.is_latency() {
            return Err(Refusal::of("details", true, "only latency tests have a distribution"));
        }
        self.validate_chase()
    }

    /// Checks that dependent reads go through a path that has them, and that a unit holds an address.
    fn validate_chase(&self) -> Result<(), Refusal> {
        if self.operation != Operation::LatChase {
            return Ok(());
        }
        if self.path == Path::Dma {
            let remedy = "a DMA engine does not read its next address from the data: give command";
            return Err(Refusal::of("path", "dma", remedy));
        }
        if self.size_bytes < ADDRESS_BYTES {
            let remedy = format!("each read returns an address: give {ADDRESS_BYTES} or more");
            return Err(Refusal::of("size_bytes", self.size_bytes, remedy));
        }
        Ok(())
    }

    /// Checks that transfers stay within a page, or are whole pages.
    fn validate_extent(&self) -> Result<(), Refusal> {
        let size_bytes = self.size_bytes;
        if size_bytes > PAGE_BYTES && !size_bytes.is_multiple_of(PAGE_BYTES) {
            let remedy =
                format!("give at most {PAGE_BYTES}, or a multiple of it up to {TRANSFER_BYTES_MOST}");
            return Err(Refusal::of("size_bytes", size_bytes, remedy));
        }
        for (key, offset) in
            [("host_offset_bytes", self.host_offset_bytes), ("device_offset_bytes", self.device_offset_bytes)]
        {
            if offset > 0 && size_bytes + offset > PAGE_BYTES {
                let remedy = format!("offset + size ({size_bytes}) must not exceed {PAGE_BYTES}");
                return Err(Refusal::of(key, offset, remedy).beside("size_bytes"));
            }
        }
        Ok(())
    }

    /// Checks that the window holds a unit, and the stride stays within it.
    fn validate_units(&self) -> Result<(), Refusal> {
        let unit_bytes = self.unit_bytes();
        if self.window_bytes < unit_bytes {
            let (size, offset) = (self.size_bytes, self.host_offset_bytes);
            let remedy = format!("give {unit_bytes} or more, for size {size} at host offset {offset}");
            return Err(Refusal::of("window_bytes", self.window_bytes, remedy));
        }
        let refused = |remedy: String| Err(Refusal::of("stride_units", self.stride_units, remedy));
        if self.pattern != Pattern::Strided && self.stride_units != 1 {
            return refused("only a strided pattern has a stride other than 1".to_owned());
        }
        let units = self.window_bytes / unit_bytes;
        if units > 1 && self.stride_units >= units {
            return refused(format!("the window has {units} units: give a smaller stride"));
        }
        Ok(())
    }
}

impl Fitting for Test {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Test>);
        &SHAPE
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Test {
        Test::random_dma(Operation::BwRd, 64, 8192, 1 << 23)
    }

    #[test]
    fn json_is_canonical() {
        let text = serde_json::to_string(&sample()).unwrap();
        let keys: Vec<&str> =
            text.split('"').skip(1).step_by(2).filter(|key| key.contains("bytes")).collect();
        assert_eq!(keys, ["device_offset_bytes", "host_offset_bytes", "size_bytes", "window_bytes"]);
        assert!(text.starts_with(r#"{"cache":"cold","details":false,"#) && !text.contains(' '));
        assert_eq!(serde_json::from_str::<Test>(&text).unwrap(), sample());
    }

    #[test]
    fn refuses_impossible_tests() {
        assert_eq!(sample().validate(), Ok(()));
        for (wrong, expected) in [
            (Test { size_bytes: 0, ..sample() }, "size_bytes is 0: give 1 to 1073741824"),
            (
                Test { size_bytes: u64::MAX, ..sample() },
                "size_bytes is 18446744073709551615: give 1 to 1073741824",
            ),
            (
                Test { size_bytes: 4096, host_offset_bytes: 1, ..sample() },
                "host_offset_bytes is 1: offset + size (4096) must not exceed 4096",
            ),
            (
                Test { device_offset_bytes: 4095, ..sample() },
                "device_offset_bytes is 4095: offset + size (64) must not exceed 4096",
            ),
            (
                Test { window_bytes: 64, host_offset_bytes: 1, ..sample() },
                "window_bytes is 64: give 128 or more, for size 64 at host offset 1",
            ),
            (Test { stride_units: 0, ..sample() }, "stride_units is 0: give 1 to 4294967295"),
            (Test { outstanding: Some(0), ..sample() }, "outstanding is 0: give 1 to 4294967295"),
            (
                Test { stride_units: 2, ..sample() },
                "stride_units is 2: only a strided pattern has a stride other than 1",
            ),
            (
                Test { stride_units: 500, pattern: Pattern::Strided, ..sample() },
                "stride_units is 500: the window has 128 units: give a smaller stride",
            ),
            (Test { details: true, ..sample() }, "details is true: only latency tests have a distribution"),
            (
                Test { operation: Operation::LatChase, ..sample() },
                "path is dma: a DMA engine does not read its next address from the data: give command",
            ),
            (
                Test { operation: Operation::LatChase, path: Path::Command, size_bytes: 7, ..sample() },
                "size_bytes is 7: each read returns an address: give 8 or more",
            ),
        ] {
            assert_eq!(wrong.validate().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn transfers_above_a_page_are_whole_pages_without_offsets() {
        let long = |size_bytes| Test { size_bytes, window_bytes: 1 << 31, ..sample() };
        assert_eq!(long(8192).validate(), Ok(()));
        assert_eq!(long(1 << 30).validate(), Ok(()));
        for (odd, expected) in
            [(4097, "give at most 4096, or a multiple of it"), ((1 << 30) + 4096, "give 1 to")]
        {
            let message = long(odd).validate().unwrap_err().to_string();
            assert!(message.starts_with(&format!("size_bytes is {odd}: {expected}")), "{message}");
        }
        assert!(Test { host_offset_bytes: 64, ..long(8192) }.validate().is_err());
        assert!(Test { device_offset_bytes: 64, ..long(8192) }.validate().is_err());
        assert!(Test { window_bytes: 8192, ..long(1 << 20) }.validate().is_err());
    }
}
