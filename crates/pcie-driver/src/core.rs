//! The FPGA core, driven through its registers.

use crate::registers as r;
use crate::settings::{Settings, Unsupported};
use crate::transport::{Transport, TransportError};
use pcie_workload::{AddressList, Test};
use std::ops::{ControlFlow, Range};
use thiserror::Error;

/// What a core says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// Bytes of a beat of its data path.
    pub data_bytes: u32,
    /// Reads in flight at most.
    pub tags: u32,
    /// Latencies that it keeps one by one.
    pub records: u32,
    /// Length of a clock, ps.
    pub clock_ps: u32,
}

/// How far a bandwidth test is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Transactions done.
    pub transactions: u64,
    /// Clocks from the first beat of the first request to the last of what ended last.
    pub clocks: u64,
}

/// Why a core did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriverError {
    /// It is not one, or not of this version.
    #[error("{0}")]
    NotOurs(String),
    /// It lacks something.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The test ended with a fault.
    #[error("the FPGA core ended the test: {0}")]
    Fault(&'static str),
    /// It does not end.
    #[error("the FPGA core did nothing for {0} us of its own time")]
    Silent(u64),
    /// The way to it is gone.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Transactions between two looks at a bandwidth test, about.
const LOOK_TRANSACTIONS: u64 = 4096;
/// The first look.
const FIRST_LOOK_NS: u64 = 50_000;
/// A look is no longer than that.
const LOOK_NS_MOST: u64 = 1_000_000;
/// A core that does nothing for so long will never.
const SILENCE_NS: u64 = 50_000_000;
/// Records of the first slice of a latency test.
const FIRST_SLICE: u64 = 512;

/// A core behind a transport.
#[derive(Debug)]
pub struct Core<T> {
    transport: T,
    facts: CoreFacts,
}

impl<T: Transport> Core<T> {
    /// Looks whether there is a core, and what kind.
    ///
    /// # Errors
    /// There is none, or one that this driver does not know.
    pub fn open(mut transport: T) -> Result<Self, DriverError> {
        let mut head = [0; 4];
        transport.read_block(r::ID, &mut head)?;
        let [id, version, parameters, clock_ps] = head;
        if id != 0x4241_4c50 {
            return Err(DriverError::NotOurs(format!(
                "register ID holds {id:#010x}: this is no pcielab core"
            )));
        }
        let major = version >> r::VERSION_MAJOR_SHIFT;
        if major != 1 {
            return Err(DriverError::NotOurs(format!("the core is of version {major}: this driver knows 1")));
        }
        let facts = CoreFacts {
            data_bytes: parameters >> r::PARAMETERS_DATA_BYTES_SHIFT & r::PARAMETERS_DATA_BYTES_MASK,
            tags: parameters >> r::PARAMETERS_TAGS_SHIFT & r::PARAMETERS_TAGS_MASK,
            records: 1 << (parameters >> r::PARAMETERS_RECORDS_LOG2_SHIFT & r::PARAMETERS_RECORDS_LOG2_MASK),
            clock_ps,
        };
        if facts.clock_ps == 0 || facts.tags == 0 {
            return Err(DriverError::NotOurs("the core says that it has no clock or no tags".into()));
        }
        Ok(Self { transport, facts })
    }

    /// What it says of itself.
    #[must_use]
    pub fn facts(&self) -> CoreFacts {
        self.facts
    }

    /// Tells it where the host buffer lies; once, before the first test.
    ///
    /// # Errors
    /// See [`DriverError`].
    pub fn set_buffer(&mut self) -> Result<(), DriverError> {
        let (pieces, bytes) = self.transport.buffer();
        let mut writes = vec![(r::PIECES, pieces.len() as u32 | bytes.ilog2() << r::PIECES_BYTES_LOG2_SHIFT)];
        for (&piece, entry) in pieces.iter().zip((r::PIECE_TABLE..).step_by(8)) {
            writes.extend([(entry, piece as u32), (entry + 4, (piece >> 32) as u32)]);
        }
        Ok(self.transport.write_all(&writes)?)
    }

    /// Runs a latency test in slices: `sink` is given the latencies of each, in clocks, and the clocks that all of it
    /// took, until it breaks off.
    ///
    /// # Errors
    /// See [`DriverError`].
    pub fn latency(
        &mut self,
        test: &Test,
        list: &AddressList,
        data_key: u32,
        sink: &mut dyn FnMut(&[u32], u64) -> ControlFlow<()>,
    ) -> Result<(), DriverError> {
        let (mut first, mut most) = (0, FIRST_SLICE);
        while first < test.transactions {
            let slice = first..test.transactions.min(first + most.min(u64::from(self.facts.records)));
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

    /// Runs a bandwidth test, the whole of it in one go: `sink` is told now and then how far it is, until it breaks off.
    ///
    /// # Errors
    /// See [`DriverError`].
    pub fn bandwidth(
        &mut self,
        test: &Test,
        list: &AddressList,
        data_key: u32,
        sink: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), DriverError> {
        self.start(test, list, 0..test.transactions, data_key)?;
        let (mut look_ns, mut silent_ns, mut before) = (FIRST_LOOK_NS, 0, 0);
        loop {
            self.transport.relax(look_ns)?;
            if self.result()?.is_some() {
                let done = self.finish()?;
                let _ = sink(done);
                return Ok(());
            }
            self.control(r::CONTROL_LATCH_SHIFT)?;
            let done = self.progress()?;
            silent_ns = if done.transactions > before { 0 } else { silent_ns + look_ns };
            if silent_ns > SILENCE_NS {
                return Err(DriverError::Silent(silent_ns / 1000));
            }
            if done.transactions > before && sink(done).is_break() {
                return self.stop();
            }
            before = done.transactions;
            look_ns = self.next_look_ns(done);
        }
    }

    /// Puts the core right after a fault: what is in flight is given time to be answered, and everything is forgotten.
    ///
    /// # Errors
    /// The way to it is gone, or it does not answer.
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

    fn next_look_ns(&self, done: Progress) -> u64 {
        let elapsed_ns = done.clocks * u64::from(self.facts.clock_ps) / 1000;
        (elapsed_ns * LOOK_TRANSACTIONS / done.transactions.max(1)).clamp(1000, LOOK_NS_MOST)
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
        self.transport.write_all(settings.writes())?;
        self.control(r::CONTROL_START_SHIFT)
    }

    fn stop(&mut self) -> Result<(), DriverError> {
        self.control(r::CONTROL_STOP_SHIFT)?;
        self.wait().map(drop)
    }

    /// The result of the test, once it has ended.
    fn result(&mut self) -> Result<Option<u32>, DriverError> {
        let status = self.transport.read(r::STATUS)?;
        let idle = status >> r::STATUS_STATE_SHIFT & r::STATUS_STATE_MASK == r::STATE_IDLE;
        Ok(idle.then_some(status >> r::STATUS_RESULT_SHIFT & r::STATUS_RESULT_MASK))
    }

    /// Waits for the end of a test, as long as it does anything.
    fn wait(&mut self) -> Result<u32, DriverError> {
        let (mut silent_ns, mut before) = (0, 0);
        loop {
            if let Some(result) = self.result()? {
                return Ok(result);
            }
            self.transport.relax(LOOK_NS_MOST)?;
            self.control(r::CONTROL_LATCH_SHIFT)?;
            let done = self.progress()?.transactions;
            silent_ns = if done > before { 0 } else { silent_ns + LOOK_NS_MOST };
            before = done;
            if silent_ns > SILENCE_NS {
                return Err(DriverError::Silent(silent_ns / 1000));
            }
        }
    }

    /// Waits for the end of a test, which must be a good one.
    fn finish(&mut self) -> Result<Progress, DriverError> {
        match self.wait()? {
            r::RESULT_COMPLETE => self.progress(),
            result => Err(DriverError::Fault(fault(result))),
        }
    }

    fn progress(&mut self) -> Result<Progress, DriverError> {
        let mut held = [0; 4];
        self.transport.read_block(r::TRANSACTIONS, &mut held)?;
        let [transactions, _, low, high] = held;
        Ok(Progress { transactions: u64::from(transactions), clocks: u64::from(high) << 32 | u64::from(low) })
    }
}

/// What a result says to people.
fn fault(result: u32) -> &'static str {
    match result {
        r::RESULT_STOPPED => "it was stopped",
        r::RESULT_BAD_PARAMETER => "a register is out of range, or tags are retired",
        r::RESULT_ERROR_STATUS => "a completion with an error status",
        r::RESULT_POISONED => "a poisoned completion",
        r::RESULT_WRONG_LENGTH => "a completion that does not fit its request",
        r::RESULT_UNKNOWN_TAG => "a completion for a tag with nothing in flight",
        r::RESULT_TIMED_OUT => "a request was not answered in time",
        r::RESULT_DATA_MISMATCH => "data that were not expected",
        r::RESULT_BUS_MASTER_OFF => "the host took away bus mastering",
        r::RESULT_OUT_OF_BUFFER => "an address outside the host buffer",
        _ => "for a reason that this driver does not know",
    }
}
