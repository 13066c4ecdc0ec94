//! The transactions of a capture, one by one.

use crate::analysis::ReadOnce;
use crate::copies::Copies;
use crate::pairing::Pairing;
use crate::report::Row;
use crate::rules::{StatedLimits, Violations};
use crate::transaction::{Class, Transaction};
use pcie_capture::{Direction, Facts, Packet};
use pcie_refusal::Refusal;
use std::ops::ControlFlow;

/// Which transactions to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Way of the request.
    pub direction: Option<Direction>,
    /// What it asks for.
    pub class: Option<Class>,
    /// Its tag.
    pub tag: Option<u16>,
    /// Start of the request at least, ps from the first packet.
    pub from_ps: Option<u64>,
    /// Start of the request before this, ps from the first packet.
    pub until_ps: Option<u64>,
}

impl Filter {
    fn passes(&self, transaction: &Transaction, zero_ps: u64) -> bool {
        let start = transaction.start_ps.map(|start| start.saturating_sub(zero_ps));
        self.direction.is_none_or(|direction| transaction.direction == Some(direction))
            && self.class.is_none_or(|class| transaction.class == class)
            && self.tag.is_none_or(|tag| transaction.tag == Some(tag))
            && self.from_ps.is_none_or(|from| start.is_some_and(|start| start >= from))
            && self.until_ps.is_none_or(|until| start.is_some_and(|start| start < until))
    }
}

/// Calls `take` with each transaction when its last completion has come, and with those without at the end, until it
/// breaks.
///
/// # Errors
/// Those of reading.
pub fn list(
    read: &mut ReadOnce<'_>,
    filter: &Filter,
    take: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<Facts, Refusal> {
    let (mut pairing, mut rules) = (Pairing::default(), Violations::default());
    let mut copies = Copies::default();
    let mut zero = None;
    let mut stopped = false;
    let facts = read(&mut |event| {
        if let Some(time) = event.time_ps {
            zero.get_or_insert(time);
        }
        let Packet::Tlp(tlp) = &event.packet else { return ControlFlow::Continue(()) };
        if copies.is_copy(&event, tlp) {
            return ControlFlow::Continue(());
        }
        let step = pairing.take(&event, tlp, &StatedLimits::default(), &mut rules);
        let zero = zero.unwrap_or(0);
        if let Some(done) = step.done.filter(|done| filter.passes(done, zero)) {
            stopped = take(Row::of(&done, None, zero)).is_break();
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let zero = zero.unwrap_or(0);
    for open in pairing.into_open() {
        if stopped {
            break;
        }
        if filter.passes(&open, zero) {
            stopped = take(Row::of(&open, None, zero)).is_break();
        }
    }
    Ok(facts)
}
