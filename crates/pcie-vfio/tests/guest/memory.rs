//! Huge pages on a chosen node, and mappings of many small pages.

use super::{buffer, opened};
use pcie_host::{Buffer, PageSize, Topology};
use pcie_vfio::Mapped;
use std::time::{Duration, Instant};

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

/// Time to map a buffer in pages of 4 KiB.
fn mapping_time(bytes: u64) -> Duration {
    let device = opened("EDU");
    let memory = buffer(bytes, PageSize::FourKib, None);
    let started = Instant::now();
    let mut mapped = Mapped::new(device.space(), &memory, PageSize::FourKib).unwrap();
    let mapping = started.elapsed();
    mapped.unmap().unwrap();
    mapping
}

/// Four times the pages take four times as long, and would take sixteen times if each page were compared with
/// those before it. The least ratio counts: other programs of the machine slow single mappings down.
#[test]
#[ignore = "runs in the guest of make vm-test"]
fn time_of_mappings_grows_with_their_number() {
    let ratio = |_| mapping_time(64 << 20).as_secs_f64() / mapping_time(16 << 20).as_secs_f64();
    let ratios: Vec<f64> = (0..5).map(ratio).collect();
    println!("guest: 16384 mappings of 4 KiB take {ratios:.1?} times as long as 4096");
    assert!(ratios.iter().any(|ratio| *ratio < 8.0), "{ratios:?}");
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
