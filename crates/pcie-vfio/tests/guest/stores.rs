//! Stores into a BAR that is memory, which the test outside the guest reads.

use super::address;
use pcie_vfio::pio::stores::{StoreLoop, fence};
use pcie_vfio::{Tree, Window};
use std::fs::OpenOptions;

/// Bytes of the BAR for each loop.
const AREA: u64 = 64 << 10;

/// A message whose bytes depend on the loop and the offset.
#[repr(align(64))]
struct Message([u8; AREA as usize]);

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn every_loop_stores_through_both_mappings() {
    let function = Tree::here().function(address("MEMORY")).unwrap();
    let loops = StoreLoop::here();
    let mut names = Vec::new();
    for (number, (one, suffix)) in loops.iter().flat_map(|one| [(one, ""), (one, "_wc")]).enumerate() {
        let path = function.folder.join(format!("resource2{suffix}"));
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let window = Window::map(&file, number as u64 * AREA, AREA as usize).unwrap();
        let mut message = Box::new(Message([0; AREA as usize]));
        for (offset, byte) in message.0.iter_mut().enumerate() {
            *byte = (offset * 7 + offset / 256 + number) as u8;
        }
        // SAFETY: the window is as long as the message, and both are aligned to a line.
        unsafe { one.store(window.part(0, AREA as usize).unwrap(), &message.0) };
        fence();
        names.push(format!("{:?} {}{suffix}", one.instruction, one.width));
    }
    std::fs::write("/tmp/out/stores.txt", names.join("\n")).unwrap();
}
