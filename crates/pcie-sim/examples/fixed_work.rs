//! Simulates a number of transactions of a named test: `fixed_work "BW_RD 64 B" 1000000`. Without arguments it
//! lists the tests. `make bench-compare` measures the processor time of one such process after the other.

#![expect(clippy::unwrap_used, reason = "fixtures that are valid")]

use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};

const KEY: TestKey = TestKey { seed: 1, test: 0 };
/// More transactions than anybody runs.
const ENDLESS: u64 = 1 << 48;
const SLICE: u64 = 4096;

/// Sandy Bridge, IOMMU off.
const SNB: &str = include_str!("../tests/fixtures/snb.json");
/// Ivy Bridge, IOMMU on with 4 KiB pages.
const FOUR_KIB_PAGES: &str = include_str!("../tests/fixtures/ib-000-nosp.json");

/// Name, system, operation, size, window in KiB.
const TESTS: [(&str, &str, Operation, u64, u64); 11] = [
    ("BW_RD 64 B", SNB, Operation::BwRd, 64, 8),
    ("BW_RD 64 B, 64 MiB, 4 KiB pages", FOUR_KIB_PAGES, Operation::BwRd, 64, 1 << 16),
    ("BW_RD 256 B", SNB, Operation::BwRd, 256, 8),
    ("BW_RD 2048 B", SNB, Operation::BwRd, 2048, 8),
    ("BW_WR 64 B", SNB, Operation::BwWr, 64, 8),
    ("BW_WR 64 B, 64 MiB, 4 KiB pages", FOUR_KIB_PAGES, Operation::BwWr, 64, 1 << 16),
    ("BW_WR 2048 B", SNB, Operation::BwWr, 2048, 8),
    ("RW 64 B", SNB, Operation::BwRdwr, 64, 8),
    ("RW 512 B", SNB, Operation::BwRdwr, 512, 8),
    ("LAT_RD 64 B", SNB, Operation::LatRd, 64, 8),
    ("LAT_RD 64 B, 64 MiB, 4 KiB pages", FOUR_KIB_PAGES, Operation::LatRd, 64, 1 << 16),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        TESTS.iter().for_each(|(name, ..)| println!("{name}"));
        return;
    }
    let Some((test, system, count)) = asked(&arguments) else {
        eprintln!("usage: fixed_work [TEST TRANSACTIONS]; without arguments it lists the tests");
        std::process::exit(2);
    };
    let machine = Machine::new(serde_json::from_str(system).unwrap()).unwrap();
    println!("{}", work(&machine, &test, count));
}

/// The test, its system and the number of transactions that the arguments ask for.
fn asked(arguments: &[String]) -> Option<(Test, &'static str, u64)> {
    let [name, count] = arguments else { return None };
    let (_, system, operation, bytes, kib) = TESTS.iter().find(|(known, ..)| known == name)?;
    Some((Test::random_dma(*operation, *bytes, kib << 10, ENDLESS), system, count.parse().ok()?))
}

/// Runs a test; returns a number that depends on all of its transactions.
fn work(machine: &Machine, test: &Test, count: u64) -> u64 {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    if test.operation.is_latency() {
        let mut run = LatencyRun::new(machine, test, &list, KEY, machine.boot(), 0);
        return (0..count).fold(0, |sum, _| sum ^ run.step().ticks);
    }
    let mut run = BandwidthRun::new(Engine::Fast, machine, test, &list, KEY, machine.boot(), 0);
    (0..count.div_ceil(SLICE)).map(|_| run.run(SLICE).0).last().unwrap_or(0)
}
