//! Parts of a latency: a command without data, and `medium`, the same command with its data in the drive's
//! own memory, if it has any. `transfer` is the whole minus `medium`.

use super::link::Link;
use super::plan::{Command, Plan};
use crate::engine::{median_ns, one, part};
use pcie_bench::{DeviceError, Stop};
use pcie_driver::nvme::{Data, Kind};
use pcie_host::Clock;
use pcie_store::Scalar;

/// Offset of data in the drive's memory, behind its submission queue.
const DATA_OFFSET: u64 = 32 << 10;

/// Medians of the parts of a command that reads host memory and takes `whole_ns` in all.
pub(super) fn measured_parts(
    link: &mut Link,
    (plan, kind): (Plan, Kind),
    whole_ns: f64,
    (clock, stop): (&Clock, &Stop),
) -> Result<Vec<Scalar>, DeviceError> {
    let without_data = Command { kind: Kind::Flush, block: 0, data: None };
    let mut parts = vec![part("command", "median", median_ns(link, without_data, (clock, stop))?)];
    let Some((address, _)) = link.own_memory.filter(|(_, bytes)| DATA_OFFSET + plan.size_bytes <= *bytes)
    else {
        return Ok(parts);
    };
    let data = Some(Data { address: address + DATA_OFFSET, bytes: plan.size_bytes });
    let block = plan.first_block;
    // Read first, so that the command compares or writes the same data.
    one(link, Command { kind: Kind::Read, block, data }, stop)?;
    let medium_ns = median_ns(link, Command { kind, block, data }, (clock, stop))?;
    parts.push(part("medium", "median", medium_ns));
    parts.push(part("transfer", "difference", whole_ns - medium_ns));
    Ok(parts)
}
