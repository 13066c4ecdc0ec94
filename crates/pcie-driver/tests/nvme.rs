//! The NVMe driver against a controller in memory: data arrive where they should, and what a drive does wrong is an error.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod fake_drive;

use fake_drive::{CMB_AT, DATA_AT, FakeDrive, Kind as Fake};
use pcie_driver::nvme::{Completion, Controller, Data, Drive, Kind, NvmeError, Place, Pointers};

fn drive(kind: Fake, place: Place, pointers: Pointers) -> Result<Drive<FakeDrive>, NvmeError> {
    let mut controller = Controller::open(FakeDrive::new(kind))?;
    if place != Place::Host {
        let cmb = controller.cmb()?.unwrap();
        assert!(cmb.takes_queues && cmb.takes_data && cmb.bar == 2 && cmb.bytes == 64 << 10);
        controller.enable_cmb(CMB_AT)?;
    }
    Drive::open(controller, place, pointers, false)
}

/// Carries a command out; its status.
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
fn a_drive_says_what_it_is() {
    let drive = drive(Fake::GOOD, Place::Host, Pointers::Prp).unwrap();
    let said = drive.identity();
    assert_eq!((said.model.as_str(), said.serial.as_str()), ("fake drive", "serial"));
    assert_eq!((said.blocks, said.block_bytes, said.transfer_bytes_most), (256, 512, 128 << 10));
    assert!(said.has_compare && said.has_sgl);
}

#[test]
fn data_go_both_ways_wherever_they_lie() {
    for (place, pointers) in
        [(Place::Host, Pointers::Prp), (Place::Host, Pointers::Sgl), (Place::Cmb(CMB_AT), Pointers::Prp)]
    {
        let mut drive = drive(Fake::GOOD, place, pointers).unwrap();
        for (offset, bytes) in
            [(0, 512), (4, 512), (3840, 512), (8192, 4096), (8196, 4096), (16384, 65536), (4092, 128 << 10)]
        {
            assert_eq!(status(&mut drive, Kind::Read, 0, data(offset, bytes)), 0);
            let (start, blocks) = (offset as usize, bytes as usize / 512);
            let host = drive.transport_mut().host[start..start + bytes as usize].to_vec();
            assert!(
                (0..blocks).all(|block| host[block * 512..][..512].iter().all(|byte| *byte == block as u8))
            );
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0);
            drive.transport_mut().host[start + bytes as usize - 1] ^= 1;
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0x285);
            assert_eq!(status(&mut drive, Kind::Write, 0, data(offset, bytes)), 0);
            assert_eq!(status(&mut drive, Kind::Compare, 0, data(offset, bytes)), 0);
            drive.transport_mut().disk[bytes as usize - 1] ^= 1;
        }
        assert_eq!(status(&mut drive, Kind::Flush, 0, None), 0);
        let in_drive = Some(Data { address: CMB_AT + 0x8000, bytes: 4096 });
        if place != Place::Host {
            assert_eq!(status(&mut drive, Kind::Read, 9, in_drive), 0);
            assert_eq!(drive.transport_mut().cmb[0x8000], 9);
        }
    }
}

#[test]
fn queues_wrap_many_times_with_as_many_in_flight_as_there_can_be() {
    let mut drive = drive(Fake::GOOD, Place::Host, Pointers::Prp).unwrap();
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
fn what_is_no_drive_or_lacks_something_is_refused() {
    let told = |kind, pointers| drive(kind, Place::Host, pointers).map(drop).unwrap_err().to_string();
    assert!(
        told(Fake { version: u32::MAX, ..Fake::GOOD }, Pointers::Prp)
            .contains("no NVMe controller, or it is gone")
    );
    assert!(
        told(Fake { answers: 0, ..Fake::GOOD }, Pointers::Prp).contains("identify itself within 5000 ms")
    );
    assert!(told(Fake { has_sgl: false, ..Fake::GOOD }, Pointers::Sgl).contains("device.pointers is sgl"));
    let mut controller = Controller::open(FakeDrive::new(Fake { has_cmb: false, ..Fake::GOOD })).unwrap();
    assert_eq!(controller.cmb(), Ok(None));
}

#[test]
fn a_drive_that_fails_a_command_says_which_way_and_goes_on() {
    let mut drive = drive(Fake::GOOD, Place::Host, Pointers::Prp).unwrap();
    assert_eq!(status(&mut drive, Kind::Read, 256, data(0, 512)), 0x080);
    let told = NvmeError::Status { what: Kind::Read.name(), status: 0x080 }.to_string();
    assert_eq!(
        told,
        "the drive was asked to read, and ended it with status 0x080: blocks that it does not have"
    );
    assert_eq!(status(&mut drive, Kind::Read, 255, data(0, 512)), 0);
}

#[test]
fn queues_can_be_given_back_and_had_anew() {
    let drive = drive(Fake::GOOD, Place::Host, Pointers::Prp).unwrap();
    let controller = drive.without_queues().unwrap();
    let mut drive = Drive::open(controller, Place::Host, Pointers::Sgl, false).unwrap();
    assert_eq!(status(&mut drive, Kind::Read, 3, data(512, 512)), 0);
}
