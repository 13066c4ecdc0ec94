//! Memory behind CXL.mem: the peak of a mix of reads and writes, and how long a read takes at a load.
//!
//! A line waits at most four times: for slots to memory, for a bank, for the memory's bus, and for slots from memory.
//! The peak is where the first of slots and bus is full. Below it, each wait is that of a queue whose customers take
//! the time of their kind (Pollaczek and Khinchine); banks are visited at random. Requesters with a bounded number of
//! lines in flight arrive more evenly, so that waits for link and bus are a share of that, `arrivals.unevenness`.
//!
//! A refresh stops all banks of a channel: a read that meets one waits for its rest. Cores that keep a bounded number of
//! lines in flight reach as many as return in the time of a line (Little).
//!
//! Not here: the host's part of a load (its caches and mesh), queues that overflow at the peak itself, where latency
//! depends on the lines that requesters keep in flight, and where in a flit one read stands: `pcie_sim::expander`
//! simulates these.

use std::sync::LazyLock;

use indexmap::IndexMap;
use pcie_refusal::{Kind, Refusal, in_range};
use pcie_schema::{Fitting, Shape};
use pcie_wire::cxl::{CxlLink, LINE_BYTES, MemoryMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory expander.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expander {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Its link.
    pub link: ExpanderLink,
    /// Its controller.
    pub controller: ExpanderController,
    /// Its memory.
    pub memory: ExpanderMemory,
    /// How requests arrive.
    pub arrivals: ExpanderArrivals,
}

/// Its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpanderLink {
    /// PCIe generation whose rate it has; CXL begins at 8 GT/s.
    #[schemars(range(min = 3, max = 7))]
    pub generation: u32,
    /// Width.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16]))]
    pub lanes: u32,
    /// Size of a flit: 68 of CXL 1.1 and 2.0, 256 of CXL 3.
    #[schemars(extend("enum" = [68, 256]))]
    pub flit_bytes: u32,
    /// Whether sync headers take 2 of 130 bits, which CXL can bypass; generations 6 and 7 have none.
    #[serde(default)]
    pub sync_headers: bool,
    /// Flits that share a MAC of CXL IDE, which takes one of their slots; 0 without IDE.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1024))]
    pub ide_flits: u32,
}

/// Its controller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpanderController {
    /// Time of a read that meets no other, from the host's port to the memory and back.
    #[schemars(range(min = 1, max = 1e6))]
    pub unloaded_ns: f64,
}

/// Its memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpanderMemory {
    /// Channels of 64 data bits.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Transfers of a channel, MT/s: the number of `DDR5-5600`.
    #[schemars(range(min = 800, max = 20_000))]
    pub megatransfers_per_s: u32,
    /// Share of the time of a channel that moves data: the rest is changes of direction, and refresh unless
    /// `refresh_ns` gives it.
    #[schemars(range(min = 0.1, max = 1))]
    pub data_share: f64,
    /// Time of a refresh, which stops all banks of a channel; 0 leaves refresh to `data_share`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    pub refresh_ns: f64,
    /// Time from one refresh of a channel to the next.
    #[serde(default = "refresh_interval_ns")]
    #[schemars(range(min = 100, max = 1e6))]
    pub refresh_interval_ns: f64,
    /// Banks of a channel, those of all its ranks and halves.
    #[schemars(range(min = 1, max = 4096))]
    pub banks: u32,
    /// Time that a read keeps its bank from the next.
    #[schemars(range(min = 0, max = 10_000))]
    pub read_bank_ns: f64,
    /// Time that a write keeps its bank from the next: longer by the write recovery.
    #[schemars(range(min = 0, max = 10_000))]
    pub write_bank_ns: f64,
}

/// DDR4 and DDR5 at up to 85 degrees Celsius.
const fn refresh_interval_ns() -> f64 {
    3_900.0
}

impl ExpanderMemory {
    /// Time that a line takes on the bus of its channel, which moves 8 B at a time.
    pub fn line_ns(&self) -> f64 {
        f64::from(LINE_BYTES) / (f64::from(self.megatransfers_per_s) * 8e-3 * self.data_share)
    }

    /// Share of the time that refreshes leave.
    fn refreshed_share(&self) -> f64 {
        1.0 - self.refresh_ns / self.refresh_interval_ns
    }

