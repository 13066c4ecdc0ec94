use super::frame::stated_bytes;
use super::*;
use crate::cache::history::TestKey;
use pcie_model::pio::Layout;
use pcie_model::{Limits, Model};
use pcie_wire::Accounting;
use proptest::collection::vec;
use proptest::prelude::*;

const KEY: TestKey = TestKey { seed: 1, test: 0 };
const ONE: (u32, Sharing) = (1, Sharing::OwnQueues);

fn profile() -> MessageProfile {
    serde_json::from_str(include_str!("../../../pcie-model/tests/fixtures/kpio-2012.json")).unwrap()
}

pub(super) fn machine_with(change: impl FnOnce(&mut MessageProfile)) -> MessageMachine {
    let system = serde_json::from_str(include_str!("../../tests/fixtures/kpio-2012.json")).unwrap();
    let mut profile = profile();
    change(&mut profile);
    MessageMachine::new(Machine::new(system).unwrap(), profile).unwrap()
}

pub(super) fn kpio() -> MessageMachine {
    machine_with(|_| ())
}

pub(super) fn plan() -> StorePlan {
    StorePlan {
        combine: true,
        eviction: EvictionOrder::InOrder,
        pressure: 0.0,
        ending: Ending::Stuffed,
        sharing: Sharing::OwnQueues,
        pace: Pace::Stream,
    }
}

fn same(count: usize, payload_bytes: usize) -> Vec<Vec<u8>> {
    vec![frame(36, &vec![0x5A; payload_bytes]); count]
}

fn stores(machine: &MessageMachine, plan: StorePlan, frames: Vec<Vec<Vec<u8>>>) -> StoresOutcome {
    StoresRun::new(machine, plan, KEY, frames).run()
}

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} for {expected}");
}

#[test]
fn latency_of_a_single_message_matches_the_trace() {
    let alone = StorePlan { pace: Pace::Alone, ..plan() };
    for (bytes, latency_ns) in [(20, 108.0), (64, 232.0), (1024, 232.0 + 15.0 * 108.0)] {
        let found = stores(&kpio(), alone, vec![same(3, bytes)]);
        for message in &found.messages {
            close(message.latency().as_ns(), latency_ns, 0.1);
        }
    }
}

#[test]
fn answers_to_a_message_match_the_trace() {
    let alone = StorePlan { pace: Pace::Alone, ..plan() };
    let found = stores(&kpio(), alone, vec![same(2, 64)]);
    for message in &found.messages {
        let back = message.back.unwrap();
        let after = |time: Picoseconds| (time - message.first_store).as_ns();
        // Figure 5: packets 1574, 1576, 1578, 1579. The simulated acknowledgements deviate by up to 17 ns.
        close(after(back.first_acknowledged), 492.0, 17.0);
        close(after(back.last_acknowledged), 692.0, 17.0);
        close(after(back.first_looped), 1292.0, 1.0);
        close(after(back.last_looped), 1388.0, 1.5);
    }
    let nothing = machine_with(|profile| profile.answers = None);
    assert!(stores(&nothing, alone, vec![same(1, 64)]).messages.iter().all(|message| message.back.is_none()));
}

#[test]
fn steps_of_descriptors_match_the_trace() {
    let outcome = DescriptorsRun::new(&kpio(), KEY, ONE, (3, Pace::Stream), 100).run();
    for message in &outcome.messages {
        let since = |time: Picoseconds| (time - message.doorbell).as_ns();
        close(since(message.descriptor), 832.0, 0.5);
        close(since(message.payload_request), 1504.0, 0.5);
        close(since(message.payload), 1736.0, 0.5);
        close(outcome.latency(message).as_ns(), 1736.0, 0.5);
    }
    // 28 + 24 + 36 + 40 bytes of 300.
    let all = outcome.upstream_bytes + outcome.downstream_bytes;
    assert_eq!((outcome.control_bytes, all), (3 * 128, 3 * 300));
}

