//! A planted limit of a system or test is the resource that is named, with its value.

use pcie_model::Bound;
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use pcie_sim::profile::System;
use pcie_why::resource;
use pcie_workload::{Operation, Test};
use serde_json::{Value, json};

/// The assumed Gen5 system, with some values changed by their JSON pointers.
fn system(changes: &[(&str, Value)]) -> Result<System, Refusal> {
    let text = include_str!("../../pcie-sim/tests/fixtures/gen5-x16.json");
    let mut whole: Value = serde_json::from_str(text).map_err(Refusal::new)?;
    for (pointer, value) in changes {
        *whole.pointer_mut(pointer).ok_or_else(|| Refusal::new(format!("no {pointer}")))? = value.clone();
    }
    System::read(whole)
}

fn test(operation: Operation, size_bytes: u64) -> Test {
    Test::random_dma(operation, size_bytes, 8192, 1 << 20)
}

#[test]
fn a_planted_limit_is_the_resource_with_its_value() {
    let complex = |key: &str| format!("/host/root_complex/{key}");
    for (operation, size_bytes, pointer, value, bound, clause) in [
        (Operation::BwRd, 64, "/link/tags".to_owned(), json!(8), Bound::Tags, "with 8 tags"),
        (
            Operation::BwRd,
            64,
            "/device/dma/tags".to_owned(),
            json!(8),
            Bound::Tags,
            "with 8 tags of the device",
        ),
        (
            Operation::BwRd,
            64,
            "/device/dma/outstanding".to_owned(),
            json!(4),
            Bound::Latency,
            "with 4 DMAs in flight",
        ),
        (
            Operation::BwWr,
            64,
            complex("posted_header_credits"),
            json!(8),
            Bound::PostedCredits,
            "with 8 posted header credits",
        ),
        (
            Operation::BwWr,
            4096,
            complex("posted_data_credits"),
            json!(64),
            Bound::PostedCredits,
            "with 64 posted data credits",
        ),
        (
            Operation::BwRd,
            64,
            complex("non_posted_header_credits"),
            json!(4),
            Bound::NonPostedCredits,
            "with 4 non-posted header credits",
        ),
        (
            Operation::BwRd,
            64,
            complex("request_interval_ns"),
            json!(40.0),
            Bound::RequestRate,
            "with a read request every 40 ns",
        ),
        (
            Operation::BwWr,
            64,
            complex("write_line_ns"),
            json!(30.0),
            Bound::WriteRate,
            "with a written line every 30 ns",
        ),
        (
            Operation::BwRd,
            64,
            "/device/dma/busy_request_interval_ns".to_owned(),
            json!(33.25),
            Bound::DeviceRate,
            "with a transfer every 33.2 ns",
        ),
        (Operation::BwWr, 64, "/link/lanes".to_owned(), json!(1), Bound::DevicePort, "over Gen5 x1"),
    ] {
        let found = resource(&system(&[(&pointer, value)]).unwrap(), &test(operation, size_bytes)).unwrap();
        assert_eq!((found.bound, found.clause.as_str()), (bound.to_string(), clause), "{pointer}");
        if bound != Bound::DevicePort {
            assert_eq!(format!("/{}", found.key.replace('.', "/")), pointer);
        }
    }
}

#[test]
fn the_requests_of_a_test_are_named_where_they_are_fewer_than_the_devices() {
    let few = Test { outstanding: Some(2), ..test(Operation::BwRd, 64) };
    let found = resource(&system(&[]).unwrap(), &few).unwrap();
    assert_eq!((found.key, found.clause.as_str()), ("test.outstanding", "with 2 DMAs in flight"));
}

#[test]
fn a_latency_has_no_bound_and_no_resource() {
    assert_eq!(resource(&system(&[]).unwrap(), &test(Operation::LatRd, 64)), None);
}
