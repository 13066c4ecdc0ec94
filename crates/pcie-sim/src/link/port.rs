//! One direction of a link: a port that sends TLPs one after the other.
//!
//! A TLP occupies whole units of the port (16 bytes on the measured x8 Gen3 root ports, 8 on the card) and
//! the gap that the port leaves idle behind it. DLLPs for the other direction come in between; SKPs and other
//! overhead stretch everything by a factor. The wire arithmetic without these remains a bound.
//!
//! In flit mode TLPs travel in flits, and have left when their last flit has. Units and gaps are filled with NOPs.

use super::flits::Flits;
use super::replay::{Replay, Replays};
use pcie_time::Picoseconds;
use pcie_wire::{FlitEntry, LinkConfiguration};

const FRACTION_BITS: u32 = 32;
/// 2^32.
const FRACTION: f64 = 4_294_967_296.0;
const HALF: u64 = 1 << (FRACTION_BITS - 1);

/// A port. It keeps time in units of 2^-32 ps and rounds it on output, so that it does not drift.
#[derive(Clone, Debug)]
pub struct Port {
    quantum_bytes: u64,
    gap_bytes: u64,
    /// Time per byte in units of 2^-32 ps.
    byte_time: u64,
    /// When the port is free: whole picoseconds, and the rest in units of 2^-32 of one.
    whole: Picoseconds,
    rest: u64,
    /// Bytes of TLPs since the port was last idle.
    bytes: u64,
    /// In flit mode, the flits that it sends.
    flits: Option<Flits>,
    /// What it sends again, if anything can be damaged or fill its replay buffer.
    replay: Option<Box<Replay>>,
    /// Whether it has neither: TLPs follow one another.
    is_plain: bool,
}

impl Port {
    /// An idle port with TLPs in units of `quantum_bytes`, in `stretch` times the time of the line rate.
    pub fn new(link: &LinkConfiguration, quantum_bytes: u32, stretch: f64) -> Self {
        let byte_time = link.byte_time();
        Self {
            quantum_bytes: u64::from(quantum_bytes.max(1)),
            gap_bytes: 0,
            byte_time: (byte_time.numerator as f64 / byte_time.denominator as f64 * stretch * FRACTION)
                .round() as u64,
            whole: Picoseconds::ZERO,
            rest: 0,
            bytes: 0,
            flits: None,
            replay: None,
            is_plain: true,
        }
    }

    /// The port with TLPs in flits, which start at time 0 and take TLPs as `entry` says.
    pub(crate) fn in_flits(self, entry: FlitEntry) -> Self {
        Self { flits: Some(Flits::new(entry, self.byte_time)), is_plain: false, ..self }
    }

    /// The port with what it sends again. Times count in [`Self::replay_unit`].
    pub(crate) fn with_replay(self, replay: Replay) -> Self {
        Self { replay: Some(Box::new(replay)), is_plain: false, ..self }
    }

    /// The unit of time of its replays, in parts of 2^-32 ps: a flit, or one part.
    pub(crate) fn replay_unit(&self) -> u64 {
        self.flits.map_or(1, |flits| flits.flit_time())
    }

    /// Time of a byte in parts of 2^-32 ps.
    pub(crate) fn byte_time(&self) -> u64 {
        self.byte_time
    }

    /// What it sent again; `None` where nothing can be.
    pub(crate) fn replays(&self) -> Option<Replays> {
        let unit_ns = self.replay_unit() as f64 / FRACTION / 1000.0;
        self.replay.as_deref().map(|replay| replay.counts(unit_ns))
    }

    /// Whether TLPs follow one another: without flits, and nothing is sent again.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether TLPs travel in flits.
    #[inline]
    pub(crate) fn has_flits(&self) -> bool {
        self.flits.is_some()
    }

    /// Makes a port with flits idle at time 0, when its flit has been under way for `phase` of 2^32 parts. Its next item
    /// has the number `first` among those that can be damaged.
    pub(crate) fn start_flits(&mut self, phase: u32, first: u64) {
        if let Some(replay) = &mut self.replay {
            replay.restart_at(first);
        }
        self.flits = self.flits.map(|flits| flits.started_before(phase));
        self.whole = self.flits_free_at();
    }

    fn flits_free_at(&self) -> Picoseconds {
        self.flits.map_or(self.whole, |flits| flits.free_at(self.replay.as_deref()))
    }

    /// The port with `gap_bytes` idle behind each TLP.
    pub fn with_gap(self, gap_bytes: u32) -> Self {
        Self { gap_bytes: u64::from(gap_bytes), ..self }
    }

    /// Time of a byte, in femtoseconds, rounded down.
    pub fn byte_fs(&self) -> u64 {
        ((u128::from(self.byte_time) * 1000) >> 32) as u64
    }

    /// When the port can send the next TLP.
    #[inline]
    pub fn free_at(&self) -> Picoseconds {
        self.whole + Picoseconds(self.rest >> 31)
    }

