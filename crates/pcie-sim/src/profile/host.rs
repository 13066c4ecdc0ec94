//! The host: root complex, last-level cache, memory, IOMMU.

use super::Credits;
use pcie_schema::quantity::{
    Count, DataCredits, HeaderCredits, Nanoseconds, Padding, Quantum, Share, Size, Size32, StepTime,
};
use pcie_schema::relief::{Who, any, better, either, less, more, off, without};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host, as its calibration or its data sheet describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Processor sockets, each with its own last-level cache and memory.
    #[schemars(range(min = 1, max = 64))]
    #[schemars(extend("x-fact" = "another machine"))]
    pub sockets: u32,
    /// The root complex that the device is attached to.
    pub root_complex: RootComplex,
    /// The last-level cache of each socket.
    pub llc: LastLevelCache,
    /// Memory and the path to it.
    pub memory: Memory,
    /// The IOMMU.
    pub iommu: Iommu,
    /// Cores that use memory beside the device; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    pub load: Option<CoreLoad>,
    /// Power-saving states that delay transactions, if the machine has them.
    #[schemars(extend("x-relief" = without(Who::Setting)))]
    pub idle: Option<IdleStates>,
}

/// What busy cores do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// They only read: devices keep their rates.
    Read,
    /// They read and write: writes of devices share a saturated memory with them.
    ReadWrite,
}

/// Cores that use memory beside the device.
///
/// Writes of devices and n busy cores share `host.memory.saturated_gbytes_per_s`, S: devices get
/// S / (1 + `core_share` n).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreLoad {
    /// Busy cores; 0: none.
    #[schemars(range(min = 0, max = 4096))]
    #[schemars(extend("x-relief" = less(Who::Setting)))]
    pub cores: u32,
    /// What they do: `read` or `read-write`.
    #[schemars(extend("x-fact" = "other work than the cores have"))]
    pub kind: LoadKind,
    /// Memory traffic of a core over that of all devices' writes, where memory is saturated.
    #[schemars(range(min = 0, max = 100))]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub core_share: f64,
}

/// Order of completions among the requests whose data are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionOrder {
    /// Requests complete in the order of their arrival.
    Fifo,
    /// Any request whose data are available.
    Random,
    /// Any, while a small one waits; otherwise the oldest (as on the measured systems).
    RandomSmall,
}

/// How the root complex splits the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionSplit {
    /// At every address that is a multiple of MPS.
    AlignedMps,
    /// At every read completion boundary.
    EveryRcb,
}

