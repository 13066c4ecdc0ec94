//! When an interrupt comes that is moderated by time.
//!
//! As the interrupt throttling of network cards has it, one for each queue: after an interrupt a time has to pass, and then
//! the next comes as soon as there is a packet to tell of; where a count is given, so many packets bring it sooner.

use pcie_model::Step;
use pcie_time::Picoseconds;

/// When the next interrupt of a queue may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moderation {
    period: Picoseconds,
    /// Packets that do not wait for the time.
    packets: Option<u64>,
    next: Picoseconds,
    /// Whether the NIC is to be woken at `next`.
    woken: bool,
}

impl Moderation {
    /// Of a step; none if time does not moderate it.
    pub(super) fn of(step: &Step) -> Option<Self> {
        let period = Picoseconds::from_ns(f64::from(step.moderation_ns?));
        Some(Self {
            period,
            packets: step.every_packets.map(u64::from),
            next: Picoseconds::ZERO,
            woken: false,
        })
    }

    /// Whether so many packets are told of now.
    pub(super) fn is_due(&self, waiting: u64, now: Picoseconds) -> bool {
        waiting > 0 && (now >= self.next || self.packets.is_some_and(|packets| waiting >= packets))
    }

    /// An interrupt comes now.
    pub(super) fn interrupts(&mut self, now: Picoseconds) {
        self.next = now + self.period;
        self.woken = false;
    }

    /// When to look again, where packets wait that it is not time for; none if that is known.
    pub(super) fn wake_at(&mut self) -> Option<Picoseconds> {
        (!std::mem::replace(&mut self.woken, true)).then_some(self.next)
    }
}
