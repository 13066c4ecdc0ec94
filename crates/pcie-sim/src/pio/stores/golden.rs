//! Golden vectors for the FPGA core: stores as they arrive at the device, and the messages that must leave
//! it. The test bench of `rtl/src/message_receiver.sv` reads them. `PCIELAB_GOLDEN=write cargo test -p
//! pcie-sim golden` writes them.

use super::{Ending, Event, EvictionOrder, Pace, Sharing, StorePlan, StoresRun};
use crate::cache::history::TestKey;
use crate::pio::tests::kpio;
use crate::pio::{SIGNATURE, frame};
use pcie_model::pio::WORD_BYTES;
use pcie_time::{Draws, Stream};
use serde_json::{Value, json};

const KEY: TestKey = TestKey { seed: 19, test: 0 };
const CORES: u64 = 3;
const MESSAGES: u64 = 10;
const HEADER_BYTES: u32 = 36;
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rtl/tb/golden_stores.json");

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Frames of all lengths, half of them near the end of a buffer; a fifth has a signature in the payload.
fn frames() -> Vec<Vec<Vec<u8>>> {
    let draws = Draws::new(KEY.seed, KEY.test, Stream::Payload);
    let mut drawn = 0;
    let mut below = |limit| {
        drawn += 1;
        draws.below(drawn, limit)
    };
    let mut of_core = |_| {
        let one = |_| {
            let edges = [1, 20, 27, 28, 29, 84, 92, 93, 156];
            let bytes = match below(2) {
                0 => edges[below(edges.len() as u64) as usize],
                _ => 1 + below(700),
            };
            let mut frame = frame(HEADER_BYTES, &vec![0; bytes as usize]);
            for byte in frame.iter_mut().skip(HEADER_BYTES as usize) {
                *byte = below(256) as u8;
            }
            if below(5) == 0 {
                // As a whole word behind the first, or across two words, where it is ordinary payload.
                let words = frame.len() as u64 / WORD_BYTES;
                let at = (1 + below(words - 1)) * WORD_BYTES - below(2) * 4;
                frame[at as usize..(at + WORD_BYTES) as usize].copy_from_slice(&SIGNATURE);
            }
            frame
        };
        (0..MESSAGES).map(one).collect::<Vec<_>>()
    };
    (0..CORES).map(&mut of_core).collect()
}

fn case(ending: Ending, eviction: EvictionOrder, pressure: f64) -> Value {
    let machine = kpio();
    let plan = StorePlan {
        combine: true,
        eviction,
        pressure,
        ending,
        sharing: Sharing::OwnQueues,
        pace: Pace::Stream,
    };
    let frames = frames();
    let mut run = StoresRun::new(&machine, plan, KEY, frames.clone());
    let mut stores = Vec::new();
    while let Some((time, event)) = run.events.pop() {
        run.now = time;
        if let Event::Arrived(flushed) = &event {
            let words: Vec<u8> = flushed.words.iter().flatten().copied().collect();
            stores.push(json!([flushed.queue, flushed.buffer, flushed.first_word, hexadecimal(&words)]));
        }
        run.handle(event);
    }
    let outcome = run.finished();
    assert_eq!(outcome.lost, 0);
    let intact = |message| outcome.delivered.iter().any(|delivered| delivered.message == message);
    let mut message = 0;
    let queues: Vec<Value> = frames
        .iter()
        .map(|frames| {
            let of_queue: Vec<Value> = frames
                .iter()
                .map(|frame| {
                    message += 1;
                    json!([intact(message - 1), hexadecimal(frame)])
                })
                .collect();
            of_queue.into()
        })
        .collect();
    json!({ "stuffed": ending == Ending::Stuffed, "stores": stores, "queues": queues })
}

#[test]
fn golden_vectors_are_current() {
    let cases = json!([
        case(Ending::Stuffed, EvictionOrder::InOrder, 0.0),
        case(Ending::Stuffed, EvictionOrder::Random, 0.05),
        case(Ending::Fenced, EvictionOrder::InOrder, 0.0),
        case(Ending::Fenced, EvictionOrder::Random, 0.2),
    ]);
    let text = format!("{cases}\n").replace("],[", "],\n[");
    if std::env::var_os("PCIELAB_GOLDEN").is_some() {
        std::fs::write(PATH, &text).unwrap_or_else(|error| panic!("{PATH}: {error}"));
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        found == text,
        "{PATH} differs from the simulation: run PCIELAB_GOLDEN=write cargo test -p pcie-sim golden"
    );
    assert!(
        found.contains("[false,") && found.contains("[true,"),
        "some messages must be dropped, and some not"
    );
}
