//! Tests that only read.
//!
//! Without writes the two ends of the link see each other over a long way: the data of a request that is still to be sent
//! are not there before the link and the root complex have had their time. So the root complex gives all answers up to
//! there at once, and then the card sends all requests that those answers allow: tens of them, where single steps would
//! alternate, and nothing could predict how.

mod card;
mod free;
mod path;
mod waiting;

use super::layouts::Alike;
use crate::bandwidth::start::{Finished, Start};
use path::ReadPath;
use pcie_time::Picoseconds;

/// A test that only reads, going on.
#[derive(Debug)]
pub(crate) struct ReadRun<'a> {
    path: ReadPath<'a>,
    /// Whether workers or credits can be waited for.
    waits: bool,
    /// What all requests have in common, where that is all.
    alike: Option<Alike>,
}

impl<'a> ReadRun<'a> {
    pub(crate) fn new(start: Start<'a>) -> Self {
        let mut path = ReadPath::new(start);
        Self {
            waits: path.card.workers.is_some() || path.card.credits.is_some(),
            alike: path.planned.alike(),
            path,
        }
    }

    /// See [`crate::BandwidthRun::run`].
    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        let path = &mut self.path;
        let target = path.completed + count;
        path.noted = noted.is_some().then(Vec::new);
        if self.waits {
            while path.answer_all(target) && path.send_all() {}
        } else if let Some(alike) = &self.alike {
            while path.answer_free::<true>(alike, target) && path.send_free::<true>(alike) {}
        } else {
            let any = Alike::default();
            while path.answer_free::<false>(&any, target) && path.send_free::<false>(&any) {}
        }
        if let (Some(noted), Some(own)) = (noted, &mut path.noted) {
            noted.append(own);
        }
        path.last
    }
}
