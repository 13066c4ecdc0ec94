//! The keys of a system that determine its states: machines of the same shape can share states.
//!
//! Most keys are times, which do not affect the contents of caches and IO-TLB. Variants of a machine that
//! differ only in these need not compute states again.

use super::Machine;
use crate::profile::{Host, IoTlb, Iommu, IommuMode, LastLevelCache, System};
use pcie_refusal::Refusal;
use std::sync::Arc;

impl Machine {
    /// A machine with other values; it shares the line numbers of this one if it has the same shape.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn variant(&self, system: System) -> Result<Self, Refusal> {
        let same = Shape::of(&system) == Shape::of(&self.system);
        Self::with_lines(system, if same { Arc::clone(&self.lines) } else { Arc::default() })
    }

    /// Whether this machine can continue from a state of `other`: both have the same lines, sets and pages.
    #[must_use]
    pub fn fits_states_of(&self, other: &Self) -> bool {
        Shape::of(&self.system) == Shape::of(&other.system)
    }

    /// Whether a test can affect the next one. The host's thrash leaves the IO-TLB, and with several sockets
    /// the caches of the others and the record of lines ever written.
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
        // Destructured, so that the compiler reports a new key here.
        let Host { name: _, sockets, root_complex: _, llc, memory: _, iommu, load: _, idle: _ } =
            &system.host;
        let LastLevelCache { llc_bytes, ways, ddio_ways, slices, slice_spread, host_share: _ } = llc;
        let Iommu {
            tlb,
            walk_ns: _,
            walkers: _,
            walker_busy_ns: _,
            busy_walk_spread: _,
            pending_walks: _,
            walk_region_bytes: _,
            ordered_reads: _,
            page_life: _,
            invalidation: _,
            strict_walk_reads: _,
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
    fn sizes_change_states_and_times_do_not() {
        let machine = snb();
        let changed = |change: fn(&mut crate::profile::System)| {
            let mut system = machine.system().clone();
            change(&mut system);
            machine.variant(system).unwrap()
        };
        let slower = changed(|system| system.host.memory.miss_ns += 10.0);
        assert!(slower.fits_states_of(&machine));
        let wider = changed(|system| system.host.llc.ddio_ways = 4);
        assert!(!wider.fits_states_of(&machine));
        assert!(!machine.is_stateful());
        assert!(changed(|system| system.iommu = crate::profile::IommuMode::FourKibPages).is_stateful());
    }
}
