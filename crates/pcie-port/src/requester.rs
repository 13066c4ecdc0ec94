//! A device that sends transfers in order, each as soon as tags and credits are free.
//!
//! A transfer that one TLP can carry is one TLP; others are cut at multiples of MRRS or MPS, and at 4 KiB. The TLP at
//! the head of the queue waits for a tag and for credits, and everything behind it waits with it, as in a device with
//! one queue of requests.

use crate::endpoint::{Endpoint, Event};
use crate::port::Port;
use crate::tlp::{Kind, TIME_MOST, Tlp, TlpError};
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::{DOUBLE_WORD_BYTES, PAGE_BYTES};
use std::collections::VecDeque;

/// A transfer that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of the transfer, in the order of pushes from 0.
    pub transfer: u64,
    /// When its first TLP had a tag and credits.
    pub sent: Picoseconds,
    /// When its last completion is at the device, or its last byte at the host.
    pub at: Picoseconds,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    kind: Kind,
    ready: Picoseconds,
    /// Buffer offset and number of the bytes that are not sent.
    offset: u64,
    left_bytes: u64,
    sent: Option<Picoseconds>,
    /// Its reads in flight.
    open: u32,
    /// When the last byte so far has arrived.
    arrived: Picoseconds,
}

/// A queue of transfers in front of an endpoint.
#[derive(Debug)]
pub struct Requester {
    endpoint: Endpoint,
    /// Transfers from number `first` on.
    transfers: VecDeque<Transfer>,
    first: u64,
    /// Number of the transfer to send from next.
    head: u64,
    free_tags: Vec<u16>,
    /// Number of the transfer that holds a tag.
    by_tag: Vec<u64>,
    done: EventQueue<Done>,
    now: Picoseconds,
    last_ready: Picoseconds,
}

impl Requester {
    /// A device with as many tags as the system's link.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        let tags = endpoint.port().system().link.tags as u16;
        Self {
            endpoint,
            transfers: VecDeque::new(),
            first: 0,
            head: 0,
            free_tags: (0..tags).rev().collect(),
            by_tag: vec![0; tags.into()],
            done: EventQueue::default(),
            now: Picoseconds::ZERO,
            last_ready: Picoseconds::ZERO,
        }
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Queues a transfer that can start at `ready`, and returns its number. A message has no offset and no bytes.
    ///
    /// # Errors
    /// It has no bytes, leaves the host buffer, or is ready before the present time or before an earlier one.
    pub fn push(&mut self, kind: Kind, offset: u64, bytes: u64, ready: Picoseconds) -> Result<u64, TlpError> {
        let passed = self.now.max(self.last_ready);
        if ready < passed {
            return Err(TlpError::Past { ready, passed });
        }
        self.check(kind, offset, bytes, ready)?;
        let (sent, open, arrived) = (None, 0, Picoseconds::ZERO);
        let left_bytes = if kind == Kind::Message { 0 } else { bytes };
        self.transfers.push_back(Transfer { kind, ready, offset, left_bytes, sent, open, arrived });
        self.last_ready = ready;
        Ok(self.first + self.transfers.len() as u64 - 1)
    }

    /// Checks what [`Requester::push`] would refuse at any time.
    ///
    /// # Errors
    /// The transfer has no bytes, leaves the host buffer, or is ready beyond [`TIME_MOST`].
    pub fn check(&self, kind: Kind, offset: u64, bytes: u64, ready: Picoseconds) -> Result<(), TlpError> {
        if ready > TIME_MOST {
            return Err(TlpError::Late(ready));
        }
        let buffer_bytes = self.endpoint.port().buffer().bytes();
        if kind != Kind::Message && (bytes == 0 || bytes > buffer_bytes.saturating_sub(offset)) {
            return Err(TlpError::Transfer { offset, bytes, buffer_bytes });
        }
        Ok(())
    }

    /// About how many TLPs carry a transfer: requests of a read, or writes.
    pub(crate) fn tlps(&self, kind: Kind, offset: u64, bytes: u64) -> u64 {
        let most = most_bytes(self.endpoint.port(), kind);
        if next_bytes(most, offset, bytes) == bytes {
            return 1;
        }
        (offset % most).saturating_add(bytes).div_ceil(most)
    }

