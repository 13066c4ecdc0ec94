//! What the reads of a test go through: the card, the uplink, the root complex, the downlink; and how far they have come.

use super::card::Card;
use crate::bandwidth::fast::layouts::TlpLayouts;
use crate::bandwidth::fast::planned::Planned;
use crate::bandwidth::fast::ready::Ready;
use crate::bandwidth::start::{Finished, Start};
use crate::link::port::Port;
use crate::root_complex::under_load::Complex;
use pcie_time::{Picoseconds, Stream};

/// The path of reads.
#[derive(Debug)]
pub(super) struct ReadPath<'a> {
    pub(super) planned: Planned<'a>,
    pub(super) card: Card,
    pub(super) uplink: Port,
    pub(super) complex: Complex<'a>,
    pub(super) ready: Ready,
    pub(super) downlink: Port,
    /// When the downlink is free for another request's completions.
    pub(super) answers_at: Picoseconds,
    pub(super) flight: Picoseconds,
    /// From when a request is sent, its data are not there sooner than this.
    pub(super) lookahead: Picoseconds,
    pub(super) completed: u64,
    /// When the last of them was.
    pub(super) last: Picoseconds,
    pub(super) noted: Option<Vec<Finished>>,
}

impl<'a> ReadPath<'a> {
    pub(super) fn new(start: Start<'a>) -> Self {
        let (uplink, downlink) = start.machine.ports();
        let first_draw = start.first_draw();
        let Start { machine, test, list, key, state, first } = start;
        let system = &machine.system;
        let root = &system.host.root_complex;
        let layouts = TlpLayouts::new(machine, test, uplink.clone(), downlink.clone());
        let complex = Complex::new(machine.system(), machine.lines(), key, state, first_draw);
        let order = key.draws(Stream::CompletionOrder);
        let flight = Picoseconds::from_ns(root.flight_ns);
        let card = Card::new(machine, test, first, complex.least_read());
        let planned = Planned::new(layouts, list, first, false);
        Self {
            planned,
            card,
            uplink,
            lookahead: flight + complex.least_read(),
            complex,
            ready: Ready::new(root.completion_order, order, first_draw, machine.tags() as usize),
            downlink,
            answers_at: Picoseconds::ZERO,
            flight,
            completed: 0,
            last: Picoseconds::ZERO,
            noted: None,
        }
    }

    /// When the next request can be answered, of those that were sent.
    #[inline]
    pub(super) fn next_answer(&self) -> Picoseconds {
        self.answers_at.max(self.ready.earliest())
    }
}
