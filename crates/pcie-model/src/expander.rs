//! Memory behind CXL.mem: the peak of a mix of reads and writes, and how long a read takes at a load.
//!
//! A line waits at most four times: for slots to memory, for a bank, for the memory's bus, and for slots from memory.
//! The peak is where the first of slots and bus is full. Below it, each wait is that of a queue whose customers take
//! the time of their kind (Pollaczek and Khinchine); banks are visited at random. Requesters with a bounded number of
//! lines in flight arrive more evenly, so that waits for link and bus are a share of that, `arrivals.unevenness`.
//!
//! Not here: the host's part of a load (its caches and mesh), queues that overflow at the peak itself, where latency
//! depends on the lines that requesters keep in flight, and where in a flit one read stands.

use std::sync::LazyLock;

use indexmap::IndexMap;
use pcie_refusal::{Refusal, in_range};
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
    /// Share of the time of a channel that moves data: the rest is refresh and changes of direction.
    #[schemars(range(min = 0.1, max = 1))]
    pub data_share: f64,
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

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpanderArrivals {
    /// Waits for link and bus, as a share of those of requests that arrive at random: 0 at equal distances, 1 at random.
    #[schemars(range(min = 0, max = 1))]
    pub unevenness: f64,
}

/// What a mix of reads and writes reaches.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExpanderRates {
    /// Share of the lines that are read, 0 to 1.
    pub read_share: f64,
    /// The most data of both directions together, GB/s.
    pub peak_gbytes_per_s: f64,
    /// What limits it: `slots-to-memory`, `slots-from-memory`, `memory-bus` or `memory-banks`.
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

/// What a line passes, in its order.
struct Servers {
    to_memory: Server,
    banks: Server,
    bus: Server,
    from_memory: Server,
}

impl Expander {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        self.link_of().map(drop).map_err(|refusal| refusal.below("link"))
    }

    /// The rates of a mix with `read_share` of reads, and how long reads take at each share of the peak in `loads`.
    ///
    /// # Errors
    /// A share is out of range, or CXL has no such link.
    pub fn rates(&self, read_share: f64, loads: &[f64]) -> Result<ExpanderRates, Refusal> {
        in_range("read_share", read_share, 0.0..=1.0, "give a share of 0 to 1")?;
        let slot_ns = self.link_of().map_err(|refusal| refusal.below("link"))?.slot_ns();
        let servers = self.servers(read_share, slot_ns);
        let gbytes_per_s = |lines_per_ns: f64| lines_per_ns * f64::from(LINE_BYTES);
        let ceilings: IndexMap<String, f64> = [
            ("slots-to-memory", &servers.to_memory),
            ("slots-from-memory", &servers.from_memory),
            ("memory-bus", &servers.bus),
            ("memory-banks", &servers.banks),
        ]
        .map(|(bound, server)| (bound.to_owned(), gbytes_per_s(server.most_per_ns())))
        .into_iter()
        .filter(|(_, ceiling)| ceiling.is_finite())
        .collect();
        let least = ceilings.iter().min_by(|one, other| one.1.total_cmp(other.1));
        let (bound, peak) = least.map_or((String::new(), 0.0), |(bound, peak)| (bound.clone(), *peak));
        let loads = loads.iter().map(|&load| self.at(&servers, load, peak)).collect::<Result<_, _>>()?;
        Ok(ExpanderRates {
            read_share,
            peak_gbytes_per_s: peak,
            bound,
            ceilings,
            slots_to_memory: servers.to_memory.mean_ns() / slot_ns,
            slots_from_memory: servers.from_memory.mean_ns() / slot_ns,
            loads,
        })
    }

    fn at(&self, servers: &Servers, load: f64, peak: f64) -> Result<ExpanderLoad, Refusal> {
        in_range("load", load, 0.0..=0.99, "give shares of the peak from 0 to 0.99")?;
        let gbytes_per_s = load * peak;
        let lines_per_ns = gbytes_per_s / f64::from(LINE_BYTES);
        let paced = |server: &Server| self.arrivals.unevenness * server.wait_ns(lines_per_ns);
        let (to_memory_wait_ns, bus_wait_ns) = (paced(&servers.to_memory), paced(&servers.bus));
        let from_memory_wait_ns = paced(&servers.from_memory);
        let bank_wait_ns = servers.banks.wait_ns(lines_per_ns);
        let waits_ns = to_memory_wait_ns + bank_wait_ns + bus_wait_ns + from_memory_wait_ns;
        Ok(ExpanderLoad {
            load,
            gbytes_per_s,
            read_latency_ns: self.controller.unloaded_ns + waits_ns,
            to_memory_wait_ns,
            bank_wait_ns,
            bus_wait_ns,
            from_memory_wait_ns,
        })
    }

    fn servers(&self, read_share: f64, slot_ns: f64) -> Servers {
        let memory = &self.memory;
        let channels = f64::from(memory.channels);
        let of = |count, read_ns, write_ns| Server { read_share, read_ns, write_ns, count };
        let slots = |read: MemoryMessage, write: MemoryMessage| {
            of(1.0, read.slots() * slot_ns, write.slots() * slot_ns)
        };
        // A channel moves 8 B at a time.
        let channel_gbytes_per_s = f64::from(memory.megatransfers_per_s) * 8e-3 * memory.data_share;
        let line_ns = f64::from(LINE_BYTES) / channel_gbytes_per_s;
        Servers {
            to_memory: slots(MemoryMessage::ReadRequest, MemoryMessage::WriteRequest),
            banks: of(channels * f64::from(memory.banks), memory.read_bank_ns, memory.write_bank_ns),
            bus: of(channels, line_ns, line_ns),
            from_memory: slots(MemoryMessage::ReadData, MemoryMessage::WriteCompletion),
        }
    }

    fn link_of(&self) -> Result<CxlLink, Refusal> {
        let ExpanderLink { generation, lanes, flit_bytes, sync_headers } = self.link;
        CxlLink::new(generation, lanes, flit_bytes, sync_headers)
    }
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
        lines.map(numbers).map(|row| (row[0], row[1], row[3..].to_vec())).collect()
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
            let waits = [row.to_memory_wait_ns, row.bank_wait_ns, row.bus_wait_ns, row.from_memory_wait_ns];
            let sum = expander.controller.unloaded_ns + waits.iter().sum::<f64>();
            prop_assert!((row.read_latency_ns - sum).abs() < 1e-9);
        }
    }
}
