//! One device, its host or the host that the brick stands in for, and the link and root complex between them.

use super::error::BrickError;
use super::memory::Memory;
use super::message::{
    CONTROL, END, INTERRUPT, Message, READ, READ_DONE, REGISTER_POST, REGISTER_READ, REGISTER_READ_DONE,
    REGISTER_WRITE, REGISTER_WRITE_DONE, SYNC, WRITE, WRITE_DONE,
};
use super::peer::Peer;
use crate::requester::{Done, Requester};
use crate::tlp::{Kind, TIME_MOST, TlpError};
use pcie_time::Picoseconds;
use std::collections::HashMap;

/// Time of the connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// From sending a message until the receiver may process it.
    pub(super) latency: u64,
    /// The longest time between messages.
    pub(super) interval: u64,
}

/// A read of the device that its host has to answer, too.
#[derive(Debug, Default)]
struct Joined {
    length: usize,
    passed: bool,
    data: Option<Vec<u8>>,
}

/// A device and its host.
#[derive(Debug)]
pub(super) struct Lane {
    device: Peer,
    host: Option<Peer>,
    requester: Requester,
    pace: Pace,
    now: u64,
    /// The device's messages by the number of their transfer.
    transfers: HashMap<u64, Message>,
    reads: HashMap<u64, Joined>,
    memory: Memory,
    /// Messages of both peers, without empty ones.
    messages: u64,
    ended: bool,
}

impl Lane {
    pub(super) fn new(device: Peer, host: Option<Peer>, requester: Requester, pace: Pace) -> Self {
        Self {
            device,
            host,
            requester,
            pace,
            now: 0,
            transfers: HashMap::new(),
            reads: HashMap::new(),
            memory: Memory::default(),
            messages: 0,
            ended: false,
        }
    }

    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether either side has ended, and everything is sent.
    pub(super) fn is_over(&mut self) -> bool {
        self.ended && self.device.flush() && self.host.as_mut().is_none_or(Peer::flush)
    }

    /// An error if a peer has cut its rings short, whatever their zeros looked like.
    pub(super) fn check_whole(&self) -> Result<(), BrickError> {
        std::iter::once(&self.device).chain(&self.host).try_for_each(Peer::check_whole)
    }

    /// Goes on as far as both sides let it; returns whether time or a message has passed.
    pub(super) fn step(&mut self) -> Result<bool, BrickError> {
        let flushed = self.device.flush() & self.host.as_mut().is_none_or(Peer::flush);
        let full = self.device.is_full() || self.host.as_ref().is_some_and(Peer::is_full);
        if self.ended || (!flushed && full) {
            return Ok(false);
        }
        self.synchronise()?;
        let of_host = self.host.as_mut().map_or(Ok(u64::MAX), Peer::known)?;
        let limit = self.device.known()?.min(of_host);
        if limit > TIME_MOST.0 {
            let peer =
                if of_host == limit { self.host.as_ref().unwrap_or(&self.device) } else { &self.device };
            return Err(peer.wrong(TlpError::Late(Picoseconds(limit))));
        }
        let moved = limit > self.now;
        if moved {
            self.pass(limit)?;
        }
        let mut taken = false;
        if let Some(message) = self.device.due(limit) {
            taken = true;
            self.take_from_device(message)?;
        }
        if let Some(message) = self.host.as_mut().and_then(|host| host.due(limit)) {
            taken = true;
            self.take_from_host(message)?;
        }
        Ok(moved || taken)
    }

    fn synchronise(&mut self) -> Result<(), BrickError> {
        let stamp = self.now + self.pace.latency;
        self.device.synchronise(stamp, self.pace.interval)?;
        self.host.as_mut().map_or(Ok(()), |host| host.synchronise(stamp, self.pace.interval))
    }

    /// Lets time pass in the host, and tells both sides what is done.
    fn pass(&mut self, to: u64) -> Result<(), BrickError> {
        let advanced = self.requester.advance(Picoseconds(to));
        advanced.map_err(|error| self.refused(error))?;
        while let Some(done) = self.requester.take() {
            self.done(done)?;
        }
        self.now = to;
        Ok(())
    }

    fn refused(&self, error: TlpError) -> BrickError {
        BrickError::Transfer { peer: self.device.path.display().to_string(), error }
    }

    fn done(&mut self, done: Done) -> Result<(), BrickError> {
        let Some(message) = self.transfers.remove(&done.transfer) else { return Ok(()) };
        let stamp = done.at.0 + self.pace.latency;
        let request = message.request().to_le_bytes();
        match (message.kind, &mut self.host) {
            (READ, None) => {
                let data = self.memory.read(message.address(), message.length().into());
                self.device.send(Message::new(READ_DONE, stamp, &request, data))
            }
            (READ, Some(_)) => {
                self.reads.entry(message.request()).or_default().passed = true;
                self.answer(message.request(), stamp)
            }
            (WRITE, None) => {
                self.memory.write(message.address(), &message.data);
                self.device.send(Message::new(WRITE_DONE, stamp, &request, Vec::new()))
            }
            (_, Some(host)) => host.send(Message { stamp, ..message }),
            (_, None) => Ok(()),
        }
    }

