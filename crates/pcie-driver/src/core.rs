//! Driver of the FPGA core.

use crate::registers as r;
use crate::settings::{Settings, Unsupported};
use crate::transport::{Transport, TransportError};
use pcie_workload::{AddressList, Test};
use std::ops::{ControlFlow, Range};
use thiserror::Error;

/// Facts that a core reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// Bytes of a beat of the data path.
    pub data_bytes: u32,
    /// Most reads in flight: as built, or as the link allows.
    pub tags: u32,
    /// Latencies that the core records one by one.
    pub records: u32,
    /// Clock period, ps.
    pub clock_ps: u32,
}

/// Progress of a bandwidth test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Transactions done.
    pub transactions: u64,
    /// Clocks from the first beat of the first request to the last beat of the transaction that ended last.
    pub clocks: u64,
}

/// Why an operation of the core failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriverError {
    /// The device is no core, or one of another version.
    #[error("{0}")]
    NotOurs(String),
    /// The core does not support the test.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The test ended with a fault.
    #[error("the FPGA core ended the test: {0}")]
    Fault(&'static str),
    /// MPS or MRRS changed while a test ran.
    #[error(
        "MPS and MRRS changed from {} and {} B to {} and {} B while the test ran: run it again, and leave them alone",
        .before.0, .before.1, .after.0, .after.1
    )]
    LimitsChanged {
        /// MPS and MRRS at the start, bytes.
        before: (u32, u32),
        /// Those at the end.
        after: (u32, u32),
    },
    /// The core made no progress for this long, µs.
    #[error("the FPGA core made no progress for {0} us of its own time")]
    Silent(u64),
    /// The core has no queue for the message.
    #[error("{0}")]
    NoMessage(String),
    /// The core cannot execute the command.
    #[error("{0}")]
    NoCommand(String),
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Transactions between two polls of a bandwidth test, about.
const POLL_TRANSACTIONS: u64 = 4096;
/// Most transactions of one start of the core: an even number.
const COUNT_MOST: u64 = 1 << 31;
/// Times of the first poll and between later ones.
const FIRST_POLL_NS: u64 = 50_000;
const POLL_NS_MOST: u64 = 1_000_000;
/// After this long without progress a core counts as hung.
const SILENCE_NS: u64 = 50_000_000;
/// First minor version with register LINK_TAGS.
const LINK_TAGS_SINCE: u32 = 1;
/// Records of the first slice of a latency test.
const FIRST_SLICE: u64 = 512;

/// A core behind a transport.
#[derive(Debug)]
pub struct Core<T> {
    pub(crate) transport: T,
    facts: CoreFacts,
    minor: u32,
    /// MPS and MRRS when the last test started, bytes.
    limits: (u32, u32),
}

impl<T: Transport> Core<T> {
    /// Reads which core is there. Fails if there is none, or one that this driver does not support.
    pub fn open(mut transport: T) -> Result<Self, DriverError> {
        let mut head = [0; 4];
        transport.read_block(r::ID, &mut head)?;
        let [id, version, parameters, clock_ps] = head;
        if id != 0x4241_4c50 {
            return Err(DriverError::NotOurs(format!("register ID holds {id:#010x}: not a pcielab core")));
        }
        let major = version >> r::VERSION_MAJOR_SHIFT;
        if major != 1 {
            return Err(DriverError::NotOurs(format!(
                "the core has version {major}: this driver supports version 1"
            )));
        }
        let facts = CoreFacts {
            data_bytes: parameters >> r::PARAMETERS_DATA_BYTES_SHIFT & r::PARAMETERS_DATA_BYTES_MASK,
            tags: parameters >> r::PARAMETERS_TAGS_SHIFT & r::PARAMETERS_TAGS_MASK,
            records: 1 << (parameters >> r::PARAMETERS_RECORDS_LOG2_SHIFT & r::PARAMETERS_RECORDS_LOG2_MASK),
            clock_ps,
        };
        if facts.clock_ps == 0 || facts.tags == 0 {
            return Err(DriverError::NotOurs("the core reports no clock or no tags".into()));
        }
        let minor = version >> r::VERSION_MINOR_SHIFT & r::VERSION_MINOR_MASK;
        Ok(Self { transport, facts, minor, limits: (0, 0) })
    }

    /// Facts that the core reports.
    #[must_use]
    pub fn facts(&self) -> CoreFacts {
        self.facts
    }