    /// Time for which the TLPs so far occupy a port that is never idle, in ns.
    pub(crate) fn occupied_ns(&self) -> f64 {
        self.flits.map_or_else(|| self.free_at().as_ns(), |flits| flits.occupied_ns())
    }

    /// Least time in which the idle port sends TLPs of these sizes one after the other, in ns.
    pub(crate) fn least_ns(&self, tlps: impl Iterator<Item = u32>) -> f64 {
        let mut idle = self.clone();
        let units: u64 = tlps
            .map(|bytes| {
                idle.send(Picoseconds::ZERO, bytes);
                self.in_units(bytes)
            })
            .sum();
        self.flits.map_or_else(|| idle.free_at().as_ns(), |flits| flits.least_ns(units))
    }

    /// When the port is free: whole picoseconds, and the rest in units of 2^-32 of one.
    pub fn free_exactly(&self) -> (Picoseconds, u64) {
        (self.whole, self.rest)
    }

    /// Bytes of TLPs since the port was last idle.
    pub fn busy_bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the port free later by a time.
    pub fn shift(&mut self, by: Picoseconds) {
        self.whole += by;
    }

    /// Sends a TLP as soon as the port is free, but not before `ready`; returns when its last byte has left: in flit
    /// mode, when its last flit has.
    #[inline]
    pub fn send(&mut self, ready: Picoseconds, tlp_bytes: u32) -> Picoseconds {
        self.send_units(ready, self.in_units(tlp_bytes))
    }

    /// Time for which a TLP of `bytes` in whole units occupies the port, in parts of 2^-32 ps; `None` if the times
    /// of a few might not fit into 64 bits together, or where it depends on flits or replays.
    pub fn time_of(&self, bytes: u64) -> Option<u64> {
        if !self.is_plain {
            return None;
        }
        let time = u128::from(bytes + self.gap_bytes) * u128::from(self.byte_time);
        // With room for a fraction and a half.
        u64::try_from(time).ok().filter(|time| *time <= u64::MAX / 32)
    }

    /// Sends `TLPS` TLPs back to back, of `bytes` in all; returns when the last byte of each has left. `times` are
    /// those of the first, the first two, ... ([`Port::time_of`]).
    #[inline(always)]
    pub fn send_together<const TLPS: usize>(
        &mut self,
        ready: Picoseconds,
        times: &[u64; TLPS],
        bytes: u64,
    ) -> [Picoseconds; TLPS] {
        self.wake(ready);
        self.bytes += bytes;
        let (whole, rest) = (self.whole, self.rest);
        let after = |time: &u64| rest + time;
        let last = times.last().map_or(rest, after);
        self.whole = whole + Picoseconds(last >> FRACTION_BITS);
        self.rest = last & (FRACTION as u64 - 1);
        // Half a picosecond more, so that halves are rounded up as in `free_at`.
        std::array::from_fn(|nth| whole + Picoseconds((after(&times[nth]) + HALF) >> FRACTION_BITS))
    }

    /// Bytes of a TLP rounded up to whole units.
    pub fn in_units(&self, tlp_bytes: u32) -> u64 {
        u64::from(tlp_bytes).next_multiple_of(self.quantum_bytes)
    }

    /// Sends a TLP of `bytes` in whole units; see [`Port::send`].
    #[inline]
    pub fn send_units(&mut self, ready: Picoseconds, bytes: u64) -> Picoseconds {
        self.send_units_of::<false>(ready, bytes)
    }

    /// [`Port::send_units`], of a port that is known to be plain or not.
    #[inline(always)]
    pub(crate) fn send_units_of<const PLAIN: bool>(&mut self, ready: Picoseconds, bytes: u64) -> Picoseconds {
        debug_assert!(!PLAIN || self.is_plain, "flits or replays decide about times");
        if !PLAIN && !self.is_plain {
            return self.send_otherwise(ready, bytes);
        }
        self.wake(ready);
        self.bytes += bytes;
        self.work::<PLAIN>(bytes + self.gap_bytes);
        self.free_at()
    }

    /// Sends a TLP in flits, or one that may have to be sent again.
    #[cold]
    #[inline(never)]
    fn send_otherwise(&mut self, ready: Picoseconds, bytes: u64) -> Picoseconds {
        if let Some(flits) = &mut self.flits {
            self.bytes = bytes + if ready > self.whole { 0 } else { self.bytes };
            let left = flits.add(ready, bytes, self.replay.as_deref_mut());
            flits.leave(self.gap_bytes);
            self.whole = self.flits_free_at();
            return left;
        }
        self.wake(ready);
        self.bytes += bytes;
        let time = u128::from(bytes + self.gap_bytes) * u128::from(self.byte_time);
        let asked = (u128::from(self.whole.0) << FRACTION_BITS) + u128::from(self.rest);
        let Some(replay) = &mut self.replay else { return ready };
        let start = replay.start(asked, bytes);
        let arrived = replay.send(asked, start, time, bytes);
        let free = replay.start(start + time, 0);
        self.whole = Picoseconds((free >> FRACTION_BITS) as u64);
        self.rest = free as u64 & (FRACTION as u64 - 1);
        Picoseconds(((arrived + u128::from(HALF)) >> FRACTION_BITS) as u64)
    }

