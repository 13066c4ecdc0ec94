//! Interrupt moderation by time.
//!
//! Like the interrupt throttling of NICs, for each queue: after an interrupt a period must pass; then the
//! next is sent as soon as a packet waits. If a count is given, that number of packets triggers it sooner.

use pcie_model::Step;
use pcie_time::Picoseconds;

/// The moderation of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moderation {
    period: Picoseconds,
    /// Packets that trigger an interrupt before the period is over.
    packets: Option<u64>,
    next: Picoseconds,
    /// Whether the NIC is to be woken at `next`.
    woken: bool,
}

impl Moderation {
    /// The moderation of a step; `None` if it is not moderated by time.
    pub(super) fn of(step: &Step) -> Option<Self> {
        let period = Picoseconds::from_ns(f64::from(step.moderation_ns?));
        Some(Self {
            period,
            packets: step.every_packets.map(u64::from),
            next: Picoseconds::ZERO,
            woken: false,
        })
    }

    /// Whether an interrupt is due with `waiting` packets.
    pub(super) fn is_due(&self, waiting: u64, now: Picoseconds) -> bool {
        waiting > 0 && (now >= self.next || self.packets.is_some_and(|packets| waiting >= packets))
    }

    pub(super) fn interrupts(&mut self, now: Picoseconds) {
        self.next = now + self.period;
        self.woken = false;
    }

    /// When to check again, for packets that wait; `None` if that wake-up is already planned.
    pub(super) fn wake_at(&mut self) -> Option<Picoseconds> {
        (!std::mem::replace(&mut self.woken, true)).then_some(self.next)
    }
}