    /// Mean wait for refreshes of a read, which meets one at random.
    fn refresh_wait_ns(&self) -> f64 {
        self.refresh_ns.powi(2) / (2.0 * self.refresh_interval_ns)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.refresh_ns < self.refresh_interval_ns {
            return Ok(());
        }
        let remedy = format!("give less than refresh_interval_ns, {}", self.refresh_interval_ns);
        Err(Refusal::of("refresh_ns", self.refresh_ns, remedy).kind(Kind::Conflict))
    }
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpanderArrivals {
    /// Waits for link and bus, as a share of those of requests that arrive at random: 0 at equal distances, 1 at random.
    #[schemars(range(min = 0, max = 1))]
    pub unevenness: f64,
}

/// Cores that read and write lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requesters {
    /// Cores.
    #[schemars(range(min = 1, max = 4096))]
    pub cores: u32,
    /// Lines that a core keeps in flight: its fill buffers.
    #[schemars(range(min = 1, max = 4096))]
    pub fill_buffers: u32,
    /// Time of a line in the host, before and after its port, in which it keeps its fill buffer.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1e6))]
    pub host_ns: f64,
}

impl Fitting for Requesters {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Requesters>);
        &SHAPE
    }
}

impl Requesters {
    /// Lines that all of them keep in flight.
    pub const fn lines(&self) -> u32 {
        self.cores * self.fill_buffers
    }
}

/// What a mix of reads and writes reaches.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExpanderRates {
    /// Share of the lines that are read, 0 to 1.
    pub read_share: f64,
    /// The most data of both directions together, GB/s.
    pub peak_gbytes_per_s: f64,
    /// What limits it: `slots-to-memory`, `slots-from-memory`, `memory-bus`, `memory-banks` or `lines-in-flight`.
    pub bound: String,
    /// The rate that each bound alone would allow, GB/s.
    pub ceilings: IndexMap<String, f64>,
    /// Slots of a line to memory, in the mean of the mix.
    pub slots_to_memory: f64,
    /// Slots of a line from memory.
    pub slots_from_memory: f64,
    /// How long a read takes at each load.
    pub loads: Vec<ExpanderLoad>,
}

/// A read at a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ExpanderLoad {
    /// Share of the peak, 0 to below 1.
    pub load: f64,
    /// Data of both directions together, GB/s.
    pub gbytes_per_s: f64,
    /// Mean time of a read, beyond the host.
    pub read_latency_ns: f64,
    /// Part of it that waits for slots to memory.
    pub to_memory_wait_ns: f64,
    /// Part that waits for a bank.
    pub bank_wait_ns: f64,
    /// Part that waits for a refresh.
    pub refresh_wait_ns: f64,
    /// Part that waits for the memory's bus.
    pub bus_wait_ns: f64,
    /// Part that waits for slots from memory.
    pub from_memory_wait_ns: f64,
}

impl Fitting for Expander {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Expander>);
        &SHAPE
    }
}

/// A server of lines: the share of the lines of each kind, and the time of one.
#[derive(Clone, Copy)]
struct Server {
    read_share: f64,
    read_ns: f64,
    write_ns: f64,
    count: f64,
}

impl Server {
    /// Mean time that one server gives a line.
    fn mean_ns(&self) -> f64 {
        self.read_share * self.read_ns + (1.0 - self.read_share) * self.write_ns
    }

    /// Lines a nanosecond that it serves at most; endless if it takes no time.
    fn most_per_ns(&self) -> f64 {
        self.count / self.mean_ns()
    }

    /// Mean wait of a line among lines that arrive at random: Pollaczek and Khinchine.
    fn wait_ns(&self, lines_per_ns: f64) -> f64 {
        let each_per_ns = lines_per_ns / self.count;
        let squares =
            self.read_share * self.read_ns.powi(2) + (1.0 - self.read_share) * self.write_ns.powi(2);
        each_per_ns * squares / (2.0 * (1.0 - each_per_ns * self.mean_ns()))
    }
}

/// What a line passes, in its order; memory of the host has no link.
struct Servers {
    to_memory: Option<Server>,
    banks: Server,
    bus: Server,
    from_memory: Option<Server>,
    unloaded_ns: f64,
    refresh_wait_ns: f64,
    unevenness: f64,
}