/// How requests enter the host, how long they take, and how completions leave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RootComplex {
    /// From a request's arrival to its first completion at the head of the downlink, with nothing else in
    /// flight, for data that the device wrote to the last-level cache.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub read_ns: f64,
    /// The same when other requests are in flight: a busy root complex cannot bypass its queues.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_read_ns: f64,
    /// From when the last line of a posted write starts to arrive, for a line in the last-level cache, until
    /// a read behind it may proceed.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub write_ns: f64,
    /// From one line of a read request to the next: they are fetched one after the other.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub line_interval_ns: f64,
    /// Least time between two completions for one request, on top of that.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub completion_interval_ns: f64,
    /// Time of flight of a TLP from port to port, one way, serialisation aside.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub flight_ns: f64,
    /// Least time between two read requests accepted.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub request_interval_ns: f64,
    /// Least time between two posted writes accepted, on top of what their lines take.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub write_interval_ns: f64,
    /// Time for each line of a posted write before the next write is accepted.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub write_line_ns: f64,
    /// Time for which a line that a write has filled in part stays closed to the next write that continues in
    /// it; 0 if the root complex merges both.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub partial_line_busy_ns: f64,
    /// Half-width of the uniform spread of `read_ns`.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub jitter_ns: f64,
    /// Half-width of the uniform spread of `busy_read_ns`: a busy root complex is less regular.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_jitter_ns: f64,
    /// Share of reads, with no others of the device in flight, that meet a ring or an agent in use by others.
    #[serde(default)]
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub conflict_share: f64,
    /// Longest wait in this conflict; waits are uniform from 0.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub conflict_ns: f64,
    /// Order of completions among requests whose data are available: `fifo` (as they came), `random` (any),
    /// `random-small` (any while a small one waits, else the oldest).
    #[schemars(extend("x-relief" = any(Who::Processor)))]
    pub completion_order: CompletionOrder,
    /// Requests of at most this many bytes are small.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-relief" = either(Who::Processor)))]
    pub small_request_bytes: u32,
    /// Where an answer is split: at addresses that are multiples of MPS, or at every read completion
    /// boundary.
    #[schemars(extend("x-relief" = any(Who::Processor)))]
    pub completion_split: CompletionSplit,
    /// Whether partial cache lines at the ends of a request of more than two lines travel with their
    /// neighbours.
    #[schemars(extend("x-relief" = any(Who::Processor)))]
    pub merge_partial_lines: bool,
    /// The port sends completions in units of this many bytes: a TLP occupies whole units.
    #[schemars(with = "Quantum")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub downlink_quantum_bytes: u32,
    /// Bytes of DLLPs that the port sends downstream for each posted write that arrives.
    #[schemars(with = "Padding")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub downlink_dllp_bytes: u32,
    /// Serialisation time downstream over the raw line rate, to account for DLLPs and SKPs (1.0: none).
    #[schemars(range(min = 1, max = 2))]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub downlink_stretch: f64,
    /// The same upstream.
    #[schemars(range(min = 1, max = 2))]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub uplink_stretch: f64,
    /// Posted header credits that the root port advertises; `infinite`: no write ever waits for one.
    #[schemars(with = "HeaderCredits")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub posted_header_credits: Credits,
    /// Posted data credits (16 B each), likewise.
    #[schemars(with = "DataCredits")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub posted_data_credits: Credits,
    /// Non-posted header credits, likewise.
    #[schemars(with = "HeaderCredits")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub non_posted_header_credits: Credits,
    /// From a TLP's arrival until its credits are back at the device.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub credit_return_ns: f64,
    /// Cache lines of posted writes that the root complex holds, for all devices below it. A line has an entry
    /// from its admission until `write_ns` after memory has accepted it, and a link credit returns with the
    /// admission; absent: the link's credits are the only limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 1048576), extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub write_pool_lines: Option<u32>,
    /// Cache lines of read requests that the root complex holds from their admission until their data are
    /// available, for all devices below it; absent: the device's tags are the only limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 1048576), extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub read_pool_lines: Option<u32>,
}

/// The last-level cache of a socket, and the part of it that DDIO may fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastLevelCache {
    /// Capacity.
    #[schemars(with = "Size")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub llc_bytes: u64,
    /// Ways.
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-relief" = either(Who::Processor)))]
    pub ways: u32,
    /// Ways in which a write from a device may allocate.
    #[schemars(with = "Count")]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub ddio_ways: u32,
    /// Slices that addresses are hashed over.
    #[schemars(range(min = 1, max = 1024))]
    #[schemars(extend("x-relief" = either(Who::Processor)))]
    pub slices: u32,
    /// Relative standard deviation of the slices' shares of the lines.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub slice_spread: f64,
    /// Share of the capacity that data written by the CPU really occupy.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub host_share: f64,
}

/// Costs of an access over a hit in the last-level cache on a line that the device wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// A line in the cache that the CPU wrote.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub host_line_ns: f64,
    /// A line in local memory.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub miss_ns: f64,
    /// The same for DMA reads while the root complex is busy.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_miss_ns: f64,
    /// On top of `miss_ns`, memory on another socket.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub remote_ns: f64,
    /// On top of `miss_ns`, a line that is dirty in another socket's cache.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub remote_dirty_ns: f64,
    /// `remote_ns` for DMA reads while the root complex is busy; the same if left out.
    #[schemars(with = "Option<StepTime>")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_remote_ns: Option<f64>,
    /// `remote_dirty_ns` for DMA reads while the root complex is busy; the same if left out.
    #[schemars(with = "Option<StepTime>")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_remote_dirty_ns: Option<f64>,
    /// A full-line write that misses: getting ownership, memory local to the device.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub ownership_ns: f64,
    /// The same for memory on another socket.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub remote_ownership_ns: f64,
    /// Memory that was never written since it was allocated, until its first write (directory state;
    /// inferred).
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub untouched_ns: f64,
    /// Traffic that memory carries when it is saturated, all cores and devices together; absent: devices
    /// never saturate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "x-left-out" = true), range(max = 100000))]
    #[schemars(extend("x-relief" = more(Who::Slot)))]
    pub saturated_gbytes_per_s: Option<f64>,
    /// Bytes of memory traffic for each byte that a device writes; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10), extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub traffic_per_written_byte: Option<f64>,
    /// Refresh, which makes the slow second mode of the latencies.
    pub refresh: Refresh,
}

