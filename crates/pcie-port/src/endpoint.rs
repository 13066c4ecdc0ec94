//! A port with flow control, whose events come in the order of time.
//!
//! Time is the caller's: [`Endpoint::advance`] moves it, and [`Endpoint::take`] gives the events up to then. A
//! TLP may still be ready a link's flight earlier: nothing that it causes reaches either end before that.

use crate::port::{Completion, Port};
use crate::tlp::{Kind, Outcome, TAGS, TIME_MOST, Tlp, TlpError};
use pcie_sim::Sent;
use pcie_sim::profile::System;
use pcie_time::{EventQueue, Picoseconds};

/// Bytes of a data credit.
const CREDIT_BYTES: u32 = 16;

/// Flow-control credits, or what a TLP needs of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Headers of posted TLPs.
    pub posted_headers: u32,
    /// Data of posted TLPs, 16 bytes each.
    pub posted_data: u32,
    /// Headers of reads.
    pub non_posted_headers: u32,
}

impl Units {
    /// What a TLP needs.
    #[must_use]
    pub fn of(tlp: &Tlp) -> Self {
        let lead = (tlp.address % 4) as u32;
        match tlp.kind {
            Kind::Read => Self { non_posted_headers: 1, ..Self::default() },
            Kind::Write => Self {
                posted_headers: 1,
                posted_data: tlp.length.saturating_add(lead).div_ceil(CREDIT_BYTES),
                ..Self::default()
            },
            Kind::Message => Self { posted_headers: 1, ..Self::default() },
        }
    }

    /// What a system's root port advertises; a receiver without a limit has a finite buffer all the same.
    #[must_use]
    pub fn advertised(system: &System) -> Self {
        let complex = &system.host.root_complex;
        Self {
            posted_headers: complex.posted_header_credits.held_headers(),
            posted_data: complex.posted_data_credits.at_most(),
            non_posted_headers: complex.non_posted_header_credits.at_most(),
        }
    }

    /// The kind of credits of which there are too few.
    pub(crate) fn lacking(&self, need: &Self) -> Option<&'static str> {
        let kinds = [
            (self.posted_headers < need.posted_headers, "posted header"),
            (self.posted_data < need.posted_data, "posted data"),
            (self.non_posted_headers < need.non_posted_headers, "non-posted header"),
        ];
        kinds.iter().find(|(lacks, _)| *lacks).map(|(_, name)| *name)
    }

    /// The rest after taking `need`, which must not be lacking.
    pub(crate) fn without(&self, need: &Self) -> Self {
        Self {
            posted_headers: self.posted_headers - need.posted_headers,
            posted_data: self.posted_data - need.posted_data,
            non_posted_headers: self.non_posted_headers - need.non_posted_headers,
        }
    }

    pub(crate) fn with(&self, returned: &Self) -> Self {
        Self {
            posted_headers: self.posted_headers + returned.posted_headers,
            posted_data: self.posted_data + returned.posted_data,
            non_posted_headers: self.non_posted_headers + returned.non_posted_headers,
        }
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Credits are back at the device.
    Credits {
        /// When.
        at: Picoseconds,
        /// Which.
        units: Units,
    },
    /// A completion has arrived at the device.
    Completion(Completion),
    /// An interrupt or a message has arrived at the host, behind all writes before it.
    Message {
        /// When.
        at: Picoseconds,
        /// Its address.
        address: u64,
        /// Tag of its TLP.
        tag: u16,
    },
}

impl Event {
    /// When it happens.
    #[must_use]
    pub fn at(&self) -> Picoseconds {
        match *self {
            Self::Credits { at, .. } | Self::Message { at, .. } => at,
            Self::Completion(completion) => completion.at,
        }
    }

    /// Its order among the events of an instant.
    fn rank(&self) -> u8 {
        match self {
            Self::Credits { .. } => 0,
            Self::Completion(_) => 1,
            Self::Message { .. } => 2,
        }
    }
}

/// How much is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Reads in flight.
    pub reads: u32,
    /// Credits that the device has left.
    pub credits: Units,
    /// When the device's port can send the next TLP.
    pub uplink_free: Picoseconds,
}

