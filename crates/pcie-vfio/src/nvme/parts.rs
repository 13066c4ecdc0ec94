//! Parts of a latency, each the median of as many commands as the transaction has:
//!
//! * `command`: Flush, a command without blocks and data;
//! * `verify`: Verify of the same blocks, which the drive reads without moving data;
//! * `medium`: the same commands with their data in the drive's own memory, so that none cross the link.
//!
//! `transfer` is the whole minus the floor: `medium`, or without it `verify` if the transaction only reads
//! blocks. Parts that the drive does not support are missing.

use super::link::Link;
use super::plan::{Command, Plan};
use crate::engine::{median, one};
use crate::median::Median;
use pcie_bench::{Condition, DeviceError, Remarks, Stop};
use pcie_driver::nvme::{Data, Kind};
use pcie_host::Clock;

/// Offset of data in the drive's memory, behind its submission queue.
const DATA_OFFSET: u64 = 32 << 10;
const FLUSH: Command = Command { kind: Kind::Flush, block: 0, data: None };

/// The parts of transactions of these `kinds` of commands, which take `whole` in all.
pub(super) fn measured_parts(
    link: &mut Link,
    (plan, kinds): (Plan, &[Kind]),
    whole: Median,
    timing: (&Clock, &Stop),
) -> Result<Remarks, DeviceError> {
    let command = median(link, timing, |_| kinds.iter().map(|_| FLUSH))?;
    let verify = match link.identity().has_verify {
        true => Some(median(link, timing, |number| {
            let verify = plan.without_data(Kind::Verify, number);
            kinds.iter().map(move |_| verify)
        })?),
        false => None,
    };
    let medium = own_memory(link, plan).map(|data| within_the_drive(link, (plan, kinds), data, timing));
    let medium = medium.transpose()?;
    let only_reads = !kinds.contains(&Kind::Write);
    let transfer = medium.or(verify.filter(|_| only_reads)).map(|floor| whole.less(floor));
    let named = [
        ("command", "median", Some(command)),
        ("verify", "median", verify),
        ("medium", "median", medium),
        ("transfer", "difference", transfer),
    ];
    let scalars = |(subject, metric, found): (&str, &str, Option<Median>)| {
        found.map(|found| found.scalars(subject, metric))
    };
    Ok(Remarks {
        parts: named.into_iter().filter_map(scalars).flatten().collect(),
        message: transfer.and_then(|transfer| transfer.unresolvable("transfer")),
        ..Remarks::default()
    })
}

/// The floor of the drive as conditions: the median of Verify of one block, or of Flush on a drive without
/// Verify, and its standard error.
pub(super) fn floor(link: &mut Link, block: u64, timing: (&Clock, &Stop)) -> [Condition; 2] {
    let identity = link.identity();
    let data = Some(Data { address: 0, bytes: identity.block_bytes });
    let (name, command) = match identity.has_verify {
        true => ("floor_verify", Command { kind: Kind::Verify, block, data }),
        false => ("floor_flush", FLUSH),
    };
    let found = median(link, timing, |_| [command]).ok();
    [
        Condition::new(name, "ns", found.map(|floor| floor.value_ns)),
        Condition::new("floor_standard_error", "ns", found.map(|floor| floor.standard_error_ns)),
    ]
}

/// Memory of the drive for the data of a transfer, if it has any.
fn own_memory(link: &Link, plan: Plan) -> Option<Data> {
    let (address, bytes) = link.own_memory?;
    (DATA_OFFSET + plan.size_bytes <= bytes)
        .then_some(Data { address: address + DATA_OFFSET, bytes: plan.size_bytes })
}

/// Commands of these kinds with their data in the drive's own memory.
fn within_the_drive(
    link: &mut Link,
    (plan, kinds): (Plan, &[Kind]),
    data: Data,
    (clock, stop): (&Clock, &Stop),
) -> Result<Median, DeviceError> {
    let command = |kind| Command { kind, block: plan.first_block, data: Some(data) };
    // Read first, so that the commands compare or write the same data.
    one(link, command(Kind::Read), stop)?;
    median(link, (clock, stop), |_| kinds.iter().map(|kind| command(*kind)))
}
