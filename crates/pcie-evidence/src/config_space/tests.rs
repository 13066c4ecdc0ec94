//! Spaces made byte by byte.

use super::*;

fn put(space: &mut [u8], offset: usize, bytes: &[u8]) {
    space[offset..offset + bytes.len()].copy_from_slice(bytes);
}

fn decoded(space: &[u8]) -> Function {
    let read = |offset: usize, size: usize| {
        let end = space.len().min(offset + size);
        space.get(offset..end).unwrap_or_default().to_vec()
    };
    ConfigSpace::new(&read).fields()
}

/// A root port at 32 GT/s x16, trained to 16 GT/s x8, with a slot.
fn port() -> Vec<u8> {
    let mut space = vec![0; 4096];
    put(&mut space, 0, &[0x86, 0x80, 0x2a, 0x35, 0x04, 0, 0x10, 0]);
    put(&mut space, 0x0a, &[0x04, 0x06]);
    space[0x0e] = 1;
    put(&mut space, 0x18, &[0, 1, 3]);
    space[0x34] = 0x40;
    put(&mut space, 0x40, &[0x10, 0, 0x42, 0x01]);
    put(&mut space, 0x44, &[0x22, 0, 0, 0, 0x50, 0x29]);
    put(&mut space, 0x4c, &[0x05, 0x0d, 0x12, 0]);
    put(&mut space, 0x50, &[0x42, 0, 0x84, 0x40]);
    space[0x5a] = 0x40;
    put(&mut space, 0x70, &[5, 0]);
    space
}

#[test]
fn a_port_is_decoded() {
    let found = decoded(&port());
    assert_eq!(
        (found.vendor_id, found.device_id, found.class_code),
        (Some(0x8086), Some(0x352a), Some(0x0604))
    );
    assert_eq!(
        (found.kind, found.secondary_bus, found.subordinate_bus),
        (Some(Kind::RootPort), Some(1), Some(3))
    );
    assert_eq!((found.has_slot, found.card_present, found.slot_off), (Some(true), Some(true), Some(false)));
    let control = found.control.unwrap();
    assert_eq!(
        (control.max_payload_bytes, control.mps_bytes, control.mrrs_bytes),
        (Some(512), Some(512), Some(512))
    );
    assert_eq!((control.extended_tags_possible, control.extended_tags), (Some(true), Some(true)));
    let link = found.link.unwrap();
    assert_eq!(
        (link.max_speed_gtps, link.max_lanes, link.speed_gtps, link.lanes),
        (Some(32.0), Some(16), Some(16.0), Some(8))
    );
    assert_eq!(
        (link.aspm_enabled.unwrap(), link.aspm_supported.unwrap()),
        (vec!["L1".to_owned()], vec!["L0s".into(), "L1".into()])
    );
    assert_eq!(
        (link.common_clock, link.retrained, link.target_speed_gtps),
        (Some(true), Some(true), Some(32.0))
    );
}

#[test]
fn extended_capabilities_are_decoded() {
    let mut space = port();
    put(&mut space, 0x100, &[0x01, 0, 2, 0x14]);
    put(&mut space, 0x104, &[0x10, 0, 0x04, 0]);
    put(&mut space, 0x110, &[0x41, 0, 0, 0]);
    put(&mut space, 0x130, &[0x01, 0, 0, 0]);
    put(&mut space, 0x140, &[0x0d, 0, 1, 0x15, 0, 0, 0x05, 0]);
    put(&mut space, 0x150, &[0x1d, 0, 1, 0x16, 0, 0, 0, 0, 0x05, 0]);
    put(&mut space, 0x160, &[0x15, 0, 1, 0x17, 0, 0, 0x10, 0, 0x21, 0x08, 0, 0]);
    put(&mut space, 0x170, &[0x23, 0, 1, 0, 0x98, 0x1e, 0, 0, 0, 0, 0, 0, 0x06, 0]);
    let found = decoded(&space);
    let errors = found.errors.unwrap();
    assert_eq!(errors.uncorrectable_status.unwrap(), ["DLP", "MalfTLP"]);
    assert_eq!(errors.correctable_status.unwrap(), ["RxErr", "BadTLP"]);
    assert_eq!(errors.root_status.unwrap(), ["CERcvd"]);
    assert_eq!(found.acs_enabled.unwrap(), ["SrcValid", "ReqRedir"]);
    assert_eq!(found.contained.unwrap(), "an ERR_FATAL message from below");
    assert_eq!(found.resizable_bars, [ResizableBar { bar: 1, size_bytes: 1 << 28, largest_bytes: 1 << 36 }]);
    assert_eq!(found.cxl_protocols, ["IO", "Mem"]);
}

#[test]
fn chains_that_loop_or_end_early_end() {
    let mut space = port();
    space[0x41] = 0x40;
    put(&mut space, 0x100, &[0x01, 0, 2, 0x10]);
    assert_eq!(decoded(&space).kind, Some(Kind::RootPort));
    for size in [0, 1, 15, 16, 63, 64, 65, 0x48, 256] {
        decoded(&space[..size]);
    }
}

#[test]
fn an_absent_function_reads_as_ones() {
    let ones = |_: usize, size: usize| vec![0xff; size];
    assert!(!ConfigSpace::new(&ones).is_present());
}

#[test]
fn users_see_the_header_alone() {
    let space = port();
    let found = decoded(&space[..64]);
    assert_eq!((found.vendor_id, found.secondary_bus, found.kind), (Some(0x8086), Some(1), None));
}
