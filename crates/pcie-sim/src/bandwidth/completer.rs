//! The root complex's side of reads: which of the requests whose data are there is answered next.

use crate::machine::Cuts;
use crate::profile::CompletionOrder;
use pcie_time::Draws;
use pcie_wire::Piece;

/// A request whose data are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// Its number in the engine's table.
    pub(super) request: u32,
    /// Its answer in a single completion, or more.
    pub(super) single: bool,
    /// What is still to be sent.
    pub(super) cuts: Cuts,
}

/// The requests whose data are there, in the order in which they came to be, and the rule among them.
#[derive(Clone, Debug)]
pub(super) struct Completer {
    rule: CompletionOrder,
    ready: Vec<Ready>,
    singles: usize,
    draws: Draws,
    drawn: u64,
    /// The place of the request being answered: new ones are added behind it.
    answering: Option<usize>,
}

impl Completer {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64) -> Self {
        Self { rule, ready: Vec::new(), singles: 0, draws, drawn, answering: None }
    }

    pub(super) fn add(&mut self, ready: Ready) {
        self.singles += usize::from(ready.single);
        self.ready.push(ready);
    }

    /// The next completion to send, and the request that it answers; true with its last.
    ///
    /// A request is answered to its end before the next is chosen.
    pub(super) fn next(&mut self) -> Option<(u32, Piece, bool)> {
        let place = match self.answering {
            Some(place) => place,
            None if self.ready.is_empty() => return None,
            None => self.choose(),
        };
        let chosen = &mut self.ready[place];
        let piece = chosen.cuts.next()?;
        let (request, last) = (chosen.request, chosen.cuts.is_done());
        self.answering = (!last).then_some(place);
        if last {
            self.singles -= usize::from(chosen.single);
            self.ready.remove(place);
        }
        Some((request, piece, last))
    }

    fn choose(&mut self) -> usize {
        match self.rule {
            CompletionOrder::Fifo => 0,
            CompletionOrder::RandomSmall if self.singles == 0 => 0,
            CompletionOrder::Random | CompletionOrder::RandomSmall => {
                self.drawn += 1;
                self.draws.below(self.drawn, self.ready.len() as u64) as usize
            }
        }
    }
}
