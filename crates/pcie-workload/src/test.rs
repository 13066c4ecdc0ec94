//! One test: what a row of the suite asks for.

use pcie_refusal::{Refusal, in_range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cache lines are 64 bytes on every machine the suite knows.
pub const LINE_BYTES: u64 = 64;
/// A transfer within a page of this size must not cross into the next; a longer one is whole pages.
pub const PAGE_BYTES: u64 = 4096;
/// The longest transfer that can be asked for.
pub const TRANSFER_BYTES_MOST: u64 = 1 << 30;

/// The five micro-benchmarks.
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
}

impl Operation {
    /// Whether single transactions are timed.
    #[must_use]
    pub fn is_latency(self) -> bool {
        matches!(self, Self::LatRd | Self::LatWrrd)
    }

    /// Whether any transaction writes to the host.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::LatRd | Self::BwRd)
    }
}

/// Which of the card's two paths to the host carries the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Descriptors and a DMA engine.
    #[default]
    Dma,
    /// Small reads and writes from registers.
    Command,
}

/// In which order the units of the window are visited.
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

/// What is done to the caches just before the test.
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
/// An entry here is the whole of a parameter: from its attributes `make generate` makes the options of `pcielab run`, the
/// keywords of `single_test`, axes of sweeps and suites, columns of tables and the reference. `x-word` is what people call
/// it, `x-column` its place among columns, `x-axis` what varies with it in suites.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// State of the caches before it.
    #[schemars(extend("x-word" = "cache", "x-heading" = "cache", "x-column" = 4, "x-axis" = "cache", "default" = "cold"))]
    pub cache: CacheState,
    /// Whether the full distribution is part of the result (the `_details` families), and of 1,048,576 samples or fewer each
    /// of them; of latency only.
    #[schemars(extend("x-word" = "details", "x-heading" = "details", "x-column" = 12, "default" = false))]
    pub details: bool,
    /// Offset from an 8 KiB boundary on the card, bytes.
    #[schemars(extend("x-word" = "device_offset", "x-heading" = "card offset (B)", "x-column" = 8, "x-axis" = "offset", "default" = 0))]
    #[schemars(range(min = 0, max = 4095))]
    pub device_offset_bytes: u64,
    /// Offset from a cache line on the host, bytes.
    #[schemars(extend("x-word" = "host_offset", "x-heading" = "host offset (B)", "x-column" = 7, "x-axis" = "offset", "default" = 0))]
    #[schemars(range(min = 0, max = 4095))]
    pub host_offset_bytes: u64,
    /// What is done.
    #[schemars(extend("x-word" = "test", "x-heading" = "test", "x-column" = 1, "x-axis" = "test"))]
    pub operation: Operation,
    /// Most requests in flight; null for the device's own limit.
    #[schemars(extend("x-word" = "outstanding", "x-heading" = "outstanding", "x-column" = 10, "x-axis" = "outstanding"))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub outstanding: Option<u32>,
    /// Path on the card.
    #[schemars(extend("x-word" = "path", "x-heading" = "path", "x-column" = 2, "default" = "dma"))]
    pub path: Path,
    /// Order of the accesses to the window.
    #[schemars(extend("x-word" = "pattern", "x-heading" = "pattern", "x-column" = 3, "x-axis" = "pattern", "default" = "random"))]
    pub pattern: Pattern,
    /// Transfer size, bytes.
    #[schemars(extend("x-word" = "size", "x-heading" = "size (B)", "x-column" = 5, "x-axis" = "size", "default" = 64, "x-size" = true))]
    pub size_bytes: u64,
    /// Units from one access of a strided pattern to the next; 1 otherwise.
    #[schemars(extend("x-word" = "stride", "x-heading" = "stride (units)", "x-column" = 9, "x-axis" = "stride", "default" = 1))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub stride_units: u64,
    /// Transactions asked for; those of the published suite, where nothing is said.
    #[schemars(extend("x-word" = "transactions", "x-heading" = "transactions", "x-column" = 11, "default" = 2097152))]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub transactions: u64,
    /// Window, bytes.
    #[schemars(extend("x-word" = "window", "x-heading" = "window", "x-column" = 6, "x-axis" = "window", "default" = 8192, "x-size" = true))]
    pub window_bytes: u64,
}

