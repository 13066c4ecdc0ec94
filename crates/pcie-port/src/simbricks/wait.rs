//! Waiting for a peer, until a deadline or until the caller says stop.

use super::error::BrickError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The longest time between two looks at `stop`.
const SLICE: Duration = Duration::from_millis(20);
const MOMENT: Duration = Duration::from_millis(5);
/// Longer waits never end.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// A wait that can be stopped.
pub(super) struct Wait<'a> {
    deadline: Instant,
    stop: &'a mut dyn FnMut() -> bool,
}

impl<'a> Wait<'a> {
    pub(super) fn new(patience: Duration, stop: &'a mut dyn FnMut() -> bool) -> Self {
        Self { deadline: Instant::now() + patience.min(LONGEST), stop }
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Sleeps for a moment; an error if the caller says stop.
    pub(super) fn a_moment(&mut self) -> Result<(), BrickError> {
        std::thread::sleep(MOMENT);
        self.check()
    }

    /// Whether there is something to read before the deadline; an error if the caller says stop.
    pub(super) fn readable(&mut self, socket: impl AsFd) -> Result<bool, BrickError> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let slice = left.min(SLICE);
            let limit = Timespec { tv_sec: 0, tv_nsec: slice.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&limit)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => self.check()?,
                Ok(_) => return Ok(true),
                Err(_) => return Ok(false),
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    fn check(&mut self) -> Result<(), BrickError> {
        if (self.stop)() { Err(BrickError::Stopped) } else { Ok(()) }
    }
}
