//! Tests that need a kernel with VFIO and expendable devices: the guest of `make vm-test` runs them one by
//! one. Environment variables hold the addresses of the devices.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

mod claims;
mod commands;
mod edu;
mod exit;
mod mapped;
mod memory;
mod packets;
mod peers;
mod stores;

use pcie_host::{Buffer, PageSize, SharedBuffer, Topology};
use pcie_vfio::{Address, Opened, Tree};
use std::cell::RefCell;
use std::rc::Rc;

/// The address of a device, from the environment.
fn address(name: &str) -> Address {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: this runs in the guest of make vm-test"))
        .parse()
        .unwrap()
}

fn opened(name: &str) -> Opened {
    Opened::open(&Tree::here(), address(name)).unwrap().0
}

fn buffer(bytes: u64, pages: PageSize, node: Option<u32>) -> SharedBuffer {
    Rc::new(RefCell::new(Buffer::allocate(bytes, pages, node, &Topology::here()).unwrap()))
}
