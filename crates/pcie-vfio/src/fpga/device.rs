//! The core as the device of a bench.

use super::pattern::Pattern;
use crate::chosen::{Beside, Chosen};
use crate::facts::hardware;
use crate::host::{Contents, SharedContents};
use crate::obstacle;
use crate::opened::Opened;
use crate::transport::Vfio;
use crate::tree::Function;
use pcie_bench::{BandwidthSlice, Device, DeviceError, DeviceFacts, LatencySlice, Start, Stop, TimerFacts};
use pcie_driver::{Core, CoreFacts, DriverError, Progress};
use pcie_host::{SharedBuffer, over_buffer};
use pcie_refusal::Refusal;
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, Operation, Pattern as Order, Test};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Key of the data of every test: a test leaves the data that the next one expects.
const DATA_KEY: u32 = 0x5bd1_e995;
/// Longest transfer, bytes: a page.
const TRANSFER_BYTES_MOST: u64 = 4096;
const THRASH_BYTES: u64 = 128 << 20;
/// Transfer size of warming and thrashing, bytes.
const LINE_BYTES: u64 = 64;
/// Silence after which the core counts as lost, ms.
const DEADLINE_MS: u64 = 10_000;

pub(super) struct FpgaDevice {
    chosen: Chosen,
    function: Function,
    buffer: SharedBuffer,
    contents: SharedContents,
    facts: CoreFacts,
    /// None between a failure and recovery, and after closing.
    core: Option<Core<Vfio>>,
    begun: Option<(AddressList, Stop)>,
}

impl FpgaDevice {
    pub(super) fn open(beside: Beside<'_>) -> Result<Self, Refusal> {
        let Beside { chosen, buffer, contents, .. } = beside;
        let (core, function) = open_core(chosen, buffer)?;
        Ok(Self {
            chosen: chosen.clone(),
            function,
            buffer: Rc::clone(buffer),
            contents,
            facts: core.facts(),
            core: Some(core),
            begun: None,
        })
    }

    fn clock_ns(&self) -> f64 {
        f64::from(self.facts.clock_ps) / 1000.0
    }

    /// The core, with addresses and stop request of the current test.
    fn begun(&mut self, test: &Test) -> Result<(&mut Core<Vfio>, AddressList, Stop), DeviceError> {
        let length = self.buffer.borrow().length();
        if test.window_bytes > length {
            return Err(over_buffer(test.window_bytes, length));
        }
        let missing = || DeviceError::Failed("internal error: test started before begin()".into());
        let (addresses, stop) = self.begun.clone().ok_or_else(missing)?;
        let closed = || DeviceError::Failed("the board is closed".into());
        Ok((self.core.as_mut().ok_or_else(closed)?, addresses, stop))
    }

    /// Makes the core write lines, in an order, to the first bytes of the buffer.
    fn write(&mut self, bytes: u64, order: Order, lines: u64) -> Result<(), DeviceError> {
        let test = Test { pattern: order, ..Test::random_dma(Operation::BwWr, LINE_BYTES, bytes, lines) };
        let list = AddressList::new(&test, Draws::new(u64::from(DATA_KEY), 0, Stream::Addresses));
        let (core, _, stop) = self.begun(&test)?;
        let go_on = |_| if stop.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        core.bandwidth(&test, &list, DATA_KEY, &mut |progress| go_on(progress)).map_err(raised)
    }
}

fn open_core(chosen: &Chosen, buffer: &SharedBuffer) -> Result<(Core<Vfio>, Function), Refusal> {
    let address = chosen.address;
    let (opened, function) = Opened::open(&chosen.tree, address)?;
    let link_tags = opened.link_tags()?;
    let transport = Vfio::new(opened, 0, 1, buffer, chosen.host.iommu_page_bytes)?;
    let refused = |error: DriverError| obstacle::device(address, error);
    let mut core = Core::open(transport).map_err(refused)?;
    core.limit_tags(link_tags).map_err(refused)?;
    core.set_buffer().map_err(refused)?;
    Ok((core, function))
}

fn raised(error: DriverError) -> DeviceError {
    match error {
        DriverError::Unsupported(missing) => DeviceError::NotSupported(missing.to_string()),
        DriverError::Transport(_) => DeviceError::Lost(error.to_string()),
        error => DeviceError::Failed(error.to_string()),
    }
}

impl Device for FpgaDevice {
    fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            name: format!("pcielab core, {} bit, {} tags", 8 * self.facts.data_bytes, self.facts.tags),
            timer: TimerFacts { numerator_ns: u64::from(self.facts.clock_ps), denominator: 1000, cycles: 1 },
            dma_transfer_bytes_most: Some(TRANSFER_BYTES_MOST),
            command_transfer_bytes_most: None,
            outstanding: Some(self.facts.tags),
            hardware: Some(hardware(&self.function, "core", DEADLINE_MS)),
        }
    }

    fn begin(&mut self, start: Start<'_>) {
        self.begun = Some((start.addresses(), start.stop.clone()));
        // A read that overtakes its write finds the other pattern.
        let pair = start.test.operation == Operation::LatWrrd;
        let pattern = Pattern(if pair { !DATA_KEY } else { DATA_KEY });
        pattern.fill(&mut self.buffer.borrow_mut(), start.test.window_bytes);
        *self.contents.borrow_mut() = Some(Box::new(pattern));
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let length = self.buffer.borrow().length();
        self.write(length, Order::Random, THRASH_BYTES / LINE_BYTES)
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        self.write(window_bytes, Order::Sequential, 2 * (window_bytes / LINE_BYTES))
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let clock_ns = self.clock_ns();
        let (core, list, stop) = self.begun(test)?;
        let mut take = |ticks: &[u32], clocks: u64| {
            let flow = sink(&LatencySlice { ticks: ticks.to_vec(), elapsed_ns: clocks as f64 * clock_ns });
            if stop.is_requested() { ControlFlow::Break(()) } else { flow }
        };
        core.latency(test, &list, DATA_KEY, &mut take).map_err(raised)
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let clock_ns = self.clock_ns();
        let (core, list, stop) = self.begun(test)?;
        let mut before = Progress::default();
        let mut take = |now: Progress| {
            let since = std::mem::replace(&mut before, now);
            let transactions = now.transactions - since.transactions;
            let elapsed_ns = (now.clocks - since.clocks) as f64 * clock_ns;
            let flow = sink(BandwidthSlice { transactions, elapsed_ns, anew: false });
            if stop.is_requested() { ControlFlow::Break(()) } else { flow }
        };
        core.bandwidth(test, &list, DATA_KEY, &mut take).map_err(raised)
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        // Closed first: the group can be opened only once.
        self.core = None;
        let core = open_core(&self.chosen, &self.buffer);
        self.core = Some(core.map_err(|refusal| DeviceError::Lost(refusal.to_string()))?.0);
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        // Dropping it stops the core, then unmaps its memory.
        self.core = None;
        Ok(())
    }
}
