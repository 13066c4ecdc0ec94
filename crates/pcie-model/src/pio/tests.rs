use pcie_wire::{LinkConfiguration, LinkParameters};

use super::*;
use crate::Limits;

fn kpio() -> MessageProfile {
    serde_json::from_str(include_str!("../../tests/fixtures/kpio-2012.json")).unwrap()
}

fn kpio_model() -> Model {
    Model::of_measured_link(&kpio()).unwrap()
}

fn on_link(generation: u32, lanes: u32, address_bits: u32) -> Model {
    let link = LinkParameters { generation, lanes, address_bits, flit_mode: None, ..kpio().link };
    Model::new(LinkConfiguration::try_from(link).unwrap(), Accounting::Spec, Limits::default()).unwrap()
}

fn ask(payload_bytes: u64) -> Messages {
    kpio_model().messages(&kpio(), payload_bytes, 0).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} for {expected}");
}

#[test]
fn wire_efficiency_is_the_papers() {
    let answer = ask(64);
    close(answer.uncached.wire_efficiency, 8.0 / 32.0);
    close(answer.write_combined.wire_efficiency, 64.0 / 88.0);
    let narrow = on_link(1, 4, 32).messages(&kpio(), 64, 0).unwrap();
    close(narrow.write_combined.wire_efficiency, 64.0 / 84.0);
}

#[test]
fn layouts_are_the_papers() {
    let ping = ask(64);
    assert_eq!((ping.message_bytes, ping.buffers, ping.signatures), (104, 2, 3));
    // "only a single WC buffer is needed if the message is less than 20 bytes": 20 still fit.
    assert_eq!((ask(19).buffers, ask(20).buffers, ask(21).buffers), (1, 1, 2));
    assert_eq!(ask(20).signatures, 1);
    // Figure 3: packets of 120, 64 and 240 B.
    for (frame, buffers, signatures) in [(120, 2, 1), (64, 2, 8), (240, 4, 2)] {
        let layout = Layout::new(frame, 0).unwrap();
        assert_eq!((layout.buffers, layout.signatures()), (buffers, signatures));
    }
}

#[test]
fn traced_ping_takes_the_times_of_table_1() {
    let ping = ask(64);
    close(ping.write_combined.latency_ns, 232.0);
    close(ping.descriptor_ns, 832.0);
    close(ping.payload_request_ns.unwrap(), 1504.0);
    close(ping.descriptors.latency_ns, 1736.0);
    let saved = 1.0 - ping.write_combined.latency_ns / ping.descriptors.latency_ns;
    assert_eq!(format!("{:.1}", 100.0 * saved), "86.6");
    close(ask(20).write_combined.latency_ns, 108.0);
}

#[test]
fn a_message_in_its_descriptor_saves_the_second_read() {
    let mut inline = kpio();
    inline.descriptors.inline_bytes = Some(100);
    let model = kpio_model();
    let (apart, within) = (ask(64), model.messages(&inline, 64, 0).unwrap());
    // 104 B with 16 B of descriptor: one completion of 120 B instead of two of 16 and 100 B. One request of 24 B
    // and one header of 20 B less, 4 B of padding more.
    let bytes = |sending: &Sending| sending.upstream_bytes + sending.downstream_bytes;
    close(bytes(&apart.descriptors) - bytes(&within.descriptors), 24.0 + 20.0 - 4.0);
    assert_eq!(within.payload_request_ns, None);
    // 104 B more at 1 B a ns, with 4 B of SKP after each 1,534.
    close(within.descriptors.latency_ns, 832.0 + 104.0 * 1538.0 / 1534.0);
    close(within.descriptors.cpu_ns - apart.descriptors.cpu_ns, 2.0 * 3.2);
    let longer = model.messages(&inline, 65, 0).unwrap();
    assert_eq!(longer, model.messages(&kpio(), 65, 0).unwrap());
}

#[test]
fn latency_and_throughput_are_a_saw_tooth_of_64_bytes() {
    let model = kpio_model();
    let answers: Vec<_> =
        (1..=1500).map(|bytes| model.messages(&kpio(), bytes, 0).unwrap().write_combined).collect();
    let steps: Vec<_> = (1..answers.len())
        .filter(|&at| answers[at].latency_ns > answers[at - 1].latency_ns)
        .map(|at| at as u64 + 1)
        .collect();
    // One more buffer whenever payload, 36 B of headers and 8 B of signature no longer fit.
    assert!(steps.iter().enumerate().all(|(nth, &bytes)| bytes == 21 + 64 * nth as u64), "{steps:?}");
    let drops = (1..answers.len())
        .filter(|&at| answers[at].bandwidth.gbps < answers[at - 1].bandwidth.gbps)
        .map(|at| at as u64 + 1);
    assert_eq!(drops.collect::<Vec<_>>(), steps);
}

#[test]
fn stores_win_for_small_messages_and_lose_by_a_constant_factor_for_large_ones() {
    let ratio = |bytes| {
        let answer = ask(bytes);
        answer.write_combined.bandwidth.gbps / answer.descriptors.bandwidth.gbps
    };
    assert!(ratio(64) > 7.0);
    assert!(ratio(16_384) / ratio(65_536) < 1.15);
    assert!((0.6..1.0).contains(&ratio(65_536)), "{}", ratio(65_536));
}

