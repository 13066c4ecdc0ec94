//! Tells real devices from emulated ones, whose numbers are not measurements.

use crate::tree::Function;
use pcie_store::Origin;

/// Vendors of emulated devices: Red Hat (QEMU), virtio, and QEMU's own.
const EMULATED: [u16; 3] = [0x1b36, 0x1af4, 0x1234];
/// Hypervisor name of QEMU's interpreter (TCG).
const INTERPRETER: &[u8; 12] = b"TCGTCGTCGTCG";

/// Origin of the numbers of a function on this machine.
#[must_use]
pub fn origin(function: &Function) -> Origin {
    if EMULATED.contains(&function.vendor_id) || hypervisor().is_some_and(|name| &name == INTERPRETER) {
        Origin::Emulated
    } else {
        Origin::Measured
    }
}

/// Name of the hypervisor; none without one.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<[u8; 12]> {
    use std::arch::x86_64::__cpuid;
    const PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & PRESENT == 0 {
        return None;
    }
    let found = __cpuid(0x4000_0000);
    let mut name = [0; 12];
    for (to, word) in name.chunks_exact_mut(4).zip([found.ebx, found.ecx, found.edx]) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    Some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<[u8; 12]> {
    None
}
