//! Malformed greetings and messages of devices and hosts: the brick refuses each, or it was valid, and it neither
//! panics nor hangs.
//!
//! `PCIELAB_MALFORMED` sets their number; `make port-malformed` tries 100,000, also under the address sanitizer.

use super::peers::{Hello, Peer, device, host, request};
use super::{SYSTEMS, brick, endpoints};
use pcie_port::Endpoint;
use pcie_time::{Draws, Stream};
use std::path::Path;
use std::thread::spawn;

const LATENCY: u64 = 500_000;
const SYNC: u8 = 0x00;
const END: u8 = 0x01;
const READ: u8 = 0x40;
const WRITE: u8 = 0x41;
const READ_DONE: u8 = 0x62;

/// A message: its type, its stamp, and its fields.
type Sent = (u8, u64, Vec<u8>);

fn asked() -> u64 {
    let given = std::env::var("PCIELAB_MALFORMED").ok();
    given.and_then(|number| number.parse().ok()).unwrap_or(300)
}

/// A number at an edge of its range.
fn edge(bits: u64) -> u64 {
    match bits % 5 {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << (bits >> 8 & 63),
        3 => (1 << (bits >> 8 & 63)) - 1,
        _ => bits.rotate_left(32),
    }
}

/// Up to three valid messages of a device or a host, one that is mostly wrong in a single field, and the end.
fn messages(draws: Draws, of_host: bool) -> Vec<Sent> {
    let bits = draws.bits(0);
    let mut stamp = LATENCY;
    let mut sent = vec![];
    for number in 0..bits % 4 {
        stamp += bits >> 8 & 0xffff;
        let kind = if of_host { SYNC } else { [READ, WRITE, SYNC][(bits >> (24 + number)) as usize % 3] };
        sent.push((kind, stamp, request(number, number * 4096, 64)));
    }
    let wrong = draws.bits(1);
    let kind = if of_host { READ_DONE } else { READ };
    let (number, address) = (7, bits >> 20 & 0xff_ffff);
    sent.push(match bits >> 44 & 7 {
        0 => (kind, stamp.wrapping_sub(1 + wrong % LATENCY), request(number, address, 64)),
        1 => (kind, edge(wrong), request(number, address, 64)),
        2 => (READ + (wrong & 1) as u8, stamp, request(number, address, edge(wrong >> 1) as u16)),
        3 => (READ, stamp, request(wrong % 4, edge(wrong), 64)),
        4 => (wrong as u8 & 0x7f, edge(wrong >> 8), draws_of(draws, 48)),
        5 => (kind, stamp, draws_of(draws, 48)),
        _ => (wrong as u8 & 0x7f, stamp, request(number, address, (wrong >> 8) as u16)),
    });
    let last = sent.last().map_or(stamp, |message| message.1.max(stamp));
    sent.push((END, last, vec![]));
    sent
}

fn draws_of(draws: Draws, count: u64) -> Vec<u8> {
    (0..count).map(|at| draws.bits(100 + at) as u8).collect()
}

/// A greeting with a wrong number, or one that is cut.
fn greeting(draws: Draws) -> Hello {
    let (bits, right) = (draws.bits(2), Hello::default());
    let mut numbers = right.numbers;
    match bits % 12 {
        10 => return Hello { intro_bytes: (bits >> 8) as usize % 119, is_all: true, ..right },
        11 => return Hello { file_bytes: (bits >> 8) % right.file_bytes, ..right },
        // A ring elsewhere is valid as long as it is within the file: this one is not.
        at @ 2..=7 => {
            numbers[at as usize] = [0, u64::MAX, 1 << (32 + (bits >> 8) % 32)][(bits >> 16) as usize % 3]
        }
        at => numbers[at as usize] = edge(bits >> 8),
    }
    Hello { numbers, ..right }
}

/// Sends messages, and takes what comes until the brick closes its socket.
fn say(mut peer: Peer, messages: &[Sent]) {
    if peer.is_closed() {
        return;
    }
    for (kind, stamp, fields) in messages {
        if !peer.put(*kind, *stamp, fields, &[]) {
            return;
        }
    }
    while !peer.is_closed() {
        std::thread::yield_now();
    }
}

/// Runs a brick against one malformed peer; whether it refused it.
fn refuses(case: u64, folder: &Path, endpoint: &mut impl FnMut() -> Endpoint) -> bool {
    let draws = Draws::new(9, case, Stream::Arrivals);
    let (of_host, wrong_greeting) = (case % 4 == 1, case % 4 == 3);
    let brick = brick(folder, 1, usize::from(of_host), LATENCY);
    let (device_path, host_path) = (brick.devices[0].clone(), brick.hosts.first().cloned());
    let hello = if wrong_greeting { greeting(draws) } else { Hello::default() };
    // A device that lets the host go as far as it wants.
    let of_device = if of_host { vec![(SYNC, u64::MAX, vec![])] } else { messages(draws, false) };
    let device = spawn(move || say(device(&device_path, &hello), &of_device));
    let host = host_path.map(|path| spawn(move || say(host(&path), &messages(draws, true))));
    let ran = brick.run(endpoint, || false);
    let refused = match &ran {
        Ok(_) => false,
        Err(error) => {
            let named = error.to_string();
            assert!(named.contains("device0: ") || named.contains("host0: "), "case {case}: {named}");
            true
        }
    };
    device.join().unwrap();
    if let Some(host) = host {
        host.join().unwrap();
    }
    let _ = std::fs::remove_file(&brick.devices[0]);
    refused
}

#[test]
fn malformed_messages_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut endpoint = endpoints(SYSTEMS[0]);
    let (mut refused, mut case) = (0, 0);
    while refused < asked() {
        refused += u64::from(refuses(case, folder.path(), &mut endpoint));
        case += 1;
    }
    assert!(case < 2 * refused, "{refused} of {case} were malformed");
}
