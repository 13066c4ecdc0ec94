//! The NIC driver against a fake 82574: frames arrive as sent, rings wrap, and faults are reported.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod fake_nic;

use fake_nic::{DATA_AT, FakeNic, Kind, QUEUES_AT};
use pcie_driver::e1000e::{
    DEPTH_MOST, FRAME_BYTES_LEAST, FRAME_BYTES_MOST, Frame, HEADER_BYTES, Nic, NicError, QUEUE_BYTES,
};

fn opened(kind: Kind) -> Result<Nic<FakeNic>, NicError> {
    Nic::open(FakeNic::new(kind))
}

/// A valid frame with contents that depend on `number`.
fn frame(nic: &Nic<FakeNic>, bytes: u32, number: u8) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..bytes).map(|index| (index * 7 + index / 256) as u8 ^ number).collect();
    frame[..HEADER_BYTES].copy_from_slice(&nic.header());
    frame
}

#[test]
fn frames_of_any_length_and_offset_arrive_as_sent() {
    let mut nic = opened(Kind::GOOD).unwrap();
    let lengths = [FRAME_BYTES_LEAST, 64, 1499, 1500, 4096, FRAME_BYTES_MOST];
    for (number, bytes) in (1u8..).zip(lengths) {
        let (from, to) = (4 * usize::from(number), 0x2_0001 * usize::from(number));
        let sent = frame(&nic, bytes, number);
        nic.transport_mut().host[from..from + sent.len()].copy_from_slice(&sent);
        assert!(nic.submit(Frame { from: DATA_AT + from as u64, to: DATA_AT + to as u64, bytes }).unwrap());
        assert_eq!(nic.completions().unwrap(), 0, "nothing is sent before the doorbell");
        nic.ring().unwrap();
        assert_eq!(nic.completions().unwrap(), 1);
        let held = &nic.transport_mut().host;
        assert_eq!((&held[to..to + sent.len()], held[to + sent.len()]), (&sent[..], 0));
    }
}

#[test]
fn own_source_and_target_work_with_any_address() {
    let mut nic = opened(Kind::GOOD).unwrap();
    let sent = frame(&nic, 1501, 9);
    nic.put_source(&sent).unwrap();
    let frames = [
        Frame { from: nic.source(), to: DATA_AT + 512, bytes: 1501 },
        Frame { from: DATA_AT + 512, to: nic.target(), bytes: 1501 },
    ];
    frames.iter().for_each(|frame| assert!(nic.submit(*frame).unwrap()));
    nic.ring().unwrap();
    assert_eq!(nic.completions().unwrap(), 2);
    assert_eq!(nic.transport_mut().host[512..512 + 1501], sent);
    assert!(nic.target_holds(&sent).unwrap());
    assert!(!nic.target_holds(&frame(&nic, 1501, 8)).unwrap());
}

#[test]
fn full_rings_wrap_many_times() {
    let mut nic = opened(Kind::GOOD).unwrap();
    nic.transport_mut().kind.moves_data = false;
    let frame = Frame { from: nic.source(), to: nic.target(), bytes: 64 };
    for _ in 0..20 {
        let mut given = 0;
        while nic.submit(frame).unwrap() {
            given += 1;
        }
        assert_eq!(given, u64::from(DEPTH_MOST));
        nic.ring().unwrap();
        assert_eq!(nic.completions().unwrap(), given);
    }
}

#[test]
fn open_refuses_other_devices_and_broken_loopback() {
    let message = |kind| opened(kind).map(drop).unwrap_err().to_string();
    assert!(message(Kind { is_there: false, ..Kind::GOOD }).contains("read as ones"));
    assert!(message(Kind { has_station: false, ..Kind::GOOD }).contains("its Ethernet address"));
    assert!(message(Kind { leaves_reset: false, ..Kind::GOOD }).contains("out of reset within 500 ms"));
    assert!(
        message(Kind { loops: 0, ..Kind::GOOD }).contains("no frame came back in MAC loopback within 500 ms")
    );
    assert!(message(Kind { moves_data: false, ..Kind::GOOD }).contains("other bytes came back"));
    assert!(message(Kind { changes: Some(0), ..Kind::GOOD }).contains("60 bytes was sent, and other bytes"));
}

#[test]
fn reports_both_lengths_of_a_shortened_frame() {
    let mut nic = opened(Kind { cuts: Some(1), ..Kind::GOOD }).unwrap();
    let frame = Frame { from: nic.source(), to: nic.target(), bytes: 60 };
    nic.submit(frame).unwrap();
    nic.ring().unwrap();
    let message = nic.completions().unwrap_err().to_string();
    assert_eq!(
        message,
        "a frame of 60 bytes was sent, and 59 bytes with status 0x03 and errors 0x00 came back"
    );
}

#[test]
fn queues_fit_into_their_memory() {
    let nic = opened(Kind::GOOD).unwrap();
    assert!(nic.target() + u64::from(FRAME_BYTES_MOST) <= QUEUES_AT + QUEUE_BYTES);
    assert!(nic.source() + u64::from(FRAME_BYTES_MOST) <= nic.target());
}
