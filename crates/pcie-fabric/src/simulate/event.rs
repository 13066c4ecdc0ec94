//! The events of a simulation, and their packed form in the event queue.

use super::network::{NetworkEvent, Tlp};

/// An event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Event {
    Network(NetworkEvent),
    /// A TLP is at its destination.
    Delivered(Tlp),
    /// A TLP comes out of a memory and goes to its port.
    Inject(Tlp),
    /// A request is submitted.
    Submit(u32),
    /// A command reaches its engine.
    Command(u32),
    /// The engine may start the transfers of a request, or of its next segment.
    Executed(u32),
    /// Bytes of a request have been written to a device.
    Written(u32, u16),
    /// A request is done.
    Done(u32),
    /// The source of a request's flow has room.
    Room(u32),
}

/// An event in two words, like [`Tlp`].
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedEvent(u64, u64);

const WAKE: u64 = 0;
const ARRIVE: u64 = 1;
const DELIVERED: u64 = 2;
const INJECT: u64 = 3;
const SUBMIT: u64 = 4;
const COMMAND: u64 = 5;
const EXECUTED: u64 = 6;
const WRITTEN: u64 = 7;
const DONE: u64 = 8;
const ROOM: u64 = 9;

/// Bit offset of the kind in the second word, above a TLP's bits or a number of bytes.
const KIND: u32 = 32;

#[inline]
fn tlp(kind: u64, tlp: Tlp) -> PackedEvent {
    let (first, second) = tlp.words();
    PackedEvent(first, second | kind << KIND)
}

#[inline]
fn of(kind: u64, number: u32) -> PackedEvent {
    PackedEvent(number.into(), kind << KIND)
}

impl From<NetworkEvent> for PackedEvent {
    #[inline]
    fn from(event: NetworkEvent) -> Self {
        match event {
            NetworkEvent::Wake(edge) => of(WAKE, edge),
            NetworkEvent::Arrive(arriving) => tlp(ARRIVE, arriving),
        }
    }
}

impl From<Event> for PackedEvent {
    #[inline]
    fn from(event: Event) -> Self {
        match event {
            Event::Network(event) => event.into(),
            Event::Delivered(delivered) => tlp(DELIVERED, delivered),
            Event::Inject(injected) => tlp(INJECT, injected),
            Event::Submit(request) => of(SUBMIT, request),
            Event::Command(request) => of(COMMAND, request),
            Event::Executed(request) => of(EXECUTED, request),
            Event::Written(request, bytes) => Self(request.into(), u64::from(bytes) | WRITTEN << KIND),
            Event::Done(request) => of(DONE, request),
            Event::Room(request) => of(ROOM, request),
        }
    }
}

impl From<PackedEvent> for Event {
    #[inline]
    fn from(PackedEvent(first, second): PackedEvent) -> Self {
        let (number, content) = (first as u32, second & ((1 << KIND) - 1));
        let tlp = Tlp::from_words(first, content);
        match second >> KIND {
            WAKE => Self::Network(NetworkEvent::Wake(number)),
            ARRIVE => Self::Network(NetworkEvent::Arrive(tlp)),
            DELIVERED => Self::Delivered(tlp),
            INJECT => Self::Inject(tlp),
            SUBMIT => Self::Submit(number),
            COMMAND => Self::Command(number),
            EXECUTED => Self::Executed(number),
            WRITTEN => Self::Written(number, content as u16),
            DONE => Self::Done(number),
            _ => Self::Room(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::network::Message;

    #[test]
    fn packing_an_event_is_lossless() {
        use Message::{Acknowledgement, Ask, Command, Data, Status};
        for message in [Command, Ask, Data, Status, Acknowledgement] {
            let tlp = Tlp::new(u32::MAX, 7, message, u16::MAX);
            assert_eq!((tlp.hop(), tlp.request(), tlp.length()), (u32::MAX, 7, u16::MAX));
            assert_eq!(tlp.message(), message);
            for event in [
                Event::Network(NetworkEvent::Wake(u32::MAX)),
                Event::Network(NetworkEvent::Arrive(tlp)),
                Event::Delivered(tlp),
                Event::Inject(tlp),
                Event::Submit(3),
                Event::Command(4),
                Event::Executed(5),
                Event::Written(6, 4096),
                Event::Done(7),
                Event::Room(8),
            ] {
                assert_eq!(Event::from(PackedEvent::from(event)), event);
            }
        }
    }
}
