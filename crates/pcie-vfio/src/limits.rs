//! Limits common to all devices that take commands.

use pcie_bench::DeviceError;
use pcie_host::over_buffer;
use pcie_workload::{Path, Test};

/// Refuses a test that `device`, with `depth` commands at once and a buffer of `buffer_bytes`, cannot run.
pub(crate) fn check(test: &Test, device: &str, depth: u32, buffer_bytes: u64) -> Result<(), DeviceError> {
    let refused = |reason: String| Err(DeviceError::NotSupported(reason));
    if test.path == Path::Command {
        return refused(format!("path is command: {device} has the path dma"));
    }
    if test.device_offset_bytes != 0 {
        let offset = test.device_offset_bytes;
        return refused(format!(
            "device_offset_bytes is {offset}: {device} has no addresses of its own: give 0"
        ));
    }
    if test.outstanding.is_some_and(|asked| asked > depth) {
        return refused(format!("outstanding: {device} takes {depth} commands at once: give that or fewer"));
    }
    if test.window_bytes > buffer_bytes {
        return Err(over_buffer(test.window_bytes, buffer_bytes));
    }
    Ok(())
}