/// Who waits for the completions of a tag. The port frees a tag as soon as it knows its last completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Free,
    /// A read whose last completion has not been taken.
    InFlight,
    /// A read that gets no answer.
    Lost,
    /// Nobody: the device has given the read up, and completions may still come.
    GivenUp,
}

/// A port with flow control.
#[derive(Debug)]
pub struct Endpoint {
    port: Port,
    credits: Units,
    tags: Vec<Tag>,
    reads: u32,
    events: EventQueue<Event>,
    completions: Vec<Completion>,
    now: Picoseconds,
}

impl Endpoint {
    /// A port before its first TLP, at time 0.
    #[must_use]
    pub fn new(port: Port) -> Self {
        let credits = Units::advertised(port.system());
        let events = EventQueue::default();
        let (tags, completions) = (vec![Tag::Free; TAGS.into()], Vec::new());
        Self { port, credits, tags, reads: 0, events, completions, now: Picoseconds::ZERO }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// How much is in use.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        Occupancy { reads: self.reads, credits: self.credits, uplink_free: self.port.uplink_free_at() }
    }

    /// Whether there are a free tag and credits for a TLP.
    #[must_use]
    pub fn has_room(&self, tlp: &Tlp) -> bool {
        !self.lacks_tag(tlp) && self.credits.lacking(&Units::of(tlp)).is_none()
    }

    fn lacks_tag(&self, tlp: &Tlp) -> bool {
        tlp.kind == Kind::Read && self.tags.get(usize::from(tlp.tag)).is_some_and(|&tag| tag != Tag::Free)
    }

    /// Sends a TLP that is complete at `ready`: TLPs go in the order of calls, however early they are ready.
    ///
    /// # Errors
    /// Names what the TLP violates; nothing is changed.
    pub fn submit(&mut self, tlp: &Tlp, ready: Picoseconds) -> Result<Sent, TlpError> {
        self.submit_with(tlp, ready, Outcome::Data)
    }

    /// The same; a read gets the given outcome ([`Port::submit_with`]). One that is lost keeps its tag until
    /// [`Endpoint::give_up`].
    ///
    /// # Errors
    /// Those of [`Endpoint::submit`], and an outcome other than data of a TLP that is no read.
    pub fn submit_with(&mut self, tlp: &Tlp, ready: Picoseconds, outcome: Outcome) -> Result<Sent, TlpError> {
        let passed = self.now.since(self.port.flight());
        if ready < passed {
            return Err(TlpError::Past { ready, passed });
        }
        if ready > TIME_MOST {
            return Err(TlpError::Late(ready));
        }
        let need = Units::of(tlp);
        if let Some(name) = self.credits.lacking(&need) {
            return Err(TlpError::NoCredits(name));
        }
        if self.lacks_tag(tlp) {
            return Err(TlpError::TagInUse(tlp.tag));
        }
        let sent = self.port.submit_with(tlp, ready, outcome)?;
        if tlp.kind == Kind::Read {
            self.tags[usize::from(tlp.tag)] = Tag::InFlight;
            self.reads += 1;
        }
        self.credits = self.credits.without(&need);
        self.push(Event::Credits { at: sent.credited, units: need });
        if tlp.is_signal() {
            self.push(Event::Message { at: sent.arrived, address: tlp.address, tag: tlp.tag });
        }
        Ok(sent)
    }

    /// Gives up a read, as a device does after its completion timeout. Completions that still come reach nobody, and
    /// the tag is free when no more can come.
    ///
    /// # Errors
    /// No read in flight has the tag.
    pub fn give_up(&mut self, tag: u16) -> Result<(), TlpError> {
        let slot = self.tags.get_mut(usize::from(tag)).ok_or(TlpError::Tag(tag))?;
        *slot = match slot {
            Tag::InFlight => Tag::GivenUp,
            Tag::Lost => Tag::Free,
            Tag::Free | Tag::GivenUp => return Err(TlpError::NoRead(tag)),
        };
        self.reads -= 1;
        Ok(())
    }

    fn push(&mut self, event: Event) {
        self.events.push_ranked(event.at(), event.rank(), event);
    }

