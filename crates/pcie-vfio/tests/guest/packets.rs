//! An interface that a program listens at while it is down, as captures and LLDP do.

use super::address;
use pcie_vfio::{Purpose, Tree, bind};
use std::os::fd::{FromRawFd, OwnedFd};

/// A packet socket of all protocols on an interface.
fn packet_socket(index: i32) -> OwnedFd {
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: makes a socket, or returns -1.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, protocol.into()) };
    assert!(socket >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the socket was just made, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: zero is a value of every field.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    (to.sll_family, to.sll_protocol, to.sll_ifindex) = (libc::AF_PACKET as u16, protocol, index);
    let (bytes, at) = (size_of_val(&to) as u32, (&raw const to).cast());
    // SAFETY: the address is of this family, and of that many bytes.
    let bound = unsafe { libc::bind(std::os::fd::AsRawFd::as_raw_fd(&socket), at, bytes) };
    assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
    socket
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn packets_are_listened_for() {
    let (nic, interface) = (address("WIRE"), std::env::var("INTERFACE").unwrap());
    let index = std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex")).unwrap();
    let socket = packet_socket(index.trim().parse().unwrap());
    let error = bind(&Tree::here(), nic, Purpose::Vfio, None).unwrap_err().to_string();
    assert!(error.contains(&format!("a program listens at {interface} with a packet socket")), "{error}");
    println!("{error}");
    drop(socket);
}
