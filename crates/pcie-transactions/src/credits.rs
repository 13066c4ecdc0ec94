//! Flow-control credits as the capture shows them: limits in UpdateFC DLLPs, less what was sent.
//!
//! A capture that begins at link-up shows the initial credits, and thus how many are left. Any other shows changes only:
//! the least number then counts as none.
//!
//! Source: PCI Express Base Specification, section 2.6.1 (scaled flow control: 3.4.2).

/// Bits of the counters of headers and data.
const HEADER_BITS: u32 = 8;
const DATA_BITS: u32 = 12;

/// Credits that must be out at once, in a capture of changes only, for their least number to count as none.
const FEW_SPENT: i64 = 4;

/// One counter.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// The last limit announced, in units of the scale.
    announced: Option<u32>,
    /// What is left; relative unless `is_absolute`.
    left: i64,
    is_absolute: bool,
    is_infinite: bool,
    least: i64,
}

impl Counter {
    fn announce(&mut self, limit: u32, scale: u8, bits: u32, initial: bool) {
        let factor = match scale {
            2 => 4,
            3 => 16,
            _ => 1,
        };
        let range = 1_i64 << bits;
        if initial {
            self.is_infinite = limit == 0;
            self.is_absolute = true;
            self.left = i64::from(limit) * factor;
            self.least = self.left;
        } else if let Some(before) = self.announced {
            let more = (i64::from(limit) - i64::from(before)).rem_euclid(range);
            self.left += more * factor;
        }
        self.announced = Some(limit);
    }

    fn spend(&mut self, units: u32) {
        self.left -= i64::from(units);
        self.least = self.least.min(self.left);
    }

    /// What is left, for a table of states; `None` if nothing limits.
    fn shown(&self) -> Option<i32> {
        let known = self.announced.is_some() && !self.is_infinite;
        known.then(|| self.left.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    /// Whether a number of units left is too few for a packet that needs `units`.
    fn is_short(&self, left: i32, units: u32) -> bool {
        let left = i64::from(left);
        if self.is_absolute {
            left < i64::from(units)
        } else {
            left <= self.least && self.least <= -FEW_SPENT
        }
    }
}

/// Headers and data of a class of TLPs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Credits {
    headers: Counter,
    data: Counter,
    /// Most data of a packet, in credits.
    largest: u32,
}

/// What is left of headers and data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Left {
    headers: Option<i32>,
    data: Option<i32>,
}

impl Credits {
    pub(crate) fn announce(&mut self, header: (u16, u8), data: (u16, u8), initial: bool) {
        self.headers.announce(u32::from(header.0), header.1, HEADER_BITS, initial);
        self.data.announce(u32::from(data.0), data.1, DATA_BITS, initial);
    }

    pub(crate) fn spend(&mut self, data_credits: u32) {
        self.headers.spend(1);
        self.data.spend(data_credits);
        self.largest = self.largest.max(data_credits);
    }

    pub(crate) fn left(&self) -> Left {
        Left { headers: self.headers.shown(), data: self.data.shown() }
    }

    /// Whether no packet could be sent with what was left.
    pub(crate) fn is_exhausted(&self, left: Left) -> bool {
        left.headers.is_some_and(|headers| self.headers.is_short(headers, 1))
            || (self.largest > 0 && left.data.is_some_and(|data| self.data.is_short(data, self.largest)))
    }
}