impl Servers {
    fn of_memory(memory: &ExpanderMemory, read_share: f64, unloaded_ns: f64, unevenness: f64) -> Self {
        let channels = f64::from(memory.channels);
        // Refreshes stop banks and bus alike.
        let server = |count: f64, read_ns, write_ns| Server {
            read_share,
            read_ns,
            write_ns,
            count: count * memory.refreshed_share(),
        };
        Self {
            to_memory: None,
            banks: server(channels * f64::from(memory.banks), memory.read_bank_ns, memory.write_bank_ns),
            bus: server(channels, memory.line_ns(), memory.line_ns()),
            from_memory: None,
            unloaded_ns,
            refresh_wait_ns: memory.refresh_wait_ns(),
            unevenness,
        }
    }

    /// The rate that each bound alone would allow, GB/s.
    fn ceilings(&self) -> IndexMap<String, f64> {
        let all = [
            ("slots-to-memory", self.to_memory.as_ref()),
            ("slots-from-memory", self.from_memory.as_ref()),
            ("memory-bus", Some(&self.bus)),
            ("memory-banks", Some(&self.banks)),
        ];
        let rates = all.into_iter().filter_map(|(bound, server)| Some((bound, server?.most_per_ns())));
        rates
            .filter(|(_, lines_per_ns)| lines_per_ns.is_finite())
            .map(|(bound, lines_per_ns)| (bound.to_owned(), gbytes_per_s(lines_per_ns)))
            .collect()
    }

    /// How long a read takes at a rate; `load` is its share of the peak.
    fn at(&self, load: f64, rate_gbytes_per_s: f64) -> ExpanderLoad {
        let lines_per_ns = rate_gbytes_per_s / f64::from(LINE_BYTES);
        let paced = |server: &Server| self.unevenness * server.wait_ns(lines_per_ns);
        let link = |server: Option<&Server>| server.map_or(0.0, paced);
        let (to_memory_wait_ns, bus_wait_ns) = (link(self.to_memory.as_ref()), paced(&self.bus));
        let from_memory_wait_ns = link(self.from_memory.as_ref());
        let (bank_wait_ns, refresh_wait_ns) = (self.banks.wait_ns(lines_per_ns), self.refresh_wait_ns);
        let waits_ns = to_memory_wait_ns + bank_wait_ns + refresh_wait_ns + bus_wait_ns + from_memory_wait_ns;
        ExpanderLoad {
            load,
            gbytes_per_s: rate_gbytes_per_s,
            read_latency_ns: self.unloaded_ns + waits_ns,
            to_memory_wait_ns,
            bank_wait_ns,
            refresh_wait_ns,
            bus_wait_ns,
            from_memory_wait_ns,
        }
    }

