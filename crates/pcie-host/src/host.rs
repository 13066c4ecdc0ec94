//! This machine as the host of a bench.

use crate::buffer::{Buffer, SharedBuffer};
use crate::caches::{Thrash, flush};
use crate::clock::Clock;
use crate::coldness::Sample;
use crate::error::HostError;
use crate::kernel;
use crate::options::{Cold, HostOptions};
use crate::topology::Topology;
use pcie_bench::{CacheFacts, Condition, DeviceError, Host, HostFacts, HostHardware, Start, Stop};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

/// This machine.
#[derive(Debug)]
pub struct RealHost {
    options: HostOptions,
    topology: Topology,
    buffer: SharedBuffer,
    core: u32,
    /// Allocated on first use.
    thrash: Option<Thrash>,
    /// Measured on first use.
    clock: Option<Clock>,
    /// Tests begun.
    tests: u64,
    /// Share of sampled lines that were in no cache after the last thrash.
    cold_share: Option<f64>,
    /// Window of the current test, bytes.
    window_bytes: u64,
    /// Stop request of the current test.
    stop: Stop,
}

impl RealHost {
    /// Pins this thread and allocates the buffer; fails if core, pages, node or flush are missing.
    ///
    /// Without a core in the options, it takes the first allowed one of the device's NUMA node, `device_node`,
    /// or else the first allowed one.
    pub fn open(
        options: &HostOptions,
        topology: Topology,
        device_node: Option<u32>,
    ) -> Result<(Self, SharedBuffer), HostError> {
        let default = || default_core(&kernel::allowed_processors(), &topology, device_node);
        let core = options.core.unwrap_or_else(default);
        kernel::pin(core)?;
        if options.cold == Cold::Flush {
            flush(NonNull::dangling(), 0)?;
        }
        let buffer = Buffer::allocate(options.buffer_bytes, options.page_bytes, options.node, &topology)?;
        let buffer = Rc::new(RefCell::new(buffer));
        let host = Self {
            options: options.clone(),
            topology,
            buffer: Rc::clone(&buffer),
            core,
            thrash: None,
            clock: None,
            tests: 0,
            cold_share: None,
            window_bytes: 0,
            stop: Stop::default(),
        };
        Ok((host, buffer))
    }

    /// The core that the program is pinned to.
    #[must_use]
    pub fn core(&self) -> u32 {
        self.core
    }

    fn window(&self, window_bytes: u64) -> Result<u64, DeviceError> {
        let length = self.buffer.borrow().length();
        if window_bytes > length {
            return Err(over_buffer(window_bytes, length));
        }
        Ok(window_bytes)
    }
}

/// The first allowed core on the device's node, or else the first allowed one.
fn default_core(allowed: &[u32], topology: &Topology, device_node: Option<u32>) -> u32 {
    let near = device_node.map(|node| topology.processors_of_node(node)).unwrap_or_default();
    let nearest = allowed.iter().find(|core| near.contains(core));
    nearest.or(allowed.first()).copied().unwrap_or(0)
}

/// The error for a window larger than the buffer.
#[must_use]
pub fn over_buffer(window_bytes: u64, buffer_bytes: u64) -> DeviceError {
    DeviceError::NotSupported(format!(
        "window_bytes is {window_bytes}: the buffer has {buffer_bytes} bytes (host.buffer_bytes)"
    ))
}

impl Host for RealHost {
    fn facts(&self) -> HostFacts {
        let caches = self.topology.caches(self.core).into_iter().map(|cache| CacheFacts {
            level: cache.level,
            holds: cache.holds,
            bytes: cache.bytes,
            shared_by: cache.shared_by,
        });
        let buffer = self.buffer.borrow();
        let socket = self.topology.socket(self.core);
        let processor = self.topology.processor_name();
        HostFacts {
            name: processor.clone().unwrap_or_else(|| "this machine".to_owned()),
            sockets: self.topology.sockets(),
            llc_bytes: self.topology.last_level_cache(self.core).map(|cache| cache.bytes),
            buffer_bytes: buffer.length(),
            device_socket: socket,
            memory_socket: buffer.node().and_then(|node| self.topology.socket_of_node(node)),
            program_socket: socket,
            hardware: Some(HostHardware {
                processor,
                caches: caches.collect(),
                kernel: self.topology.kernel(),
                command_line: self.topology.command_line(),
                page_bytes: Some(self.options.page_bytes.bytes()),
                node: buffer.node(),
                core: Some(self.core),
                iommu: None,
                governor: self.topology.governor(self.core),
                turbo: self.topology.turbo(),
                cold: Some(if self.options.cold == Cold::Flush { "flush" } else { "thrash" }.to_owned()),
                ddio_way_mask: self.topology.ddio_way_mask(self.core),
                shared_way_mask: self.topology.shared_way_mask(),
                io_alloc: self.topology.io_alloc(),
                prefetchers_off: self.topology.prefetchers_off(self.core),
            }),
        }
    }

