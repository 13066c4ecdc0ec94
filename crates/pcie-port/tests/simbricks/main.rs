//! The brick between a device and a host of these tests, over sockets and shared memory.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

mod malformed;
mod nic;
mod peers;

use pcie_port::simbricks::{Brick, BrickError, Passed};
use pcie_port::trace::{self, Line};
use pcie_port::{Endpoint, Port, Prepared};
use pcie_sim::{Machine, TestKey};
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, CacheState, Operation, Test};
use peers::{Got, Hello, Peer, device, host, request};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

const SYSTEMS: [&str; 3] = [
    include_str!("../../../pcie-sim/tests/fixtures/hsw2620.json"),
    include_str!("../../../pcie-rtl/tests/fixtures/snb-iommu.json"),
    include_str!("../../../pcie-sim/tests/fixtures/clx-6234.json"),
];

fn endpoints(system: &str) -> impl FnMut() -> Endpoint + use<> {
    let machine = Arc::new(Machine::without_device(serde_json::from_str(system).unwrap()).unwrap());
    move || {
        let key = TestKey { seed: 1, test: 0 };
        let state = Prepared { cache: CacheState::Cold, window_bytes: 0 }.state(&machine, key);
        Endpoint::new(Port::new(Arc::clone(&machine), key, state, Operation::BwRdwr))
    }
}

fn recorded(system: &str, transactions: u64) -> Vec<Line> {
    let test = Test {
        operation: Operation::BwRdwr,
        size_bytes: 256,
        window_bytes: 65536,
        transactions,
        ..Test::default()
    };
    let (machine, key) =
        (Machine::new(serde_json::from_str(system).unwrap()).unwrap(), TestKey { seed: 1, test: 0 });
    let list = AddressList::new(&test, key.draws(Stream::Addresses));
    let prepared = Prepared { cache: CacheState::Cold, window_bytes: 0 };
    trace::record(&test, &list, &machine, key, prepared).unwrap()
}

fn brick(folder: &Path, devices: usize, hosts: usize, latency_ps: u64) -> Brick {
    let paths = |name: &str, count| (0..count).map(|index| folder.join(format!("{name}{index}"))).collect();
    let patience = Duration::from_secs(60);
    Brick { devices: paths("device", devices), hosts: paths("host", hosts), latency_ps, patience }
}

/// What the device writes at an address.
fn pattern(address: u64, length: usize) -> Vec<u8> {
    (address..).take(length).map(|address| (address % 251) as u8).collect()
}

/// A device that sends a trace at its times; returns the stamp of each completion, and checks data that it has
/// written before.
fn playing(path: PathBuf, lines: Vec<Line>, latency: u64) -> JoinHandle<Vec<u64>> {
    spawn(move || {
        let mut peer = device(&path, &Hello::default());
        let mut done = vec![0; lines.len()];
        let mut left = lines.len();
        let mut note = |got: Got, left: &mut usize| {
            if got.kind == 0x62 || got.kind == 0x63 {
                done[got.number(0) as usize] = got.stamp;
                *left -= 1;
            }
        };
        let mut now = 0;
        peer.tell(now, latency);
        for (number, line) in lines.iter().enumerate() {
            while now < line.ready.0 {
                while peer.seen <= now {
                    note(peer.wait().unwrap(), &mut left);
                }
                now = line.ready.0.min(peer.seen);
                peer.tell(now, latency);
            }
            let fields = request(number as u64, line.offset, line.bytes as u16);
            let data = if line.write { pattern(line.offset, line.bytes as usize) } else { Vec::new() };
            assert!(peer.put(if line.write { 0x41 } else { 0x40 }, now + latency, &fields, &data));
        }
        while left > 0 {
            note(peer.wait().unwrap(), &mut left);
            if peer.seen > now {
                now = peer.seen;
                peer.tell(now, latency);
            }
        }
        peer.put(0x01, now + latency, &[], &[]);
        // The rings stay until the brick has read the end.
        while !peer.is_closed() {
            std::thread::yield_now();
        }
        done
    })
}