    /// Moves time on: all TLPs that are ready before `to`, less the link's flight, are submitted. An earlier
    /// time changes nothing.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn advance(&mut self, to: Picoseconds) -> Result<(), TlpError> {
        if to > TIME_MOST {
            return Err(TlpError::Late(to));
        }
        self.now = self.now.max(to);
        let given = self.now.since(self.port.reaction());
        let mut completions = std::mem::take(&mut self.completions);
        self.port.settle(given, &mut completions);
        completions.drain(..).for_each(|completion| self.push(Event::Completion(completion)));
        self.completions = completions;
        Ok(())
    }

    /// The next event up to the present time. Its credits, or its tag after the last completion, can be used from
    /// now on.
    pub fn take(&mut self) -> Option<Event> {
        while self.events.next_time()? <= self.now {
            let (_, event) = self.events.pop()?;
            match event {
                Event::Credits { units, .. } => self.credits = self.credits.with(&units),
                Event::Completion(completion) if !self.reaches_the_device(completion) => continue,
                Event::Completion(_) | Event::Message { .. } => {}
            }
            return Some(event);
        }
        None
    }

    /// Frees the tag of a last completion; false if the device does not see the completion.
    fn reaches_the_device(&mut self, Completion { tag, last, outcome, .. }: Completion) -> bool {
        let slot = &mut self.tags[usize::from(tag)];
        let is_seen = *slot == Tag::InFlight && outcome != Outcome::Lost;
        if last {
            self.reads -= u32::from(is_seen);
            *slot = if *slot == Tag::InFlight && !is_seen { Tag::Lost } else { Tag::Free };
        }
        is_seen
    }

    /// Time before which there is no event without further TLPs; `None` if nothing is under way. Advancing to
    /// it makes progress, but may bring no event yet.
    #[must_use]
    pub fn next_at(&self) -> Option<Picoseconds> {
        let known = [self.events.next_time(), self.port.silent_until()];
        known.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machines::snb;
    use pcie_sim::TestKey;
    use pcie_workload::Operation;

    fn endpoint() -> Endpoint {
        let machine = snb();
        let (key, state) = (TestKey { seed: 1, test: 0 }, machine.boot());
        Endpoint::new(Port::new(machine, key, state, Operation::BwRdwr))
    }

    fn tlp(endpoint: &Endpoint, kind: Kind, number: u64) -> Tlp {
        let address = endpoint.port().buffer().address(256 * number).unwrap();
        Tlp { kind, tag: number as u16, address, length: 256, relaxed: false }
    }

    fn drain(endpoint: &mut Endpoint) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(next) = endpoint.next_at() {
            endpoint.advance(next).unwrap();
            events.extend(std::iter::from_fn(|| endpoint.take()));
        }
        events
    }

    #[test]
    fn events_come_in_order_and_everything_comes_back() {
        let mut endpoint = endpoint();
        let before = endpoint.occupancy();
        for number in 0..20 {
            let kind = if number % 3 == 0 { Kind::Write } else { Kind::Read };
            endpoint.submit(&tlp(&endpoint, kind, number), Picoseconds::ZERO).unwrap();
        }
        let interrupt = Tlp { address: 0xfee0_0000, length: 4, ..tlp(&endpoint, Kind::Write, 0) };
        endpoint.submit(&interrupt, Picoseconds::ZERO).unwrap();
        let events = drain(&mut endpoint);
        assert!(events.is_sorted_by_key(Event::at));
        let after = endpoint.occupancy();
        assert_eq!((after.reads, after.credits), (before.reads, before.credits));
        assert_eq!(events.iter().filter(|event| matches!(event, Event::Message { .. })).count(), 1);
    }

    #[test]
    fn events_do_not_depend_on_the_steps_of_time() {
        let (mut at_once, mut in_steps) = (endpoint(), endpoint());
        let mut found = Vec::new();
        for number in 0..30 {
            let ready = Picoseconds(number * 7_000);
            at_once.submit(&tlp(&at_once, Kind::Read, number), ready).unwrap();
            in_steps.advance(ready).unwrap();
            found.extend(std::iter::from_fn(|| in_steps.take()));
            in_steps.submit(&tlp(&in_steps, Kind::Read, number), ready).unwrap();
        }
        found.extend(drain(&mut in_steps));
        assert_eq!(found, drain(&mut at_once));
    }

    #[test]
    fn a_device_without_credits_must_wait() {
        let mut endpoint = endpoint();
        let write = tlp(&endpoint, Kind::Write, 0);
        let headers = endpoint.occupancy().credits.posted_headers.min(1024 / 16);
        for _ in 0..headers {
            assert!(endpoint.has_room(&write));
            endpoint.submit(&write, Picoseconds::ZERO).unwrap();
        }
        assert!(!endpoint.has_room(&write));
        let refused = endpoint.submit(&write, Picoseconds::ZERO);
        assert_eq!(refused, Err(TlpError::NoCredits("posted data")));
        drain(&mut endpoint);
        assert!(endpoint.has_room(&write));
    }

    #[test]
    fn a_tag_is_free_when_its_last_completion_is_taken() {
        let mut endpoint = endpoint();
        let read = tlp(&endpoint, Kind::Read, 0);
        endpoint.submit(&read, Picoseconds::ZERO).unwrap();
        // The port knows the completion ahead of its time; no event is taken yet.
        while endpoint.port().reads_in_flight() > 0 {
            let next = endpoint.port().silent_until().unwrap();
            endpoint.advance(next).unwrap();
        }
        assert!(!endpoint.has_room(&read));
        assert_eq!(endpoint.submit(&read, endpoint.now), Err(TlpError::TagInUse(0)));
        drain(&mut endpoint);
        assert!(endpoint.has_room(&read));
        assert_eq!(endpoint.occupancy().reads, 0);
    }

    #[test]
    fn a_lost_read_keeps_its_tag_until_the_device_gives_it_up() {
        let mut endpoint = endpoint();
        let read = tlp(&endpoint, Kind::Read, 5);
        endpoint.submit_with(&read, Picoseconds::ZERO, Outcome::Lost).unwrap();
        let events = drain(&mut endpoint);
        assert!(events.iter().all(|event| matches!(event, Event::Credits { .. })), "{events:?}");
        assert_eq!((endpoint.next_at(), endpoint.occupancy().reads), (None, 1));
        assert_eq!(endpoint.submit(&read, endpoint.now), Err(TlpError::TagInUse(5)));
        endpoint.give_up(5).unwrap();
        assert_eq!(endpoint.occupancy().reads, 0);
        assert_eq!(endpoint.give_up(5), Err(TlpError::NoRead(5)));
        assert_eq!(endpoint.give_up(TAGS), Err(TlpError::Tag(TAGS)));
        endpoint.submit(&read, endpoint.now).unwrap();
        assert!(matches!(drain(&mut endpoint)[..], [.., Event::Completion(_)]));
    }

    #[test]
    fn completions_of_a_read_that_was_given_up_reach_nobody_and_free_its_tag() {
        for outcome in [Outcome::Data, Outcome::Unsupported, Outcome::Lost] {
            let mut endpoint = endpoint();
            let read = tlp(&endpoint, Kind::Read, 5);
            endpoint.submit_with(&read, Picoseconds::ZERO, outcome).unwrap();
            endpoint.give_up(5).unwrap();
            assert!(!endpoint.has_room(&read), "{outcome:?}: a completion may still come");
            let events = drain(&mut endpoint);
            assert!(events.iter().all(|event| matches!(event, Event::Credits { .. })), "{events:?}");
            assert!(endpoint.has_room(&read), "{outcome:?}");
            assert_eq!(endpoint.occupancy().reads, 0);
        }
    }

    #[test]
    fn time_does_not_go_back() {
        let mut endpoint = endpoint();
        endpoint.advance(Picoseconds(1_000_000)).unwrap();
        let read = tlp(&endpoint, Kind::Read, 0);
        let past = endpoint.submit(&read, Picoseconds(1_000));
        assert!(matches!(past, Err(TlpError::Past { .. })));
        let flight = endpoint.port().flight();
        endpoint.submit(&read, Picoseconds(1_000_000).since(flight)).unwrap();
        let late = TIME_MOST + Picoseconds(1);
        assert_eq!(endpoint.advance(late), Err(TlpError::Late(late)));
        assert_eq!(endpoint.submit(&read, late), Err(TlpError::Late(late)));
    }
}