    /// Puts `bytes` of DLLPs in front of the next TLP, of a port that is known to be plain or not.
    #[inline(always)]
    pub(crate) fn send_dllps_of<const PLAIN: bool>(&mut self, ready: Picoseconds, bytes: u32) {
        if bytes > 0 {
            self.wake(ready);
            self.work::<PLAIN>(u64::from(bytes));
        }
    }

    /// Puts `bytes` of DLLPs in front of the next TLP.
    #[inline]
    pub fn send_dllps(&mut self, ready: Picoseconds, bytes: u32) {
        self.send_dllps_of::<false>(ready, bytes);
    }

    /// Pads the TLPs so far to a multiple of `unit_bytes`, and leaves one more unit idle.
    #[inline]
    pub fn leave_unit(&mut self, unit_bytes: u32) {
        let unit = u64::from(unit_bytes);
        if unit > 0 {
            // Units are nearly always powers of two, which need no division.
            let over = if unit.is_power_of_two() { self.bytes & (unit - 1) } else { self.bytes % unit };
            let left = unit + if over > 0 { unit - over } else { 0 };
            self.bytes += left;
            self.work::<false>(left);
        }
    }

    #[inline]
    fn wake(&mut self, ready: Picoseconds) {
        let idle = ready > self.free_at();
        self.whole = if idle { ready } else { self.whole };
        self.rest = if idle { 0 } else { self.rest };
        self.bytes = if idle { 0 } else { self.bytes };
    }

    /// Fills bytes of flits with NOPs.
    #[cold]
    #[inline(never)]
    fn fill_flits(&mut self, bytes: u64) {
        if let Some(flits) = &mut self.flits {
            flits.leave(bytes);
            self.whole = self.flits_free_at();
        }
    }

    #[inline(always)]
    fn work<const PLAIN: bool>(&mut self, bytes: u64) {
        if !PLAIN && self.has_flits() {
            return self.fill_flits(bytes);
        }
        let time = u128::from(bytes) * u128::from(self.byte_time);
        let rest = self.rest + u64::from(time as u32);
        self.whole += Picoseconds((time >> 32) as u64 + (rest >> 32));
        self.rest = rest & (FRACTION as u64 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gen3_x8() -> LinkConfiguration {
        serde_json::from_str(r#"{"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512}"#).unwrap()
    }

    #[test]
    fn tlps_occupy_whole_units_and_times_do_not_drift() {
        let mut port = Port::new(&gen3_x8(), 16, 1.0);
        // 276 bytes occupy 18 units of 16: 288 bytes of 126.953125 ps, 36,562.5 ps.
        let mut end = Picoseconds::ZERO;
        for _ in 0..64 {
            end = port.send(Picoseconds::ZERO, 276);
        }
        assert_eq!(end, Picoseconds(64 * 36_562 + 32));
    }

    #[test]
    fn tlps_sent_together_leave_as_those_sent_one_by_one() {
        let mut together = Port::new(&gen3_x8(), 16, 1.01).with_gap(12);
        let mut single = together.clone();
        for (nth, sizes) in [[276u32, 20, 148, 276], [24, 24, 24, 24], [276, 276, 276, 20]]
            .into_iter()
            .cycle()
            .take(99)
            .enumerate()
        {
            let ready = Picoseconds(nth as u64 * 130_000);
            let units = sizes.map(|size| single.in_units(size));
            let mut before = 0;
            let times = units.map(|bytes| {
                before += single.time_of(bytes).unwrap();
                before
            });
            let mut left = ready;
            let expected = units.map(|bytes| {
                left = single.send_units(left, bytes);
                left
            });
            assert_eq!(together.send_together(ready, &times, units.iter().sum()), expected);
            assert_eq!(
                (together.free_exactly(), together.busy_bytes()),
                (single.free_exactly(), single.busy_bytes())
            );
        }
    }

    #[test]
    fn port_sends_one_tlp_after_the_other() {
        let mut port = Port::new(&gen3_x8(), 1, 1.0);
        let first = port.send(Picoseconds(1000), 64);
        assert_eq!(first, Picoseconds(1000 + 8125));
        assert_eq!(port.send(Picoseconds(2000), 64), Picoseconds(1000 + 16_250));
    }

    #[test]
    fn gaps_dllps_and_padding_occupy_the_port() {
        let time = |bytes: u64| Picoseconds((bytes as f64 * 126.953_125).round() as u64);
        let mut port = Port::new(&gen3_x8(), 8, 1.0).with_gap(12);
        assert_eq!(port.send(Picoseconds::ZERO, 276), time(280 + 12));
        port.send_dllps(Picoseconds::ZERO, 16);
        port.leave_unit(16);
        assert_eq!(port.free_at(), time(288 + 16 + 12 + 16));
        assert_eq!(port.send(Picoseconds::ZERO, 24), time(304 + 28 + 24 + 12));
    }
}
