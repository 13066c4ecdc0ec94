//! What a latency is made of, as far as the drive lets it be told apart: the same command with its data in the drive's own
//! memory, so that none cross the link, and a command without data.
//!
//! Each part is measured as it is. Only `transfer` is a difference, and says so: that of the whole and of `medium`.

use super::device::NvmeDevice;
use super::plan::Plan;
use pcie_bench::{DeviceError, Stop};
use pcie_driver::nvme::{Data, Kind};
use pcie_store::Scalar;

/// Commands of each kind.
const COMMANDS: usize = 65;
/// Where data lie in the drive's memory: behind its submission queue.
const DATA_OFFSET: u64 = 32 << 10;

impl NvmeDevice {
    /// Medians of the parts of a command that reads host memory, of which the whole took `whole_ns`.
    pub(super) fn measured_parts(
        &mut self,
        plan: Plan,
        kind: Kind,
        whole_ns: f64,
        stop: &Stop,
    ) -> Result<Vec<Scalar>, DeviceError> {
        let command_ns = self.median_ns(stop, |drive| drive.command(Kind::Flush, 0, None, stop))?;
        let mut parts = vec![part("command", "median", command_ns)];
        let own = self.link.as_ref().and_then(|link| link.own_memory);
        let Some((address, _)) = own.filter(|(_, bytes)| DATA_OFFSET + plan.size_bytes <= *bytes) else {
            return Ok(parts);
        };
        let data = Some(Data { address: address + DATA_OFFSET, bytes: plan.size_bytes });
        let block = plan.first_block;
        // What is compared, or written, is what stands there.
        self.command(Kind::Read, block, data, stop)?;
        let medium_ns = self.median_ns(stop, |drive| drive.command(kind, block, data, stop))?;
        parts.push(part("medium", "median", medium_ns));
        parts.push(part("transfer", "difference", whole_ns - medium_ns));
        Ok(parts)
    }

    fn median_ns(
        &mut self,
        stop: &Stop,
        mut carry_out: impl FnMut(&mut Self) -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        let mut times = Vec::with_capacity(COMMANDS);
        while times.len() < COMMANDS && (times.is_empty() || !stop.is_requested()) {
            let before = self.clock.now();
            carry_out(self)?;
            times.push(self.clock.now() - before);
        }
        times.sort_unstable();
        Ok(self.clock.ns(times[times.len() / 2]))
    }
}

fn part(subject: &str, metric: &str, value: f64) -> Scalar {
    Scalar { subject: subject.into(), metric: metric.into(), unit: "ns".into(), value }
}
