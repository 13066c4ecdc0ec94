use super::*;
use crate::pio::tests::{kpio, machine_with, plan};

const KEY: TestKey = TestKey { seed: 1, test: 0 };
const ALL: u64 = u64::MAX;

fn connection(sizes: &[u64], stores_up_to_bytes: u64, pace: Pace) -> Connection {
    Connection { sizes: sizes.to_vec(), stores_up_to_bytes, pace }
}

fn sent(machine: &MessageMachine, count: u64, plans: &[Connection]) -> MuxOutcome {
    let run = MuxRun::new(machine, plan(), KEY, count, plans.to_vec());
    let outcome = run.run_unless(&mut || false).unwrap();
    assert_eq!((outcome.changed, outcome.dropped, outcome.too_many), (0, 0, false));
    outcome
}

fn average_ns(messages: &[MuxMessage]) -> f64 {
    let times = messages.iter().map(|message| (message.received - message.taken_up).as_ns());
    times.sum::<f64>() / messages.len() as f64
}

fn gbps(outcome: &MuxOutcome, connection: usize) -> f64 {
    let bytes: u64 = outcome.connections[connection].iter().map(|message| message.payload_bytes).sum();
    bytes as f64 * 8.0 / outcome.elapsed.as_ns()
}

#[test]
fn a_single_connection_is_as_fast_as_its_path() {
    for pace in [Pace::Alone, Pace::Stream] {
        for bytes in [20, 64, 1500] {
            let mixed = sent(&kpio(), 40, &[connection(&[bytes], ALL, pace)]);
            let frames = vec![frame(36, &vec![0x5A; bytes as usize]); 40];
            let alone = StoresRun::new(&kpio(), StorePlan { pace, ..plan() }, KEY, vec![frames]).run();
            let last = mixed.connections[0][39];
            assert_eq!(last.received, alone.messages[39].left);
            assert_eq!(mixed.elapsed, alone.elapsed);
        }
    }
    for bytes in [20, 64, 1500] {
        let mixed = sent(&kpio(), 40, &[connection(&[bytes], 0, Pace::Stream)]);
        let one = (1, Sharing::OwnQueues);
        let alone = DescriptorsRun::new(&kpio(), KEY, one, (40, Pace::Stream), bytes + 36).run();
        assert_eq!(mixed.connections[0][39].received, alone.messages[39].received);
    }
}

#[test]
fn the_limit_selects_the_path_of_each_message_and_stores_overtake() {
    let sizes = [64, 1500, 256, 257];
    let outcome = sent(&kpio(), 40, &[connection(&sizes, 256, Pace::Stream)]);
    let mut latest = Picoseconds::ZERO;
    let mut overtakers = 0;
    for message in &outcome.connections[0] {
        assert_eq!(message.by_stores, message.payload_bytes <= 256);
        assert!(message.received < latest || message.received > message.taken_up);
        if message.received < latest {
            assert!(message.by_stores);
            overtakers += 1;
        }
        latest = latest.max(message.received);
    }
    assert!(overtakers > 0);
}

#[test]
fn short_messages_by_stores_beat_long_ones_by_descriptors() {
    let bulk = |limit| connection(&[16 << 10], limit, Pace::Stream);
    let short = |limit| connection(&[64], limit, Pace::Alone);
    let latency = |short_limit, bulk_limit| {
        average_ns(&sent(&kpio(), 50, &[short(short_limit), bulk(bulk_limit)]).connections[0])
    };
    let (apart, descriptors, stores) = (latency(ALL, 0), latency(0, 0), latency(ALL, ALL));
    let alone = average_ns(&sent(&kpio(), 50, &[short(ALL)]).connections[0]);
    assert!(alone < apart && apart < descriptors / 2.0, "{alone} {apart} {descriptors}");
    assert!(apart < stores * 1.5, "{apart} {stores}");
}

#[test]
fn both_paths_share_a_full_link() {
    let machine = machine_with(|profile| profile.descriptors.messages_in_flight = 32);
    let plans = [connection(&[4096], ALL, Pace::Stream), connection(&[4096], 0, Pace::Stream)];
    let outcome = sent(&machine, 100, &plans);
    let (stored, fetched) = (gbps(&outcome, 0), gbps(&outcome, 1));
    // Gen1 x4 carries 8 Gb/s: a TLP of 64 B here, one of 128 B there.
    assert!((5.5..8.0).contains(&(stored + fetched)), "{stored} {fetched}");
    assert!(stored > 1.5 && fetched > stored, "{stored} {fetched}");
    let received: usize = outcome.connections.iter().map(Vec::len).sum();
    let each = outcome.downstream_bytes as f64 / outcome.sent as f64;
    let wire = each * received as f64 * 8.0 / outcome.elapsed.as_ns();
    assert!(wire <= 8.3, "{wire} Gb/s on a link of 8");
}

#[test]
fn all_connections_send_until_the_last_is_finished() {
    let plans = [connection(&[64], ALL, Pace::Alone), connection(&[64 << 10], 0, Pace::Stream)];
    let outcome = sent(&kpio(), 20, &plans);
    assert_eq!(outcome.connections[1].len(), 20);
    assert!(outcome.connections[0].len() > 200, "{}", outcome.connections[0].len());
    assert!(outcome.connections.iter().flatten().all(|message| message.received <= outcome.elapsed));
}

#[test]
fn reports_a_connection_that_is_too_far_ahead() {
    let plans = [connection(&[1], ALL, Pace::Stream), connection(&[64 << 10], ALL, Pace::Stream)];
    let machine = kpio();
    let run = MuxRun::new(&machine, plan(), KEY, 1 << 17, plans.to_vec());
    assert!(run.run_unless(&mut || false).unwrap().too_many);
}