#[test]
fn simulation_agrees_with_the_model_without_contention() {
    let machine = kpio();
    let model = Model::of_measured_link(&profile()).unwrap();
    for bytes in [1, 64, 200, 1000, 4096] {
        let answer = model.messages(&profile(), bytes, 0).unwrap();
        for (combine, sending) in [(true, &answer.write_combined), (false, &answer.uncached)] {
            let count = 200;
            let found = stores(&machine, StorePlan { combine, ..plan() }, vec![same(count, bytes as usize)]);
            assert_eq!(found.wire_bytes as f64, sending.downstream_bytes * count as f64);
            let (first, last) = (found.messages[0], found.messages[count - 1]);
            let each_ns = (last.first_store - first.first_store).as_ns() / (count - 1) as f64;
            let gbps = bytes as f64 * 8.0 / each_ns;
            close(gbps / sending.bandwidth.gbps, 1.0, 0.02);
        }
        let found = DescriptorsRun::new(&machine, KEY, ONE, (4, Pace::Stream), bytes + 36).run();
        let latency_ns = found.latency(&found.messages[0]).as_ns();
        close(latency_ns / answer.descriptors.latency_ns, 1.0, 0.03);
    }
}

#[test]
fn messages_in_descriptors_agree_with_the_model() {
    for (batch, bytes) in [(1, 1), (1, 64), (4, 64), (1, 400), (1, 460)] {
        let change = |profile: &mut MessageProfile| {
            profile.descriptors.inline_bytes = Some(496);
            if batch > 1 {
                profile.descriptors.messages_per_doorbell = batch;
                profile.descriptors.payload_request_ns += 100.0;
                profile.descriptors.payload_ns += 100.0;
            }
        };
        let machine = machine_with(change);
        let answer =
            Model::of_measured_link(&profile()).unwrap().messages(&machine.profile, bytes, 0).unwrap();
        let found = DescriptorsRun::new(&machine, KEY, ONE, (8, Pace::Stream), bytes + 36).run();
        let message = &found.messages[0];
        assert!(message.is_inline() && message.received > message.descriptor);
        close(found.latency(message).as_ns() / answer.descriptors.latency_ns, 1.0, 0.03);
        let all = found.upstream_bytes + found.downstream_bytes;
        close(found.control_bytes as f64 / all as f64, answer.control_share, 0.01);
        close(
            all as f64 / 8.0 / (answer.descriptors.upstream_bytes + answer.descriptors.downstream_bytes),
            1.0,
            0.01,
        );
    }
}

#[test]
fn descriptors_in_flight_are_bounded_by_the_link() {
    let gbps = |in_flight, batch| {
        let machine = machine_with(|profile| {
            profile.descriptors.messages_in_flight = in_flight;
            profile.descriptors.messages_per_doorbell = batch;
        });
        let outcome = DescriptorsRun::new(&machine, KEY, ONE, (400, Pace::Stream), 100).run();
        400.0 * 64.0 * 8.0 / outcome.elapsed.as_ns()
    };
    assert!(gbps(2, 1) > 1.9 * gbps(1, 1));
    // The system's ports carry SKPs, and no DLLPs.
    let no_dllps = Limits {
        ack_interval_symbols: Some(u32::MAX),
        update_fc_interval_symbols: Some(u32::MAX),
        ..Limits::default()
    };
    let model = Model::new(profile().measured_link().unwrap(), Accounting::Spec, no_dllps).unwrap();
    let mut bounded = profile();
    bounded.descriptors.messages_in_flight = 64;
    let bound = model.messages(&bounded, 64, 0).unwrap().descriptors.bandwidth;
    assert!(gbps(64, 1) <= bound.gbps, "{} above {}", gbps(64, 1), bound.gbps);
    assert!(gbps(64, 1) > 0.9 * bound.gbps, "{} far below {}", gbps(64, 1), bound.gbps);
    assert!(gbps(64, 8) > gbps(64, 1));
}

