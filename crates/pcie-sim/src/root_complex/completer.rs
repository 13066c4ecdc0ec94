//! The root complex's side of reads: which of the requests whose data are there is answered next.

use crate::profile::CompletionOrder;
use crate::root_complex::cuts::Cuts;
use pcie_time::Draws;
use pcie_wire::Piece;

/// A request whose data are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// Its number in the engine's table.
    pub(super) request: u32,
    /// Whether it is small.
    pub(super) small: bool,
    /// What is still to be sent.
    pub(super) cuts: Cuts,
}

/// The requests whose data are there, in the order in which they came to be, and the rule among them.
#[derive(Clone, Debug)]
pub(super) struct Completer {
    rule: CompletionOrder,
    ready: Vec<Ready>,
    small_ones: usize,
    draws: Draws,
    drawn: u64,
    /// The place of the request chosen: new ones are added behind it.
    chosen: Option<usize>,
    /// Whether a completion of the chosen request was sent.
    started: bool,
}

impl Completer {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64) -> Self {
        Self { rule, ready: Vec::new(), small_ones: 0, draws, drawn, chosen: None, started: false }
    }

    pub(super) fn add(&mut self, ready: Ready) {
        self.small_ones += usize::from(ready.small);
        self.ready.push(ready);
    }

    /// The next completion to send, and the request that it answers; true with its last. None if nothing is ready, or if
    /// it would be the first of a request and the card has no `room` for another.
    ///
    /// A request is answered to its end before the next is chosen, and the choice stands while it waits for room.
    pub(super) fn next(&mut self, room: bool) -> Option<(u32, Piece, bool)> {
        let place = match self.chosen {
            Some(place) => place,
            None if self.ready.is_empty() => return None,
            None => self.choose(),
        };
        self.chosen = Some(place);
        if !self.started && !room {
            return None;
        }
        let chosen = &mut self.ready[place];
        let piece = chosen.cuts.next()?;
        let (request, last) = (chosen.request, chosen.cuts.is_done());
        self.started = !last;
        if last {
            self.chosen = None;
            self.small_ones -= usize::from(chosen.small);
            self.ready.remove(place);
        }
        Some((request, piece, last))
    }

    /// Whether the next completion is the first of its request.
    pub(super) fn is_first(&self) -> bool {
        !self.started
    }

    fn choose(&mut self) -> usize {
        match self.rule {
            CompletionOrder::Fifo => 0,
            CompletionOrder::RandomSmall if self.small_ones == 0 => 0,
            CompletionOrder::Random | CompletionOrder::RandomSmall => {
                self.drawn += 1;
                self.draws.below(self.drawn, self.ready.len() as u64) as usize
            }
        }
    }
}