    /// The rate at which a line returns as often as cores can send one, if that is below `peak_gbytes_per_s`.
    fn in_flight(&self, cores: &Requesters, peak_gbytes_per_s: f64) -> Option<f64> {
        let needs_lines = |rate: f64| {
            let line_ns = cores.host_ns + self.at(0.0, rate).read_latency_ns;
            rate / f64::from(LINE_BYTES) * line_ns
        };
        let lines = f64::from(cores.lines());
        let (mut low, mut high) = (0.0, MOST_LOAD * peak_gbytes_per_s);
        if needs_lines(high) <= lines {
            return None;
        }
        // Each halving adds a bit.
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = 0.5 * (low + high);
            if needs_lines(middle) <= lines {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

/// Most load at which a closed form has a latency.
const MOST_LOAD: f64 = 0.99;

fn gbytes_per_s(lines_per_ns: f64) -> f64 {
    lines_per_ns * f64::from(LINE_BYTES)
}

/// The least of ceilings: its bound, and the rate.
fn least(ceilings: &IndexMap<String, f64>) -> (String, f64) {
    let least = ceilings.iter().min_by(|one, other| one.1.total_cmp(other.1));
    least.map_or((String::new(), 0.0), |(bound, rate)| (bound.clone(), *rate))
}

fn check_share(read_share: f64) -> Result<(), Refusal> {
    in_range("read_share", read_share, 0.0..=1.0, "give a share of 0 to 1").map(drop)
}

fn check_load(load: f64) -> Result<(), Refusal> {
    in_range("load", load, 0.0..=MOST_LOAD, "give shares of the peak from 0 to 0.99").map(drop)
}

impl Expander {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        self.memory.check().map_err(|refusal| refusal.below("memory"))?;
        self.cxl_link().map(drop)
    }

    /// The rates of a mix with `read_share` of reads, and how long reads take at each share of the peak in `loads`.
    ///
    /// # Errors
    /// A share is out of range, or CXL has no such link.
    pub fn rates(&self, read_share: f64, loads: &[f64]) -> Result<ExpanderRates, Refusal> {
        self.rates_of_cores(read_share, loads, None)
    }

    /// The same for cores with a bounded number of lines in flight.
    ///
    /// # Errors
    /// Those of [`Expander::rates`], or a number of the cores is out of range.
    pub fn rates_of_cores(
        &self,
        read_share: f64,
        loads: &[f64],
        cores: Option<&Requesters>,
    ) -> Result<ExpanderRates, Refusal> {
        check_share(read_share)?;
        loads.iter().try_for_each(|load| check_load(*load))?;
        let servers = self.servers(read_share)?;
        let mut ceilings = servers.ceilings();
        if let Some(cores) = cores {
            Requesters::shape().check(cores)?;
            let found = servers.in_flight(cores, least(&ceilings).1);
            ceilings.extend(found.map(|rate| ("lines-in-flight".to_owned(), rate)));
        }
        let (bound, peak) = least(&ceilings);
        let slot_ns = self.cxl_link()?.slot_ns();
        let slots = |server: Option<&Server>| server.map_or(0.0, |server| server.mean_ns() / slot_ns);
        Ok(ExpanderRates {
            read_share,
            peak_gbytes_per_s: peak,
            bound,
            ceilings,
            slots_to_memory: slots(servers.to_memory.as_ref()),
            slots_from_memory: slots(servers.from_memory.as_ref()),
            loads: loads.iter().map(|&load| servers.at(load, load * peak)).collect(),
        })
    }

    fn servers(&self, read_share: f64) -> Result<Servers, Refusal> {
        let slot_ns = self.cxl_link()?.slot_ns();
        let slots = |read: MemoryMessage, write: MemoryMessage| {
            let (read_ns, write_ns) = (read.slots() * slot_ns, write.slots() * slot_ns);
            Some(Server { read_share, read_ns, write_ns, count: 1.0 })
        };
        let (unloaded_ns, unevenness) = (self.controller.unloaded_ns, self.arrivals.unevenness);
        Ok(Servers {
            to_memory: slots(MemoryMessage::ReadRequest, MemoryMessage::WriteRequest),
            from_memory: slots(MemoryMessage::ReadData, MemoryMessage::WriteCompletion),
            ..Servers::of_memory(&self.memory, read_share, unloaded_ns, unevenness)
        })
    }

    /// Its link.
    ///
    /// # Errors
    /// CXL has no such link.
    pub fn cxl_link(&self) -> Result<CxlLink, Refusal> {
        let ExpanderLink { generation, lanes, flit_bytes, sync_headers, ide_flits } = self.link;
        let link = CxlLink::new(generation, lanes, flit_bytes, sync_headers);
        Ok(link.map_err(|refusal| refusal.below("link"))?.with_ide(ide_flits))
    }
}

/// Memory of the host, without a CXL link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMemory {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Time of a read that meets no other.
    #[schemars(range(min = 1, max = 1e6))]
    pub unloaded_ns: f64,
    /// Its channels.
    pub memory: ExpanderMemory,
    /// How requests arrive.
    pub arrivals: ExpanderArrivals,
}

impl Fitting for LocalMemory {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<LocalMemory>);
        &SHAPE
    }
}

impl LocalMemory {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        self.memory.check().map_err(|refusal| refusal.below("memory"))
    }
}

/// Memory that lines are interleaved over, with its weight: of each round of lines, as many go to it.
#[derive(Debug, Clone, Copy)]
pub enum Interleaved<'a> {
    /// An expander.
    Expander(&'a Expander, f64),
    /// Memory of the host.
    Local(&'a LocalMemory, f64),
}

impl Interleaved<'_> {
    const fn weight(&self) -> f64 {
        match self {
            Self::Expander(_, weight) | Self::Local(_, weight) => *weight,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Expander(expander, _) => &expander.name,
            Self::Local(local, _) => &local.name,
        }
    }

    fn servers(&self, read_share: f64) -> Result<Servers, Refusal> {
        match self {
            Self::Expander(expander, _) => expander.servers(read_share),
            Self::Local(local, _) => {
                local.check().map_err(|refusal| refusal.below("local"))?;
                let (unloaded_ns, unevenness) = (local.unloaded_ns, local.arrivals.unevenness);
                Ok(Servers::of_memory(&local.memory, read_share, unloaded_ns, unevenness))
            }
        }
    }
}