impl Host {
    /// Data that all devices together can write to memory beside the busy cores, in GB/s; `None` where
    /// memory sets no limit.
    #[must_use]
    pub fn writable_gbytes_per_s(&self) -> Option<f64> {
        let saturated = self.memory.saturated_gbytes_per_s?;
        let cores = self.load.as_ref().map_or(0.0, CoreLoad::of_writes);
        Some(saturated / (1.0 + cores) / self.memory.traffic_per_written_byte.unwrap_or(1.0))
    }
}

impl CoreLoad {
    /// Memory traffic of all busy cores over that of the devices' writes; 0 for cores that only read.
    fn of_writes(&self) -> f64 {
        match self.kind {
            LoadKind::Read => 0.0,
            LoadKind::ReadWrite => self.core_share * f64::from(self.cores),
        }
    }
}

impl Memory {
    /// In an idle root complex: a miss, and the extra times of remote memory and of a line dirty in a remote
    /// cache.
    pub(crate) fn idle_times(&self) -> (f64, f64, f64) {
        (self.miss_ns, self.remote_ns, self.remote_dirty_ns)
    }

    /// The same in a busy root complex.
    pub(crate) fn busy_times(&self) -> (f64, f64, f64) {
        let remote_ns = self.busy_remote_ns.unwrap_or(self.remote_ns);
        (self.busy_miss_ns, remote_ns, self.busy_remote_dirty_ns.unwrap_or(self.remote_dirty_ns))
    }
}

/// DRAM refresh: an access that meets one waits for its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// Average time between two refreshes of a rank (tREFI).
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000000))]
    #[schemars(extend("x-relief" = more(Who::Slot)))]
    pub interval_ns: f64,
    /// Length of a refresh (tRFC).
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Slot)))]
    pub duration_ns: f64,
    /// Refreshes met per refresh of one rank: 1 in theory, 0 to switch refresh off.
    #[schemars(range(min = 0, max = 100))]
    #[schemars(extend("x-relief" = less(Who::Slot)))]
    pub share: f64,
    /// An access that starts less than this before a refresh is aborted, and repeated after it.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Slot)))]
    pub caught_ns: f64,
    /// Time to repeat an aborted access after the refresh.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Slot)))]
    pub again_ns: f64,
    /// Share of reads of cached lines that also access memory, and so wait for refreshes.
    #[serde(default)]
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub hit_share: f64,
}

impl Refresh {
    /// The refreshes that reads of cached lines meet, which are not repeated.
    pub(crate) fn met_by_hits(&self) -> Self {
        Self { share: self.share * self.hit_share, caught_ns: 0.0, ..self.clone() }
    }
}

/// The IOMMU; a system says whether it translates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iommu {
    /// Its IO-TLB.
    pub tlb: IoTlb,
    /// One page walk.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub walk_ns: f64,
    /// Concurrent walks.
    #[schemars(range(min = 1, max = 4096))]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub walkers: u32,
    /// Time for which a walker is occupied by one walk.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub walker_busy_ns: f64,
    /// Share of a walk's time that varies between concurrent walks, exponentially distributed: a walk may
    /// find all or none of its entries in the caches.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub busy_walk_spread: f64,
    /// Walks that can be active or waiting for a walker; further requests wait outside.
    #[schemars(range(min = 1, max = 65536))]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub pending_walks: u32,
    /// Walks of pages in the same region of this size are serialised, as in 2 MiB, the reach of one
    /// last-level page table; 0: walks of all pages overlap.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1073741824))]
    #[schemars(extend("x-relief" = off(Who::Processor)))]
    pub walk_region_bytes: u64,
    /// Which reads keep the order of their requests in the IOMMU; absent: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Processor, ["misses", "none"])))]
    pub ordered_reads: Option<OrderedReads>,
    /// How long the pages of a NIC's packet buffers keep their addresses; absent: `static`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Driver, ["unmapped", "recycled", "static"])))]
    pub page_life: Option<PageLife>,
    /// When the IO-TLB forgets the page of a buffer that was unmapped; absent: `lazy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Setting, ["strict", "lazy"])))]
    pub invalidation: Option<Invalidation>,
    /// Memory reads of a walk after a strict invalidation over those of other walks; absent: 1, the caches of
    /// page tables keep their entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4), extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub strict_walk_reads: Option<f64>,
}