    fn conditions(&mut self) -> Vec<Condition> {
        vec![
            Condition::new("load", "1", self.topology.load()),
            Condition::new("clock", "MHz", self.topology.clock_mhz(self.core)),
            Condition::new("temperature", "C", self.topology.temperature_c()),
            Condition::new("cold_share", "1", self.cold_share),
        ]
    }

    fn begin(&mut self, start: Start<'_>) {
        self.window_bytes = start.test.window_bytes;
        self.tests += 1;
        self.cold_share = None;
        self.stop = start.stop.clone();
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let window = self.window(self.window_bytes)?;
        let sample = Sample::of(window, self.tests);
        sample.load(&self.buffer.borrow());
        let cold = match self.options.cold {
            Cold::Flush => self.buffer.borrow().flush(usize::try_from(window).unwrap_or(usize::MAX)),
            Cold::Thrash => {
                let thrash = self.thrash.get_or_insert_with(|| Thrash::new(&self.topology, self.core));
                thrash.run(&self.stop)
            }
        };
        cold.map_err(|error| DeviceError::Failed(error.to_string()))?;
        let clock = self.clock.get_or_insert_with(|| Clock::measured(&self.topology));
        self.cold_share = sample.cold_share(&self.buffer.borrow(), clock);
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let page = self.options.page_bytes.bytes();
        let window = self.window(window_bytes)?;
        let mut buffer = self.buffer.borrow_mut();
        let whole = window.next_multiple_of(page).min(buffer.length());
        for _ in 0..4 {
            buffer.write_through(whole, &self.stop);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PageSize;
    use crate::topology::tests::machine;
    use pcie_workload::{Operation, Test};

    /// The share of cold lines after a thrash, which a stop request prevents from writing anything.
    fn cold_share(host: &mut RealHost, stopped: bool) -> Option<f64> {
        let (test, stop) = (Test::random_dma(Operation::LatRd, 64, 1 << 18, 100), Stop::default());
        if stopped {
            stop.request();
        }
        host.begin(Start { position: 0, seed: 1, test: &test, stop: &stop });
        host.thrash().unwrap();
        let found = host.conditions();
        found.iter().find(|condition| condition.metric == "cold_share").unwrap().value
    }

    #[test]
    fn thrash_that_evicts_nothing_is_noticed() {
        let options = HostOptions {
            page_bytes: PageSize::FourKib,
            buffer_bytes: 1 << 20,
            node: None,
            core: None,
            cold: Cold::Thrash,
        };
        let (mut host, _buffer) = RealHost::open(&options, Topology::here(), None).unwrap();
        // Other processes evict lines, too, and take the core while a line is timed.
        let tries: Vec<f64> = (0..20).filter_map(|_| cold_share(&mut host, true)).collect();
        let Some(idle) = tries.into_iter().reduce(f64::min) else { return };
        let Some(thrashed) = (0..20).find_map(|_| cold_share(&mut host, false)) else { return };
        assert!(idle < 0.25 && thrashed > 0.75, "{idle} without a thrash, {thrashed} after one");
    }

    #[test]
    fn default_core_is_on_the_node_of_the_device() {
        let (_directory, topology) = machine(&[
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("sys/devices/system/node/node1/cpulist", "4-7\n"),
        ]);
        for (allowed, device_node, core) in [
            (&[0, 1, 5, 6][..], Some(1), 5),
            (&[0, 1, 5, 6], Some(0), 0),
            (&[2, 5], None, 2),
            (&[2, 3], Some(1), 2),
            (&[2, 3], Some(9), 2),
        ] {
            assert_eq!(default_core(allowed, &topology, device_node), core, "{allowed:?} {device_node:?}");
        }
    }
}
