//! Every key that limits something states who can change it, and every stated step is possible or refused well.

use pcie_model::{Interactions, Nic};
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use pcie_sim::profile::System;
use pcie_why::{Change, Part, of_link, of_nic, of_system, of_test};
use pcie_workload::{Operation, Test};
use serde_json::json;

fn system() -> Result<System, Refusal> {
    let text = include_str!("../../pcie-sim/tests/fixtures/clx-6234.json");
    System::read(serde_json::from_str(text).map_err(Refusal::new)?)
}

fn nic() -> Result<Nic, Refusal> {
    let steps = json!([
        {"what": "doorbell", "path": "tx", "actor": "host", "kind": "mmio-write", "bytes": 4},
        {"what": "packet", "path": "tx", "actor": "device", "kind": "dma-read", "bytes": "packet"},
        {"what": "interrupt", "path": "tx", "actor": "device", "kind": "msi", "bytes": 4},
        {"what": "doorbell", "path": "rx", "actor": "host", "kind": "mmio-write", "bytes": 4, "every_packets": 4},
        {"what": "packet in", "path": "rx", "actor": "device", "kind": "dma-write", "bytes": "packet"},
    ]);
    let plain = json!({"name": "own", "description": "", "provenance": "", "step": steps});
    Ok(Interactions::read(plain)?.into())
}

fn find<'a>(changes: &'a [Change], what: &str) -> Option<&'a Change> {
    changes.iter().find(|change| change.what.starts_with(what))
}

#[test]
fn every_key_that_limits_states_a_relief_or_why_there_is_none() {
    assert_eq!(System::shape().without_relief(), [""; 0]);
    assert_eq!(Interactions::shape().without_relief(), [""; 0]);
    assert_eq!(Nic::shape().without_relief(), [""; 0]);
    assert_eq!(Test::shape().without_relief(), [""; 0]);
}

#[test]
fn a_system_has_a_step_of_every_resource() {
    let changes = of_system(&system().unwrap()).unwrap();
    for (what, of) in [
        ("link.tags", Part::Link),
        ("link.mrrs_bytes", Part::Link),
        ("host.iommu.walkers", Part::Host),
        ("host.root_complex.write_pool_lines", Part::Host),
        ("device.dma.outstanding", Part::Device),
    ] {
        assert_eq!(find(&changes, what).map(|one| one.of), Some(of), "{what}");
    }
    assert!(changes.iter().all(|change| change.keys.len() == 1));
}

#[test]
fn a_test_has_steps_of_its_own() {
    let test = Test { host_offset_bytes: 8, ..Test::random_dma(Operation::BwRd, 64, 8192, 1 << 20) };
    let changes = of_test(&test).unwrap();
    assert_eq!(find(&changes, "host_offset_bytes 8 -> 0").unwrap().keys["test.host_offset_bytes"], 0);
    assert!(changes.iter().any(|change| change.what == "cache cold -> host-warm"));
}

#[test]
fn a_nic_has_steps_of_queues_and_accesses() {
    let changes = of_nic(&nic().unwrap(), 64).unwrap();
    assert!(find(&changes, "nic.queues.descriptors_held 128 -> 256").is_some());
    let doorbells = find(&changes, "doorbells for 2 to 8 packets each").unwrap();
    assert_eq!(doorbells.keys["nic.step.3.every_packets"], 8);
    assert!(find(&changes, "nic.step.0.every_packets none -> 2").unwrap().what.ends_with("(doorbell)"));
    let polled = &find(&changes, "polling").unwrap().keys["nic.step"];
    assert_eq!(polled.as_array().map(Vec::len), Some(4));
}

#[test]
fn a_link_has_steps_of_the_keys_that_are_given() {
    let words: Vec<String> =
        of_link(&json!({"lanes": 8, "generation": 3})).into_iter().map(|one| one.what).collect();
    assert_eq!(words, ["link.generation 3 -> 4", "link.lanes 8 -> 16"]);
}
