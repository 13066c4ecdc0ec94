//! The core that the tests of the `cpu` back end measure, and what it is asked.

use pcie_host::{Cold, HostOptions, PageSize};
use pcie_workload::{Operation, Path, Test};

pub fn options(cold: Cold) -> HostOptions {
    HostOptions { page_bytes: PageSize::FourKib, buffer_bytes: 16 << 20, node: None, core: None, cold }
}

pub fn test(operation: Operation, size_bytes: u64) -> Test {
    Test { path: Path::Command, ..Test::random_dma(operation, size_bytes, 1 << 20, 20_000) }
}
