//! Malformed TLPs through the C interface: each is refused, or was valid, and nothing panics.
//!
//! `PCIELAB_MALFORMED` sets their number; `make port-malformed` tries 100,000, also under the address sanitizer.

#![allow(unsafe_code)]

use pcie_port::abi::*;
use pcie_time::{Draws, Stream};
use std::ptr::null_mut;

const SYSTEM: &str = include_str!("../../pcie-sim/tests/fixtures/hsw2620.json");

fn create(system: &str, options: Option<PcielabOptions>) -> (i32, *mut PcielabPort, String) {
    let (mut port, mut text) = (null_mut(), [1_u8; 80]);
    let options = options.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the pointers are to values of this function, and the lengths are theirs.
    let code = unsafe {
        let (json, room) = (system.as_ptr().cast(), text.as_mut_ptr().cast());
        pcielab_port_create(json, system.len(), options, &raw mut port, room, text.len())
    };
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
    (code, port, String::from_utf8_lossy(&text[..end]).into_owned())
}

/// Any TLP: mostly one that is wrong in a single field.
fn tlp(draws: Draws, index: u64, base: u64) -> PcielabTlp {
    let bits = draws.bits(2 * index);
    let edge = |bits: u64| match bits % 5 {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << (bits >> 8 & 63),
        3 => (1 << (bits >> 8 & 63)) - 1,
        _ => bits.rotate_left(32),
    };
    let good = PcielabTlp {
        address: base + (bits >> 20 & 0x3f) * 4096,
        length: 64,
        tag: (bits >> 40 & 31) as u16,
        kind: (bits >> 50 & 1) as u16,
    };
    let wrong = draws.bits(2 * index + 1);
    match bits % 6 {
        0 => PcielabTlp { address: edge(wrong), ..good },
        1 => PcielabTlp { length: edge(wrong) as u32, ..good },
        2 => PcielabTlp { tag: edge(wrong) as u16, ..good },
        3 => PcielabTlp { kind: edge(wrong) as u16, ..good },
        4 => {
            PcielabTlp { address: wrong, length: bits as u32, tag: wrong as u16, kind: (wrong >> 16) as u16 }
        }
        _ => PcielabTlp {
            address: good.address + (wrong & 0xfff),
            length: (wrong >> 20) as u32 & 0x3ff,
            ..good
        },
    }
}

fn asked() -> u64 {
    let given = std::env::var("PCIELAB_MALFORMED").ok();
    given.and_then(|number| number.parse().ok()).unwrap_or(2_000)
}

#[test]
fn malformed_tlps_are_refused() {
    let (_, port, _) = create(SYSTEM, None);
    let draws = Draws::new(7, 0, Stream::Arrivals);
    let (mut base, mut refused, mut now) = (0, 0, 0);
    // SAFETY: the port is valid until it is freed below, and the other pointers are to local values.
    unsafe {
        assert_eq!(pcielab_port_address(port, 0, &raw mut base), 0);
        for index in 0.. {
            let (tlp, bits) = (tlp(draws, index, base), draws.bits(!index));
            let ready = if bits % 16 == 0 { bits } else { now + bits % 10_000 };
            let outcome = if bits >> 30 & 7 == 0 { bits as u32 >> 20 & 7 } else { 0 };
            let code = pcielab_port_submit_with(port, &raw const tlp, ready, outcome, null_mut());
            if bits >> 40 & 15 == 0 {
                let given_up = pcielab_port_give_up(port, draws.bits(!index >> 1) as u16 & 63);
                assert!([0, Code::NoRead as i32].contains(&given_up));
            }
            assert!(!pcielab_code_text(code).is_null());
            refused += u64::from(code < 0);
            if bits % 8 == 0 {
                let to = if bits % 1024 == 0 { bits } else { now + bits % 100_000 };
                if pcielab_port_advance(port, to) == 0 {
                    now = now.max(to);
                }
            }
            let mut event = PcielabEvent::default();
            while pcielab_port_take(port, &raw mut event) == 0 {
                assert!(event.at_ps <= now);
            }
            if refused == asked() {
                break;
            }
        }
        let mut occupancy = PcielabOccupancy::default();
        assert_eq!(pcielab_port_occupancy(port, &raw mut occupancy), 0);
        assert!(occupancy.reads <= 16384);
        pcielab_port_free(port);
    }
}

