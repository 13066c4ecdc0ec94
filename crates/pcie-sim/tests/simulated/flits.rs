//! Flits in the simulated link: both engines and the closed form agree on any link, with flits and without.
//!
//! `PCIELAB_LINKS` sets the number of random links: `make flits` tries 500.

use super::machines::{KEY, dma, ideal, latency_ns};
use pcie_model::{FlitTimes, Transfer, WholeDllps};
use pcie_sim::{BandwidthRun, Engine, Finished, Machine};
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_wire::{FlitEntry, LinkConfiguration, LinkParameters, SplitAt};
use pcie_workload::{AddressList, Operation, Test};
use serde_json::{Value, json};

/// A link, and transfers that fill it.
#[derive(Debug)]
pub struct Filled {
    generation: u32,
    lanes: u32,
    flit: bool,
    ide: bool,
    entry: &'static str,
    mps_bytes: u32,
    mrrs_bytes: u32,
    operation: Operation,
    size_bytes: u64,
}

impl Filled {
    pub fn random(number: u64) -> Self {
        let draws = Draws::new(number, 0, Stream::Payload);
        let pick = |index, count: u64| draws.below(index, count) as usize;
        let generation = 1 + pick(0, 7) as u32;
        let most = 1 << pick(8, 13);
        Self {
            generation,
            lanes: [1, 2, 4, 8, 16][pick(1, 5)],
            flit: generation >= 6 || pick(2, 2) == 1,
            ide: pick(9, 3) == 0,
            entry: ["running", "next"][pick(3, 2)],
            mps_bytes: 128 << pick(4, 3),
            mrrs_bytes: 128 << pick(5, 4),
            operation: [Operation::BwRd, Operation::BwWr, Operation::BwRdwr][pick(6, 3)],
            size_bytes: 1 + draws.below(7, most),
        }
    }

    /// A machine in which nothing but the link is full.
    fn machine(&self) -> Machine {
        self.machine_with(&[])
    }

    /// The same with changes.
    pub fn machine_with(&self, changes: &[(&str, Value)]) -> Machine {
        let keys = [
            ("link.generation", json!(self.generation)),
            ("link.lanes", json!(self.lanes)),
            ("link.flit", json!(self.flit)),
            ("link.ide", json!(self.ide)),
            ("link.flit_entry", json!(self.entry)),
            ("link.mps_bytes", json!(self.mps_bytes)),
            ("link.mrrs_bytes", json!(self.mrrs_bytes)),
            ("link.tags", json!(16384)),
            ("device.dma.receive_buffers", json!(16384)),
            ("device.dma.outstanding", json!(16384)),
            ("device.dma.busy_request_interval_ns", json!(0.0)),
            ("device.dma.engine.both_ways_byte_ns", json!(null)),
            ("host.root_complex.read_ns", json!(50.0)),
            ("host.root_complex.busy_read_ns", json!(50.0)),
            ("host.root_complex.merge_partial_lines", json!(true)),
            ("host.root_complex.posted_header_credits", json!(65536)),
            ("host.root_complex.posted_data_credits", json!("infinite")),
            ("host.root_complex.non_posted_header_credits", json!(65536)),
        ];
        ideal(&[&keys, changes].concat())
    }

    pub fn test(&self) -> Test {
        dma(self.operation, self.size_bytes, 1 << 20)
    }

    /// Without flits, what the link carries with the whole bytes of DLLPs that its ports send, in Gb/s, for the
    /// addresses of the measured transactions.
    fn whole_dllps_gbps(&self) -> Option<f64> {
        let plain = LinkParameters::new(self.generation, self.lanes, self.mps_bytes, self.mrrs_bytes);
        let parameters = LinkParameters { ide_tlps: self.ide.then_some(1), ..plain };
        let link = LinkConfiguration::try_from(parameters).unwrap();
        let (lead, count) = self.counts();
        let test = self.test();
        let list = AddressList::new(&test, KEY.draws(Stream::Addresses));
        let mut bytes = WholeDllps::default();
        for transaction in lead..lead + count {
            let offset_bytes = list.offset(transaction);
            let completion_bytes = Some(self.mps_bytes);
            let transfer = Transfer { size_bytes: self.size_bytes, offset_bytes, completion_bytes };
            if AddressList::writes(self.operation, transaction, test.transactions) {
                bytes.write(&link, transfer);
            } else {
                bytes.read(&link, transfer, SplitAt::AlignedAddress);
            }
        }
        let directions = if self.operation == Operation::BwRdwr { 2.0 } else { 1.0 };
        (!self.flit).then(|| bytes.gbps(&link) / directions)
    }

