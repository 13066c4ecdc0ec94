//! The shipped NICs against the published figures, and what a wrong description gets.

use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};

use super::*;
use crate::{InterpacketGap, Limits};

fn device(text: &str) -> Interactions {
    toml::from_str(text).unwrap()
}

pub(crate) fn simple_nic() -> Interactions {
    device(include_str!("../../../../profiles/nics/simple-nic.toml"))
}

pub(crate) fn niantic_kernel() -> Interactions {
    device(include_str!("../../../../profiles/nics/niantic-kernel.toml"))
}

pub(crate) fn niantic_dpdk() -> Interactions {
    device(include_str!("../../../../profiles/nics/niantic-dpdk.toml"))
}

fn model(accounting: Accounting) -> Model {
    let link = LinkConfiguration::try_from(LinkParameters {
        generation: 3,
        lanes: 8,
        mps_bytes: 256,
        mrrs_bytes: 512,
        rcb_bytes: 64,
        address_bits: 64,
        ecrc: false,
        flit_mode: None,
    })
    .unwrap();
    Model::new(link, accounting, Limits::default()).unwrap()
}

const FORTY_GIGABIT: Ethernet = Ethernet { line_gbps: 40.0, vlan: false, gap: InterpacketGap::Standard };

fn printed(gbps: f64) -> String {
    format!("{gbps:.2}")
}

#[test]
fn sigcomm18_reproduces_the_published_nics_to_the_printed_digit() {
    let published = [
        (64, ["12.58", "20.67", "19.73"], ["17.63", "23.23", "27.16"], ["20.65", "35.30", "28.01"]),
        (512, ["39.31", "46.24", "45.38"], ["43.96", "47.62", "49.02"], ["45.93", "51.92", "49.34"]),
        (1500, ["46.06", "50.82", "50.00"], ["48.08", "51.38", "51.43"], ["48.86", "52.98", "51.55"]),
    ];
    let model = model(Accounting::Sigcomm18);
    for (frame_bytes, simple, kernel, dpdk) in published {
        for (device, expected) in [(simple_nic(), simple), (niantic_kernel(), kernel), (niantic_dpdk(), dpdk)]
        {
            let found = model.nic(&device, FORTY_GIGABIT, frame_bytes).unwrap();
            let found = [Some(found.bi), found.tx, found.rx].map(|answer| printed(answer.unwrap().gbps));
            assert_eq!(found, expected, "{} at {frame_bytes} B", device.name);
        }
    }
}

#[test]
fn line_rates_of_the_two_accountings() {
    for (accounting, expected) in [
        (Accounting::Sigcomm18, ["28.57", "38.48", "39.47"]),
        (Accounting::Spec, ["28.57", "38.20", "39.37"]),
    ] {
        let model = model(accounting);
        let line =
            |frame_bytes| printed(model.nic(&simple_nic(), FORTY_GIGABIT, frame_bytes).unwrap().line_gbps);
        assert_eq!([64, 512, 1500].map(line), expected);
    }
}

#[test]
fn tags_and_minimum_gaps_and_vlan_count() {
    let limits = Limits { tags: Some(1), round_trip_ns: Some(1_000.0), ..Limits::default() };
    let model = Model { limits, ..model(Accounting::Spec) };
    let found = model.nic(&simple_nic(), FORTY_GIGABIT, 64).unwrap();
    // Two read requests a packet, one outstanding, 1 us each: half a packet a microsecond.
    let tx = found.tx.unwrap();
    assert_eq!(tx.bound, crate::Bound::Tags);
    assert!((tx.millions_per_s - 0.5).abs() < 1e-12);
    let line =
        |vlan, gap| model.nic(&simple_nic(), Ethernet { line_gbps: 40.0, vlan, gap }, 64).unwrap().line_gbps;
    assert_eq!(line(true, InterpacketGap::Standard), 40.0 * 60.0 / 88.0);
    assert_eq!(line(false, InterpacketGap::Minimum), 40.0 * 60.0 / 73.0);
}

#[test]
fn impossible_steps_are_named() {
    let text = include_str!("../../../../profiles/nics/niantic-kernel.toml");
    let message = |from: &str, to: &str| {
        assert!(text.contains(from));
        match toml::from_str::<Interactions>(&text.replacen(from, to, 1)) {
            Ok(device) => model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    assert!(message("actor = \"host\"", "actor = \"device\"").starts_with("step 1 (driver writes the TX"));
    assert!(message("batch = 40", "batch = 0").contains("1 or more"));
    assert!(message("batch = 40", "batch = 40\nevery_packets = 2").contains("not both"));
    for more in ["batch = 2", "every_packets = 2"] {
        let told = message("bytes = \"packet\"", &format!("bytes = \"packet\"\n{more}"));
        assert!(told.contains("leave batch and every_packets out"), "{told}");
    }
    assert!(
        message("bytes = \"packet\"", "bytes = 64")
            .starts_with("step: nothing moves the packet on the path tx")
    );
    assert!(message("bytes = 16", "bytes = 0").contains("above 0"));
    assert!(message("batch = 40", "packets = 40").contains("unknown field"));
}

#[test]
fn a_device_may_only_send_but_not_do_nothing() {
    let mut device = simple_nic();
    device.steps.retain(|step| step.path == Path::Tx);
    let found = model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap();
    assert_eq!((Some(found.bi), None), (found.tx, found.rx));
    device.steps.clear();
    let message = model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap_err().to_string();
    assert!(message.starts_with("step: the device has none"));
}
