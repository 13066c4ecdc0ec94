//! From a test to frames in its window; refuses tests that the NIC cannot run.

use crate::limits;
use pcie_bench::DeviceError;
use pcie_driver::e1000e::{DEPTH_MOST, FRAME_BYTES_LEAST, FRAME_BYTES_MOST};
use pcie_workload::Test;

/// Layout of a test's frames in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) size_bytes: u32,
    pub(super) unit_bytes: u64,
    pub(super) offset_bytes: u64,
}

impl Plan {
    /// Lays out the frames of a test; refuses a test that the NIC cannot run.
    pub(super) fn new(test: &Test, buffer_bytes: u64) -> Result<Self, DeviceError> {
        limits::check(test, "a NIC", DEPTH_MOST.into(), buffer_bytes)?;
        let lengths = FRAME_BYTES_LEAST..=FRAME_BYTES_MOST;
        let size_bytes = u32::try_from(test.size_bytes).ok().filter(|size| lengths.contains(size));
        let size_bytes = size_bytes.ok_or_else(|| {
            DeviceError::NotSupported(format!(
                "size_bytes is {}: a frame has {FRAME_BYTES_LEAST} to {FRAME_BYTES_MOST} bytes without its checksum",
                test.size_bytes
            ))
        })?;
        Ok(Self { size_bytes, unit_bytes: test.unit_bytes(), offset_bytes: test.host_offset_bytes })
    }

    /// Offset of a unit's frame in the buffer.
    pub(super) fn offset(self, unit: u64) -> u64 {
        unit * self.unit_bytes + self.offset_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_workload::{Operation, Path};

    #[test]
    fn refuses_tests_that_a_nic_cannot_run() {
        let test = Test::random_dma(Operation::BwRd, 64, 8192, 100);
        let planned = |test: &Test| Plan::new(test, 64 << 20).map_err(|error| error.to_string());
        assert!(planned(&test).is_ok_and(|plan| plan.offset(3) == 192));
        for (wrong, named) in [
            (Test { size_bytes: 32, ..test.clone() }, "size_bytes is 32: a frame has 60 to 9014 bytes"),
            (Test { size_bytes: 9015, window_bytes: 1 << 20, ..test.clone() }, "size_bytes is 9015"),
            (Test { path: Path::Command, ..test.clone() }, "path is command"),
            (Test { device_offset_bytes: 4, ..test.clone() }, "device_offset_bytes is 4"),
            (Test { outstanding: Some(256), ..test.clone() }, "outstanding"),
            (Test { window_bytes: 1 << 30, ..test.clone() }, "host.buffer_bytes"),
        ] {
            assert!(planned(&wrong).is_err_and(|text| text.contains(named)), "{named}");
        }
    }
}