/// A host that answers at once with the bytes of `pattern`; returns how many reads, writes and interrupts it got.
fn answering(path: PathBuf, latency: u64) -> JoinHandle<[u64; 3]> {
    spawn(move || {
        let mut peer = host(&path);
        let mut counts = [0; 3];
        peer.tell(0, latency);
        loop {
            let Some(got) = peer.wait() else { return counts };
            let (stamp, fields) = (got.stamp + latency, got.number(0).to_le_bytes());
            match got.kind {
                0x01 => return counts,
                0x40 => {
                    counts[0] += 1;
                    peer.put(0x62, stamp, &fields, &pattern(got.number(8), got.length()));
                }
                0x41 => {
                    counts[1] += 1;
                    assert_eq!(got.data[..got.length()], pattern(got.number(8), got.length()));
                    peer.put(0x63, stamp, &fields, &[]);
                }
                0x42 => counts[2] += 1,
                _ => {}
            }
            peer.tell(got.stamp, latency);
        }
    })
}

fn finished(brick: &Brick, system: &str) -> Passed {
    brick.run(endpoints(system), || false).unwrap()
}

#[test]
fn a_trace_takes_the_same_time_plus_the_latencies() {
    const LATENCY: u64 = 500_000;
    let lines = recorded(SYSTEMS[0], 10_000);
    for system in SYSTEMS {
        let folder = tempfile::tempdir().unwrap();
        let brick = brick(folder.path(), 1, 0, LATENCY);
        let device = playing(brick.devices[0].clone(), lines.clone(), LATENCY);
        let passed = finished(&brick, system);
        let played = trace::play(&lines, endpoints(system)()).unwrap();
        let expected: Vec<u64> = played.iter().map(|done| done.at.0 + 2 * LATENCY).collect();
        assert!(device.join().unwrap() == expected);
        assert_eq!(passed.messages, 10_001);
    }
}

/// Prints messages per second: `make port-speed`.
#[test]
#[ignore = "measures"]
fn speed() {
    let lines = recorded(SYSTEMS[0], 300_000);
    let folder = tempfile::tempdir().unwrap();
    let brick = brick(folder.path(), 1, 0, 500_000);
    let device = playing(brick.devices[0].clone(), lines, 500_000);
    let started = std::time::Instant::now();
    let passed = finished(&brick, SYSTEMS[0]);
    let rate = 2.0 * passed.messages as f64 / started.elapsed().as_secs_f64();
    println!("{:.0} messages per second, half of them each way", rate);
    device.join().unwrap();
}

#[test]
fn devices_reach_their_hosts_through_the_brick() {
    const LATENCY: u64 = 10_000;
    let lines = recorded(SYSTEMS[0], 300);
    let played = trace::play(&lines, endpoints(SYSTEMS[0])()).unwrap();
    for count in [1, 2, 8] {
        let folder = tempfile::tempdir().unwrap();
        let brick = brick(folder.path(), count, count, LATENCY);
        let devices: Vec<_> =
            brick.devices.iter().map(|path| playing(path.clone(), lines.clone(), LATENCY)).collect();
        let hosts: Vec<_> = brick.hosts.iter().map(|path| answering(path.clone(), LATENCY)).collect();
        finished(&brick, SYSTEMS[0]);
        for (device, host) in devices.into_iter().zip(hosts) {
            for ((done, stamp), line) in played.iter().zip(device.join().unwrap()).zip(&lines) {
                // A write is complete when its host has said so: two more latencies.
                let hops = if line.write { 4 } else { 2 };
                assert_eq!(stamp, done.at.0 + hops * LATENCY, "{line:?}");
            }
            let writes = lines.iter().filter(|line| line.write).count() as u64;
            assert_eq!(host.join().unwrap(), [300 - writes, writes, 0]);
        }
    }
}

