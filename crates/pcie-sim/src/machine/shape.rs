//! What of a system its states depend on: which machines can take over each other's states.
//!
//! Most values of a system are times, and leave the contents of caches and IO-TLB as they are. Whoever looks at many
//! variants of one machine need not find out again for each of them what is where.

use super::Machine;
use crate::profile::{Host, IoTlb, Iommu, IommuMode, LastLevelCache, System};
use pcie_refusal::Refusal;
use std::sync::Arc;

impl Machine {
    /// A machine with other values, which shares the numbering of lines with this one where it has the same shape.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn variant(&self, system: System) -> Result<Self, Refusal> {
        let same = Shape::of(&system) == Shape::of(&self.system);
        Self::with_lines(system, if same { Arc::clone(&self.lines) } else { Arc::default() })
    }

    /// Whether a state of the other machine can be gone on with here: both have the same lines, sets and pages.
    #[must_use]
    pub fn fits_states_of(&self, other: &Self) -> bool {
        Shape::of(&self.system) == Shape::of(&other.system)
    }

    /// Whether the same preparations and tests leave both machines in the same state.
    #[must_use]
    pub fn keeps_states_of(&self, other: &Self) -> bool {
        let (one, two) = (&self.system.host, &other.system.host);
        self.fits_states_of(other)
            && one.llc.host_share == two.llc.host_share
            && one.iommu.tlb.entries == two.iommu.tlb.entries
    }

    /// Whether anything of one test can be seen in the next: what outlasts the host's thrash is the contents of the
    /// IO-TLB and, with several sockets, what lies in the caches of the others and whether memory was ever written.
    #[must_use]
    pub fn is_stateful(&self) -> bool {
        self.system.iommu != IommuMode::Off || self.system.host.sockets > 1
    }
}

#[derive(PartialEq)]
struct Shape<'a> {
    cache: [u64; 4],
    slice_spread: f64,
    sockets: [u32; 4],
    iommu: IommuMode,
    chunk_bytes: u64,
    chunk_addresses: &'a [u64],
    address_bits: Option<u32>,
}

impl<'a> Shape<'a> {
    fn of(system: &'a System) -> Self {
        // Taken apart by name, so that a new key cannot be forgotten here.
        let Host { name: _, sockets, root_complex: _, llc, memory: _, iommu, idle: _ } = &system.host;
        let LastLevelCache { llc_bytes, ways, ddio_ways, slices, slice_spread, host_share: _ } = llc;
        let Iommu {
            tlb,
            walk_ns: _,
            walkers: _,
            walker_busy_ns: _,
            busy_walk_spread: _,
            pending_walks: _,
            walk_region_bytes: _,
        } = iommu;
        let IoTlb { entries: _ } = tlb;
        Self {
            cache: [*llc_bytes, u64::from(*ways), u64::from(*ddio_ways), u64::from(*slices)],
            slice_spread: *slice_spread,
            sockets: [*sockets, system.device_socket, system.memory_socket, system.program_socket],
            iommu: system.iommu,
            chunk_bytes: system.chunk_bytes,
            chunk_addresses: &system.chunk_addresses,
            address_bits: system.device.command.as_ref().map(|command| command.address_bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_systems::snb;

    #[test]
    fn times_leave_states_alone_and_sizes_do_not() {
        let machine = snb();
        let changed = |change: fn(&mut crate::profile::System)| {
            let mut system = machine.system().clone();
            change(&mut system);
            machine.variant(system).unwrap()
        };
        let slower = changed(|system| system.host.memory.miss_ns += 10.0);
        assert!(slower.keeps_states_of(&machine));
        let leaky = changed(|system| system.host.llc.host_share = 0.5);
        assert!(leaky.fits_states_of(&machine) && !leaky.keeps_states_of(&machine));
        let wider = changed(|system| system.host.llc.ddio_ways = 4);
        assert!(!wider.fits_states_of(&machine));
        assert!(!machine.is_stateful());
        assert!(changed(|system| system.iommu = crate::profile::IommuMode::FourKibPages).is_stateful());
    }
}