    /// Answers a read of the device once it has passed the link and its host has given the data.
    fn answer(&mut self, request: u64, stamp: u64) -> Result<(), BrickError> {
        let Some(Joined { passed: true, data: Some(data), .. }) = self.reads.get_mut(&request) else {
            return Ok(());
        };
        let data = std::mem::take(data);
        self.reads.remove(&request);
        self.device.send(Message::new(READ_DONE, stamp, &request.to_le_bytes(), data))
    }

    fn take_from_device(&mut self, message: Message) -> Result<(), BrickError> {
        self.messages += u64::from(message.kind != SYNC);
        let stamp = self.now + self.pace.latency;
        match message.kind {
            SYNC => Ok(()),
            END => self.end(stamp),
            READ | WRITE => {
                let length = self.device.check_length(message.length())?;
                if message.kind == READ && self.host.is_some() {
                    let joined = Joined { length, ..Joined::default() };
                    if self.reads.insert(message.request(), joined).is_some() {
                        let request = message.request();
                        return Err(self.device.wrong(format!("uses request {request} twice at once")));
                    }
                }
                if let (READ, Some(host)) = (message.kind, &mut self.host) {
                    host.send(Message { stamp, ..message.clone() })?;
                }
                let kind = if message.kind == READ { Kind::Read } else { Kind::Write };
                self.push(kind, length, message)
            }
            INTERRUPT => self.push(Kind::Message, 0, message),
            REGISTER_READ_DONE | REGISTER_WRITE_DONE => match &mut self.host {
                Some(host) => host.send(Message { stamp, ..message }),
                None => Err(self.device.wrong("answers an access that nobody made")),
            },
            kind => Err(self.device.wrong(format!("sends type {kind:#04x}, which is none of a device"))),
        }
    }

    /// Queues a transfer. Addresses of the other simulator wrap around the host buffer.
    fn push(&mut self, kind: Kind, length: usize, message: Message) -> Result<(), BrickError> {
        let (bytes, buffer) = (length as u64, self.requester.endpoint().port().buffer().bytes());
        let offset = (message.address() % buffer).min(buffer.saturating_sub(bytes));
        let pushed = self.requester.push(kind, offset, bytes, Picoseconds(self.now));
        let number = pushed.map_err(|error| self.refused(error))?;
        self.transfers.insert(number, message);
        Ok(())
    }

    fn take_from_host(&mut self, message: Message) -> Result<(), BrickError> {
        self.messages += u64::from(message.kind != SYNC);
        let Some(host) = &self.host else { return Ok(()) };
        let stamp = self.now + self.pace.latency;
        match message.kind {
            SYNC => Ok(()),
            END => self.end(stamp),
            READ_DONE => {
                let request = message.request();
                let Some(joined) = self.reads.get_mut(&request).filter(|joined| joined.data.is_none()) else {
                    return Err(host.wrong(format!("answers request {request}, which is not open")));
                };
                let mut data = message.data;
                data.truncate(joined.length);
                joined.data = Some(data);
                self.answer(request, stamp)
            }
            WRITE_DONE | REGISTER_READ | CONTROL => self.device.send(Message { stamp, ..message }),
            REGISTER_WRITE | REGISTER_POST => {
                host.check_length(message.length())?;
                self.device.send(Message { stamp, ..message })
            }
            kind => Err(host.wrong(format!("sends type {kind:#04x}, which is none of a host"))),
        }
    }

    /// Tells the other side that this is the end.
    fn end(&mut self, stamp: u64) -> Result<(), BrickError> {
        self.ended = true;
        let others = std::iter::once(&mut self.device).chain(&mut self.host).filter(|peer| !peer.ended);
        for peer in others {
            peer.send(Message::new(END, stamp, &[], Vec::new()))?;
        }
        Ok(())
    }

    /// Names the side that everything waits for.
    pub(super) fn stuck(&mut self, patience_s: f64) -> BrickError {
        let full = |peer: &Peer| peer.wrong(format!("takes no messages for {patience_s} s"));
        if !self.device.flush() {
            return full(&self.device);
        }
        if let Some(host) = self.host.as_ref().filter(|host| host.is_waiting()) {
            return full(host);
        }
        let of_device = self.device.known().unwrap_or(0);
        let of_host = self.host.as_mut().map_or(u64::MAX, |host| host.known().unwrap_or(0));
        let behind = self.host.as_ref().filter(|_| of_host < of_device).unwrap_or(&self.device);
        behind
            .wrong(format!("its time stands at {} ps for {patience_s} s: it has to send messages", self.now))
    }

    /// An error if a process has closed its socket without ending the connection.
    pub(super) fn check_alive(&self) -> Result<(), BrickError> {
        let gone = std::iter::once(&self.device).chain(&self.host).find(|peer| !peer.ended && peer.is_gone());
        gone.map_or(Ok(()), |peer| Err(peer.wrong("has closed its socket without ending the connection")))
    }
}
