//! A BAR of one device in the address space of another.

use super::{buffer, edu, opened};
use pcie_host::PageSize;
use pcie_vfio::{Mapped, Peer};

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn dma_reaches_the_bar_of_a_peer() {
    let (device, registers) = edu::device();
    let other = opened("PEER");
    let memory = buffer(2 << 20, PageSize::FourKib, None);
    let mapped = Mapped::new(device.space(), &memory, PageSize::FourKib).unwrap();
    let mut peer = Peer::new(device.space(), &other, (2, 64 << 10, 8192)).unwrap();
    let message: Vec<u8> = (0..edu::BYTES).map(|byte| (byte * 13 + byte / 256) as u8).collect();
    assert!(memory.borrow_mut().copy_in(4096, &message));
    edu::transfer(&registers, mapped.iova() + 4096, edu::OWN_MEMORY, false);
    edu::transfer(&registers, edu::OWN_MEMORY, peer.iova() + 4096, true);
    let words = message.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    for (number, word) in words.enumerate() {
        assert_eq!(peer.window().read(4096 + 4 * number as u64), Some(word), "{number}");
    }
    peer.unmap().unwrap();
    assert!(Peer::new(device.space(), &other, (5, 0, 4096)).is_err());
}