    /// Moves time on to `to`; transfers that are pushed later are ready then or later.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn advance(&mut self, to: Picoseconds) -> Result<(), TlpError> {
        while let Some(head) = self.transfers.get((self.head - self.first) as usize) {
            let at = head.ready.max(self.now);
            if at > to {
                break;
            }
            self.now = at;
            if self.send()? {
                continue;
            }
            match self.endpoint.next_at() {
                Some(next) if next <= to => self.pass(next)?,
                _ => break,
            }
        }
        self.pass(to)
    }

    /// Sends the next TLP of the head, if a tag and credits are free.
    fn send(&mut self) -> Result<bool, TlpError> {
        let Some(head) = self.transfers.get_mut((self.head - self.first) as usize) else { return Ok(false) };
        let tag = match head.kind {
            Kind::Read => self.free_tags.last().copied(),
            Kind::Write | Kind::Message => Some(0),
        };
        let Some(tag) = tag else { return Ok(false) };
        let port = self.endpoint.port();
        let length = next_bytes(most_bytes(port, head.kind), head.offset, head.left_bytes);
        let address = if head.kind == Kind::Message { Some(0) } else { port.buffer().address(head.offset) };
        let Some(address) = address else { return Err(TlpError::OutsideBuffer { address: head.offset }) };
        let tlp = Tlp { kind: head.kind, tag, address, length: length as u32, relaxed: false };
        if !self.endpoint.has_room(&tlp) {
            return Ok(false);
        }
        let sent = self.endpoint.submit(&tlp, self.now)?;
        head.sent.get_or_insert(self.now);
        head.offset += length;
        head.left_bytes -= length;
        let whole = head.left_bytes == 0;
        if head.kind == Kind::Read {
            self.free_tags.pop();
            self.by_tag[usize::from(tag)] = self.head;
            head.open += 1;
        } else {
            head.arrived = head.arrived.max(sent.arrived);
        }
        if whole {
            self.head += 1;
            self.finish(self.head - 1);
        }
        Ok(true)
    }

    /// Moves the endpoint on, and takes its events.
    fn pass(&mut self, to: Picoseconds) -> Result<(), TlpError> {
        self.endpoint.advance(to)?;
        while let Some(event) = self.endpoint.take() {
            let Event::Completion(completion) = event else { continue };
            let number = self.by_tag[usize::from(completion.tag)];
            let transfer = &mut self.transfers[(number - self.first) as usize];
            transfer.arrived = completion.at;
            if completion.last {
                transfer.open -= 1;
                self.free_tags.push(completion.tag);
                self.finish(number);
            }
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Notes a transfer as done if all of it is sent and nothing of it is in flight.
    fn finish(&mut self, number: u64) {
        let transfer = &self.transfers[(number - self.first) as usize];
        let Transfer { left_bytes: 0, open: 0, sent: Some(sent), arrived: at, .. } = *transfer else {
            return;
        };
        self.done.push(at, Done { transfer: number, sent, at });
        while self.transfers.front().is_some_and(|front| front.left_bytes == 0 && front.open == 0) {
            if self.first == self.head {
                break;
            }
            self.transfers.pop_front();
            self.first += 1;
        }
    }

    /// The next transfer that is done by the present time, in the order of time.
    pub fn take(&mut self) -> Option<Done> {
        let at = self.done.next_time()?;
        if at > self.now { None } else { self.done.pop().map(|(_, done)| done) }
    }

    /// Time before which no transfer is done; `None` if none is under way. Advancing to it makes progress.
    #[must_use]
    pub fn next_at(&self) -> Option<Picoseconds> {
        let under_way = self.endpoint.next_at();
        let head = self.transfers.get((self.head - self.first) as usize);
        // A head that is ready waits for something under way, or is sent at once.
        let head = head.filter(|head| head.ready > self.now || under_way.is_none());
        let waiting = head.map(|head| head.ready.max(self.now));
        [waiting, self.done.next_time(), under_way].into_iter().flatten().min()
    }
}

/// Bytes of the next TLP of a transfer: all that is left if one TLP can carry it, else up to a multiple of `most`.
/// Limits divide 4 KiB, and pieces of the buffer are pages.
pub(crate) fn next_bytes(most: u64, offset: u64, left: u64) -> u64 {
    let page = u64::from(PAGE_BYTES);
    let fits = offset % DOUBLE_WORD_BYTES + left <= most && offset % page + left <= page;
    if fits { left } else { left.min(most - offset % most) }
}

/// Most bytes of a TLP of a kind.
fn most_bytes(port: &Port, kind: Kind) -> u64 {
    let link = &port.system().link;
    u64::from(if kind == Kind::Read { link.mrrs_bytes } else { link.mps_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Port;
    use crate::test_machines::snb;
    use pcie_sim::TestKey;
    use pcie_workload::Operation;

    fn requester() -> Requester {
        let machine = snb();
        let (key, state) = (TestKey { seed: 1, test: 0 }, machine.boot());
        Requester::new(Endpoint::new(Port::new(machine, key, state, Operation::BwRdwr)))
    }

    fn drain(requester: &mut Requester) -> Vec<Done> {
        let mut done = Vec::new();
        while let Some(next) = requester.next_at() {
            requester.advance(next).unwrap();
            done.extend(std::iter::from_fn(|| requester.take()));
        }
        done
    }

    #[test]
    fn more_reads_than_tags_are_all_done_in_time() {
        let mut requester = requester();
        for number in 0..500 {
            requester.push(Kind::Read, 4096 * (number % 64), 1500, Picoseconds::ZERO).unwrap();
        }
        let done = drain(&mut requester);
        assert_eq!(done.len(), 500);
        assert!(done.is_sorted_by_key(|done| done.at));
        assert!(done.iter().all(|done| done.at > done.sent));
        assert!(done.iter().any(|done| done.sent > Picoseconds::ZERO), "none waited for a tag");
        assert_eq!(requester.endpoint().occupancy().reads, 0);
    }

    #[test]
    fn results_do_not_depend_on_the_steps_of_time() {
        let (mut at_once, mut in_steps) = (requester(), requester());
        let mut found = Vec::new();
        for number in 0..300_u64 {
            let kind = if number % 4 == 0 { Kind::Write } else { Kind::Read };
            let (offset, ready) = (64 * (number * 37 % 1000), Picoseconds(number * 9_000));
            at_once.push(kind, offset, 700, ready).unwrap();
            in_steps.advance(ready).unwrap();
            found.extend(std::iter::from_fn(|| in_steps.take()));
            in_steps.push(kind, offset, 700, ready).unwrap();
        }
        found.extend(drain(&mut in_steps));
        assert!(found == drain(&mut at_once));
    }

    #[test]
    fn an_interrupt_arrives_behind_the_writes_before_it() {
        let mut requester = requester();
        requester.push(Kind::Write, 0, 4096, Picoseconds::ZERO).unwrap();
        requester.push(Kind::Message, 0, 0, Picoseconds::ZERO).unwrap();
        let done = drain(&mut requester);
        assert_eq!(done.iter().map(|done| done.transfer).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn wrong_transfers_are_refused() {
        let mut requester = requester();
        let end = requester.endpoint().port().buffer().bytes();
        let mut push = |offset, bytes| requester.push(Kind::Read, offset, bytes, Picoseconds::ZERO);
        for (offset, bytes) in [(0, 0), (0, u64::MAX), (1, end), (end, 64), (u64::MAX, 64)] {
            assert!(matches!(push(offset, bytes), Err(TlpError::Transfer { .. })), "{offset} {bytes}");
        }
        requester.push(Kind::Read, 0, 64, Picoseconds(10)).unwrap();
        let early = requester.push(Kind::Read, 0, 64, Picoseconds(9));
        assert!(matches!(early, Err(TlpError::Past { .. })));
    }
}