#[test]
fn malformed_headers_are_refused() {
    let draws = Draws::new(8, 0, Stream::Arrivals);
    let mut refused = 0;
    for index in 0.. {
        let bits = draws.bits(index);
        let mut bytes: Vec<u8> = (0..(bits % 40)).map(|at| draws.bits(!(index * 64 + at)) as u8).collect();
        if let (Some(kind), true) = (bytes.first_mut(), bits & 64 != 0) {
            *kind = [0x00, 0x20, 0x40, 0x60, 0x34][(bits >> 8) as usize % 5];
        }
        let mut tlp = PcielabTlp::default();
        // SAFETY: the length is that of the bytes.
        let code = unsafe { pcielab_tlp_parse(bytes.as_ptr(), bytes.len(), &raw mut tlp) };
        assert!(code < 0 || tlp.length <= 4096);
        refused += u64::from(code < 0);
        if refused == asked() {
            break;
        }
    }
}

#[test]
fn wrong_systems_and_options_are_refused_with_a_text() {
    let options = |cache, seed| Some(PcielabOptions { seed, window_bytes: u64::MAX, cache, reserved: 0 });
    let cut: Vec<String> = (0..SYSTEM.len()).step_by(97).map(|end| SYSTEM[..end].to_owned()).collect();
    let wrong = SYSTEM.replacen("\"lanes\":8", "\"lanes\":9", 1);
    assert_ne!(wrong, SYSTEM);
    for system in cut.iter().chain([&wrong]) {
        let (code, port, text) = create(system, None);
        assert_eq!(code, Code::System as i32);
        assert!(port.is_null() && text.starts_with("system"), "{text}");
    }
    let (code, port, text) = create(SYSTEM, options(4, 1));
    assert_eq!((code, port.is_null(), &*text), (-2, true, "cache is 4: give 0 to 3"));
    for cache in 0..4 {
        let (code, port, text) = create(SYSTEM, options(cache, u64::MAX));
        assert_eq!((code, &*text), (0, ""));
        // SAFETY: the port is from `create`, and not used again.
        unsafe { pcielab_port_free(port) };
    }
}

#[test]
fn null_pointers_are_refused() {
    let null = Code::Null as i32;
    // SAFETY: every pointer is null.
    unsafe {
        let (none, port) = (std::ptr::null(), null_mut());
        assert_eq!(pcielab_port_create(none, 0, std::ptr::null(), null_mut(), null_mut(), 0), null);
        assert_eq!(pcielab_port_limits(port, null_mut()), null);
        assert_eq!(pcielab_port_address(port, 0, null_mut()), null);
        assert_eq!(pcielab_tlp_parse(std::ptr::null(), 0, null_mut()), null);
        assert_eq!(pcielab_port_has_room(port, std::ptr::null()), 0);
        assert_eq!(pcielab_port_submit(port, std::ptr::null(), 0, null_mut()), null);
        assert_eq!(pcielab_port_submit_with(port, std::ptr::null(), 0, 0, null_mut()), null);
        assert_eq!(pcielab_port_give_up(port, 0), null);
        assert_eq!(pcielab_port_advance(port, 0), null);
        assert_eq!(pcielab_port_take(port, null_mut()), null);
        assert_eq!(pcielab_port_next(port), u64::MAX);
        assert_eq!(pcielab_port_occupancy(port, null_mut()), null);
        pcielab_port_free(port);
    }
}

const TWO: &str = include_str!("../../../profiles/fabrics/two-cores.toml");