#[test]
fn a_core_stalls_without_free_buffers() {
    let written_ns = |buffers, bytes| {
        let machine = machine_with(|profile| profile.core.write_combining_buffers = buffers);
        let found = stores(&machine, plan(), vec![same(1, bytes)]);
        ((found.messages[0].written - found.messages[0].started).as_ns(), found.stalls.buffers.as_ns())
    };
    let ten_buffers = 640 - 8 - 36;
    assert_eq!(written_ns(10, ten_buffers), (32.0, 0.0));
    let (written, stalled) = written_ns(10, ten_buffers + 64);
    close(written, 32.0 + stalled + 3.2, 0.01);
    assert!(stalled > 50.0, "{stalled}");
    assert!(written_ns(4, ten_buffers).0 > 5.0 * 108.0);
}

#[test]
fn a_full_queue_stalls_and_loses_nothing() {
    let machine = machine_with(|profile| {
        profile.queue.capacity_bytes = 128;
        profile.queue.drain_ns = 1000.0;
    });
    for eviction in [EvictionOrder::InOrder, EvictionOrder::Random] {
        let found = stores(&machine, StorePlan { eviction, ..plan() }, vec![same(20, 1000)]);
        assert_eq!((found.lost, found.dropped, found.delivered.len()), (0, 0, 20));
        assert!(found.stalls.queue.as_ns() > 100_000.0);
        // 17 buffers a message, each a microsecond and the way of the credit.
        assert!(found.elapsed.as_ns() > 20.0 * 17.0 * 1000.0);
    }
}

#[test]
fn own_queues_share_the_link_and_one_queue_costs_a_lock() {
    let four = |sharing| stores(&kpio(), StorePlan { sharing, ..plan() }, vec![same(50, 64); 4]);
    let (own, one) = (four(Sharing::OwnQueues), four(Sharing::OneQueue));
    assert_eq!((own.delivered.len(), one.delivered.len()), (200, 200));
    assert_eq!(own.stalls.lock, Picoseconds::ZERO);
    assert!(one.stalls.lock > Picoseconds::ZERO);
    assert!(one.elapsed >= own.elapsed);
    for queue in 0..4 {
        assert_eq!(own.delivered.iter().filter(|delivered| delivered.queue == queue).count(), 50);
    }
}

/// A machine on a Gen5 x8 link, which sends a buffer faster than a core fills the next.
fn on_gen5() -> MessageMachine {
    let mut system: crate::profile::System =
        serde_json::from_str(include_str!("../../tests/fixtures/kpio-2012.json")).unwrap();
    (system.link.generation, system.link.lanes) = (5, 8);
    MessageMachine::new(Machine::new(system).unwrap(), profile()).unwrap()
}

#[test]
fn the_gap_between_buffers_is_per_core() {
    let machine = on_gen5();
    let gbps = |cores: usize| {
        let found = stores(&machine, plan(), vec![same(100, 64); cores]);
        (cores * 100 * 64 * 8) as f64 / found.elapsed.as_ns()
    };
    let one = gbps(1);
    close(gbps(2) / one, 2.0, 0.05);
    close(gbps(4) / one, 4.0, 0.1);
    // With 16 cores the link is the bottleneck: 176 B for each 64.
    let bound = Accounting::Spec.tlp_gbps(&machine.link) * 64.0 / 176.0;
    assert!((0.9 * bound..bound).contains(&gbps(16)), "{} of {bound}", gbps(16));
    // On the link of the paper, one core's buffers leave it idle for 20 of 108 ns.
    let of_two = |cores: usize| stores(&kpio(), plan(), vec![same(200 / cores, 64); cores]).elapsed.as_ns();
    close(of_two(1) / of_two(2), 108.0 / 88.0, 0.03);
}