/// Runs a brick against a device of the test's own; returns the error.
fn error_of(device: impl FnOnce(PathBuf) + Send + 'static) -> String {
    let folder = tempfile::tempdir().unwrap();
    let brick = Brick { patience: Duration::from_millis(400), ..brick(folder.path(), 1, 0, 500_000) };
    let path = brick.devices[0].clone();
    let device = spawn(move || device(path));
    let error = brick.run(endpoints(SYSTEMS[0]), || false).unwrap_err();
    device.join().unwrap();
    error.to_string()
}

/// The error for a device that sends messages after a correct greeting, and keeps its socket open.
fn error_for(messages: &'static [(u8, u64, (u64, u64, u16))]) -> String {
    error_of(move |path| {
        let mut peer = device(&path, &Hello::default());
        for &(kind, stamp, (number, address, length)) in messages {
            peer.put(kind, stamp, &request(number, address, length), &[]);
        }
        while !peer.is_closed() {
            std::thread::yield_now();
        }
    })
}

#[test]
fn a_device_that_breaks_the_interface_is_named() {
    let cases: [(&'static [_], &str); 6] = [
        (&[(0x40, 500_000, (0, 0, 0))], "asks for 0 bytes"),
        (&[(0x41, 500_000, (0, 0, 9999))], "asks for 9999 bytes"),
        (&[(0x40, 900_000, (0, 0, 64)), (0x40, 500_000, (1, 0, 64))], "time goes back"),
        (&[(0x60, 500_000, (0, 0, 64))], "sends type 0x60"),
        (&[(0x43, 500_000, (0, 0, 64))], "an access that nobody made"),
        (&[(0x00, u64::MAX, (0, 0, 0))], "time is 18446744073709551615 ps"),
    ];
    for (messages, named) in cases {
        let error = error_for(messages);
        assert!(error.contains("device0: ") && error.contains(named), "{error}");
    }
}

#[test]
fn a_device_that_stands_still_or_goes_away_is_named() {
    let error = error_for(&[]);
    assert!(error.contains("its time stands at 0 ps"), "{error}");
    let error = error_for(&[(0x00, 500_000, (0, 0, 0)), (0x00, 500_000, (0, 0, 0))]);
    assert!(error.contains("its time stands at 500000 ps"), "{error}");
    let error = error_of(|path| drop(device(&path, &Hello::default())));
    assert!(error.contains("closed its socket without ending"), "{error}");
    let error = error_of(|_| {});
    assert!(error.contains("start the device's simulator"), "{error}");
}

#[test]
fn wrong_greetings_are_named() {
    let with = |at: usize, value: u64| {
        let mut hello = Hello::default();
        hello.numbers[at] = value;
        hello
    };
    let cases = [
        (with(0, 2), "version 2"),
        (with(1, 0), "does not synchronise"),
        (with(2, 3), "rings with a wrong offset"),
        (with(3, 0), "rings with a wrong offset"),
        (with(3, u64::MAX), "rings with a wrong offset"),
        (with(4, 0), "rings with a wrong offset"),
        (with(4, u64::MAX), "rings with a wrong offset"),
        (with(4, 1 << 40), "shorter than its rings"),
        (with(5, 1 << 50), "shorter than its rings"),
        (with(5, 8), "rings that overlap"),
        (with(8, 3), "protocol 3"),
        (with(9, u64::MAX), "its description at byte"),
        (Hello { file_bytes: 4096, ..Hello::default() }, "shorter than its rings"),
        (Hello { with_file: false, ..Hello::default() }, "no file"),
        (Hello { intro_bytes: 10, ..Hello::default() }, "90 bytes of its greeting of 199"),
    ];
    for (hello, named) in cases {
        let error = error_of(move |path| drop(device(&path, &hello)));
        assert!(error.contains(named), "{named}: {error}");
    }
}

#[test]
fn any_greeting_and_any_messages_end_the_brick() {
    let draws = Draws::new(3, 0, Stream::Arrivals);
    for case in 0..20 {
        let error = error_of(move |path| {
            let mut peer = device(&path, &Hello::default());
            let mut stamp = 500_000;
            for index in 0.. {
                let bits = draws.bits(case * 1000 + index);
                stamp += bits % 1000;
                let (kind, number) = ((bits >> 10) as u8 & 0x7f, bits >> 17 & 7);
                let fields = request(number, draws.bits(!bits), (bits >> 48) as u16 % 10_000);
                if kind != 0x01 && !peer.put(kind, stamp, &fields, &[]) || peer.is_closed() {
                    break;
                }
            }
        });
        assert!(error.contains("device0: "), "{error}");
    }
}

#[test]
fn a_host_that_breaks_the_interface_is_named() {
    let cases = [(0x62, "answers request 5"), (0x40, "sends type 0x40"), (0x61, "asks for 0 bytes")];
    for (kind, named) in cases {
        let folder = tempfile::tempdir().unwrap();
        let brick = brick(folder.path(), 1, 1, 500_000);
        let (of_device, of_host) = (brick.devices[0].clone(), brick.hosts[0].clone());
        let waits = |mut peer: Peer| {
            while !peer.is_closed() {
                peer.get();
                std::thread::yield_now();
            }
        };
        let device = spawn(move || {
            let mut peer = device(&of_device, &Hello::default());
            peer.tell(1_000_000, 500_000);
            waits(peer);
        });
        let host = spawn(move || {
            let mut peer = host(&of_host);
            peer.put(kind, 500_000, &request(5, 0, 0), &[]);
            waits(peer);
        });
        let error = brick.run(endpoints(SYSTEMS[0]), || false).unwrap_err().to_string();
        assert!(error.contains("host0: ") && error.contains(named), "{error}");
        device.join().unwrap();
        host.join().unwrap();
    }
}

#[test]
fn wrong_options_are_refused_and_a_stop_is_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |brick: &Brick| brick.run(endpoints(SYSTEMS[0]), || false).unwrap_err().to_string();
    assert!(refused(&brick(folder.path(), 2, 1, 1)).contains("a host for each device"));
    assert!(refused(&brick(folder.path(), 1, 0, 0)).contains("give at least 1 ps"));
    std::fs::write(folder.path().join("host0"), "").unwrap();
    assert!(refused(&brick(folder.path(), 1, 1, 1)).contains("without a file there"));
    assert_eq!(std::fs::read(folder.path().join("host0")).unwrap(), b"", "it is kept");
    let one = brick(folder.path(), 1, 0, 500_000);
    assert!(
        matches!(one.run(endpoints(SYSTEMS[0]), || true), Err(BrickError::Stopped)),
        "before a device listens"
    );
    let path = one.devices[0].clone();
    let connected = Arc::new(AtomicBool::new(false));
    let reached = Arc::clone(&connected);
    let waiting = spawn(move || {
        let peer = device(&path, &Hello::default());
        reached.store(true, Ordering::Relaxed);
        while !peer.is_closed() {
            std::thread::yield_now();
        }
    });
    let stopped = one.run(endpoints(SYSTEMS[0]), || connected.load(Ordering::Relaxed));
    assert!(matches!(stopped, Err(BrickError::Stopped)));
    waiting.join().unwrap();
}

