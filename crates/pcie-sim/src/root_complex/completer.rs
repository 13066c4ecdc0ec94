//! The order of completions: chooses which of the requests with data is answered next.

use crate::profile::CompletionOrder;
use crate::root_complex::cuts::Cuts;
use pcie_time::Draws;
use pcie_wire::Piece;

/// A read request whose data are available.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchedRead {
    /// Its number in the engine's table.
    pub(super) request: u32,
    pub(super) small: bool,
    /// Its unsent completions.
    pub(super) cuts: Cuts,
}

/// The requests with data, in the order in which the data came, and the rule of the choice.
#[derive(Clone, Debug)]
pub(super) struct Completer {
    rule: CompletionOrder,
    fetched: Vec<FetchedRead>,
    small_ones: usize,
    draws: Draws,
    drawn: u64,
    chosen: Option<usize>,
    /// Whether a completion of the chosen request has been sent.
    started: bool,
}

impl Completer {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64) -> Self {
        Self { rule, fetched: Vec::new(), small_ones: 0, draws, drawn, chosen: None, started: false }
    }

    pub(super) fn add(&mut self, read: FetchedRead) {
        self.small_ones += usize::from(read.small);
        self.fetched.push(read);
    }

    /// The request, the piece, and whether it is the last one, of the next completion. `None` without a
    /// request to answer, or if the device has no `room` for the first completion of another request.
    ///
    /// A request is answered as a whole before the next is chosen. A choice stands while it waits for room.
    pub(super) fn next(&mut self, room: bool) -> Option<(u32, Piece, bool)> {
        let index = match self.chosen {
            Some(index) => index,
            None if self.fetched.is_empty() => return None,
            None => self.choose(),
        };
        self.chosen = Some(index);
        if !self.started && !room {
            return None;
        }
        let chosen = &mut self.fetched[index];
        let piece = chosen.cuts.next()?;
        let (request, last) = (chosen.request, chosen.cuts.is_done());
        self.started = !last;
        if last {
            self.chosen = None;
            self.small_ones -= usize::from(chosen.small);
            self.fetched.remove(index);
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
                self.draws.below(self.drawn, self.fetched.len() as u64) as usize
            }
        }
    }
}
