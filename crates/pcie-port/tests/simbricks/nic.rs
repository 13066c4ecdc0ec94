//! A NIC in the style of SimBricks' behavioural ones: it acts only when a message comes, and each of its actions is a
//! DMA or an interrupt. A doorbell of the host has it read a descriptor and the packet that it describes, write a
//! completion, and interrupt.

use crate::peers::{Got, Hello, Peer, device, host, request};
use crate::{SYSTEMS, brick, endpoints, finished};
use pcie_port::trace::{self, Line};
use pcie_time::Picoseconds;
use std::path::PathBuf;
use std::thread::{JoinHandle, spawn};

const PACKETS: u64 = 50;
const PACKET_BYTES: u16 = 1500;
const COMPLETIONS: u64 = 0x8000;
const DESCRIPTORS: u64 = 0x4000;

/// A DMA of the NIC, and the stamp of its completion.
struct Dma {
    line: Line,
    done: u64,
}

/// Sends a DMA, whose number is its index.
fn start(peer: &mut Peer, all: &mut Vec<Dma>, write: bool, offset: u64, bytes: u16, latency: u64) {
    let stamp = peer.seen + latency;
    let fields = request(all.len() as u64, offset, bytes);
    let data = if write { vec![7; bytes.into()] } else { Vec::new() };
    assert!(peer.put(if write { 0x41 } else { 0x40 }, stamp, &fields, &data));
    let line = Line { ready: Picoseconds(stamp), write, offset, bytes: bytes.into() };
    all.push(Dma { line, done: 0 });
}

fn nic(path: PathBuf, latency: u64) -> JoinHandle<Vec<Dma>> {
    spawn(move || {
        let (mut peer, mut all) = (device(&path, &Hello::default()), Vec::new());
        peer.tell(0, latency);
        while let Some(got) = peer.wait() {
            match got.kind {
                0x01 => break,
                0x61 => {
                    let packet = got.number(8) / 8;
                    start(&mut peer, &mut all, false, DESCRIPTORS + 16 * packet, 16, latency);
                }
                0x62 => {
                    let answered = &mut all[got.number(0) as usize];
                    answered.done = got.stamp;
                    let offset = answered.line.offset;
                    if (DESCRIPTORS..COMPLETIONS).contains(&offset) {
                        let at = u64::from_le_bytes(got.data[..8].try_into().unwrap());
                        start(&mut peer, &mut all, false, at, PACKET_BYTES, latency);
                    } else {
                        let packet = all.len() as u64 / 3;
                        start(&mut peer, &mut all, true, COMPLETIONS + 16 * packet, 16, latency);
                        assert!(peer.put(0x42, peer.seen + latency, &[0; 4], &[]));
                    }
                }
                0x63 => all[got.number(0) as usize].done = got.stamp,
                _ => {}
            }
            let now = peer.seen;
            peer.tell(now, latency);
        }
        all
    })
}

/// Where the buffer of a packet is.
fn buffer(packet: u64) -> u64 {
    0x10_0000 + 2048 * packet
}

/// A driver that sends one packet after the other; returns when each interrupt came.
fn driver(path: PathBuf, latency: u64) -> JoinHandle<Vec<u64>> {
    spawn(move || {
        let mut peer = host(&path);
        let (mut interrupts, mut completed) = (Vec::new(), 0);
        let ring = |peer: &mut Peer, packet: u64, stamp| {
            peer.put(0x61, stamp, &request(packet, 8 * packet, 4), &[0; 4]);
        };
        peer.tell(0, latency);
        ring(&mut peer, 0, latency);
        while let Some(got) = peer.wait() {
            let (stamp, fields) = (got.stamp + latency, got.number(0).to_le_bytes());
            match got.kind {
                0x40 => {
                    peer.put(0x62, stamp, &fields, &answer(&got));
                }
                0x41 => {
                    assert_eq!((got.number(8), got.length()), (COMPLETIONS + 16 * completed, 16));
                    completed += 1;
                    peer.put(0x63, stamp, &fields, &[]);
                }
                0x42 => {
                    interrupts.push(got.stamp);
                    assert_eq!(completed, interrupts.len() as u64, "an interrupt passes its completion");
                    if completed == PACKETS {
                        peer.put(0x01, stamp + latency, &[], &[]);
                        while !peer.is_closed() {
                            std::thread::yield_now();
                        }
                        break;
                    }
                    ring(&mut peer, completed, stamp);
                }
                _ => {}
            }
            peer.tell(got.stamp, latency);
        }
        interrupts
    })
}

/// What the driver's memory holds: descriptors with the address of a buffer, and packets.
fn answer(got: &Got) -> Vec<u8> {
    let at = got.number(8);
    let mut bytes = vec![1; got.length()];
    if (DESCRIPTORS..COMPLETIONS).contains(&at) {
        bytes[..8].copy_from_slice(&buffer((at - DESCRIPTORS) / 16).to_le_bytes());
    }
    bytes
}

#[test]
fn a_behavioural_nic_takes_the_times_of_its_trace() {
    const LATENCY: u64 = 10_000;
    for system in SYSTEMS {
        let folder = tempfile::tempdir().unwrap();
        let brick = brick(folder.path(), 1, 1, LATENCY);
        let device = nic(brick.devices[0].clone(), LATENCY);
        let host = driver(brick.hosts[0].clone(), LATENCY);
        finished(&brick, system);
        let (all, interrupts) = (device.join().unwrap(), host.join().unwrap());
        assert_eq!((all.len() as u64, interrupts.len() as u64), (3 * PACKETS, PACKETS));
        let lines: Vec<Line> = all.iter().map(|dma| dma.line).collect();
        let played = trace::play(&lines, endpoints(system)()).unwrap();
        for (dma, played) in all.iter().zip(&played).filter(|(dma, _)| dma.done > 0) {
            let hops = if dma.line.write { 3 } else { 1 };
            assert_eq!(dma.done, played.at.0 + hops * LATENCY, "{:?}", dma.line);
        }
        assert!(all.iter().filter(|dma| dma.done > 0).count() as u64 > 3 * PACKETS - 2);
        for (interrupt, completion) in interrupts.iter().zip(played.iter().skip(2).step_by(3)) {
            assert!(*interrupt >= completion.at.0 + LATENCY);
        }
    }
}
