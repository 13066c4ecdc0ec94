//! The numbers that a test may have: for each kind of run its metrics, with unit, range and subject.
//!
//! Writers and readers obey the same table, and `docs/reference/store.md` shows it. A name or a subject with
//! `*` stands for any text there, not empty.

use serde::Serialize;
use serde_json::{Map, Value};

/// The kind of a run, from the parameters of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Transfers of a device.
    Transfers,
    /// Messages of cores to a device.
    Messages,
    /// Frames through a NIC.
    Frames,
    /// Flows through a fabric.
    Flows,
    /// What another tool measured.
    Tools,
    /// Recorded traces of DMA, played on a host.
    Traces,
    /// Lines of a memory expander.
    Memory,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Transfers, Self::Messages, Self::Frames, Self::Flows, Self::Tools, Self::Traces, Self::Memory];

    /// The kind of a test with these parameters.
    pub(crate) fn of(parameters: &Map<String, Value>) -> Self {
        let marks = [
            ("frame_bytes", Self::Frames),
            ("tool", Self::Tools),
            ("way", Self::Messages),
            ("flows", Self::Flows),
            ("trace", Self::Traces),
            ("expander", Self::Memory),
        ];
        let found = marks.into_iter().find(|(key, _)| parameters.contains_key(*key));
        found.map_or(Self::Transfers, |(_, kind)| kind)
    }

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transfers => "transfers",
            Self::Messages => "messages",
            Self::Frames => "frames",
            Self::Flows => "flows",
            Self::Tools => "tools",
            Self::Traces => "traces",
            Self::Memory => "memory",
        }
    }
}

/// A unit with the range of its values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantity {
    /// The unit, `1` for a number; `*` for any.
    pub unit: &'static str,
    /// Least value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
    /// Whether it is a whole number.
    pub whole: bool,
}

impl Quantity {
    const fn up_to(most: f64, unit: &'static str) -> Self {
        Self { unit, least: 0.0, most, whole: false }
    }

    const fn within(most: f64, unit: &'static str) -> Self {
        Self { least: -most, ..Self::up_to(most, unit) }
    }

    const fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Whether it may have this value.
    pub(crate) fn holds(&self, value: f64) -> bool {
        // False for NaN, too.
        let in_range = value >= self.least && value <= self.most;
        in_range && (value == 0.0 || value.abs() >= LEAST_MAGNITUDE) && (!self.whole || value.fract() == 0.0)
    }

    /// The range in words: `0, or 1e-30 to 1e9 Gb/s`.
    pub(crate) fn in_words(&self) -> String {
        let [least, most, tiny] = [self.least, self.most, LEAST_MAGNITUDE].map(in_words);
        let unit = if matches!(self.unit, "1" | "*") { String::new() } else { format!(" {}", self.unit) };
        match self.least {
            _ if self.whole => format!("a whole number from {least} to {most}{unit}"),
            0.0 => format!("0, or {tiny} to {most}{unit}"),
            _ => format!("0, or {tiny} to {most}{unit} of either sign"),
        }
    }
}

/// A number in few letters.
pub(crate) fn in_words(value: f64) -> String {
    let is_short = value == 0.0 || (1e-4..1e6).contains(&value.abs());
    if is_short { value.to_string() } else { format!("{value:e}") }
}

/// Least magnitude of a number other than 0: smaller ones overflow where a reader divides by them.
pub const LEAST_MAGNITUDE: f64 = 1e-30;
/// Most samples or transactions of a test, which binary floating point holds exactly.
pub(crate) const MOST_COUNT: u64 = 1_000_000_000_000_000;

const NS: Quantity = Quantity::up_to(1e17, "ns");
const NS_EITHER_WAY: Quantity = Quantity::within(1e17, "ns");
const BYTES: Quantity = Quantity::up_to(1e18, "B");
const GBPS: Quantity = Quantity::up_to(1e9, "Gb/s");
const GBYTES_PER_S: Quantity = Quantity::up_to(1e9, "GB/s");
const PER_SECOND: Quantity = Quantity::up_to(1e15, "1/s");
const PER_MIB: Quantity = Quantity::up_to(1e9, "1/MiB");
const AVERAGE: Quantity = Quantity::up_to(1e15, "1");
const COUNT: Quantity = AVERAGE.whole();
const SHARE: Quantity = Quantity::up_to(1.0, "1");
/// Use of a link over its capacity: a short test counts whole packets at its ends, and exceeds 1.
const LOAD: Quantity = Quantity::up_to(1e3, "1");
const ANY: Quantity = Quantity::within(1e18, "*");

/// Where the numbers of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// One number of a subject.
    Scalar,
    /// Numbers in order.
    Series,
    /// A histogram of times.
    Distribution,
}

