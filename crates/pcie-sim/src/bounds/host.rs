//! What a loaded host leaves to the devices below its root complex, in closed form.
//!
//! Each device asks for what its link and the device itself give. All writes pass the root complex's pool, the
//! IOMMU and memory, all reads another pool: what these give is shared max-min, each direction by itself.
//!
//! The pool's fill is that of a queue with irregular service and regular arrivals, in the diffusion limit.

use crate::machine::Machine;
use crate::profile::{IommuMode, LoadKind, PageLife, System};
use pcie_model::{Answer, Bound};
use pcie_refusal::{Kind, Refusal};
use pcie_workload::{LINE_BYTES, Operation, Pattern, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// Most devices of a question.
const DEVICES_MOST: usize = 64;
/// Most numbers of cores in a question.
const CORES_MOST: usize = 4096;

/// A question about a loaded host.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQuestion {
    /// Numbers of busy cores.
    pub cores: Vec<u32>,
    /// What they do; null for what the system says, or `read-write`.
    pub kind: Option<LoadKind>,
    /// Bytes of a transfer.
    pub size_bytes: u64,
    /// IO-TLB misses for each MiB of data; null for one for each page that a driver gives anew.
    pub misses_per_mib: Option<f64>,
    /// Links of the devices; empty for the system's one device.
    pub devices: Vec<DeviceLink>,
}

/// The link of one of several devices.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceLink {
    /// PCIe generation.
    pub generation: u32,
    /// Width.
    pub lanes: u32,
    /// What the device asks for in each direction, in Gb/s of data; null for all that its link gives.
    pub gbps: Option<f64>,
}

/// What a loaded host gives to its devices.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostRates {
    /// Busy cores.
    pub cores: u32,
    /// Each device, in the order of the question.
    pub devices: Vec<DeviceRates>,
    /// Memory traffic of all devices' writes, in GB/s.
    pub write_traffic_gbytes_per_s: f64,
    /// The root complex's pool for writes; null where the system names none.
    pub write_pool: Option<PoolFill>,
    /// The pool for reads.
    pub read_pool: Option<PoolFill>,
}

/// The rates of one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeviceRates {
    /// It writes host memory.
    pub write: Answer,
    /// It reads host memory.
    pub read: Answer,
}

/// How full a pool of lines is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PoolFill {
    /// Lines in use, on average.
    pub lines: f64,
    /// Average time for which a line is in use, in ns.
    pub latency_ns: f64,
}

/// What all devices share in one direction.
struct Shared {
    /// The tightest rate of all, in Gb/s of data, and every one.
    ceilings: Vec<(Bound, f64)>,
}

impl Shared {
    fn gbps(&self) -> f64 {
        self.ceilings.iter().map(|(_, gbps)| *gbps).fold(f64::INFINITY, f64::min)
    }
}

impl Machine {
    /// What the host gives for each number of busy cores of a question.
    ///
    /// # Errors
    /// Names the value that is out of range.
    pub fn host_rates(&self, question: &HostQuestion) -> Result<Vec<HostRates>, Refusal> {
        if question.devices.len() > DEVICES_MOST {
            let remedy = format!("give {DEVICES_MOST} at most");
            return Err(Refusal::of("devices", question.devices.len(), remedy));
        }
        if question.cores.len() > CORES_MOST {
            let remedy = format!("give {CORES_MOST} numbers at most");
            return Err(Refusal::of("cores", format!("{} numbers", question.cores.len()), remedy));
        }
        if let Some(misses) = question.misses_per_mib
            && !(misses > 0.0 && misses <= MIB)
        {
            return Err(Refusal::of("misses_per_mib", misses, format!("give above 0, {MIB} at most")));
        }
        question
            .cores
            .iter()
            .map(|&cores| self.with_cores(cores, question.kind)?.rates(cores, question))
            .collect()
    }

    /// The same machine with other busy cores.
    fn with_cores(&self, cores: u32, kind: Option<LoadKind>) -> Result<Self, Refusal> {
        let mut system = self.system.clone();
        match (&mut system.host.load, cores) {
            (None, 0) => {}
            (None, _) => {
                let missing = Refusal::new(format!("{} says nothing about busy cores", system.name))
                    .kind(Kind::Missing);
                return Err(missing.key("cores").remedy("give its keys host.load, or 0 cores"));
            }
            (Some(load), _) => {
                load.cores = cores;
                load.kind = kind.unwrap_or(load.kind);
            }
        }
        self.variant(system)
    }

