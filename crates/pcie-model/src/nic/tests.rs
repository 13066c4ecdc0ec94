//! The shipped NICs against the published figures, and the refusals of wrong descriptions.

use pcie_changed::{changed, is_printable};
use pcie_schema::Fitting as _;
use pcie_wire::Accounting;
use proptest::prelude::*;

use super::*;
use crate::bandwidth::tests::printed;
use crate::{InterpacketGap, Interval, Limits};

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
    crate::bandwidth::tests::model(3, 8, accounting, Limits::default())
}

pub(crate) const FORTY_GIGABIT: Ethernet =
    Ethernet { line_gbps: 40.0, vlan: false, gap: InterpacketGap::Standard };

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
fn refuses_impossible_steps_by_index() {
    let text = include_str!("../../../../profiles/nics/niantic-kernel.toml");
    let message = |from: &str, to: &str| {
        assert!(text.contains(from));
        match toml::from_str::<Interactions>(&text.replacen(from, to, 1)) {
            Ok(device) => model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    assert!(message("actor = \"host\"", "actor = \"device\"").starts_with("step.0: driver writes the TX"));
    assert!(message("batch = 40", "batch = 0").contains("1 or more"));
    assert!(message("batch = 40", "batch = 40\nevery_packets = 2").contains("not both"));
    for more in ["batch = 2", "every_packets = 2"] {
        let refused = message("bytes = \"packet\"", &format!("bytes = \"packet\"\n{more}"));
        assert!(refused.contains("leave batch and every_packets out"), "{refused}");
    }
    assert!(
        message("bytes = \"packet\"", "bytes = 64")
            .starts_with("step: nothing moves the packet on the path tx")
    );
    let interrupt = "kind = \"msi\"\nbytes = 4\nevery_packets = 32";
    let moderated = |more: &str| message(interrupt, &format!("kind = \"msi\"\nbytes = 4\n{more}"));
    assert!(moderated("moderation_ns = 0").contains("1 to 10000000"));
    assert!(moderated("moderation_ns = 50000\nevery_packets = 1").contains("2 or more"));
    assert!(moderated("moderation_ns = 50000\nbatch = 2").contains("leave batch out"));
    assert!(message("batch = 40", "moderation_ns = 50000").contains("kind msi"));
    let early = "[[step]]\nwhat = \"early\"\npath = \"tx\"\nactor = \"device\"\nkind = \"msi\"\nbytes = 4\nmoderation_ns = 9\n";
    assert!(message("[[step]]", &format!("{early}\n[[step]]")).starts_with("step.0: early: moderation_ns"));
    assert!(message("bytes = 16", "bytes = 0").contains("above 0"));
    assert!(message("batch = 40", "packets = 40").contains("unknown field"));
}

#[test]
fn interrupts_moderated_by_time_cost_a_share_of_time() {
    let model = model(Accounting::Spec);
    let with = |change: &dyn Fn(&mut crate::Step)| {
        let mut device = niantic_kernel();
        let interrupts = device.steps.iter_mut().filter(|step| step.kind == Kind::Msi);
        interrupts.for_each(change);
        model.nic(&device, FORTY_GIGABIT, 64).unwrap().rx.unwrap().millions_per_s
    };
    let counted = |packets| with(&move |step| step.every_packets = Some(packets));
    let timed =
        |ns, packets| with(&move |step| (step.moderation_ns, step.every_packets) = (Some(ns), packets));
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(near(timed(1, None), counted(1)), "no interrupt is delayed");
    assert!(near(timed(10_000_000, Some(32)), counted(32)), "the packet count is reached first");
    // A period of three packets costs as much as one interrupt every three packets.
    let three = 3e3 / counted(3);
    assert!((timed(three.round() as u32, None) / counted(3) - 1.0).abs() < 1e-3);
    assert!(timed(50_000, None) > counted(1000));
}

#[test]
fn split_header_is_a_write_of_its_own() {
    let mut device = simple_nic();
    device.steps.retain(|step| step.path == Path::Rx && step.moves_packet());
    let model = model(Accounting::Spec);
    let rate = |device: &Interactions| model.nic(device, FORTY_GIGABIT, 256).unwrap().bi.millions_per_s;
    let whole = rate(&device);
    device.queues.header_bytes = 128;
    // 252 B with the 24 of a write, and 24 more.
    assert!((whole / rate(&device) - 300.0 / 276.0).abs() < 1e-9);
    device.queues.header_bytes = 256;
    assert_eq!(rate(&device), whole, "shorter packets stay whole");
}

#[test]
fn accepts_send_only_device_and_refuses_device_without_steps() {
    let mut device = simple_nic();
    device.steps.retain(|step| step.path == Path::Tx);
    let found = model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap();
    assert_eq!((Some(found.bi), None), (found.tx, found.rx));
    device.steps.clear();
    let message = model(Accounting::Spec).nic(&device, FORTY_GIGABIT, 64).unwrap_err().to_string();
    assert!(message.starts_with("step: the device has none"));
}

/// A shipped profile as JSON.
fn as_json(text: &str) -> serde_json::Value {
    serde_json::to_value(toml::from_str::<toml::Value>(text).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn changed_nics_are_accepted_or_refused(
        nic in changed(&as_json(include_str!("../../../../profiles/nics/niantic-kernel.toml"))),
    ) {
        let model = model(Accounting::Spec);
        match Interactions::read(nic).and_then(|nic| model.nic(&nic, FORTY_GIGABIT, 64)) {
            Ok(found) => for answer in [Some(found.bi), found.tx, found.rx].into_iter().flatten() {
                prop_assert!((0.0..=70.0).contains(&answer.gbps), "{:?}", answer);
            },
            Err(refused) => prop_assert!(is_printable(&refused.to_string()), "{}", refused),
        }
    }
}

#[test]
fn an_interval_is_of_a_key_of_queues_and_has_two_ends() {
    let with = |key: &str, least, most| {
        let interval = Interval { least, most, source: "a guess".to_owned() };
        Interactions { assumed: [(key.to_owned(), interval)].into_iter().collect(), ..simple_nic() }.check()
    };
    assert!(with("queues.descriptors_held", 16, 1024).is_ok());
    let refused = |key, least, most| with(key, least, most).unwrap_err().to_string();
    assert!(refused("queues.held", 16, 1024).contains("give intervals of keys of queues"));
    assert!(refused("step", 16, 1024).contains("give intervals of keys of queues"));
    assert!(refused("queues.pairs", 2, 1).contains("give least, and most that is no less"));
}