/// Metrics that a test may have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metrics {
    /// The table of the store that holds them.
    pub table: Table,
    /// Their subjects; "" for a test as a whole.
    pub subjects: &'static [&'static str],
    /// Their names.
    pub names: &'static [&'static str],
    /// Their unit and range.
    pub quantity: Quantity,
}

const fn scalars(
    subjects: &'static [&'static str],
    names: &'static [&'static str],
    quantity: Quantity,
) -> Metrics {
    Metrics { table: Table::Scalar, subjects, names, quantity }
}

const fn series(names: &'static [&'static str], quantity: Quantity) -> Metrics {
    Metrics { table: Table::Series, subjects: WHOLE, names, quantity }
}

const fn distributions(names: &'static [&'static str]) -> Metrics {
    Metrics { table: Table::Distribution, subjects: WHOLE, names, quantity: NS }
}

const WHOLE: &[&str] = &[""];
/// State of the device and the host after a test. Devices of users have conditions of their own.
const CONDITION: &[&str] = &["condition"];
const CONDITIONS: [Metrics; 5] = [
    scalars(CONDITION, &["link_rate"], Quantity::up_to(1e6, "GT/s")),
    scalars(CONDITION, &["link_lanes"], Quantity::up_to(64.0, "1").whole()),
    scalars(CONDITION, &["cold_share", "combining_buffers_confidence"], SHARE),
    scalars(
        CONDITION,
        &["timer_resolution", "timer_overhead", "floor_verify", "floor_flush", "floor_standard_error"],
        NS,
    ),
    scalars(CONDITION, &["*"], ANY),
];

const TRANSFERS: &[Metrics] = &[
    scalars(
        WHOLE,
        &["time", "average_total", "average", "median", "minimum", "maximum", "p95", "p99", "p999"],
        NS,
    ),
    scalars(WHOLE, &["bytes"], BYTES),
    scalars(WHOLE, &["transactions", "outliers", "samples"], COUNT),
    scalars(WHOLE, &["bandwidth", "bandwidth_low", "bandwidth_high"], GBPS),
    scalars(WHOLE, &["rate"], PER_SECOND),
    scalars(&["command", "verify", "medium", "shortest-frame"], &["median", "standard_error"], NS),
    scalars(&["transfer", "bytes"], &["difference"], NS_EITHER_WAY),
    scalars(&["transfer", "bytes"], &["standard_error"], NS),
    scalars(&["descriptors"], &["share"], SHARE),
    scalars(&["write_pool", "read_pool"], &["occupancy"], AVERAGE),
    scalars(&["write_pool", "read_pool"], &["average"], NS),
    CONDITIONS[0],
    CONDITIONS[1],
    CONDITIONS[2],
    CONDITIONS[3],
    CONDITIONS[4],
    series(&["latency_ticks"], Quantity::up_to(1e17, "ticks")),
    series(&["write_pool_lines", "read_pool_lines"], AVERAGE),
    series(&["write_pool_latency_ns", "read_pool_latency_ns"], NS),
    distributions(&["latency"]),
];

/// Steps of a message by stores, then by descriptors.
const STEPS: &[&str] = &[
    "first-store",
    "last-store",
    "left-filter",
    "first-acknowledged",
    "last-acknowledged",
    "first-looped",
    "last-looped",
    "doorbell",
    "descriptor-request",
    "descriptor",
    "payload-request",
    "payload",
    "received",
    "written-back",
    "doorbell-acknowledged",
    "descriptor-acknowledged",
    "request-acknowledged",
    "payload-acknowledged",
];
const CONNECTION: &[&str] = &["connection *"];
const MESSAGES: &[Metrics] = &[
    scalars(WHOLE, &["time", "average", "median", "minimum", "maximum", "cpu"], NS),
    scalars(WHOLE, &["bytes", "downstream_bytes", "upstream_bytes"], BYTES),
    scalars(WHOLE, &["bandwidth"], GBPS),
    scalars(WHOLE, &["rate"], PER_SECOND),
    scalars(WHOLE, &["control_share"], SHARE),
    scalars(WHOLE, &["dropped", "samples"], COUNT),
    scalars(&["buffers", "queue", "lock"], &["stall"], NS),
    scalars(STEPS, &["at"], NS),
    scalars(CONNECTION, &["average", "median", "p99", "maximum"], NS),
    scalars(CONNECTION, &["samples", "by_stores", "overtook"], COUNT),
    scalars(CONNECTION, &["bandwidth"], GBPS),
    scalars(CONNECTION, &["rate"], PER_SECOND),
    CONDITIONS[0],
    CONDITIONS[1],
    CONDITIONS[2],
    CONDITIONS[3],
    CONDITIONS[4],
];

