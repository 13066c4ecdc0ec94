//! No simulated bandwidth is above what the specification's accounting allows: two rooms that share only the wire
//! arithmetic must agree on that.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machines;

use machines::{dma, system, transaction_ns};
use pcie_model::{Limits, Model};
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};
use pcie_workload::Operation;
use proptest::prelude::*;

fn bound_gbps(operation: Operation, size: u64, offset: u64) -> f64 {
    let parameters = LinkParameters {
        generation: 3,
        lanes: 8,
        mps_bytes: 256,
        mrrs_bytes: 512,
        rcb_bytes: 64,
        address_bits: 32,
        ecrc: false,
        flit_mode: None,
    };
    let link = LinkConfiguration::try_from(parameters).unwrap();
    let model = Model::new(link, Accounting::Spec, Limits::default()).unwrap();
    let bound = model.bandwidth(size, offset).unwrap();
    match operation {
        Operation::BwRd => bound.read.gbps,
        Operation::BwWr => bound.write.gbps,
        _ => bound.rdwr.gbps,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn simulated_bandwidth_stays_below_the_bound(
        operation in prop::sample::select(vec![Operation::BwRd, Operation::BwWr, Operation::BwRdwr]),
        size in 1u64..=2048,
        offset in 0u64..64,
        name in prop::sample::select(vec!["snb", "ib-011-nosp"]),
    ) {
        let machine = system(name, &[]);
        let mut test = dma(operation, size, 16_384);
        test.host_offset_bytes = offset;
        // One direction of a read-write test counts.
        let counted = if operation == Operation::BwRdwr { 2.0 } else { 1.0 };
        let gbps = size as f64 * 8.0 / (transaction_ns(&machine, &test, machine.boot()) * counted);
        // Transfers start at the offset in whole lines: the loosest of those places bounds them all.
        let bound = bound_gbps(operation, size, offset);
        prop_assert!(gbps <= bound * 1.002, "{name} {operation:?} {size} B at {offset}: {gbps} above {bound}");
    }
}
