//! The C library that the tests of this repository link. `make port` builds the one for users.

pub use pcie_port::abi::*;
