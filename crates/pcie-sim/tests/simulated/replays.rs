//! Replays on the simulated link: both engines agree, and lose what the replays that were drawn cost.

use super::flits::{Filled, finished};
use super::machines::{KEY, dma, ideal, latency_ns};
use pcie_model::flits_of_a_round_trip;
use pcie_sim::{BandwidthRun, Engine, Machine, Replays};
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, Operation, Test};
use serde_json::{Value, json};

/// Time of flight from port to port in the machines of these tests, in ns.
const FLIGHT_NS: f64 = 20.0;

#[test]
fn engines_agree_on_links_that_send_again() {
    for number in 0..40 {
        let filled = Filled::random(number);
        let draws = Draws::new(number, 1, Stream::Payload);
        let pick = |index, count: u64| draws.below(index, count) as usize;
        let rate = [1e-3, 0.02, 0.3][pick(0, 3)];
        let mut keys = vec![
            ("link.flit_error_rate", json!(rate)),
            ("link.tlp_error_rate", json!(rate)),
            ("link.flit_replay", json!(["go-back-n", "selective"][pick(1, 2)])),
            ("link.nak_loss_share", json!(0.25)),
            ("link.replay_timer_ns", json!(700.0)),
        ];
        if pick(2, 2) == 1 {
            keys.push(("link.replay_buffer_flits", json!(6)));
            keys.push(("link.replay_buffer_bytes", json!(1200)));
        }
        let (machine, test) = (filled.machine_with(&keys), filled.test());
        assert_eq!(
            finished(Engine::Fast, &machine, &test, 3_000),
            finished(Engine::Reference, &machine, &test, 3_000),
            "{number}: {filled:?} {keys:?}"
        );
    }
}

/// A machine whose link is full of transfers of a size, and which has no other limit.
fn full(changes: &[(&str, Value)]) -> Machine {
    let keys = [
        ("link.mps_bytes", json!(512)),
        ("link.mrrs_bytes", json!(512)),
        ("link.tags", json!(4096)),
        ("device.dma.receive_buffers", json!(4096)),
        ("device.dma.busy_request_interval_ns", json!(0.0)),
        ("device.dma.engine.both_ways_byte_ns", json!(null)),
        ("host.root_complex.read_ns", json!(50.0)),
        ("host.root_complex.busy_read_ns", json!(50.0)),
        ("host.root_complex.flight_ns", json!(FLIGHT_NS)),
        ("host.root_complex.posted_header_credits", json!(65536)),
        ("host.root_complex.posted_data_credits", json!("infinite")),
        ("host.root_complex.non_posted_header_credits", json!(65536)),
    ];
    ideal(&[&keys, changes].concat())
}

/// Time of a test's transactions, and what both directions sent again.
fn run(machine: &Machine, test: &Test, transactions: u64) -> (f64, Option<[Replays; 2]>) {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = BandwidthRun::new(Engine::Fast, machine, test, &list, KEY, machine.boot(), 0);
    let end = run.run(transactions);
    (end.as_ns(), run.replays())
}

/// Damaged transmissions among the first items of a direction, by the draws of their positions alone.
fn drawn(stream: Stream, items: u64, rate: f64) -> u64 {
    let draws = KEY.draws(stream);
    let is_bad = |item: u64, attempt: u64| draws.fraction((item << 6) | attempt) < rate;
    (0..items).map(|item| (0..).take_while(|attempt| is_bad(item, *attempt)).count() as u64).sum()
}

#[test]
fn the_loss_is_that_of_the_replays_that_were_drawn() {
    const RATE: f64 = 1e-3;
    let directions =
        [(Operation::BwWr, Stream::UplinkErrors, 0), (Operation::BwRd, Stream::DownlinkErrors, 1)];
    for (operation, stream, direction) in directions {
        for (way, lanes) in [("go-back-n", 16), ("selective", 16), ("go-back-n", 1), ("selective", 4)] {
            let link = [
                ("link.generation", json!(6)),
                ("link.lanes", json!(lanes)),
                ("link.flit", json!(true)),
                ("link.flit_replay", json!(way)),
            ];
            let clean = full(&link);
            let damaged = full(&[&link[..], &[("link.flit_error_rate", json!(RATE))]].concat());
            let test = dma(operation, 512, 1 << 20);
            let (without_ns, none) = run(&clean, &test, 200_000);
            let (with_ns, replays) = run(&damaged, &test, 200_000);
            let found = replays.unwrap()[direction];
            assert!(none.is_none());
            let errors = drawn(stream, found.items, RATE);
            assert!(errors.abs_diff(found.errors) <= 1, "{errors} drawn, {found:?}");
            let flit_ns = 32.0 / f64::from(lanes);
            let flits = match way {
                "selective" => 1.0,
                _ => flits_of_a_round_trip((FLIGHT_NS + 2.5) / flit_ns),
            };
            let (lost_ns, expected_ns) = (with_ns - without_ns, errors as f64 * flits * flit_ns);
            let share = lost_ns / expected_ns;
            assert!((share - 1.0).abs() < 0.02, "{operation:?} {way} x{lanes}: {share} of {expected_ns} ns");
            assert!((found.resent_ns / expected_ns - 1.0).abs() < 0.02, "{found:?} {expected_ns}");
        }
    }
}

