//! Settings that decide what writes of devices and prefetchers leave in the caches.
//!
//! They come from model-specific registers, which the kernel shows root as `/dev/cpu/N/msr` once the module
//! `msr` is loaded, and from resctrl, if it is mounted. A setting that cannot be read is absent. Sources: Intel
//! SDM, volume 4, MSR_MISC_FEATURE_CONTROL (1A4H); Farshin et al., "Reexamining Direct Cache Access to
//! Optimize I/O Intensive Applications", ATC 2020, for IIO_LLC_WAYS (C8BH); Linux, `filesystems/resctrl`.

use crate::topology::Topology;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Register of Xeon processors: ways of the last-level cache that writes of devices may fill (DDIO).
const IIO_LLC_WAYS: u64 = 0xc8b;
/// Register of Intel processors: a set bit switches a prefetcher of the core off.
const MISC_FEATURE_CONTROL: u64 = 0x1a4;
/// Prefetchers by bit of that register.
const PREFETCHERS: [&str; 4] = ["l2-stream", "l2-adjacent-line", "l1-next-line", "l1-instruction-pointer"];
/// resctrl's facts about the last-level cache.
const RESCTRL: &str = "sys/fs/resctrl/info/L3";

impl Topology {
    /// Ways of the last-level cache that writes of devices may fill (DDIO), as a mask.
    #[must_use]
    pub fn ddio_way_mask(&self, processor: u32) -> Option<u64> {
        // Some hypervisors answer unknown registers with 0; DDIO always has a way.
        self.intel_register(processor, IIO_LLC_WAYS).filter(|mask| *mask != 0)
    }

    /// Prefetchers of a core that are off.
    #[must_use]
    pub fn prefetchers_off(&self, processor: u32) -> Option<Vec<String>> {
        let control = self.intel_register(processor, MISC_FEATURE_CONTROL)?;
        let off = (0..).zip(PREFETCHERS).filter(|(bit, _)| control >> bit & 1 == 1);
        Some(off.map(|(_, name)| name.to_owned()).collect())
    }

    /// Ways of the last-level cache that devices share with the cores, as resctrl's mask.
    #[must_use]
    pub fn shared_way_mask(&self) -> Option<u64> {
        let text = self.text(&format!("{RESCTRL}/shareable_bits"))?;
        u64::from_str_radix(&text, 16).ok()
    }

    /// resctrl's `io_alloc`: whether devices have their own part of the last-level cache.
    #[must_use]
    pub fn io_alloc(&self) -> Option<String> {
        self.text(&format!("{RESCTRL}/io_alloc")).filter(|text| !text.is_empty() && text.len() <= 64)
    }

    fn intel_register(&self, processor: u32, register: u64) -> Option<u64> {
        if self.processor_value("vendor_id")? != "GenuineIntel" {
            return None;
        }
        let file = File::open(self.path(&format!("dev/cpu/{processor}/msr"))).ok()?;
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, register).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;

    /// A made-up machine of a vendor, with registers of processor 3.
    fn with_registers(vendor: &str, registers: &[(u64, u64)]) -> (tempfile::TempDir, Topology) {
        let cpuinfo = format!("processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: A Processor\n");
        let (directory, topology) = machine(&[("proc/cpuinfo", &cpuinfo), ("dev/cpu/3/msr", "")]);
        let file = File::options().write(true).open(directory.path().join("dev/cpu/3/msr")).unwrap();
        for (register, value) in registers {
            file.write_all_at(&value.to_le_bytes(), *register).unwrap();
        }
        (directory, topology)
    }

    #[test]
    fn reads_ddio_ways_and_prefetchers() {
        let registers = [(MISC_FEATURE_CONTROL, 0b1010), (IIO_LLC_WAYS, 0x600)];
        let (_directory, topology) = with_registers("GenuineIntel", &registers);
        assert_eq!(topology.ddio_way_mask(3), Some(0x600));
        let off = ["l2-adjacent-line", "l1-instruction-pointer"].map(str::to_owned).to_vec();
        assert_eq!(topology.prefetchers_off(3), Some(off));
        assert_eq!((topology.ddio_way_mask(0), topology.prefetchers_off(0)), (None, None), "no such file");
    }

    #[test]
    fn other_vendors_and_missing_registers_give_none() {
        let registers = [(MISC_FEATURE_CONTROL, 0), (IIO_LLC_WAYS, 0)];
        let (_directory, zeros) = with_registers("GenuineIntel", &registers);
        assert_eq!((zeros.ddio_way_mask(3), zeros.prefetchers_off(3)), (None, Some(vec![])));
        let (_directory, other) = with_registers("AuthenticAMD", &[(IIO_LLC_WAYS, 0x600)]);
        assert_eq!((other.ddio_way_mask(3), other.prefetchers_off(3)), (None, None));
        let (_directory, short) = with_registers("GenuineIntel", &[(MISC_FEATURE_CONTROL, 1)]);
        assert_eq!(short.ddio_way_mask(3), None);
        assert_eq!(short.prefetchers_off(3).unwrap(), ["l2-stream"]);
    }

    #[test]
    fn reads_resctrl_where_it_is_mounted() {
        let info = |name: &str| format!("sys/fs/resctrl/info/L3/{name}");
        let (_directory, topology) =
            machine(&[(&info("shareable_bits"), "c0000\n"), (&info("io_alloc"), "disabled\n")]);
        assert_eq!(topology.shared_way_mask(), Some(0xc_0000));
        assert_eq!(topology.io_alloc().as_deref(), Some("disabled"));
        let (_directory, without) = machine(&[(&info("shareable_bits"), "none\n")]);
        assert_eq!((without.shared_way_mask(), without.io_alloc()), (None, None));
    }
}