/// A test as it stands in a suite: with its family and its published name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// The family, which is the stem of the published file.
    pub family: String,
    /// The published name, such as `LAT_CMD_RD`.
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

    /// Refuses what no machine could carry out.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), Refusal> {
        in_range("size_bytes", self.size_bytes, 1..=u64::MAX, "a transfer has at least 1 byte")?;
        self.validate_extent()?;
        if self.window_bytes < self.unit_bytes() {
            let unit = self.unit_bytes();
            let remedy =
                format!("the window must hold one unit of {unit} bytes (size + offset in whole lines)");
            return Err(Refusal::of("window_bytes", self.window_bytes, remedy));
        }
        in_range("transactions", self.transactions, 1..=u64::MAX, "give at least 1")?;
        if self.outstanding == Some(0) {
            return Err(Refusal::of("outstanding", 0, "give at least 1, or null for the card's own limit"));
        }
        in_range("stride_units", self.stride_units, 1..=u64::MAX, "give at least 1")
    }

    /// Within a page, or whole pages.
    fn validate_extent(&self) -> Result<(), Refusal> {
        if self.size_bytes > PAGE_BYTES {
            let whole = self.size_bytes.is_multiple_of(PAGE_BYTES) && self.size_bytes <= TRANSFER_BYTES_MOST;
            let aligned = self.host_offset_bytes == 0 && self.device_offset_bytes == 0;
            let remedy =
                "above a page a transfer is whole pages of 4096 bytes, 1 GiB at most, and has no offsets";
            let refused = || Refusal::of("size_bytes", self.size_bytes, remedy);
            return (whole && aligned).then_some(()).ok_or_else(refused);
        }
        for (key, offset) in
            [("host_offset_bytes", self.host_offset_bytes), ("device_offset_bytes", self.device_offset_bytes)]
        {
            let end = self.size_bytes.saturating_add(offset);
            if end > PAGE_BYTES {
                let remedy = "a transfer must fit a page of 4096 bytes, offset included";
                let problem = format!("with {key} it ends at {end}");
                return Err(Refusal::of("size_bytes", self.size_bytes, remedy).problem(problem).beside(key));
            }
        }
        Ok(())
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
    fn what_no_machine_can_do_is_refused() {
        assert_eq!(sample().validate(), Ok(()));
        let told = |test: Test| test.validate().unwrap_err().to_string();
        assert_eq!(
            told(Test { size_bytes: 0, ..sample() }),
            "size_bytes is 0: a transfer has at least 1 byte"
        );
        assert_eq!(
            told(Test { size_bytes: 4096, host_offset_bytes: 1, ..sample() }),
            "size_bytes is 4096: with host_offset_bytes it ends at 4097: a transfer must fit a page of 4096 bytes, \
             offset included"
        );
        assert!(
            told(Test { device_offset_bytes: 4095, ..sample() })
                .starts_with("size_bytes is 64: with device_offset_bytes it ends at 4159: ")
        );
        assert_eq!(
            told(Test { window_bytes: 64, host_offset_bytes: 1, ..sample() }),
            "window_bytes is 64: the window must hold one unit of 128 bytes (size + offset in whole lines)"
        );
        assert_eq!(told(Test { stride_units: 0, ..sample() }), "stride_units is 0: give at least 1");
        assert_eq!(
            told(Test { outstanding: Some(0), ..sample() }),
            "outstanding is 0: give at least 1, or null for the card's own limit"
        );
        assert!(Test { size_bytes: u64::MAX, host_offset_bytes: 9, ..sample() }.validate().is_err());
    }

    #[test]
    fn above_a_page_transfers_are_whole_pages_without_offsets() {
        let long = |size_bytes| Test { size_bytes, window_bytes: 1 << 31, ..sample() };
        assert_eq!(long(8192).validate(), Ok(()));
        assert_eq!(long(1 << 30).validate(), Ok(()));
        for odd in [4097, (1 << 30) + 4096] {
            let told = long(odd).validate().unwrap_err().to_string();
            assert!(
                told.starts_with(&format!("size_bytes is {odd}: above a page a transfer is whole pages")),
                "{told}"
            );
        }
        assert!(Test { host_offset_bytes: 64, ..long(8192) }.validate().is_err());
        assert!(Test { device_offset_bytes: 64, ..long(8192) }.validate().is_err());
        assert!(Test { window_bytes: 8192, ..long(1 << 20) }.validate().is_err());
    }
}