/// Any calls of the machine in any order: the codes and the times of events that they give.
fn calls(seed: u64) -> Vec<(i32, u64)> {
    let draws = Draws::new(seed, 0, Stream::Payload);
    let (mut machine, mut found) = (null_mut(), vec![]);
    let mut event = PcielabMachineEvent::default();
    // SAFETY: the pointers are to values of this function or null, and the machine is freed once, at the end.
    unsafe {
        let none = (std::ptr::null(), null_mut(), 0);
        let code =
            pcielab_machine_open(TWO.as_ptr().cast(), TWO.len(), none.0, &raw mut machine, none.1, none.2);
        assert_eq!(code, 0);
        for index in 0..asked() {
            let bits = draws.bits(3 * index);
            let node = (bits >> 8) as u32 % 6;
            let base = [0, 0x10_0000_0000, 0x20_0000_0000, 0xfee0_0000][(bits >> 16) as usize % 4];
            let tlp = tlp(draws, 7 * index, base);
            let time = pcielab_machine_now(machine) + (bits >> 24) % 100_000;
            let number = (bits >> 44) % 64;
            let code = match bits % 12 {
                0 => pcielab_machine_attach(machine, node, bits >> 60, null_mut(), 0),
                1 | 2 => pcielab_machine_submit(machine, node, &raw const tlp, time),
                3 => pcielab_machine_transfer(
                    machine,
                    node,
                    bits as u32 >> 30,
                    tlp.address,
                    tlp.length.into(),
                    time,
                    null_mut(),
                ),
                4 => pcielab_machine_complete(
                    machine,
                    node,
                    number,
                    bits as u32 >> 24,
                    time,
                    (bits >> 32) as u32 % 6,
                ),
                5 => pcielab_machine_give_up(machine, node, tlp.tag),
                6 => pcielab_machine_wait(machine, time, &raw mut event),
                7 => pcielab_machine_advance(machine, draws.bits(3 * index + 1) >> (bits >> 40 & 31)),
                8 => pcielab_machine_take(machine, &raw mut event),
                9 => pcielab_machine_has_room(machine, node, &raw const tlp),
                10 => pcielab_machine_room(machine, node, &mut PcielabMachineRoom::default()),
                _ => pcielab_machine_limits(machine, node, &mut PcielabMachineLimits::default()),
            };
            assert_ne!(code, Code::Internal as i32, "call {index} of seed {seed}");
            found.push((code, event.at_ps ^ pcielab_machine_next(machine)));
        }
        while pcielab_machine_wait(machine, u64::MAX, &raw mut event) == 0 {
            found.push((event.kind as i32, event.at_ps));
        }
        pcielab_machine_free(machine);
    }
    found
}

#[test]
fn calls_of_a_machine_in_any_order_are_answered_and_repeatable() {
    for seed in 0..4 {
        let found = calls(seed);
        assert!(
            found.iter().any(|(code, _)| *code < 0)
                && found.iter().filter(|(code, _)| *code == 0).count() > 20
        );
        assert_eq!(found, calls(seed), "seed {seed}");
    }
}

#[test]
fn malformed_descriptions_are_refused_with_a_text() {
    let opened = |text: &[u8]| {
        let (mut machine, mut wrong) = (null_mut(), [1_u8; 200]);
        // SAFETY: the pointers are to values of this function, and the lengths are theirs.
        let code = unsafe {
            let room = wrong.as_mut_ptr().cast();
            let code = pcielab_machine_open(
                text.as_ptr().cast(),
                text.len(),
                std::ptr::null(),
                &raw mut machine,
                room,
                200,
            );
            pcielab_machine_free(machine);
            code
        };
        let end = wrong.iter().position(|&byte| byte == 0).unwrap_or(0);
        (code, String::from_utf8_lossy(&wrong[..end]).into_owned())
    };
    assert_eq!(opened(TWO.as_bytes()).0, 0);
    let system = Code::System as i32;
    for text in ["", "{", "{}", "kind = \"machine\"", "[[node]]", "name = 3", "\u{0}"] {
        let (code, wrong) = opened(text.as_bytes());
        assert!(code == system && !wrong.is_empty(), "{text:?}: {code} {wrong}");
    }
    assert_eq!(opened(b"\xff\xfe").0, system);
}