/// Cuts the rings of a device short when it can; returns the brick's result.
fn cut_short(can_be_sealed: bool) -> Result<Passed, BrickError> {
    let folder = tempfile::tempdir().unwrap();
    let brick = brick(folder.path(), 1, 0, 500_000);
    let path = brick.devices[0].clone();
    let device = spawn(move || {
        let mut peer = device(&path, &Hello { can_be_sealed, ..Hello::default() });
        let cut = rustix::fs::ftruncate(&peer.file, 0).is_ok();
        assert_eq!(cut, !can_be_sealed);
        if !cut {
            peer.put(0x01, 500_000, &[], &[]);
        }
        while !peer.is_closed() {
            std::thread::yield_now();
        }
    });
    let ran = brick.run(endpoints(SYSTEMS[0]), || false);
    device.join().unwrap();
    ran
}

#[test]
fn a_device_that_cuts_its_rings_short_is_named() {
    for _ in 0..3 {
        let error = cut_short(false).unwrap_err().to_string();
        assert!(error.contains("device0: has cut the file with its rings short"), "{error}");
    }
}

#[test]
fn rings_are_sealed_where_they_can_be() {
    assert_eq!(cut_short(true).unwrap().messages, 1);
}

#[test]
fn the_rings_for_a_host_keep_their_length() {
    let folder = tempfile::tempdir().unwrap();
    let brick = brick(folder.path(), 1, 1, 500_000);
    let device = playing(brick.devices[0].clone(), vec![], 500_000);
    let path = brick.hosts[0].clone();
    let host = spawn(move || {
        let peer = host(&path);
        let refused = [0, 1 << 40].map(|bytes| rustix::fs::ftruncate(&peer.file, bytes).is_err());
        peer.socket.shutdown(std::net::Shutdown::Both).unwrap();
        refused
    });
    // The device may end before the brick notices that the host is gone.
    let _ = brick.run(endpoints(SYSTEMS[0]), || false);
    assert_eq!(host.join().unwrap(), [true, true]);
    device.join().unwrap();
}

