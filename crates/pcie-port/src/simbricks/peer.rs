//! The other side of a connection: its rings, and how far in time it has let us go.

use super::error::BrickError;
use super::message::{END, Message, SYNC};
use super::ring::Ring;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Messages that wait for a full ring before nothing more is taken from the other peer.
const OUTBOX_MOST: usize = 1024;

/// A device or a host that is connected.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) path: PathBuf,
    socket: UnixStream,
    incoming: Ring,
    outgoing: Ring,
    /// Its next message, and the stamp of the newest seen.
    pending: Option<Message>,
    seen: u64,
    pub(super) ended: bool,
    outbox: VecDeque<Message>,
    sent: u64,
}

impl Peer {
    pub(super) fn new(path: &Path, socket: UnixStream, [incoming, outgoing]: [Ring; 2]) -> Self {
        Self {
            path: path.to_owned(),
            socket,
            incoming,
            outgoing,
            pending: None,
            seen: 0,
            ended: false,
            outbox: VecDeque::new(),
            sent: 0,
        }
    }

    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> BrickError {
        BrickError::of(&self.path, problem)
    }

    /// An error if its process has cut the file with the rings short.
    pub(super) fn check_whole(&self) -> Result<(), BrickError> {
        match self.incoming.is_cut() || self.outgoing.is_cut() {
            true => {
                Err(self
                    .wrong("has cut the file with its rings short: it has to keep it until both sides end"))
            }
            false => Ok(()),
        }
    }

    /// Looks for the next message, and returns the time up to which it is known.
    pub(super) fn known(&mut self) -> Result<u64, BrickError> {
        if self.ended {
            return Ok(u64::MAX);
        }
        if self.pending.is_none()
            && let Some(message) = self.incoming.take()
        {
            if message.stamp < self.seen {
                let problem = format!("its time goes back from {} ps to {} ps", self.seen, message.stamp);
                return Err(self.wrong(problem));
            }
            self.seen = message.stamp;
            self.pending = Some(message);
        }
        Ok(self.seen)
    }

    /// The next message, if it is due at `now`; an empty one is passed over, and the last one is noted.
    pub(super) fn due(&mut self, now: u64) -> Option<Message> {
        let message = self.pending.take_if(|message| message.stamp <= now)?;
        self.ended |= message.kind == END;
        Some(message)
    }

    /// Refuses data that its entries cannot hold.
    pub(super) fn check_length(&self, length: u16) -> Result<usize, BrickError> {
        let (length, most) =
            (usize::from(length), self.outgoing.data_bytes().min(self.incoming.data_bytes()));
        if length == 0 || length > most {
            return Err(self.wrong(format!("asks for {length} bytes: give 1 to {most}, what an entry holds")));
        }
        Ok(length)
    }

    /// Sends a message, now or when there is room.
    pub(super) fn send(&mut self, message: Message) -> Result<(), BrickError> {
        if message.data.len() > self.outgoing.data_bytes() {
            let most = self.outgoing.data_bytes();
            return Err(self.wrong(format!("its entries hold {most} bytes, not {}", message.data.len())));
        }
        self.sent = message.stamp;
        self.outbox.push_back(message);
        self.flush();
        Ok(())
    }

    /// Tells the time, unless a message has done so within the interval.
    pub(super) fn synchronise(&mut self, stamp: u64, interval: u64) -> Result<(), BrickError> {
        let due = stamp >= self.sent.saturating_add(interval) || self.sent == 0;
        if due && !self.ended { self.send(Message::new(SYNC, stamp, &[], Vec::new())) } else { Ok(()) }
    }

    /// Sends what waits; false while the ring is full.
    pub(super) fn flush(&mut self) -> bool {
        while let Some(message) = self.outbox.front() {
            if !self.outgoing.send(message) {
                return false;
            }
            self.outbox.pop_front();
        }
        true
    }

    /// Whether messages wait for its ring.
    pub(super) fn is_waiting(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether so many wait that nothing more may be taken from the other side.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= OUTBOX_MOST
    }

    /// Whether its process has closed the socket.
    pub(super) fn is_gone(&self) -> bool {
        let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(1..))
    }
}
