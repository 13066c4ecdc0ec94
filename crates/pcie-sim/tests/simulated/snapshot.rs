//! A snapshot of simulated results, which makes every change of a number explicit.

use super::machines::{KEY, dma, latency_ns, system, transaction_ns};
use pcie_workload::{Operation, Path, Pattern};
use std::fmt::Write;

#[test]
fn results_over_a_grid() {
    let mut table = String::from("system operation size_bytes window_bytes cache transaction_ns\n");
    for name in ["snb", "ib-011-nosp"] {
        let machine = system(name, &[]);
        let mut warm = machine.boot();
        machine.warm_from_host(&mut warm, 8192, KEY);
        for (operation, size, window) in [
            (Operation::BwRd, 8, 8 << 10),
            (Operation::BwRd, 64, 8 << 10),
            (Operation::BwRd, 64, 64 << 20),
            (Operation::BwRd, 513, 384 << 10),
            (Operation::BwRd, 2048, 8 << 10),
            (Operation::BwWr, 64, 8 << 10),
            (Operation::BwWr, 256, 64 << 20),
            (Operation::BwWr, 2048, 8 << 10),
            (Operation::BwRdwr, 64, 8 << 10),
            (Operation::BwRdwr, 512, 8 << 10),
        ] {
            for (cache, state) in [("cold", machine.boot()), ("host-warm", warm.clone())] {
                let time = transaction_ns(&machine, &dma(operation, size, window), state);
                writeln!(table, "{name} {operation:?} {size} {window} {cache} {time:.3}").unwrap();
            }
        }
        for (path, operation, size, window, pattern) in [
            (Path::Command, Operation::LatRd, 8, 4 << 10, Pattern::Sequential),
            (Path::Command, Operation::LatWrrd, 8, 4 << 20, Pattern::Random),
            (Path::Dma, Operation::LatRd, 64, 8 << 10, Pattern::Random),
            (Path::Dma, Operation::LatRd, 1024, 1 << 20, Pattern::Random),
            (Path::Dma, Operation::LatWrrd, 256, 8 << 10, Pattern::Sequential),
        ] {
            let test = pcie_workload::Test { path, pattern, ..dma(operation, size, window) };
            let latency = latency_ns(&machine, &test, warm.clone(), 4_000);
            writeln!(table, "{name} {path:?} {operation:?} {size} {window} host-warm {latency:.3}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