#[test]
fn cores_have_descriptor_queues_of_their_own_or_share_one() {
    let run =
        |cores, sharing| DescriptorsRun::new(&kpio(), KEY, (cores, sharing), (50, Pace::Stream), 100).run();
    let per_message = |outcome: &DescriptorsOutcome| outcome.elapsed.as_ns() / outcome.messages.len() as f64;
    let [one, two, four] = [1, 2, 4].map(|cores| run(cores, Sharing::OwnQueues));
    close(per_message(&one) / per_message(&two), 2.0, 0.1);
    // Four of them sometimes wait for the link.
    assert!((3.2..4.0).contains(&(per_message(&one) / per_message(&four))));
    assert!(four.messages.iter().all(|message| message.written_back > message.received));
    // One message in flight in one queue, whose lock moves between cores.
    let shared = run(4, Sharing::OneQueue);
    close(per_message(&shared) - per_message(&one), 100.0, 2.0);
}

#[test]
fn a_message_alone_waits_until_the_previous_one_of_its_core_has_arrived() {
    let machine = machine_with(|profile| {
        profile.descriptors.messages_in_flight = 32;
        profile.descriptors.messages_per_doorbell = 4;
    });
    for (cores, sharing) in [(2, Sharing::OwnQueues), (2, Sharing::OneQueue), (5, Sharing::OneQueue)] {
        let run = |pace| DescriptorsRun::new(&machine, KEY, (cores, sharing), (8, pace), 100).run();
        let (alone, stream) = (run(Pace::Alone), run(Pace::Stream));
        for of_core in alone.messages.chunks(8) {
            assert!(
                of_core.windows(2).all(|pair| pair[1].doorbell >= pair[0].received),
                "{cores} {sharing:?}"
            );
        }
        assert!(alone.elapsed > stream.elapsed, "{cores} {sharing:?}");
        assert!(alone.control_bytes > stream.control_bytes, "each has a doorbell of its own");
    }
}

#[test]
fn a_fence_saves_stuffing_and_costs_the_core() {
    let found = |ending| stores(&kpio(), StorePlan { ending, ..plan() }, vec![same(10, 64)]);
    let (stuffed, fenced) = (found(Ending::Stuffed), found(Ending::Fenced));
    assert_eq!(stuffed.wire_bytes - fenced.wire_bytes, 10 * 16);
    assert!(fenced.messages[0].written > stuffed.messages[0].written + Picoseconds::from_ns(39.0));
}

#[test]
fn refuses_wrong_profiles_and_systems_by_name() {
    let system: crate::profile::System =
        serde_json::from_str(include_str!("../../tests/fixtures/kpio-2012.json")).unwrap();
    let mut wrong = profile();
    wrong.core.fill_ns = -1.0;
    let error = MessageMachine::new(Machine::new(system.clone()).unwrap(), wrong).unwrap_err();
    assert_eq!(
        error.to_string(),
        "profile kpio-2012: core.fill_ns is -1: give a number above 0, up to 1000000000"
    );
    let small = crate::profile::System { chunk_bytes: 4096, ..system };
    let error = MessageMachine::new(Machine::new(small).unwrap(), profile()).unwrap_err();
    assert!(error.to_string().ends_with("chunk_bytes is 4096: messages need 1048576 or more"), "{error}");
}

fn payloads() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    vec(vec(vec(any::<u8>(), 1..700), 0..12), 1..4)
}