#[test]
fn a_brick_that_waits_stops_and_removes_only_its_own_socket() {
    for replaced in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let brick = brick(folder.path(), 1, 1, 500_000);
        let path = &brick.hosts[0];
        // It waits for the device, and asks only then.
        let stop = || {
            if replaced && path.exists() {
                std::fs::remove_file(path).unwrap();
                std::fs::write(path, "a user's file").unwrap();
            }
            true
        };
        assert!(matches!(brick.run(endpoints(SYSTEMS[0]), stop), Err(BrickError::Stopped)));
        assert_eq!(std::fs::read(path).ok(), replaced.then(|| b"a user's file".to_vec()));
    }
}

#[test]
fn a_brick_that_waits_for_its_host_stops() {
    let folder = tempfile::tempdir().unwrap();
    let brick = brick(folder.path(), 1, 1, 500_000);
    let listener = std::os::unix::net::UnixListener::bind(&brick.devices[0]).unwrap();
    let device = spawn(move || peers::greeted(listener.accept().unwrap().0, &Hello::default()).is_closed());
    // The device is connected, and its greeting is over, once the brick has answered.
    let stopped = brick.run(endpoints(SYSTEMS[0]), || device.is_finished());
    assert!(matches!(stopped, Err(BrickError::Stopped)), "{stopped:?}");
    assert!(!brick.hosts[0].exists());
}

#[test]
fn a_socket_at_the_path_of_a_host_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let brick = brick(folder.path(), 1, 1, 500_000);
    let refused = || brick.run(endpoints(SYSTEMS[0]), || false).unwrap_err().to_string();
    let listener = std::os::unix::net::UnixListener::bind(&brick.hosts[0]).unwrap();
    listener.set_nonblocking(true).unwrap();
    assert!(refused().contains("another program listens there: give another path"), "{}", refused());
    assert!(listener.accept().is_err(), "nobody has connected");
    drop(listener);
    assert!(refused().contains("a killed program has left: remove it (rm "), "{}", refused());
    assert!(brick.hosts[0].exists());
}

#[test]
fn a_device_that_is_no_socket_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let brick = Brick { patience: Duration::MAX, ..brick(folder.path(), 1, 0, 500_000) };
    std::fs::write(&brick.devices[0], "").unwrap();
    let error = brick.run(endpoints(SYSTEMS[0]), || false).unwrap_err().to_string();
    assert!(error.contains("device0: is not a socket"), "{error}");
}
