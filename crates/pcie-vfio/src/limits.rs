//! What no device that is handed commands can do, whatever it is.

use pcie_bench::DeviceError;
use pcie_host::over_buffer;
use pcie_workload::{Path, Test};

/// Refuses a test that is not for a device, `what`, which takes `depth` commands at once and reaches a buffer of `buffer_bytes`.
pub(crate) fn check(test: &Test, what: &str, depth: u32, buffer_bytes: u64) -> Result<(), DeviceError> {
    let refused = |reason: String| Err(DeviceError::NotSupported(reason));
    if test.path == Path::Command {
        return refused(format!("path is command: {what} has the path dma"));
    }
    if test.device_offset_bytes != 0 {
        return refused(format!(
            "device_offset_bytes is {}: {what} has no places of its own to choose: give 0",
            test.device_offset_bytes
        ));
    }
    if test.outstanding.is_some_and(|asked| asked > depth) {
        return refused(format!("outstanding: {what} takes {depth} commands at once here"));
    }
    if test.window_bytes > buffer_bytes {
        return Err(over_buffer(test.window_bytes, buffer_bytes));
    }
    Ok(())
}
