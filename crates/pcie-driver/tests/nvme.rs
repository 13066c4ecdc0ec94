//! The NVMe driver against a fake controller: data arrive as asked, and faults of the drive are errors.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod fake_drive;

use fake_drive::{CMB_AT, DATA_AT, FakeDrive, Kind as Fake};
use pcie_driver::nvme::{
    Completion, Controller, Data, DeallocatedReads, Drive, Kind, NvmeError, Pointers, QueueLocation,
};

fn drive(kind: Fake, location: QueueLocation, pointers: Pointers) -> Result<Drive<FakeDrive>, NvmeError> {
    let mut controller = Controller::open(FakeDrive::new(kind))?;
    if location != QueueLocation::Host {
        let cmb = controller.cmb()?.unwrap();
        assert!(cmb.takes_queues && cmb.takes_data && cmb.bar == 2 && cmb.bytes == 64 << 10);
        controller.enable_cmb(CMB_AT)?;
    }
    Drive::open(controller, location, pointers, false)
}

/// Carries out a command and returns its status.
fn status(drive: &mut Drive<FakeDrive>, kind: Kind, block: u64, data: Option<Data>) -> u16 {
    let slot = drive.submit(kind, block, data).unwrap().unwrap();
    let mut ended = Vec::new();
    drive.completions(&mut |completion| ended.push(completion)).unwrap();
    assert!(matches!(ended[..], [Completion { slot: one, .. }] if one == slot));
    ended[0].status
}

fn data(offset: u64, bytes: u64) -> Option<Data> {
    Some(Data { address: DATA_AT + offset, bytes })
}

#[test]
fn identify_reads_model_serial_and_sizes() {
    let drive = drive(Fake::GOOD, QueueLocation::Host, Pointers::Prp).unwrap();
    let identity = drive.identity();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("fake drive", "serial"));
    assert_eq!((identity.blocks, identity.block_bytes, identity.transfer_bytes_most), (256, 512, 128 << 10));
    assert!(identity.has_compare && identity.has_sgl && identity.has_verify && identity.has_deallocate);
    assert_eq!(identity.deallocated_reads, DeallocatedReads::Zeros);
}

#[test]
fn identify_reads_missing_commands_and_what_deallocated_blocks_return() {
    for (dlfeat, reads) in [
        (0, DeallocatedReads::NotReported),
        (0x18, DeallocatedReads::NotReported),
        (0x1a, DeallocatedReads::Ones),
        (0x19, DeallocatedReads::Zeros),
        (3, DeallocatedReads::NotReported),
    ] {
        let kind = Fake { has_verify: false, has_deallocate: false, dlfeat, ..Fake::GOOD };
        let drive = drive(kind, QueueLocation::Host, Pointers::Prp).unwrap();
        let identity = drive.identity();
        assert_eq!(identity.deallocated_reads, reads, "{dlfeat:#x}");
        assert!(identity.has_compare && !identity.has_verify && !identity.has_deallocate);
    }
}

#[test]
fn deallocated_blocks_are_read_and_verified_without_the_medium() {
    for (dlfeat, byte) in [(1, 0), (2, 0xff)] {
        let kind = Fake { dlfeat, ..Fake::GOOD };
        let mut drive = drive(kind, QueueLocation::Host, Pointers::Sgl).unwrap();
        assert_eq!(status(&mut drive, Kind::Verify, 8, data(0, 4096)), 0);
        assert_eq!(drive.transport_mut().medium_reads, 8);
        // The address of a command that moves no data does not matter.
        assert_eq!(status(&mut drive, Kind::Deallocate, 8, Some(Data { address: 0, bytes: 4096 })), 0);
        assert_eq!(status(&mut drive, Kind::Verify, 8, Some(Data { address: 0, bytes: 4096 })), 0);
        assert_eq!(status(&mut drive, Kind::Read, 8, data(0, 4096)), 0);
        assert_eq!(drive.transport_mut().medium_reads, 8);
        assert!(drive.transport_mut().host[..4096].iter().all(|held| *held == byte));
        // The neighbours keep their contents.
        for block in [7, 16] {
            assert_eq!(status(&mut drive, Kind::Read, block, data(0, 512)), 0);
            assert_eq!(drive.transport_mut().host[0], block as u8);
        }
        assert_eq!(status(&mut drive, Kind::Write, 8, data(0, 512)), 0);
        assert_eq!(status(&mut drive, Kind::Verify, 8, data(0, 4096)), 0);
        assert_eq!(drive.transport_mut().medium_reads, 8 + 2 + 1);
        assert_eq!(status(&mut drive, Kind::Deallocate, 255, data(0, 1024)), 0x080);
    }
}

