//! QEMU's teaching device: DMA both ways, an interrupt, and DMA to unmapped memory.

use super::{address, buffer, opened};
use pcie_host::PageSize;
use pcie_vfio::{Mapped, Opened, Tree, Window};
use std::time::{Duration, Instant};

/// Its registers, and the address of its memory for its own DMA engine.
const IDENTITY: u64 = 0x00;
const RAISE: u64 = 0x60;
const ACKNOWLEDGE: u64 = 0x64;
const DMA_SOURCE: u64 = 0x80;
const DMA_TARGET: u64 = 0x88;
const DMA_BYTES: u64 = 0x90;
const DMA_COMMAND: u64 = 0x98;
pub(super) const OWN_MEMORY: u64 = 0x4_0000;
/// Twice as many bytes at once end QEMU 7.2.
pub(super) const BYTES: usize = 2048;
const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn device() -> (Opened, Window) {
    let device = opened("EDU");
    let registers = device.bar(0, 0, None).unwrap();
    assert_eq!(registers.read(IDENTITY).map(|identity| identity & 0xffff), Some(0xed));
    (device, registers)
}

pub(super) fn transfer(registers: &Window, from: u64, to: u64, to_host: bool) {
    for (register, value) in [(DMA_SOURCE, from), (DMA_TARGET, to), (DMA_BYTES, BYTES as u64)] {
        assert!(registers.write_long(register, value));
    }
    assert!(registers.write_long(DMA_COMMAND, 1 | u64::from(to_host) << 1));
    let started = Instant::now();
    while registers.read_long(DMA_COMMAND).is_some_and(|command| command & 1 == 1) {
        assert!(started.elapsed() < LIMIT, "the transfer does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn faults() -> usize {
    let log = std::process::Command::new("dmesg").output().unwrap();
    String::from_utf8_lossy(&log.stdout).lines().filter(|line| line.contains("DMAR: [DMA")).count()
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn data_go_both_ways_through_all_page_sizes() {
    for (pages, iommu) in [
        (PageSize::FourKib, PageSize::FourKib),
        (PageSize::TwoMib, PageSize::TwoMib),
        (PageSize::TwoMib, PageSize::FourKib),
    ] {
        let (device, registers) = device();
        let memory = buffer(2 << 20, pages, None);
        let mapped = Mapped::new(device.space(), &memory, iommu).unwrap();
        // Across the end of the first small page.
        let offset = 4096 - BYTES / 2;
        let message: Vec<u8> = (0..BYTES).map(|byte| (byte * 31 + byte / 256) as u8).collect();
        assert!(memory.borrow_mut().copy_in(offset as u64, &message));
        transfer(&registers, mapped.iova() + offset as u64, OWN_MEMORY, false);
        transfer(&registers, OWN_MEMORY, mapped.iova() + 8192, true);
        assert_eq!(memory.borrow().copied(8192, BYTES).unwrap(), message);
        let behind = memory.borrow().copied(8192 + BYTES as u64, 8192 - BYTES).unwrap();
        assert!(behind.iter().all(|byte| *byte == 0));
    }
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn interrupt_is_counted() {
    let (device, registers) = device();
    let interrupt = device.interrupt().unwrap();
    assert_eq!(interrupt.wait(Duration::from_millis(1)), 0);
    assert!(registers.write(RAISE, 1));
    assert_eq!(interrupt.wait(LIMIT), 1);
    assert!(registers.write(ACKNOWLEDGE, 1));
    assert_eq!(interrupt.wait(Duration::from_millis(1)), 0);
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn dma_to_unmapped_memory_faults_and_writes_nothing() {
    let (device, registers) = device();
    let memory = buffer(1 << 20, PageSize::FourKib, None);
    let mut mapped = Mapped::new(device.space(), &memory, PageSize::FourKib).unwrap();
    assert!(memory.borrow_mut().fill(0, BYTES as u64, 0x5a));
    transfer(&registers, mapped.iova(), OWN_MEMORY, false);
    let (before, address) = (faults(), mapped.iova() + 65536);
    mapped.unmap().unwrap();
    transfer(&registers, OWN_MEMORY, address, true);
    let held = memory.borrow().copied(65536, BYTES).unwrap();
    assert!(held.iter().all(|byte| *byte == 0), "the device wrote it");
    assert!(faults() > before, "the kernel reported no fault");
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn closing_leaves_nothing_behind() {
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let config =
        || std::fs::read(Tree::here().function(address("EDU")).unwrap().folder.join("config")).unwrap();
    let (files_before, command_before) = (files(), config()[4]);
    assert_eq!(command_before & 4, 0, "bus mastering is on before opening");
    let (mut device, _registers) = device();
    assert_eq!(device.command().unwrap() & 4, 4);
    device.close().unwrap();
    assert_eq!(device.command().unwrap() & 4, 0);
    drop((device, _registers));
    assert_eq!((files(), config()[4]), (files_before, command_before));
}