    /// Transactions whose queues are full, and those that are measured: a thousand flits or more.
    fn counts(&self) -> (u64, u64) {
        (20_000, if self.size_bytes < 256 { 40_000 } else { 10_000 })
    }
}

pub fn run<'a>(
    engine: Engine,
    machine: &'a Machine,
    test: &'a Test,
    list: &'a AddressList,
) -> BandwidthRun<'a> {
    BandwidthRun::new(engine, machine, test, list, KEY, machine.boot(), 0)
}

pub fn finished(engine: Engine, machine: &Machine, test: &Test, count: u64) -> (Vec<Finished>, Picoseconds) {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = run(engine, machine, test, &list);
    let mut finished = run.finished(count);
    finished.sort_unstable();
    (finished, run.run(count))
}

/// Simulated bandwidth of one direction, in Gb/s.
fn simulated_gbps(filled: &Filled, machine: &Machine, test: &Test) -> f64 {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = run(Engine::Fast, machine, test, &list);
    let (lead, count) = filled.counts();
    let start = run.run(lead);
    let each_ns = (run.run(count) - start).as_ns() / count as f64;
    let directions = if test.operation == Operation::BwRdwr { 2.0 } else { 1.0 };
    8.0 * test.size_bytes as f64 / each_ns / directions
}

#[test]
fn engines_and_closed_form_agree_on_random_links() {
    let links = std::env::var("PCIELAB_LINKS").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
    for number in 0..links {
        let filled = Filled::random(number);
        let (machine, test) = (filled.machine(), filled.test());
        assert_eq!(
            finished(Engine::Fast, &machine, &test, 1_500),
            finished(Engine::Reference, &machine, &test, 1_500),
            "{number}: {filled:?}"
        );
        let bound = machine.bounds(&test).unwrap().unwrap().answer;
        let simulated = simulated_gbps(&filled, &machine, &test);
        let share = simulated / filled.whole_dllps_gbps().unwrap_or(bound.gbps);
        assert!((0.999..=1.001).contains(&share), "{number}: {filled:?}: {share} of {bound:?}");
        assert!(simulated <= 1.001 * bound.gbps, "{number}: {filled:?}: {simulated} Gb/s, {bound:?}");
    }
}

#[test]
fn a_read_on_a_narrow_link_waits_for_its_flits() {
    let entries = [("running", FlitEntry::Running, 45.5), ("next", FlitEntry::Next, 90.0)];
    for (name, entry, about_ns) in entries {
        let simulated = |lanes: u32| {
            let changes = [
                ("link.generation", json!(6)),
                ("link.lanes", json!(lanes)),
                ("link.flit", json!(true)),
                ("link.flit_entry", json!(name)),
            ];
            let machine = ideal(&changes);
            latency_ns(&machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 50_000)
        };
        let modelled = |lanes| {
            let link = LinkConfiguration::try_from(LinkParameters::new(6, lanes, 256, 512)).unwrap();
            [16, 76].map(|bytes| FlitTimes::of(&link, entry, 2.5, bytes).total_ns()).iter().sum::<f64>()
        };
        // Besides flits, a read takes 400 ns in the host and 20 ns of flight each way.
        for lanes in [1, 4, 16] {
            let (found, expected) = (simulated(lanes), 440.0 + modelled(lanes));
            assert!((found - expected).abs() < 0.5, "{name} x{lanes}: {found} ns, {expected} modelled");
        }
        let between = simulated(1) - simulated(16);
        assert!((between - about_ns).abs() < 1.0, "{name}: {between} ns");
    }
}

#[test]
fn a_receiver_checks_a_flit_before_it_passes_a_tlp_on() {
    let latency = |check_ns: f64| {
        let machine = ideal(&[
            ("link.generation", json!(5)),
            ("link.flit", json!(true)),
            ("link.flit_check_ns", json!(check_ns)),
        ]);
        latency_ns(&machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 50_000)
    };
    let both_ways = latency(10.0) - latency(0.0);
    assert!((both_ways - 20.0).abs() < 0.2, "{both_ways} ns");
}