    fn rates(&self, cores: u32, question: &HostQuestion) -> Result<HostRates, Refusal> {
        let alone = self.of_devices(question)?;
        let [writes, reads] = [Operation::BwWr, Operation::BwRd].map(|way| self.shared(way, question));
        let wanted = |way: fn(&DeviceRates) -> &Answer| -> Vec<f64> {
            alone.iter().map(|device| way(device).gbps).collect()
        };
        let (write_wanted, read_wanted) = (wanted(|device| &device.write), wanted(|device| &device.read));
        let write_shares = max_min(&write_wanted, writes.gbps());
        let read_shares = max_min(&read_wanted, reads.gbps());
        let devices = alone.into_iter().zip(write_shares.iter().zip(&read_shares));
        let devices = devices.map(|(alone, (write, read))| DeviceRates {
            write: with_shared(alone.write, &writes, *write),
            read: with_shared(alone.read, &reads, *read),
        });
        let written_gbps: f64 = write_shares.iter().sum();
        let traffic = self.system.host.memory.traffic_per_written_byte.unwrap_or(1.0);
        Ok(HostRates {
            cores,
            devices: devices.collect(),
            write_traffic_gbytes_per_s: written_gbps / 8.0 * traffic,
            write_pool: self.write_fill(write_wanted.iter().sum(), &writes),
            read_pool: self.read_fill(read_shares.iter().sum()),
        })
    }

    /// Rates of each device by its link and itself, without what all share.
    fn of_devices(&self, question: &HostQuestion) -> Result<Vec<DeviceRates>, Refusal> {
        let mut system = self.system.clone();
        system.host.root_complex.write_pool_lines = None;
        system.host.root_complex.read_pool_lines = None;
        system.host.memory.saturated_gbytes_per_s = None;
        system.host.load = None;
        if question.devices.is_empty() {
            return Ok(vec![self.variant(system)?.of_device(question, None)?]);
        }
        let of_link = |link: &DeviceLink| {
            let mut system = system.clone();
            (system.link.generation, system.link.lanes) = (link.generation, link.lanes);
            system.link.flit |= link.generation >= 6;
            self.variant(system)?.of_device(question, link.gbps)
        };
        question.devices.iter().map(of_link).collect()
    }

    fn of_device(&self, question: &HostQuestion, gbps: Option<f64>) -> Result<DeviceRates, Refusal> {
        let answer = |operation| -> Result<Answer, Refusal> {
            let test = question.test(operation, &self.system);
            let refused =
                || Refusal::of("size_bytes", question.size_bytes, "give a size that the device transfers");
            let mut answer = self.bounds(&test)?.ok_or_else(refused)?.answer;
            if let Some(gbps) = gbps.filter(|gbps| *gbps < answer.gbps) {
                answer.limit(Bound::DeviceRate, gbps);
            }
            Ok(answer)
        };
        Ok(DeviceRates { write: answer(Operation::BwWr)?, read: answer(Operation::BwRd)? })
    }

    /// What the host gives to all devices together, in one direction.
    fn shared(&self, operation: Operation, question: &HostQuestion) -> Shared {
        let System { host, .. } = &self.system;
        let pool = |lines: Option<u32>, hold_ns: f64| {
            lines.filter(|_| hold_ns > 0.0).map(|lines| f64::from(lines) * LINE_BYTES as f64 * 8.0 / hold_ns)
        };
        let (name, pool, memory) = match operation {
            Operation::BwWr => {
                let pool = pool(host.root_complex.write_pool_lines, host.root_complex.write_ns);
                (Bound::WritePool, pool, host.writable_gbytes_per_s().map(|rate| 8.0 * rate))
            }
            _ => {
                let hold_ns = self.read_hold_ns(&question.test(operation, &self.system));
                (Bound::ReadPool, pool(host.root_complex.read_pool_lines, hold_ns), None)
            }
        };
        let named =
            [(name, pool), (Bound::Memory, memory), (Bound::Translation, self.translated_gbps(question))];
        Shared { ceilings: named.into_iter().filter_map(|(bound, gbps)| Some((bound, gbps?))).collect() }
    }

    /// Data whose pages the IOMMU can translate, in Gb/s; `None` where nothing misses.
    fn translated_gbps(&self, question: &HostQuestion) -> Option<f64> {
        let iommu = &self.system.host.iommu;
        let page_bytes = self.system.iommu.page_bytes()?;
        let by_pages = match iommu.page_life.unwrap_or_default() {
            PageLife::Static => None,
            PageLife::Recycled | PageLife::Unmapped => {
                (self.system.iommu == IommuMode::FourKibPages).then(|| MIB / page_bytes as f64)
            }
        };
        let misses_per_mib = question.misses_per_mib.or(by_pages)?;
        Some(8.0 * MIB / (misses_per_mib * self.miss_interval_ns()))
    }