#[test]
fn data_move_both_ways_at_any_offset() {
    use QueueLocation::{Cmb, Host};
    for (location, pointers) in [(Host, Pointers::Prp), (Host, Pointers::Sgl), (Cmb(CMB_AT), Pointers::Prp)] {
        let mut drive = drive(Fake::GOOD, location, pointers).unwrap();
        for (offset, bytes) in
            [(0, 512), (4, 512), (3840, 512), (8192, 4096), (8196, 4096), (16384, 65536), (4092, 128 << 10)]
        {
            assert_eq!(status(&mut drive, Kind::Read, 0, data(offset, bytes)), 0);
            let (start, blocks) = (offset as usize, bytes as usize / 512);
            let host = drive.transport_mut().host[start..start + bytes as usize].to_vec();
            assert!((0..512 * blocks).all(|index| host[index] == (index / 512) as u8));
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0);
            drive.transport_mut().host[start + bytes as usize - 1] ^= 1;
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0x285);
            assert_eq!(status(&mut drive, Kind::Write, 0, data(offset, bytes)), 0);
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0);
            drive.transport_mut().disk[bytes as usize - 1] ^= 1;
        }
        assert_eq!(status(&mut drive, Kind::Flush, 0, None), 0);
        let in_drive = Some(Data { address: CMB_AT + 0x8000, bytes: 4096 });
        if location != Host {
            assert_eq!(status(&mut drive, Kind::Read, 9, in_drive), 0);
            assert_eq!(drive.transport_mut().cmb[0x8000], 9);
        }
    }
}

#[test]
fn full_queues_wrap_many_times() {
    let mut drive = drive(Fake::GOOD, QueueLocation::Host, Pointers::Prp).unwrap();
    let mut done = 0;
    for _ in 0..20 {
        let mut given = 0;
        while drive.submit(Kind::Read, 1, data(0, 512)).unwrap().is_some() {
            given += 1;
        }
        assert_eq!(given, u32::from(drive.depth()));
        drive.completions(&mut |completion| done += u32::from(completion.status == 0)).unwrap();
    }
    assert_eq!(done, 20 * u32::from(drive.depth()));
}

#[test]
fn open_refuses_other_devices_and_missing_features() {
    let message =
        |kind, pointers| drive(kind, QueueLocation::Host, pointers).map(drop).unwrap_err().to_string();
    for (kind, pointers, expected) in [
        (Fake { version: u32::MAX, ..Fake::GOOD }, Pointers::Prp, "not an NVMe controller, or it is gone"),
        (Fake { answers: 0, ..Fake::GOOD }, Pointers::Prp, "identify itself within 5000 ms"),
        (Fake { has_sgl: false, ..Fake::GOOD }, Pointers::Sgl, "device.pointers is sgl"),
    ] {
        let message = message(kind, pointers);
        assert!(message.contains(expected), "{message}");
    }
    let mut controller = Controller::open(FakeDrive::new(Fake { has_cmb: false, ..Fake::GOOD })).unwrap();
    assert_eq!(controller.cmb(), Ok(None));
}

#[test]
fn failed_command_has_a_status_and_the_next_one_works() {
    let mut drive = drive(Fake::GOOD, QueueLocation::Host, Pointers::Prp).unwrap();
    assert_eq!(status(&mut drive, Kind::Read, 256, data(0, 512)), 0x080);
    let message = NvmeError::Status { action: Kind::Read.name(), status: 0x080 }.to_string();
    assert_eq!(message, "the drive failed to read: status 0x080: blocks out of range");
    assert_eq!(status(&mut drive, Kind::Read, 255, data(0, 512)), 0);
}

#[test]
fn queues_can_be_deleted_and_created_again() {
    let drive = drive(Fake::GOOD, QueueLocation::Host, Pointers::Prp).unwrap();
    let controller = drive.without_queues().unwrap();
    let mut drive = Drive::open(controller, QueueLocation::Host, Pointers::Sgl, false).unwrap();
    assert_eq!(status(&mut drive, Kind::Read, 3, data(512, 512)), 0);
}
