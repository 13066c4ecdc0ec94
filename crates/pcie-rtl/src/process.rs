//! The process `pcielab-rtl`: start, exchanges, end.

use crate::wire::{
    Hello, Items, LOADED_BYTES, MAGIC, RESPONSE_BYTES, Ran, Request, Surroundings, VERSION, loaded, response,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limit of an answer.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// Failure of the process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProcessError {
    /// It cannot be started.
    #[error("{path}: {error}: build the FPGA core with `make rtl`")]
    Start {
        /// Path of the program.
        path: String,
        /// Error of the operating system.
        error: String,
    },
    /// It is another program, or another version.
    #[error("{path}: {found}, not pcielab-rtl of version {VERSION}: rebuild the FPGA core with `make rtl`")]
    NotOurs {
        /// Path of the program.
        path: String,
        /// Its answer.
        found: String,
    },
    /// It has ended.
    #[error("pcielab-rtl has ended: {0}")]
    Ended(String),
    /// It did not answer in time.
    #[error("pcielab-rtl did not answer for {} s and was killed", SILENCE.as_secs())]
    Silent,
}

/// Results of an exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanged {
    /// Requests in order, each with the range of a write's data in `data`.
    pub(crate) requests: Vec<(Request, std::ops::Range<usize>)>,
    pub(crate) data: Vec<u8>,
    pub(crate) responses: Vec<u32>,
    /// Finished loads in order: the clock of each, and its data.
    pub(crate) loaded: Vec<(u64, Vec<u8>)>,
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    hello: Hello,
    /// Bytes read, of which the first `taken` are used.
    buffer: Vec<u8>,
    taken: usize,
    sending: Vec<u8>,
}

impl Process {
    /// Starts the program at `path`.
    pub(crate) fn start(path: &Path) -> Result<Self, ProcessError> {
        let named = || path.display().to_string();
        let started = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.map_err(|error| ProcessError::Start { path: named(), error: error.to_string() })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ProcessError::Start { path: named(), error: "it has no pipes".into() });
        };
        let hello = Hello { magic: 0, version: 0, data_bytes: 0, tags: 0, records: 0, clock_ps: 0 };
        let mut process = Self {
            child,
            input: Some(input),
            output,
            hello,
            buffer: Vec::new(),
            taken: 0,
            sending: Vec::new(),
        };
        let greeting = process.take::<{ Hello::BYTES }>();
        let greeting =
            greeting.map_err(|error| ProcessError::NotOurs { path: named(), found: error.to_string() })?;
        process.hello = Hello::parse(&greeting);
        if process.hello.magic != MAGIC {
            return Err(ProcessError::NotOurs { path: named(), found: "it sends another greeting".into() });
        }
        if process.hello.version != VERSION {
            let found = format!("it has version {}", process.hello.version);
            return Err(ProcessError::NotOurs { path: named(), found });
        }
        Ok(process)
    }

    /// Its greeting.
    pub(crate) fn hello(&self) -> Hello {
        self.hello
    }

    /// Runs the core, and reads the results.
    pub(crate) fn exchange(
        &mut self,
        until: u64,
        surroundings: &Surroundings,
        items: &Items,
        exchanged: &mut Exchanged,
    ) -> Result<Ran, ProcessError> {
        let mut sending = std::mem::take(&mut self.sending);
        items.emit(until, surroundings, &mut sending);
        let sent = self.input.as_mut().map(|input| input.write_all(&sending));
        self.sending = sending;
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.ended());
        }
        let ran = Ran::parse(&self.take()?);
        exchanged.requests.clear();
        exchanged.data.clear();
        exchanged.responses.clear();
        exchanged.loaded.clear();
        for _ in 0..ran.requests {
            let request = Request::parse(&self.take()?);
            let start = exchanged.data.len();
            if request.write {
                let length = 4 * usize::from(request.dwords);
                self.fill(length)?;
                exchanged.data.extend(&self.buffer[self.taken..self.taken + length]);
                self.taken += length;
            }
            exchanged.requests.push((request, start..exchanged.data.len()));
        }
        for _ in 0..ran.responses {
            let value = response(&self.take::<RESPONSE_BYTES>()?);
            exchanged.responses.push(value);
        }
        for _ in 0..ran.loaded {
            let (clock, bytes) = loaded(&self.take::<LOADED_BYTES>()?);
            self.fill(bytes as usize)?;
            let data = self.buffer[self.taken..self.taken + bytes as usize].to_vec();
            self.taken += bytes as usize;
            exchanged.loaded.push((clock, data));
        }
        Ok(ran)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProcessError> {
        self.fill(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.taken..self.taken + N]);
        self.taken += N;
        Ok(bytes)
    }

    /// Reads until this many unused bytes are buffered.
    fn fill(&mut self, bytes: usize) -> Result<(), ProcessError> {
        if self.buffer.len() - self.taken >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let deadline = Instant::now() + SILENCE;
        while self.buffer.len() < bytes {
            self.wait_for_output(deadline)?;
            let mut chunk = [0; 1 << 14];
            match self.output.read(&mut chunk) {
                Ok(0) => return Err(self.ended()),
                Ok(length) => self.buffer.extend(&chunk[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.ended()),
            }
        }
        Ok(())
    }

    fn wait_for_output(&mut self, deadline: Instant) -> Result<(), ProcessError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.output, PollFlags::IN)], Some(&limit)) {
                Ok(0) => {
                    let _ = self.child.kill();
                    return Err(ProcessError::Silent);
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(ProcessError::Ended(error.to_string())),
            }
        }
    }

    fn ended(&mut self) -> ProcessError {
        let _ = self.child.kill();
        let status = self.child.wait();
        ProcessError::Ended(status.map_or_else(|error| error.to_string(), |status| status.to_string()))
    }
}

impl Drop for Process {
    /// Closes its input, which ends it, and kills it if it does not end.
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + Duration::from_millis(200);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