impl Iommu {
    /// Memory reads of a walk over those of a walk that finds all but the last level in caches.
    pub(crate) fn reads_of_a_walk(&self) -> f64 {
        match (self.page_life, self.invalidation) {
            (Some(PageLife::Unmapped), Some(Invalidation::Strict)) => self.strict_walk_reads.unwrap_or(1.0),
            _ => 1.0,
        }
    }
}

/// Which reads keep the order of their requests in the IOMMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderedReads {
    /// None: each leaves as soon as its address is translated.
    #[default]
    None,
    /// Those that wait for a page walk: each leaves behind the ones before it. Reads that hit the IO-TLB pass them.
    Misses,
}

/// How long the pages of a NIC's packet buffers keep their addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageLife {
    /// A ring uses the same buffers for ever, as in DPDK.
    #[default]
    Static,
    /// A driver takes each page from a pool, and gets it back in any order, as a kernel's page pool does.
    Recycled,
    /// A driver maps each page for one use, and unmaps it: its next use has another address.
    Unmapped,
}

/// When the IO-TLB forgets the page of a buffer that was unmapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invalidation {
    /// Later, many pages together: the entries stay until others replace them.
    #[default]
    Lazy,
    /// At once, page by page, with the entries of the page-table caches: the next walk finds none of them.
    Strict,
}

/// The IO-TLB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoTlb {
    /// Entries that hold translations of the host buffer when requests come one at a time.
    #[schemars(with = "Count")]
    #[schemars(extend("x-relief" = more(Who::Processor)))]
    pub entries: u32,
}

/// Idle states that a machine enters when no read keeps it awake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleStates {
    /// A time without traffic longer than this lets the machine go to sleep.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub gap_ns: f64,
    /// Share of transactions that stay fast after a short gap.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub fast_share_short_gap: f64,
    /// The same after a long gap.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub fast_share_long_gap: f64,
    /// Extra time of a transaction that finds the machine asleep, for a plain wake-up.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub wake_ns: f64,
    /// Least latency of a read that wakes the machine, without the device's part and the wait for a write
    /// before it: falling asleep is not interrupted, so a read that comes sooner waits longer.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub wake_floor_ns: f64,
    /// Slower wake-ups; the rest are plain.
    #[schemars(length(max = 64))]
    pub clusters: Vec<WakeCluster>,
    /// Stalls of milliseconds.
    pub stalls: Stalls,
}

/// A group of slow wake-ups: they take longer than a plain one by anything between two times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeCluster {
    /// Share of the transactions that are not fast.
    #[schemars(with = "Share")]
    #[schemars(extend("x-relief" = less(Who::Setting)))]
    pub share: f64,
    /// Least time over a plain wake-up.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub low_ns: f64,
    /// Most time over a plain wake-up.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Processor)))]
    pub high_ns: f64,
}

/// Stalls: a machine that nothing keeps awake repeatedly stops serving its devices for milliseconds.
///
/// A stall adds to the latency of a single transaction and to the time of a write bandwidth test. Reads in
/// flight keep a machine awake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stalls {
    /// Time of service between two stalls, the median of all tests.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e12))]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub interval_ns: f64,
    /// Standard deviation of that time's natural logarithm from test to test: it depends on a state of the
    /// machine that no test sets. Write bandwidths therefore differ from seed to seed; latency tests use the
    /// median.
    #[schemars(range(min = 0, max = 3))]
    #[schemars(extend("x-relief" = less(Who::Setting)))]
    pub interval_spread: f64,
    /// How long a stall lasts.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Setting)))]
    pub duration_ns: f64,
}