/// What memories give together, over which lines are interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterleavedRates {
    /// Share of the lines that are read, 0 to 1.
    pub read_share: f64,
    /// The most data of all memories and both directions together, GB/s.
    pub peak_gbytes_per_s: f64,
    /// The memory that is full first, and what of it.
    pub bound: String,
    /// Each memory.
    pub members: Vec<InterleavedMember>,
    /// How long a read takes at each load.
    pub loads: Vec<InterleavedLoad>,
}

/// A memory of those that lines are interleaved over.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterleavedMember {
    /// Its name.
    pub name: String,
    /// Share of the lines that go to it.
    pub line_share: f64,
    /// The most data that it gives alone, GB/s.
    pub alone_gbytes_per_s: f64,
    /// What limits it alone.
    pub bound: String,
    /// Its data at the peak of all together, GB/s.
    pub gbytes_per_s: f64,
}

/// A read of interleaved memories at a load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterleavedLoad {
    /// Share of the peak of all together, 0 to below 1.
    pub load: f64,
    /// Data of all memories and both directions together, GB/s.
    pub gbytes_per_s: f64,
    /// Mean time of a read over all memories, by their shares of the lines.
    pub read_latency_ns: f64,
    /// Mean time of a read in each memory.
    pub member_latencies_ns: Vec<f64>,
}