#[test]
fn without_flits_each_damaged_tlp_costs_its_time_and_its_naks() {
    const RATE: f64 = 1e-3;
    let link = [("link.generation", json!(3)), ("link.lanes", json!(8))];
    // A DLLP, or a TLP of 512 B and 24 more, of 126.95 ps a byte, and SKPs.
    let byte_ns = 0.126_953_125 / (1.0 - 4.0 / 1538.0);
    for (lost, timer_ns) in [(0.0, 0.0), (0.5, 400.0)] {
        let errors = [
            ("link.tlp_error_rate", json!(RATE)),
            ("link.nak_loss_share", json!(lost)),
            ("link.replay_timer_ns", json!(timer_ns)),
        ];
        let (clean, damaged) = (full(&link), full(&[&link[..], &errors].concat()));
        let test = dma(Operation::BwWr, 512, 1 << 20);
        let (without_ns, _) = run(&clean, &test, 500_000);
        let (with_ns, replays) = run(&damaged, &test, 500_000);
        let [found, _] = replays.unwrap();
        let drawn = drawn(Stream::UplinkErrors, found.items, RATE);
        let timeouts = (found.timeouts as f64 / found.errors as f64 - lost).abs();
        assert!(drawn.abs_diff(found.errors) <= 1 && timeouts < 0.1, "{drawn} drawn, {found:?}");
        let answered = drawn as f64 - found.timeouts as f64;
        let (tlp_ns, nak_ns) = (536.0 * byte_ns, 2.0 * FLIGHT_NS + 8.0 * byte_ns);
        let expected_ns = answered * (tlp_ns + nak_ns) + found.timeouts as f64 * (tlp_ns + timer_ns);
        let share = (with_ns - without_ns) / expected_ns;
        assert!((share - 1.0).abs() < 0.02, "{lost}: {share} of {expected_ns} ns");
    }
}

#[test]
fn bounds_say_what_replays_cost_a_full_link() {
    for (keys, rate) in [
        (vec![("link.generation", json!(6)), ("link.flit", json!(true))], "link.flit_error_rate"),
        (vec![("link.generation", json!(4))], "link.tlp_error_rate"),
    ] {
        let test = dma(Operation::BwWr, 512, 1 << 20);
        let damaged = full(&[&keys[..], &[(rate, json!(0.01))]].concat());
        let (without_ns, _) = run(&full(&keys), &test, 100_000);
        let (with_ns, _) = run(&damaged, &test, 100_000);
        let bounds = damaged.bounds(&test).unwrap().unwrap();
        let expected = bounds.replays.unwrap().upstream.share;
        let found = 1.0 - without_ns / with_ns;
        // Some 1,000 to 2,000 replays vary by 2 to 3 %.
        assert!((found / expected - 1.0).abs() < 0.12, "{keys:?}: {found} of the time, {expected} expected");
        assert_eq!(full(&keys).bounds(&test).unwrap().unwrap().replays, None);
    }
}

#[test]
fn a_small_replay_buffer_is_the_bound() {
    for (keys, buffer) in [
        (
            vec![("link.generation", json!(6)), ("link.lanes", json!(16)), ("link.flit", json!(true))],
            ("link.replay_buffer_flits", json!(8)),
        ),
        (
            vec![("link.generation", json!(4)), ("link.lanes", json!(16))],
            ("link.replay_buffer_bytes", json!(1072)),
        ),
    ] {
        for (operation, direction) in [(Operation::BwWr, 0), (Operation::BwRd, 1)] {
            let machine = full(&[&keys[..], std::slice::from_ref(&buffer)].concat());
            let test = dma(operation, 512, 1 << 20);
            let (time_ns, replays) = run(&machine, &test, 20_000);
            let gbps = 20_000.0 * 512.0 * 8.0 / time_ns;
            let answer = machine.bounds(&test).unwrap().unwrap().answer;
            assert_eq!(answer.bound, pcie_model::Bound::ReplayBuffer, "{answer:?}");
            let share = gbps / answer.gbps;
            assert!((0.96..=1.001).contains(&share), "{operation:?} {buffer:?}: {share} of {answer:?}");
            let waited = replays.unwrap()[direction];
            assert!(waited.errors == 0 && waited.buffer_wait_ns > 0.3 * time_ns, "{waited:?} of {time_ns}");
        }
    }
}

#[test]
fn a_read_that_is_alone_waits_for_what_is_sent_again() {
    const RATE: f64 = 0.2;
    let keys = [
        ("link.generation", json!(6)),
        ("link.lanes", json!(16)),
        ("link.flit", json!(true)),
        ("link.flit_entry", json!("next")),
        ("host.root_complex.flight_ns", json!(FLIGHT_NS)),
    ];
    let mean_ns = |changes: &[(&str, Value)]| {
        let machine = ideal(&[&keys[..], changes].concat());
        latency_ns(&machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 50_000)
    };
    // Request and completion take a flit each, and each is damaged any number of times.
    let round_trip_ns = 2.0 * flits_of_a_round_trip((FLIGHT_NS + 2.5) / 2.0);
    let expected = 2.0 * RATE / (1.0 - RATE) * round_trip_ns;
    let found = mean_ns(&[("link.flit_error_rate", json!(RATE))]) - mean_ns(&[]);
    assert!((found / expected - 1.0).abs() < 0.03, "{found} ns of {expected}");
    let tlps = [("link.generation", json!(4)), ("link.flit", json!(false))];
    let rate = ("link.tlp_error_rate", json!(RATE));
    let found = mean_ns(&[&tlps[..], &[rate]].concat()) - mean_ns(&tlps);
    // Of 24 and 84 B, both with a Nak of 8 B, at a byte in 31.74 ps.
    let expected = RATE / (1.0 - RATE) * (4.0 * FLIGHT_NS + (24.0 + 84.0 + 16.0) * 0.031_74);
    assert!((found / expected - 1.0).abs() < 0.03, "{found} ns of {expected}");
}