fn plans() -> impl Strategy<Value = StorePlan> {
    (
        any::<bool>(),
        prop::sample::select(vec![EvictionOrder::InOrder, EvictionOrder::Random]),
        prop::sample::select(vec![0.0, 0.05, 0.5, 1.0]),
        prop::sample::select(vec![Ending::Stuffed, Ending::Fenced]),
        prop::sample::select(vec![Sharing::OwnQueues, Sharing::OneQueue]),
        prop::sample::select(vec![Pace::Alone, Pace::Stream]),
    )
        .prop_map(|(combine, eviction, pressure, ending, sharing, pace)| StorePlan {
            combine,
            eviction,
            pressure,
            ending,
            sharing,
            pace,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Random sizes, orders of eviction, partial flushes, cores, buffers and queues.
    #[test]
    fn filter_output_equals_the_cores_frames(
        payloads in payloads(),
        plan in plans(),
        buffers in 1u32..12,
        queue_buffers in 1u32..40,
        seed in any::<u64>(),
    ) {
        let machine = machine_with(|profile| {
            profile.core.write_combining_buffers = buffers;
            profile.queue.capacity_bytes = 64 * queue_buffers;
        });
        let frames: Vec<Vec<Vec<u8>>> =
            payloads.iter().map(|core| core.iter().map(|payload| frame(36, payload)).collect()).collect();
        let found = StoresRun::new(&machine, plan, TestKey { seed, test: 0 }, frames.clone()).run();
        prop_assert_eq!((found.lost, found.dropped), (0, 0));
        let sent: Vec<_> = frames.concat();
        prop_assert_eq!(found.delivered.len(), sent.len());
        for delivered in &found.delivered {
            prop_assert_eq!(&delivered.frame, &sent[delivered.message]);
        }
        // Each queue keeps the order of each core.
        for queue in 0..frames.len() as u32 {
            let order: Vec<_> =
                found.delivered.iter().filter(|one| one.queue == queue).map(|one| one.message).collect();
            if plan.sharing == Sharing::OwnQueues {
                prop_assert!(order.is_sorted());
            }
        }
        prop_assert_eq!(
            found.tlps,
            found.messages.iter().map(|message| u64::from(message.tlps)).sum::<u64>()
        );
        if plan.combine && plan.pressure == 0.0 {
            let whole: u64 = payloads
                .concat()
                .iter()
                .map(|payload| Layout::new(payload.len() as u64, 36).unwrap().buffers)
                .sum();
            prop_assert_eq!(found.tlps, whole);
        }
    }

    /// Signatures in the payload, at any word of any message.
    #[test]
    fn drops_only_messages_with_a_signature_inside(
        sizes in vec(12usize..400, 1..16),
        planted in vec(any::<prop::sample::Index>(), 0..6),
        plan in plans(),
        seed in any::<u64>(),
    ) {
        let mut frames: Vec<_> = sizes.iter().map(|bytes| frame(36, &vec![1; *bytes])).collect();
        let mut hit = vec![false; frames.len()];
        for (nth, index) in planted.iter().enumerate() {
            let message = index.index(frames.len());
            // Behind the header, whole words of the message.
            let words = frames[message].len() / 8 - 5;
            if words > 0 {
                let word = 5 + (nth * 7 + message) % words;
                frames[message][8 * word..8 * word + 8].copy_from_slice(&SIGNATURE);
                hit[message] = true;
            }
        }
        let machine = kpio();
        let found = StoresRun::new(&machine, plan, TestKey { seed, test: 0 }, vec![frames.clone()]).run();
        prop_assert_eq!(found.dropped, hit.iter().filter(|hit| **hit).count() as u64);
        prop_assert_eq!(found.lost, 0);
        let left: Vec<_> = found.delivered.iter().map(|one| one.message).collect();
        let intact: Vec<_> = (0..frames.len()).filter(|&message| !hit[message]).collect();
        prop_assert_eq!(left, intact);
        for delivered in &found.delivered {
            prop_assert_eq!(&delivered.frame, &frames[delivered.message]);
        }
    }

    /// The signature as the first word would state a length that no frame has.
    #[test]
    fn a_frame_never_starts_with_a_signature(payload in vec(any::<u8>(), 1..200)) {
        let first: [u8; 8] = frame(8, &payload)[..8].try_into().unwrap();
        prop_assert!(stated_bytes(&SIGNATURE) > 1 << 20);
        prop_assert_ne!(first, SIGNATURE);
    }
}
