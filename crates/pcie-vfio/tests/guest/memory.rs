//! Huge pages on a chosen node, and mappings of many small pages.

use super::{buffer, opened};
use pcie_host::{Buffer, PageSize, Topology};
use pcie_vfio::Mapped;
use std::time::{Duration, Instant};

/// Limit on the time to map the buffer. The kernel takes 0.3 s for a quarter of it.
const MANY_LIMIT: Duration = Duration::from_secs(3);

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn huge_pages_are_on_the_chosen_node() {
    for node in [0, 1] {
        let memory = Buffer::allocate(4 << 20, PageSize::TwoMib, Some(node), &Topology::here()).unwrap();
        assert_eq!(memory.node(), Some(node));
        let device = opened("EDU");
        let memory = std::rc::Rc::new(std::cell::RefCell::new(memory));
        Mapped::new(device.space(), &memory, PageSize::TwoMib).unwrap();
    }
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn large_buffer_is_mapped_page_by_page_in_time() {
    let device = opened("EDU");
    let memory = buffer(64 << 20, PageSize::FourKib, None);
    let started = Instant::now();
    let mut mapped = Mapped::new(device.space(), &memory, PageSize::FourKib).unwrap();
    let (mapping, started) = (started.elapsed(), Instant::now());
    mapped.unmap().unwrap();
    println!("guest: 16384 mappings of 4 KiB: {mapping:?}, unmapped in {:?}", started.elapsed());
    assert!(mapping < MANY_LIMIT, "{mapping:?}");
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn too_many_mappings_are_refused() {
    let device = opened("EDU");
    let memory = buffer(2 << 20, PageSize::TwoMib, None);
    assert!(Mapped::new(device.space(), &memory, PageSize::TwoMib).is_ok());
    // More mappings than the kernel allows.
    let large = buffer(272 << 20, PageSize::FourKib, None);
    let error = Mapped::new(device.space(), &large, PageSize::FourKib).map(drop).unwrap_err().to_string();
    assert!(error.contains("takes 69632 mappings, the kernel allows 6553"), "{error}");
    assert!(error.contains("dma_entry_limit"), "{error}");
}
