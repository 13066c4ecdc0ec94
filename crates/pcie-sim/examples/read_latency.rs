//! Latency of 64 B reads in a window that fits the cache and in a larger one, on a simulated Sandy Bridge.
//!
//!     cargo run --release -p pcie-sim --example read_latency

use pcie_sim::{LatencyRun, Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};
use std::error::Error;

/// What `pcielab profiles show snb --resolved` prints.
const SYSTEM: &str = include_str!("../tests/fixtures/snb.json");
const TRANSACTIONS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Machine::new(serde_json::from_str(SYSTEM)?)?;
    // Draws are functions of seed and test: the same key gives the same picoseconds.
    let key = TestKey { seed: 1, test: 0 };
    for window_bytes in [8 << 10, 64 << 20] {
        let test = Test::random_dma(Operation::LatRd, 64, window_bytes, TRANSACTIONS);
        machine.supports(&test)?;
        let addresses = AddressList::new(&test, key.draws(Stream::Addresses));
        let mut run = LatencyRun::new(&machine, &test, &addresses, key, machine.boot(), 0);
        let total_ns: f64 = (0..TRANSACTIONS).map(|_| run.step().latency.as_ns()).sum();
        println!(
            "window of {:5} KiB: {:.0} ns, simulated",
            window_bytes >> 10,
            total_ns / TRANSACTIONS as f64
        );
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
