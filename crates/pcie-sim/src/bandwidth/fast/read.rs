//! Tests that only read.
//!
//! Without writes, an unsent request cannot have data before the latency of link and root complex has passed.
//! So the root complex gives all answers up to that time in one batch, and then the device sends all requests
//! that these answers allow. Batches of tens spare the branch mispredictions of alternating single steps.

mod ahead;
mod arrivals;
mod card;
mod free;
mod path;
mod waiting;

use super::layouts::Alike;
use crate::bandwidth::start::{Finished, Start};
use crate::link::replay::Replays;
use crate::root_complex::line_pool::PoolUse;
use path::ReadPath;
use pcie_time::Picoseconds;

/// A running test that only reads.
#[derive(Debug)]
pub(crate) struct ReadRun<'a> {
    path: ReadPath<'a>,
    /// Whether a read may have to wait for a worker, a credit or space for completions.
    waits: bool,
    /// Properties of all requests, if all are alike.
    alike: Option<Alike>,
}

impl<'a> ReadRun<'a> {
    pub(crate) fn new(start: Start<'a>) -> Self {
        let mut path = ReadPath::new(start);
        Self {
            waits: path.card.workers.is_some()
                || path.card.credits.is_some()
                || path.card.completion_buffer.is_some(),
            alike: if path.complex.limits_reads() || !path.uplink.is_plain() {
                None
            } else {
                path.planned.alike()
            },
            path,
        }
    }

    /// Use of the root complex's pools for writes and for reads.
    pub(in crate::bandwidth) fn pool_use(&self) -> [Option<PoolUse>; 2] {
        self.path.complex.pool_use()
    }

    /// What each direction sent again.
    pub(in crate::bandwidth) fn replays(&self) -> [Option<Replays>; 2] {
        [self.path.uplink.replays(), self.path.downlink.replays()]
    }

    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        let path = &mut self.path;
        let target = path.completed + count;
        path.noted = noted.is_some().then(Vec::new);
        let (any, alike) = (Alike::default(), &self.alike);
        match (alike, self.waits, path.uplink.is_plain()) {
            (_, true, true) => {
                while path.answer_all::<true, false, true>(&any, target) && path.send_all::<true>() {}
            }
            (_, true, false) => {
                while path.answer_all::<true, false, false>(&any, target) && path.send_all::<false>() {}
            }
            (Some(alike), ..) => {
                while path.answer_all::<false, true, true>(alike, target)
                    && path.send_free::<true, true>(alike)
                {}
            }
            (None, _, true) => {
                while path.answer_all::<false, false, true>(&any, target)
                    && path.send_free::<false, true>(&any)
                {}
            }
            (None, _, false) => {
                while path.answer_all::<false, false, false>(&any, target)
                    && path.send_free::<false, false>(&any)
                {}
            }
        }
        if let (Some(noted), Some(own)) = (noted, &mut path.noted) {
            noted.append(own);
        }
        path.last
    }
}
