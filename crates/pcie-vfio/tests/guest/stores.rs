//! Stores into a BAR that is memory, which whoever started the guest can look at.

use super::address;
use pcie_vfio::pio::stores::{StoreLoop, fence};
use pcie_vfio::{Tree, Window};
use std::fs::OpenOptions;

/// Bytes of the BAR that each loop gets.
const AREA: u64 = 64 << 10;

/// A message whose bytes tell the loop and the place.
#[repr(align(64))]
struct Message([u8; AREA as usize]);

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn every_loop_stores_through_both_mappings() {
    let function = Tree::here().function(address("MEMORY")).unwrap();
    let loops = StoreLoop::here();
    let mut told = Vec::new();
    for (number, (one, suffix)) in loops.iter().flat_map(|one| [(one, ""), (one, "_wc")]).enumerate() {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(function.folder.join(format!("resource2{suffix}")))
            .unwrap();
        let window = Window::map(&file, number as u64 * AREA, AREA as usize).unwrap();
        let mut message = Box::new(Message([0; AREA as usize]));
        message
            .0
            .iter_mut()
            .enumerate()
            .for_each(|(place, byte)| *byte = (place * 7 + place / 256 + number) as u8);
        // SAFETY: the window is as long as the message, and both begin at a line.
        unsafe { one.store(window.part(0, AREA as usize).unwrap(), &message.0) };
        fence();
        told.push(format!("{:?} {}{suffix}", one.instruction, one.width));
    }
    std::fs::write("/tmp/out/stores.txt", told.join("\n")).unwrap();
}
