//! No simulated bandwidth exceeds the specification's accounting on any link of any host and device: two
//! crates that share only the wire arithmetic agree.
//!
//! `PROPTEST_CASES` sets the number of cases.

use super::machines::{KEY, OF_EACH_HOST, dma, system};
use pcie_model::{Limits, Model};
use pcie_sim::{BandwidthRun, Engine, Machine};
use pcie_time::Stream;
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};
use pcie_workload::{AddressList, Operation, Test};
use proptest::prelude::*;
use serde_json::json;

/// A negotiated link.
#[derive(Clone, Copy, Debug)]
struct Link {
    generation: u32,
    lanes: u32,
    mps_bytes: u32,
    mrrs_bytes: u32,
    rcb_bytes: u32,
    tags: u32,
}

impl Link {
    fn any() -> impl Strategy<Value = Self> {
        let size = || prop::sample::select(vec![128, 256, 512, 1024, 4096]);
        let lanes = prop::sample::select(vec![1, 2, 4, 8, 12, 16, 32]);
        (1u32..=7, lanes, size(), size(), prop::sample::select(vec![64, 128]), 0u32..=12).prop_map(
            |(generation, lanes, mps_bytes, mrrs_bytes, rcb_bytes, tag_bits)| Self {
                generation,
                lanes,
                mps_bytes,
                mrrs_bytes,
                rcb_bytes,
                tags: 1 << tag_bits,
            },
        )
    }

    fn of(self, name: &str) -> Machine {
        system(
            name,
            &[
                ("link.generation", json!(self.generation)),
                ("link.flit", json!(self.generation >= 6)),
                ("link.lanes", json!(self.lanes)),
                ("link.mps_bytes", json!(self.mps_bytes)),
                ("link.mrrs_bytes", json!(self.mrrs_bytes)),
                ("link.rcb_bytes", json!(self.rcb_bytes)),
                ("link.tags", json!(self.tags)),
            ],
        )
    }

    /// Bandwidth that the accounting allows in one direction, with the shortest headers.
    fn bound_gbps(self, test: &Test) -> f64 {
        let parameters = LinkParameters {
            generation: self.generation,
            lanes: self.lanes,
            mps_bytes: self.mps_bytes,
            mrrs_bytes: self.mrrs_bytes,
            rcb_bytes: self.rcb_bytes,
            address_bits: 32,
            ecrc: false,
            completion_ecrc: None,
            flit_mode: None,
            ide_tlps: None,
        };
        let link = LinkConfiguration::try_from(parameters).unwrap();
        let model = Model::new(link, Accounting::Spec, Limits::default()).unwrap();
        let bound = model.bandwidth(test.size_bytes, test.host_offset_bytes).unwrap();
        match test.operation {
            Operation::BwRd => bound.read.gbps,
            Operation::BwWr => bound.write.gbps,
            _ => bound.rdwr.gbps,
        }
    }
}

/// Steady-state bandwidth in one direction: the slower one, for tests that read and write.
fn simulated_gbps(machine: &Machine, test: &Test) -> f64 {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = BandwidthRun::new(Engine::Fast, machine, test, &list, KEY, machine.boot(), 0);
    let start = run.run(6_000);
    let finished = run.finished(8_000);
    let elapsed_ns = (finished.last().unwrap().time - start).as_ns();
    let writes = |transaction| AddressList::writes(test.operation, transaction, test.transactions);
    let written = finished.iter().filter(|done| writes(done.transaction)).count();
    let counted = match test.operation {
        Operation::BwRdwr => written.min(finished.len() - written),
        _ => finished.len(),
    };
    (counted as u64 * test.size_bytes * 8) as f64 / elapsed_ns
}

fn check(name: &str, link: Link, test: &Test) -> Result<(), TestCaseError> {
    let simulated = simulated_gbps(&link.of(name), test);
    // Transfers start at the offset within whole lines: the loosest bound of these addresses holds for all.
    let bound = link.bound_gbps(test);
    prop_assert!(
        simulated <= bound * 1.0005,
        "{name}, {link:?}: {:?} of {} B at {}: {simulated} above {bound}",
        test.operation,
        test.size_bytes,
        test.host_offset_bytes
    );
    Ok(())
}

fn cases(few: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { few };
    ProptestConfig { cases, failure_persistence: None, ..asked }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn simulated_bandwidth_stays_below_the_bound(
        operation in prop::sample::select(vec![Operation::BwRd, Operation::BwWr, Operation::BwRdwr]),
        size in prop_oneof![1u64..=256, 1u64..=4_096, prop::sample::select(vec![64, 128, 256, 512, 1_024, 2_048])],
        offset in prop_oneof![Just(0u64), 0u64..64],
        name in prop::sample::select(OF_EACH_HOST.to_vec()),
        link in Link::any(),
    ) {
        let mut test = dma(operation, size, 1 << 16);
        // Transfers stay within a page.
        test.host_offset_bytes = offset.min(4_096 - size);
        check(name, link, &test)?;
    }
}

#[test]
fn a_narrow_link_pays_for_the_acks_of_a_device_without_dllps() {
    let narrow =
        Link { generation: 1, lanes: 1, mps_bytes: 512, mrrs_bytes: 4_096, rcb_bytes: 64, tags: 768 };
    for (mps_bytes, size) in [(256, 256), (512, 256), (128, 256), (128, 12), (4_096, 4_096)] {
        for operation in [Operation::BwRd, Operation::BwWr, Operation::BwRdwr] {
            let link = Link { mps_bytes, ..narrow };
            check("gen5-x16", link, &dma(operation, size, 1 << 16)).unwrap();
        }
    }
}