    /// The pool for writes while devices ask for `wanted_gbps`.
    fn write_fill(&self, wanted_gbps: f64, shared: &Shared) -> Option<PoolFill> {
        let complex = &self.system.host.root_complex;
        let size = f64::from(complex.write_pool_lines?);
        let lines_per_ns = |gbps: f64| gbps / 8.0 / LINE_BYTES as f64;
        let served = lines_per_ns(
            shared
                .ceilings
                .iter()
                .filter(|(bound, _)| *bound != Bound::WritePool)
                .fold(f64::INFINITY, |least, (_, gbps)| least.min(*gbps)),
        );
        let offered = lines_per_ns(wanted_gbps);
        let passed = offered.min(served).min(lines_per_ns(shared.gbps()));
        let held = (passed * complex.write_ns).min(size);
        let lines = held + waiting(offered, served, size - held);
        Some(PoolFill { lines, latency_ns: lines / passed })
    }

    /// The pool for reads that get `gbps`.
    fn read_fill(&self, gbps: f64) -> Option<PoolFill> {
        self.system.host.root_complex.read_pool_lines?;
        let question = HostQuestion::of_size(u64::from(self.system.link.mrrs_bytes));
        let latency_ns = self.read_hold_ns(&question.test(Operation::BwRd, &self.system));
        Some(PoolFill { lines: gbps / 8.0 / LINE_BYTES as f64 * latency_ns, latency_ns })
    }
}

impl HostQuestion {
    /// A question about transfers of a size, without load.
    fn of_size(size_bytes: u64) -> Self {
        Self { cores: vec![], kind: None, size_bytes, misses_per_mib: None, devices: vec![] }
    }

    /// Transfers, one behind the other in the whole buffer: no page is met again soon.
    fn test(&self, operation: Operation, system: &System) -> Test {
        let test = Test::random_dma(operation, self.size_bytes, system.buffer_bytes(), 1 << 23);
        Test { pattern: Pattern::Sequential, ..test }
    }
}

/// Average lines that wait for service in a queue with room for `room`: arrivals are regular, service times
/// exponential. The stationary mean of a Brownian motion between 0 and `room`.
fn waiting(offered: f64, served: f64, room: f64) -> f64 {
    if !served.is_finite() || room <= 0.0 {
        return 0.0;
    }
    let slope = 2.0 * (offered - served) / served;
    if (slope * room).abs() < 1e-6 {
        return room / 2.0;
    }
    room / -libm::expm1(-slope * room) - 1.0 / slope
}

/// Max-min shares of `capacity` among demands: each gets what it asks for, or as much as any other that does
/// not.
fn max_min(wanted: &[f64], capacity: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let (mut shares, mut left) = (vec![0.0; wanted.len()], capacity);
    for (nth, &device) in order.iter().enumerate() {
        shares[device] = wanted[device].min(left / (wanted.len() - nth) as f64);
        left -= shares[device];
    }
    shares
}

/// A device's answer with what all share: each shared rate becomes a ceiling of this device's share.
fn with_shared(mut answer: Answer, shared: &Shared, share_gbps: f64) -> Answer {
    let of_all = shared.gbps();
    let whole = answer.gbps;
    for (bound, gbps) in &shared.ceilings {
        let ceiling = if share_gbps < whole { share_gbps * gbps / of_all } else { *gbps };
        answer.limit(*bound, ceiling);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_min_gives_the_modest_what_they_ask_for() {
        assert_eq!(max_min(&[10.0, 40.0, 30.0], 60.0), [10.0, 25.0, 25.0]);
        assert_eq!(max_min(&[10.0, 40.0], 60.0), [10.0, 40.0]);
        assert_eq!(max_min(&[10.0, 40.0], f64::INFINITY), [10.0, 40.0]);
    }

    #[test]
    fn a_pool_fills_as_offers_pass_service() {
        assert!((waiting(1.0, 1.0, 30.0) - 15.0).abs() < 1e-3);
        assert!((waiting(1.000_01, 1.0, 30.0) - 15.0).abs() < 1e-2, "no jump");
        assert!((waiting(2.0, 1.0, 30.0) - 29.5).abs() < 1e-9);
        assert!((waiting(0.5, 1.0, 30.0) - 1.0).abs() < 1e-9);
        assert_eq!(waiting(1.0, f64::INFINITY, 30.0), 0.0);
    }
}