#[test]
fn dma_wins_from_a_few_kib_on() {
    let crossings = kpio_model().crossings(&kpio()).unwrap();
    let latency = crossings.latency.from_bytes.unwrap();
    assert!((2048..4096).contains(&latency), "{crossings:?}");
    for (bytes, wins) in [(latency, true), (latency - 1, false)] {
        let answer = ask(bytes);
        assert_eq!(answer.descriptors.latency_ns < answer.write_combined.latency_ns, wins);
    }
    let bandwidth = crossings.bandwidth;
    assert!(bandwidth.first_bytes.unwrap() <= bandwidth.from_bytes.unwrap());
    assert!((2048..8192).contains(&bandwidth.from_bytes.unwrap()), "{crossings:?}");
}

#[test]
fn control_share_is_the_papers() {
    // 28 + 24 + 36 + 40 B of control, 28 + 24 + 120 B of interrupt and payload: "up to 43 %".
    close(ask(64).control_share, 128.0 / 300.0);
    assert!(ask(65_536).control_share < 0.05);
}

#[test]
fn every_partial_flush_costs_a_header_and_an_interval() {
    let flushed = |flushes| kpio_model().messages(&kpio(), 64, flushes).unwrap().write_combined;
    let (none, one, all) = (flushed(0), flushed(1), flushed(14));
    close(one.downstream_bytes, none.downstream_bytes + 24.0);
    close(all.wire_efficiency, 0.25);
    assert!(one.latency_ns > none.latency_ns && one.bandwidth.gbps < none.bandwidth.gbps);
    let error = kpio_model().messages(&kpio(), 64, 15).unwrap_err().to_string();
    assert_eq!(error, "flushes is 15: give at most 7 for each buffer of the message");
}

#[test]
fn the_core_waits_once_its_buffers_are_used_up() {
    let cpu_ns = |bytes| ask(bytes).write_combined.cpu_ns;
    let ten_buffers = 10 * 64 - 8 - 36;
    close(cpu_ns(ten_buffers), 32.0);
    assert!(cpu_ns(ten_buffers + 1) > 80.0, "{}", cpu_ns(ten_buffers + 1));
    close(ask(4096).descriptors.cpu_ns, 40.0);
}

#[test]
fn faster_links_shorten_only_the_links_part() {
    let mut before = kpio_model().messages(&kpio(), 1024, 0).unwrap();
    for (generation, lanes) in [(3, 8), (4, 8), (5, 8), (6, 8), (7, 16)] {
        let answer = on_link(generation, lanes, 64).messages(&kpio(), 1024, 0).unwrap();
        assert!(answer.write_combined.latency_ns < before.write_combined.latency_ns);
        assert!(answer.descriptors.latency_ns < before.descriptors.latency_ns);
        before = answer;
    }
    let times = kpio().machine_times().unwrap();
    assert!(
        before.write_combined.latency_ns > 15.0 * times.store_gap_ns,
        "the gap between buffers is the machine's"
    );
}

#[test]
fn a_loopback_is_mostly_pcie() {
    let profile = MessageProfile {
        link: LinkParameters {
            generation: 3,
            lanes: 8,
            mps_bytes: 256,
            address_bits: 64,
            flit_mode: None,
            ..kpio().link
        },
        header_bytes: 8,
        stores: StoreTimes {
            first_interval_ns: 11.3,
            stream_interval_ns: 11.3,
            core_interval_ns: None,
            uncached_interval_ns: None,
        },
        loopback: Some(LoopbackTimes {
            measured_packet_bytes: 128,
            total_ns: 1000.0,
            pcie_ns: 900.0,
            line_gbps: 40.0,
        }),
        ..kpio()
    };
    let model = Model::of_measured_link(&profile).unwrap();
    let share = |bytes| model.loopback(&profile, bytes).unwrap().unwrap().pcie_share;
    close(share(128), 0.9);
    // The paper: more than 90 % for small packets, 77 % for 1500 B.
    assert!(share(64) > 0.9);
    assert!((0.76..0.80).contains(&share(1500)), "{}", share(1500));
    assert_eq!(kpio_model().loopback(&kpio(), 64), Ok(None));
}

#[test]
fn wrong_profiles_are_refused_by_key() {
    let message = |change: fn(&mut MessageProfile)| {
        let mut profile = kpio();
        change(&mut profile);
        kpio_model().messages(&profile, 64, 0).unwrap_err().to_string()
    };
    for (found, key) in [
        (message(|profile| profile.core.write_combining_buffers = 0), "core.write_combining_buffers is 0"),
        (message(|profile| profile.stores.stream_interval_ns = 50.0), "stores.stream_interval_ns is 50"),
        (message(|profile| profile.stores.first_interval_ns = 100.0), "stores.first_interval_ns is 100"),
        (message(|profile| profile.descriptors.payload_ns = 1500.0), "descriptors.payload_ns is "),
        (message(|profile| profile.queue.capacity_bytes = 100), "queue.capacity_bytes is 100"),
        (message(|profile| profile.header_bytes = 4), "header_bytes is 4"),
        (
            message(|profile| profile.core.fill_ns = f64::NAN),
            "core.fill_ns is not a number: give a number above 0",
        ),
    ] {
        assert!(found.starts_with(key), "{found}");
    }
    assert!(kpio_model().messages(&kpio(), 65_537, 0).is_err());
}