/// What memories give together: each has its share of the lines, and the first that is full limits all.
///
/// # Errors
/// There is none, a share, weight or load is out of range, or CXL has no such link.
pub fn interleaved(
    memories: &[Interleaved<'_>],
    read_share: f64,
    loads: &[f64],
) -> Result<InterleavedRates, Refusal> {
    check_share(read_share)?;
    loads.iter().try_for_each(|load| check_load(*load))?;
    for memory in memories {
        in_range("weight", memory.weight(), 1e-6..=1e6, "give weights from 1e-6 to 1e6")?;
    }
    let weights: f64 = memories.iter().map(Interleaved::weight).sum();
    let servers: Vec<Servers> =
        memories.iter().map(|memory| memory.servers(read_share)).collect::<Result<_, _>>()?;
    let alone = servers.iter().map(|servers| least(&servers.ceilings()));
    let mut members: Vec<InterleavedMember> = memories
        .iter()
        .zip(alone)
        .map(|(memory, (bound, alone_gbytes_per_s))| InterleavedMember {
            name: memory.name().to_owned(),
            line_share: memory.weight() / weights,
            alone_gbytes_per_s,
            bound,
            gbytes_per_s: 0.0,
        })
        .collect();
    let together = |member: &InterleavedMember| member.alone_gbytes_per_s / member.line_share;
    let first = members.iter().min_by(|one, other| together(one).total_cmp(&together(other)));
    let Some(first) = first else {
        return Err(Refusal::new("no memory to interleave: give one or more"));
    };
    let (bound, peak_gbytes_per_s) = (format!("{}: {}", first.name, first.bound), together(first));
    for member in &mut members {
        member.gbytes_per_s = peak_gbytes_per_s * member.line_share;
    }
    let at = |load: f64| {
        let rate = load * peak_gbytes_per_s;
        let of_each = servers.iter().zip(&members);
        let member_latencies_ns: Vec<f64> = of_each
            .map(|(servers, member)| servers.at(load, rate * member.line_share).read_latency_ns)
            .collect();
        let shares = members.iter().map(|member| member.line_share);
        let read_latency_ns = shares.zip(&member_latencies_ns).map(|(share, ns)| share * ns).sum();
        InterleavedLoad { load, gbytes_per_s: rate, read_latency_ns, member_latencies_ns }
    };
    let loads = loads.iter().map(|&load| at(load)).collect();
    Ok(InterleavedRates { read_share, peak_gbytes_per_s, bound, members, loads })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHIPPED: &str = include_str!("../../../profiles/expanders/cxl2-ddr5-5600.toml");

    fn shipped() -> Expander {
        let mut table: toml::Table = SHIPPED.parse().unwrap();
        table.retain(|key, _| key != "title" && key != "provenance");
        table.try_into().unwrap()
    }

    /// What is published of the shipped expander: see the head of the file.
    const PUBLISHED: &str = include_str!("../../../profiles/published/expander-curves.csv");
    const LOADS: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

    /// A published mix: percent of reads, the highest bandwidth, and what a read takes longer at each of `LOADS`.
    fn published() -> Vec<(f64, f64, Vec<f64>)> {
        let lines = PUBLISHED.lines().filter(|line| line.starts_with("cxl2-ddr5-5600"));
        let numbers = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect::<Vec<f64>>();
        lines.map(numbers).map(|row| (row[0], row[1], row[3..7].to_vec())).collect()
    }

    #[test]
    fn published_peaks_follow_from_slots_and_one_channel() {
        assert_eq!(published().len(), 7);
        for (percent, peak, _) in published() {
            let found = shipped().rates(percent / 100.0, &[]).unwrap();
            assert!((found.peak_gbytes_per_s / peak - 1.0).abs() < 0.01, "{percent} %: {found:?} {peak}");
            let expected = match percent as u32 {
                ..=38 => "slots-to-memory",
                58 => "memory-bus",
                _ => "slots-from-memory",
            };
            assert_eq!(found.bound, expected);
        }
    }

    #[test]
    fn published_latencies_follow_within_15_percent_or_2_ns() {
        for (percent, _, added) in published() {
            let found = shipped().rates(percent / 100.0, &LOADS).unwrap();
            assert_eq!(found.loads.len(), added.len());
            for (row, published) in found.loads.iter().zip(added) {
                let modelled = row.read_latency_ns - shipped().controller.unloaded_ns;
                let most = f64::max(2.0, 0.15 * published);
                assert!((modelled - published).abs() <= most, "{percent} % {row:?} {published}");
            }
        }
    }

    #[test]
    fn an_idle_expander_adds_nothing() {
        let found = shipped().rates(0.5, &[0.0]).unwrap().loads[0];
        assert_eq!((found.read_latency_ns, found.gbytes_per_s), (shipped().controller.unloaded_ns, 0.0));
    }

    #[test]
    fn banks_that_take_no_time_do_not_limit() {
        let mut ideal = shipped();
        (ideal.memory.read_bank_ns, ideal.memory.write_bank_ns) = (0.0, 0.0);
        let found = ideal.rates(1.0, &[0.5]).unwrap();
        assert_eq!((found.ceilings.contains_key("memory-banks"), found.loads[0].bank_wait_ns), (false, 0.0));
        // Reads alone: 4.5 slots of 17 B at 32 GB/s for 64 B.
        assert!((found.peak_gbytes_per_s - 64.0 / (4.5 * 17.0 / 32.0)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn ide_and_refresh_take_their_share() {
        let mut changed = shipped();
        changed.link.ide_flits = 5;
        let (plain, safe) = (shipped().rates(1.0, &[]).unwrap(), changed.rates(1.0, &[]).unwrap());
        assert!((safe.peak_gbytes_per_s / plain.peak_gbytes_per_s - 19.0 / 20.0).abs() < 1e-12);
        changed.memory.refresh_ns = 295.0;
        let found = changed.rates(0.58, &[0.0]).unwrap();
        let bus = 44.8 * 0.974 * (1.0 - 295.0 / 3900.0);
        assert_eq!(found.bound, "memory-bus");
        assert!((found.peak_gbytes_per_s - bus).abs() < 1e-9, "{found:?}");
        // A read meets a refresh with 295 of 3900, and waits half of it.
        let wait_ns = 295.0 / 3900.0 * 295.0 / 2.0;
        assert!((found.loads[0].refresh_wait_ns - wait_ns).abs() < 1e-9);
        changed.memory.refresh_ns = 3900.0;
        let words = "memory.refresh_ns is 3900: give less than refresh_interval_ns, 3900";
        assert_eq!(changed.check().unwrap_err().to_string(), words);
    }

    #[test]
    fn cores_reach_what_their_lines_in_flight_allow() {
        let cores = |cores, host_ns| Requesters { cores, fill_buffers: 16, host_ns };
        let rates = |cores: &Requesters| shipped().rates_of_cores(1.0, &[0.5], Some(cores)).unwrap();
        let one = rates(&cores(1, 100.0));
        assert_eq!(one.bound, "lines-in-flight");
        // Sixteen lines return in the host's time and that of a read at this rate.
        let line_ns = 16.0 * 64.0 / one.peak_gbytes_per_s;
        let read_ns =
            shipped().rates(1.0, &[one.peak_gbytes_per_s / rates(&cores(16, 0.0)).peak_gbytes_per_s]);
        assert!((line_ns - 100.0 - read_ns.unwrap().loads[0].read_latency_ns).abs() < 1e-6);
        assert!(rates(&cores(1, 0.0)).peak_gbytes_per_s > one.peak_gbytes_per_s);
        assert_eq!(rates(&cores(16, 100.0)).bound, "slots-from-memory");
    }

    #[test]
    fn the_first_full_memory_limits_interleaved_ones() {
        let expander = shipped();
        let local = LocalMemory {
            name: "local".into(),
            unloaded_ns: 60.0,
            memory: ExpanderMemory { channels: 8, ..expander.memory },
            arrivals: expander.arrivals,
        };
        let of = |weights: [f64; 2], loads: &[f64]| {
            let [own, far] = weights;
            let memories = [Interleaved::Local(&local, own), Interleaved::Expander(&expander, far)];
            interleaved(&memories, 0.5, loads).unwrap()
        };
        let alone = expander.rates(0.5, &[0.5]).unwrap();
        // One to one, the expander is half of the sum.
        let even = of([1.0, 1.0], &[0.5]);
        assert!((even.peak_gbytes_per_s - 2.0 * alone.peak_gbytes_per_s).abs() < 1e-9);
        assert_eq!(even.bound, "cxl2-ddr5-5600: slots-to-memory");
        assert!((even.loads[0].member_latencies_ns[1] - alone.loads[0].read_latency_ns).abs() < 1e-9);
        // By their peaks, all of both is used.
        let peaks = [even.members[0].alone_gbytes_per_s, even.members[1].alone_gbytes_per_s];
        let best = of(peaks, &[0.0]);
        assert!((best.peak_gbytes_per_s - peaks.iter().sum::<f64>()).abs() < 1e-9);
        let share = best.members[1].line_share;
        let mean_ns = (1.0 - share) * 60.0 + share * 107.4;
        assert!((best.loads[0].read_latency_ns - mean_ns).abs() < 1e-9);
        assert!(interleaved(&[], 0.5, &[]).is_err());
    }

    #[test]
    fn wrong_shares_and_links_are_refused_by_key() {
        let mut wrong = shipped();
        let message = |found: Result<ExpanderRates, Refusal>| found.unwrap_err().to_string();
        assert_eq!(message(wrong.rates(1.5, &[])), "read_share is 1.5: give a share of 0 to 1");
        assert_eq!(message(wrong.rates(0.5, &[1.0])), "load is 1: give shares of the peak from 0 to 0.99");
        wrong.link.generation = 6;
        let words = "link.flit_bytes is 68: generation 6 has flits of 256 B only: give 256";
        assert_eq!(wrong.check().unwrap_err().to_string(), words);
    }

    proptest! {
        #[test]
        fn more_load_waits_longer_and_no_ceiling_lies_below_the_peak(
            read_share in 0.0..=1.0,
            load in 0.0..0.98,
            more in 0.001..0.01,
            channels in 1u32..8,
            generation in 3u32..=7,
        ) {
            let mut expander = shipped();
            (expander.memory.channels, expander.link.generation) = (channels, generation);
            expander.link.flit_bytes = if generation < 6 { 68 } else { 256 };
            let found = expander.rates(read_share, &[load, load + more]).unwrap();
            prop_assert!(found.ceilings.values().all(|ceiling| *ceiling >= found.peak_gbytes_per_s));
            prop_assert!(found.loads[0].read_latency_ns < found.loads[1].read_latency_ns);
            let row = found.loads[1];
            let waits = [
                row.to_memory_wait_ns,
                row.bank_wait_ns,
                row.refresh_wait_ns,
                row.bus_wait_ns,
                row.from_memory_wait_ns,
            ];
            let sum = expander.controller.unloaded_ns + waits.iter().sum::<f64>();
            prop_assert!((row.read_latency_ns - sum).abs() < 1e-9);
        }
    }
}
