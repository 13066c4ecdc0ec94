//! One direction of a link: a port that sends TLPs one after the other.
//!
//! A TLP occupies whole units of the port (16 bytes on the x8 Gen3 root ports measured, 8 on the card) and what the port
//! leaves free behind it; DLLPs that answer the other direction's TLPs take their place in between; SKPs and what else
//! there is stretch everything by a factor. All of this belongs to the simulated port and not to the wire arithmetic, whose
//! results remain bounds.

use pcie_time::Picoseconds;
use pcie_wire::LinkConfiguration;

/// A port and what it has sent. Time is kept as bytes since the port was last idle, and converted once.
#[derive(Clone, Debug)]
pub struct Port {
    quantum_bytes: u64,
    gap_bytes: u64,
    ps_per_byte: f64,
    busy_since: Picoseconds,
    /// Bytes since then: of TLPs, and of what goes between them.
    bytes: u64,
    between_bytes: u64,
    free_at: Picoseconds,
}

impl Port {
    /// An idle port of a link, which sends TLPs in units of `quantum_bytes` and takes `stretch` times as long as the line
    /// rate says.
    #[must_use]
    pub fn new(link: &LinkConfiguration, quantum_bytes: u32, stretch: f64) -> Self {
        let byte_time = link.byte_time();
        Self {
            quantum_bytes: u64::from(quantum_bytes.max(1)),
            gap_bytes: 0,
            ps_per_byte: byte_time.numerator as f64 / byte_time.denominator as f64 * stretch,
            busy_since: Picoseconds::ZERO,
            bytes: 0,
            between_bytes: 0,
            free_at: Picoseconds::ZERO,
        }
    }

    /// The same port, which leaves `gap_bytes` free behind each TLP.
    #[must_use]
    pub fn with_gap(self, gap_bytes: u32) -> Self {
        Self { gap_bytes: u64::from(gap_bytes), ..self }
    }

    /// When the port can send the next TLP.
    #[inline]
    #[must_use]
    pub fn free_at(&self) -> Picoseconds {
        self.free_at
    }

    /// Sends a TLP as soon as the port is free, but not before `ready`; returns when its last byte has left.
    #[inline]
    pub fn send(&mut self, ready: Picoseconds, tlp_bytes: u32) -> Picoseconds {
        self.wake(ready);
        self.bytes += u64::from(tlp_bytes).next_multiple_of(self.quantum_bytes);
        self.between_bytes += self.gap_bytes;
        self.work()
    }

    /// Puts `bytes` of DLLPs in front of the next TLP.
    #[inline]
    pub fn send_dllps(&mut self, ready: Picoseconds, bytes: u32) {
        if bytes > 0 {
            self.wake(ready);
            self.between_bytes += u64::from(bytes);
            self.work();
        }
    }

    /// Lets the TLPs so far end on a multiple of `unit_bytes`, and leaves one such unit free.
    pub fn leave_unit(&mut self, unit_bytes: u32) {
        let unit = u64::from(unit_bytes);
        if unit > 0 {
            self.bytes = self.bytes.next_multiple_of(unit) + unit;
            self.work();
        }
    }

    /// Leaves the port idle for a while after what it has sent.
    pub fn hold(&mut self, span: Picoseconds) {
        self.busy_since = self.free_at + span;
        self.bytes = 0;
        self.between_bytes = 0;
        self.free_at = self.busy_since;
    }

    fn wake(&mut self, ready: Picoseconds) {
        if ready > self.free_at {
            self.busy_since = ready;
            self.bytes = 0;
            self.between_bytes = 0;
        }
    }

    fn work(&mut self) -> Picoseconds {
        let bytes = (self.bytes + self.between_bytes) as f64;
        self.free_at = self.busy_since + Picoseconds((bytes * self.ps_per_byte).round() as u64);
        self.free_at
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
    fn a_port_waits_for_what_it_sends() {
        let mut port = Port::new(&gen3_x8(), 1, 1.0);
        let first = port.send(Picoseconds(1000), 64);
        assert_eq!(first, Picoseconds(1000 + 8125));
        assert_eq!(port.send(Picoseconds(2000), 64), Picoseconds(1000 + 16_250));
        port.hold(Picoseconds(10));
        assert_eq!(port.free_at(), Picoseconds(1000 + 16_260));
    }

    #[test]
    fn what_goes_between_tlps_takes_its_time() {
        let time = |bytes: u64| Picoseconds((bytes as f64 * 126.953_125).round() as u64);
        let mut port = Port::new(&gen3_x8(), 8, 1.0).with_gap(12);
        assert_eq!(port.send(Picoseconds::ZERO, 276), time(280 + 12));
        port.send_dllps(Picoseconds::ZERO, 16);
        port.leave_unit(16);
        assert_eq!(port.free_at(), time(288 + 16 + 12 + 16));
        assert_eq!(port.send(Picoseconds::ZERO, 24), time(304 + 28 + 24 + 12));
    }
}