/// Bounds of a NIC, of which a test has one.
const NIC_BOUNDS: &[&str] = &[
    "line",
    "wire-upstream",
    "wire-downstream",
    "translation",
    "memory",
    "write-pool",
    "posted-credits",
    "tags",
    "completion-buffer",
    "non-posted-credits",
    "descriptors-held",
    "transmit-fifo",
    "batch",
    "moderation",
    "ring",
    "receive-fifo",
    "latency",
];
const STEP: &[&str] = &["tx: *", "rx: *"];
const FRAMES: &[Metrics] = &[
    scalars(WHOLE, &["average", "median", "minimum", "maximum", "p99", "p999"], NS),
    scalars(WHOLE, &["bandwidth", "line_bandwidth", "link_bandwidth", "bandwidth_of_all"], GBPS),
    scalars(WHOLE, &["rate", "line_rate"], PER_SECOND),
    scalars(WHOLE, &["dropped_share"], SHARE),
    scalars(WHOLE, &["upstream_share", "downstream_share"], LOAD),
    scalars(WHOLE, &["samples"], COUNT),
    scalars(WHOLE, &["io_tlb_misses"], PER_MIB),
    scalars(NIC_BOUNDS, &["binds"], Quantity { least: 1.0, ..SHARE.whole() }),
    scalars(STEP, &["average"], NS),
    scalars(STEP, &["upstream_bytes", "downstream_bytes"], BYTES),
    scalars(STEP, &["in_flight"], AVERAGE),
    scalars(STEP, &["rate"], PER_SECOND),
    distributions(&["latency"]),
];

const FLOW: &[&str] = &["flow *"];
const FLOWS: &[Metrics] = &[
    scalars(WHOLE, &["warm_up", "counted"], NS),
    scalars(FLOW, &["average", "p50", "p90", "p99", "reached"], NS),
    scalars(FLOW, &["bandwidth"], GBYTES_PER_S),
    scalars(FLOW, &["requests"], COUNT),
    scalars(FLOW, &["in_flight"], AVERAGE),
    scalars(&["edge *"], &["load"], GBYTES_PER_S),
    scalars(&["phase host of *", "phase fabric of *", "phase device of *"], &["average", "p99"], NS),
    series(&["submitted of *", "reached of *", "host of *", "fabric of *", "device of *"], NS),
    distributions(&["total of *", "host of *", "fabric of *", "device of *"]),
];

const TOOLS: &[Metrics] = &[
    scalars(
        WHOLE,
        &["time", "average", "median", "minimum", "maximum", "deviation", "p95", "p99", "p999"],
        NS,
    ),
    scalars(WHOLE, &["bandwidth", "bandwidth_peak"], GBPS),
    scalars(WHOLE, &["rate"], PER_SECOND),
    scalars(WHOLE, &["bytes"], BYTES),
    scalars(WHOLE, &["transactions", "samples"], COUNT),
];

const TRACES: &[Metrics] = &[
    scalars(
        WHOLE,
        &["time", "average", "median", "minimum", "maximum", "p95", "p99", "p999", "average_wait"],
        NS,
    ),
    scalars(WHOLE, &["bytes"], BYTES),
    scalars(WHOLE, &["transactions", "waited"], COUNT),
    scalars(WHOLE, &["bandwidth", "recorded_bandwidth", "wire_bandwidth"], GBPS),
    scalars(WHOLE, &["in_flight"], AVERAGE),
    series(&["sent_ns", "latency_ns"], NS),
    series(&["bytes"], BYTES),
    distributions(&["latency"]),
];

/// What lines of an expander pass.
const STATIONS: &[&str] = &["slots-to-memory", "memory-banks", "refresh", "memory-bus", "slots-from-memory"];
const MEMORY: &[Metrics] = &[
    scalars(WHOLE, &["average", "median", "minimum", "maximum", "p99", "p999", "modelled_average"], NS),
    scalars(WHOLE, &["bandwidth", "peak_bandwidth", "offered_bandwidth"], GBPS),
    scalars(WHOLE, &["in_flight"], AVERAGE),
    scalars(WHOLE, &["samples"], COUNT),
    scalars(STATIONS, &["load"], LOAD),
    scalars(STATIONS, &["wait"], NS),
    distributions(&["latency"]),
];

/// The metrics of tests of a kind. The first with a name and a subject applies.
#[must_use]
pub const fn metrics(kind: Kind) -> &'static [Metrics] {
    match kind {
        Kind::Transfers => TRANSFERS,
        Kind::Messages => MESSAGES,
        Kind::Frames => FRAMES,
        Kind::Flows => FLOWS,
        Kind::Tools => TOOLS,
        Kind::Traces => TRACES,
        Kind::Memory => MEMORY,
    }
}