    /// Minor version of its registers.
    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }

    /// Limits the core to the tags that the link allows a requester: 32 without extended tags, as the device
    /// control register says. A core of version 1.2 uses 32 until then, unless it reads that register itself.
    /// Fails for a core of version 1.0 with more tags, because it always uses all of them.
    pub fn limit_tags(&mut self, link_tags: u32) -> Result<(), DriverError> {
        let own = self.facts.tags;
        let tags = own.min(link_tags.max(1));
        if self.minor >= LINK_TAGS_SINCE {
            self.facts.tags = tags;
            return Ok(self.transport.write(r::LINK_TAGS, tags)?);
        }
        if tags < own {
            return Err(DriverError::NotOurs(format!(
                "the core has version 1.{} and uses {own} tags on any link; this link allows {tags}: enable extended \
                 tags, or use a core of version 1.{LINK_TAGS_SINCE} or later, or one built with TAGS = {tags}",
                self.minor
            )));
        }
        Ok(())
    }

    /// Writes the addresses of the host buffer to the core; once, before the first test.
    pub fn set_buffer(&mut self) -> Result<(), DriverError> {
        let (pieces, bytes) = self.transport.buffer();
        let mut writes = vec![(r::PIECES, pieces.len() as u32 | bytes.ilog2() << r::PIECES_BYTES_LOG2_SHIFT)];
        for (&piece, entry) in pieces.iter().zip((r::PIECE_TABLE..).step_by(8)) {
            writes.extend([(entry, piece as u32), (entry + 4, (piece >> 32) as u32)]);
        }
        Ok(self.transport.write_all(&writes)?)
    }

    /// Runs a latency test in slices. `sink` takes each slice's latencies and duration, in clocks, and may
    /// stop.
    pub fn latency(
        &mut self,
        test: &Test,
        list: &AddressList,
        data_key: u32,
        sink: &mut dyn FnMut(&[u32], u64) -> ControlFlow<()>,
    ) -> Result<(), DriverError> {
        let (mut first, mut most) = (0, FIRST_SLICE);
        while first < test.transactions {
            most = most.min(u64::from(self.facts.records));
            let slice = first..test.transactions.min(first + most);
            self.start(test, list, slice.clone(), data_key)?;
            let done = self.finish()?;
            let mut latencies = vec![0; (slice.end - slice.start) as usize];
            self.transport.read_block(r::RECORDS, &mut latencies)?;
            if sink(&latencies, done.clocks).is_break() {
                return Ok(());
            }
            (first, most) = (slice.end, most * 2);
        }
        Ok(())
    }

    /// Runs a bandwidth test. `sink` takes the progress now and then, and may stop.
    pub fn bandwidth(
        &mut self,
        test: &Test,
        list: &AddressList,
        data_key: u32,
        sink: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), DriverError> {
        let (mut first, mut before) = (0, Progress::default());
        while first < test.transactions {
            let part = first..test.transactions.min(first + COUNT_MOST);
            first = part.end;
            self.start(test, list, part, data_key)?;
            let sum = |now: Progress| Progress {
                transactions: before.transactions + now.transactions,
                clocks: before.clocks + now.clocks,
            };
            match self.watch(&mut |now| sink(sum(now)))? {
                Some(done) => before = sum(done),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Polls a test until it is done; None if `sink` broke it off.
    fn watch(
        &mut self,
        sink: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Progress>, DriverError> {
        let (mut poll_ns, mut silent_ns, mut before) = (FIRST_POLL_NS, 0, 0);
        loop {
            self.transport.relax(poll_ns)?;
            if self.result()?.is_some() {
                let done = self.finish()?;
                return Ok((!sink(done).is_break()).then_some(done));
            }
            self.control(r::CONTROL_LATCH_SHIFT)?;
            let done = self.progress()?;
            silent_ns = if done.transactions > before { 0 } else { silent_ns + poll_ns };
            if silent_ns > SILENCE_NS {
                return Err(DriverError::Silent(silent_ns / 1000));
            }
            if done.transactions > before && sink(done).is_break() {
                return self.stop().map(|()| None);
            }
            before = done.transactions;
            poll_ns = self.next_poll_ns(done);
        }
    }

    /// Resets the core after a fault, once requests in flight have had time to be answered.
    pub fn recover(&mut self) -> Result<(), DriverError> {
        self.control(r::CONTROL_STOP_SHIFT)?;
        self.transport.relax(SILENCE_NS / 4)?;
        self.control(r::CONTROL_RESET_SHIFT)?;
        self.transport.relax(1000)?;
        match self.transport.read(r::RETIRED_TAGS)? {
            0 => Ok(()),
            _ => Err(DriverError::Silent(1)),
        }
    }

    fn next_poll_ns(&self, done: Progress) -> u64 {
        let elapsed_ns = done.clocks * u64::from(self.facts.clock_ps) / 1000;
        (elapsed_ns * POLL_TRANSACTIONS / done.transactions.max(1)).clamp(1000, POLL_NS_MOST)
    }

    fn control(&mut self, shift: u32) -> Result<(), DriverError> {
        Ok(self.transport.write(r::CONTROL, 1 << shift)?)
    }

    fn start(
        &mut self,
        test: &Test,
        list: &AddressList,
        slice: Range<u64>,
        data_key: u32,
    ) -> Result<(), DriverError> {
        let settings = Settings::new(&self.facts, test, list, slice, data_key)?;
        self.limits = self.link_limits()?;
        self.transport.write_all(settings.writes())?;
        self.control(r::CONTROL_START_SHIFT)
    }

    /// MPS and MRRS that the host has set, bytes.
    fn link_limits(&mut self) -> Result<(u32, u32), DriverError> {
        let link = self.transport.read(r::LINK)?;
        let bytes = |shift, mask| 128_u32 << (link >> shift & mask);
        Ok((
            bytes(r::LINK_MAX_PAYLOAD_SHIFT, r::LINK_MAX_PAYLOAD_MASK),
            bytes(r::LINK_MAX_READ_REQUEST_SHIFT, r::LINK_MAX_READ_REQUEST_MASK),
        ))
    }

    fn stop(&mut self) -> Result<(), DriverError> {
        self.control(r::CONTROL_STOP_SHIFT)?;
        self.wait().map(drop)
    }

    /// The result code of a test that has ended.
    fn result(&mut self) -> Result<Option<u32>, DriverError> {
        let status = self.transport.read(r::STATUS)?;
        let idle = status >> r::STATUS_STATE_SHIFT & r::STATUS_STATE_MASK == r::STATE_IDLE;
        Ok(idle.then_some(status >> r::STATUS_RESULT_SHIFT & r::STATUS_RESULT_MASK))
    }

    /// Waits for the end of a test, as long as it makes progress.
    fn wait(&mut self) -> Result<u32, DriverError> {
        let (mut silent_ns, mut before) = (0, 0);
        loop {
            if let Some(result) = self.result()? {
                return Ok(result);
            }
            self.transport.relax(POLL_NS_MOST)?;
            self.control(r::CONTROL_LATCH_SHIFT)?;
            let done = self.progress()?.transactions;
            silent_ns = if done > before { 0 } else { silent_ns + POLL_NS_MOST };
            before = done;
            if silent_ns > SILENCE_NS {
                return Err(DriverError::Silent(silent_ns / 1000));
            }
        }
    }

    /// Waits for a test to complete; any other end is an error, and so are other limits than at its start.
    fn finish(&mut self) -> Result<Progress, DriverError> {
        match self.wait()? {
            r::RESULT_COMPLETE => {}
            result => return Err(DriverError::Fault(fault_text(result))),
        }
        let (before, after) = (self.limits, self.link_limits()?);
        if before == after { self.progress() } else { Err(DriverError::LimitsChanged { before, after }) }
    }

    fn progress(&mut self) -> Result<Progress, DriverError> {
        let mut held = [0; 4];
        self.transport.read_block(r::TRANSACTIONS, &mut held)?;
        let [transactions, _, low, high] = held;
        Ok(Progress { transactions: u64::from(transactions), clocks: u64::from(high) << 32 | u64::from(low) })
    }
}

/// What a result code means.
pub(crate) fn fault_text(result: u32) -> &'static str {
    match result {
        r::RESULT_STOPPED => "it was stopped",
        r::RESULT_BAD_PARAMETER => "a register is out of range, or tags are retired",
        r::RESULT_ERROR_STATUS => "a completion with an error status",
        r::RESULT_POISONED => "a poisoned completion",
        r::RESULT_WRONG_LENGTH => "a completion that does not fit its request",
        r::RESULT_UNKNOWN_TAG => "a completion for a tag with nothing in flight",
        r::RESULT_TIMED_OUT => "a request was not answered in time",
        r::RESULT_DATA_MISMATCH => "unexpected data",
        r::RESULT_BUS_MASTER_OFF => "the host disabled bus mastering",
        r::RESULT_OUT_OF_BUFFER => "an address outside the host buffer",
        _ => "unknown result code",
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test that cannot be set up fails")]
pub(crate) mod tests {
    use super::*;
    use pcie_time::{Draws, Stream};
    use pcie_workload::Operation;
    use std::collections::BTreeMap;

    /// Registers without a core: a started test ends at once with `result`, or never.
    #[derive(Debug)]
    pub(crate) struct Fake {
        pub(crate) registers: BTreeMap<u32, u32>,
        pub(crate) stores: Vec<(u32, Vec<u8>)>,
        /// The start of the host buffer.
        pub(crate) memory: Vec<u8>,
        result: Option<u32>,
        /// What LINK holds once a test has started.
        link_later: Option<u32>,
        pieces: Vec<u64>,
    }

    impl Fake {
        pub(crate) fn new(result: Option<u32>) -> Self {
            let parameters = 32 | 64 << r::PARAMETERS_TAGS_SHIFT | 12 << r::PARAMETERS_RECORDS_LOG2_SHIFT;
            let registers = BTreeMap::from([
                (r::ID, 0x4241_4c50),
                (r::VERSION, 1 << r::VERSION_MAJOR_SHIFT | 1 << r::VERSION_MINOR_SHIFT),
                (r::PARAMETERS, parameters),
                (r::CLOCK_PS, 4000),
            ]);
            let pieces = vec![1 << 40, 0xfffff << 12];
            Self { registers, stores: vec![], memory: vec![], result, link_later: None, pieces }
        }
    }

    impl Transport for Fake {
        fn read(&mut self, address: u32) -> Result<u32, TransportError> {
            Ok(self.registers.get(&address).copied().unwrap_or_default())
        }

        fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
            self.registers.insert(address, value);
            if address == r::CONTROL && value == 1 << r::CONTROL_START_SHIFT {
                let status = match self.result {
                    Some(result) => r::STATE_IDLE | result << r::STATUS_RESULT_SHIFT,
                    None => r::STATE_RUN,
                };
                self.registers.insert(r::STATUS, status);
                self.registers.extend(self.link_later.map(|link| (r::LINK, link)));
                self.registers.insert(r::TRANSACTIONS, self.registers[&r::COUNT]);
                self.registers.insert(r::ELAPSED_LO, 1000);
                let record = self.registers[&r::LIST_INDEX] + 100;
                self.registers.insert(r::RECORDS, record);
            }
            Ok(())
        }

        fn relax(&mut self, _time_ns: u64) -> Result<(), TransportError> {
            Ok(())
        }

        fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError> {
            self.stores.push((offset, bytes.to_vec()));
            Ok(())
        }

        fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
            let held = self.memory.iter().skip(offset as usize);
            bytes.iter_mut().zip(held).for_each(|(byte, held)| *byte = *held);
            Ok(())
        }

        fn buffer(&self) -> (&[u64], u64) {
            (&self.pieces, 4 << 20)
        }
    }

    fn test(operation: Operation) -> (Test, AddressList) {
        let test: Test = serde_json::from_value(serde_json::json!({
            "cache": "cold", "details": false, "device_offset_bytes": 0, "host_offset_bytes": 0,
            "operation": operation, "outstanding": null, "path": "dma", "pattern": "random", "size_bytes": 64,
            "stride_units": 1, "transactions": 2000, "window_bytes": 8192
        }))
        .unwrap_or_else(|error| panic!("{error}"));
        let list = AddressList::new(&test, Draws::new(1, 0, Stream::Addresses));
        (test, list)
    }

    fn core(result: Option<u32>) -> Core<Fake> {
        Core::open(Fake::new(result)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn open_refuses_other_devices_and_versions() {
        for (register, value, named) in [
            (r::ID, 0xffff_ffff, "not a pcielab core"),
            (r::VERSION, 2 << 16, "version 2"),
            (r::CLOCK_PS, 0, "no clock"),
        ] {
            let mut fake = Fake::new(None);
            fake.registers.insert(register, value);
            match Core::open(fake) {
                Err(error) => assert!(error.to_string().contains(named), "{error}"),
                Ok(_) => panic!("{named}"),
            }
        }
    }

    #[test]
    fn tags_are_limited_by_link_and_core() {
        // Also where the link allows all of them: a core may use 32 until the register is written.
        for (link_tags, tags) in [(32, 32), (64, 64), (256, 64), (0, 1)] {
            let mut core = core(None);
            assert_eq!(core.limit_tags(link_tags), Ok(()));
            assert_eq!(core.facts().tags, tags);
            assert_eq!(core.transport.registers[&r::LINK_TAGS], tags);
        }
    }

    #[test]
    fn core_without_link_tags_register_is_refused_on_fewer_tags() {
        let older = || {
            let mut fake = Fake::new(None);
            fake.registers.insert(r::VERSION, 1 << r::VERSION_MAJOR_SHIFT);
            Core::open(fake).unwrap_or_else(|error| panic!("{error}"))
        };
        let mut core = older();
        assert_eq!(core.limit_tags(64), Ok(()));
        assert_eq!(core.facts().tags, 64);
        assert_eq!(core.transport.registers.get(&r::LINK_TAGS), None);
        let refused = older().limit_tags(32).map_err(|error| error.to_string());
        let message = refused.err().unwrap_or_default();
        assert!(
            ["version 1.0", "64 tags", "TAGS = 32"].iter().all(|part| message.contains(part)),
            "{message}"
        );
    }

    #[test]
    fn slices_never_outgrow_the_records() {
        let (mut test, _) = test(Operation::LatRd);
        // Enough slices that unlimited doubling would overflow.
        test.transactions = 4096 * 70;
        let list = AddressList::new(&test, Draws::new(1, 0, Stream::Addresses));
        let (mut core, mut done, mut most) = (core(Some(r::RESULT_COMPLETE)), 0, 0);
        let all = core.latency(&test, &list, 1, &mut |latencies, _| {
            done += latencies.len() as u64;
            most = most.max(latencies.len());
            if latencies.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((all, done, most), (Ok(()), test.transactions, 4096));
    }

    #[test]
    fn slices_continue_where_the_last_one_ended() {
        let (test, list) = test(Operation::LatRd);
        let mut slices = Vec::new();
        let done = core(Some(r::RESULT_COMPLETE)).latency(&test, &list, 0, &mut |ticks, clocks| {
            slices.push((ticks.len(), ticks[0], clocks));
            ControlFlow::Continue(())
        });
        assert_eq!(done, Ok(()));
        // The first address is used twice, so transaction n has index n - 1.
        assert_eq!(slices, [(512, 100, 1000), (1024, 611, 1000), (464, 1635, 1000)]);
    }

    #[test]
    fn faults_are_named_and_a_hung_core_is_an_error() {
        let (test, list) = test(Operation::BwRd);
        let mut sink = |_| ControlFlow::Continue(());
        let fault = core(Some(r::RESULT_POISONED)).bandwidth(&test, &list, 0, &mut sink);
        assert_eq!(fault, Err(DriverError::Fault("a poisoned completion")));
        let silent = core(None).bandwidth(&test, &list, 0, &mut sink);
        assert!(matches!(silent, Err(DriverError::Silent(_))), "{silent:?}");
    }

    #[test]
    fn a_test_during_which_mps_or_mrrs_changes_is_refused() {
        let link = |mps: u32, mrrs: u32| mps | mrrs << r::LINK_MAX_READ_REQUEST_SHIFT | 1 << 8;
        for (operation, later, refused) in [
            (Operation::BwRd, link(1, 2), false),
            (Operation::BwRd, link(1, 1), true),
            (Operation::BwWr, link(0, 2), true),
            (Operation::LatRd, link(1, 5), true),
        ] {
            let (test, list) = test(operation);
            let mut core = core(Some(r::RESULT_COMPLETE));
            core.transport.registers.insert(r::LINK, link(1, 2));
            core.transport.link_later = Some(later);
            let done = if operation.is_latency() {
                core.latency(&test, &list, 0, &mut |_, _| ControlFlow::Continue(()))
            } else {
                core.bandwidth(&test, &list, 0, &mut |_| ControlFlow::Continue(()))
            };
            let message = done.err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(
                message.starts_with("MPS and MRRS changed from 256 and 512 B to "),
                refused,
                "{message}"
            );
        }
    }

    #[test]
    fn set_buffer_writes_every_piece() {
        let mut core = core(None);
        assert_eq!(core.set_buffer(), Ok(()));
        let registers = &core.transport.registers;
        assert_eq!(registers[&r::PIECES], 2 | 22 << r::PIECES_BYTES_LOG2_SHIFT);
        let entries: Vec<u32> = (0..4).map(|n| registers[&(r::PIECE_TABLE + 4 * n)]).collect();
        assert_eq!(entries, [0, 256, 0xffff_f000, 0]);
    }
}
