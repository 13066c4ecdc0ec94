//! From a test to commands: maps units of the window to blocks; refuses tests that the drive cannot run.

use super::scratch::Scratch;
use crate::limits;
use pcie_bench::DeviceError;
use pcie_driver::nvme::{Data, Identity, Kind};
use pcie_workload::{Operation, Test};
use serde_json::json;

/// Most bytes of the drive that a test uses. Few, so that a drive which caches blocks may have them in its
/// own memory; many drives cache no reads.
pub(super) const REACH_BYTES: u64 = 1 << 20;

/// Layout of a test in its window and on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) first_block: u64,
    /// Blocks of a transfer.
    pub(super) blocks: u64,
    pub(super) size_bytes: u64,
    pub(super) unit_bytes: u64,
    pub(super) offset_bytes: u64,
    /// Units after which the blocks repeat.
    pub(super) period: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) kind: Kind,
    pub(super) block: u64,
    pub(super) data: Option<Data>,
}

impl Plan {
    /// Lays out a test; refuses a test that the drive cannot run.
    pub(super) fn new(
        test: &Test,
        drive: &Identity,
        depth: u16,
        buffer_bytes: u64,
        scratch: Option<&Scratch>,
    ) -> Result<Self, DeviceError> {
        check(test, drive, depth, buffer_bytes)?;
        let (first_block, available) =
            scratch.map_or((0, drive.blocks), |scratch| (scratch.first, scratch.blocks));
        let blocks = test.size_bytes / drive.block_bytes;
        if blocks > available {
            let (size, bytes) = (test.size_bytes, available * drive.block_bytes);
            let reason = format!("size_bytes is {size}: the drive, or its scratch range, has {bytes} bytes");
            return Err(DeviceError::NotSupported(reason));
        }
        let units = test.window_bytes / test.unit_bytes();
        let period = (REACH_BYTES / test.size_bytes).clamp(1, units.max(1)).min(available / blocks);
        let plan = Self {
            first_block,
            blocks,
            size_bytes: test.size_bytes,
            unit_bytes: test.unit_bytes(),
            offset_bytes: test.host_offset_bytes,
            period,
        };
        match test.operation != Operation::BwWr && plan.host_read(drive, scratch).is_none() {
            true => Err(DeviceError::NotSupported(format!(
                "operation is {}: this drive has no Compare, so only its writes read host memory: name blocks that may be \
                 written, --set device.scratch=LBA+LENGTH",
                json!(test.operation).as_str().unwrap_or_default()
            ))),
            false => Ok(plan),
        }
    }

    /// The kind of command with which the drive reads host memory, if any.
    pub(super) fn host_read(self, drive: &Identity, scratch: Option<&Scratch>) -> Option<Kind> {
        match (drive.has_compare, scratch) {
            (true, _) => Some(Kind::Compare),
            (false, Some(_)) => Some(Kind::Write),
            (false, None) => None,
        }
    }

    /// The command for the transfer at an offset of the buffer, whose bus address is `buffer`.
    #[inline]
    pub(super) fn command(self, kind: Kind, buffer: u64, offset: u64) -> Command {
        let data = Some(Data { address: buffer + offset, bytes: self.size_bytes });
        Command { kind, block: self.block(offset), data }
    }

    /// A command that moves no data, on the blocks of the unit with this number.
    pub(super) fn without_data(self, kind: Kind, unit: u64) -> Command {
        let data = Some(Data { address: 0, bytes: self.size_bytes });
        Command { kind, block: self.first_block + unit % self.period * self.blocks, data }
    }

    /// First block of the transfer at an offset of the buffer.
    #[inline]
    pub(super) fn block(self, offset: u64) -> u64 {
        let unit = (offset - self.offset_bytes) / self.unit_bytes;
        self.first_block + unit % self.period * self.blocks
    }
}

fn check(test: &Test, drive: &Identity, depth: u16, buffer_bytes: u64) -> Result<(), DeviceError> {
    let refused = |reason: String| Err(DeviceError::NotSupported(reason));
    limits::check(test, "a drive", depth.into(), buffer_bytes)?;
    let (size, offset) = (test.size_bytes, test.host_offset_bytes);
    let (block, most) = (drive.block_bytes, drive.transfer_bytes_most);
    if !size.is_multiple_of(block) {
        return refused(format!("size_bytes is {size}: give a multiple of the drive's block size, {block}"));
    }
    if size > most {
        return refused(format!("size_bytes is {size}: the drive transfers {most} bytes at most"));
    }
    if !offset.is_multiple_of(4) {
        return refused(format!("host_offset_bytes is {offset}: give a multiple of 4 for a drive"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_workload::Path;

    fn drive(has_compare: bool) -> Identity {
        Identity {
            transfer_bytes_most: 128 << 10,
            has_compare,
            blocks: 1 << 20,
            block_bytes: 512,
            ..Identity::default()
        }
    }

    fn planned(test: &Test, drive: &Identity) -> Result<Plan, String> {
        Plan::new(test, drive, 64, 64 << 20, None).map_err(|error| error.to_string())
    }

    #[test]
    fn refuses_tests_that_a_drive_cannot_run() {
        let test = Test::random_dma(Operation::BwRd, 512, 8192, 100);
        assert!(planned(&test, &drive(true)).is_ok());
        for (wrong, named) in [
            (Test { size_bytes: 64, ..test.clone() }, "size_bytes is 64"),
            (Test { size_bytes: 256 << 10, window_bytes: 1 << 20, ..test.clone() }, "131072 bytes at most"),
            (Test { host_offset_bytes: 2, ..test.clone() }, "host_offset_bytes is 2"),
            (Test { device_offset_bytes: 4, ..test.clone() }, "device_offset_bytes is 4"),
            (Test { path: Path::Command, ..test.clone() }, "path is command"),
            (Test { outstanding: Some(65), ..test.clone() }, "outstanding"),
            (Test { window_bytes: 1 << 30, ..test.clone() }, "host.buffer_bytes"),
        ] {
            assert!(planned(&wrong, &drive(true)).is_err_and(|text| text.contains(named)), "{named}");
        }
    }

    #[test]
    fn nothing_is_written_without_scratch() {
        let reads = Test::random_dma(Operation::LatRd, 512, 8192, 100);
        let error = planned(&reads, &drive(false)).unwrap_err();
        assert!(error.contains("operation is lat-rd") && error.contains("device.scratch"), "{error}");
        assert!(planned(&Test { operation: Operation::BwWr, ..reads.clone() }, &drive(false)).is_ok());
        let scratch = Scratch { first: 4096, blocks: 2 };
        let plan = Plan::new(&reads, &drive(false), 64, 64 << 20, Some(&scratch));
        let blocks: Vec<u64> =
            plan.map(|plan| (0..16).map(|unit| plan.block(unit * 512)).collect()).unwrap_or_default();
        assert!(blocks.len() == 16 && blocks.iter().all(|block| (4096..4098).contains(block)), "{blocks:?}");
    }
}
