//! Flow-control credits of a device.

use crate::profile::System;

/// Credits that the root port advertised and that are not in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credits {
    posted_headers: u32,
    posted_data: u32,
    non_posted_headers: u32,
}

/// Data credits for a payload, of 16 bytes each.
pub(crate) fn data_credits(bytes: u32) -> u32 {
    bytes.div_ceil(16)
}

impl Credits {
    pub(crate) fn new(system: &System) -> Self {
        let complex = &system.host.root_complex;
        Self {
            posted_headers: complex.posted_header_credits.held_headers(),
            posted_data: complex.posted_data_credits.at_most(),
            non_posted_headers: complex.non_posted_header_credits.at_most(),
        }
    }

    pub(crate) fn take_posted(&mut self, bytes: u32) -> bool {
        let data = data_credits(bytes);
        let enough = self.posted_headers >= 1 && self.posted_data >= data;
        if enough {
            self.posted_headers -= 1;
            self.posted_data -= data;
        }
        enough
    }

    pub(crate) fn give_back_posted(&mut self, bytes: u32) {
        self.posted_headers += 1;
        self.posted_data += data_credits(bytes);
    }

    pub(crate) fn take_non_posted(&mut self) -> bool {
        let enough = self.non_posted_headers >= 1;
        if enough {
            self.non_posted_headers -= 1;
        }
        enough
    }

    pub(crate) fn give_back_non_posted(&mut self) {
        self.non_posted_headers += 1;
    }
}
