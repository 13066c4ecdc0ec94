//! The simulated points of a question, in an order that shows the shape of curves first.

use pcie_workload::Suite;
use serde::Serialize;
use std::collections::HashSet;

use crate::question::{Question, suite};

/// Transfer sizes of the curves: powers of two from 8 to 4096 B, sizes between them, and sizes next to jumps
/// of bandwidth.
pub(crate) const SIZES: [u64; 23] = [
    8, 16, 32, 63, 64, 65, 96, 128, 192, 256, 257, 384, 512, 513, 768, 1024, 1025, 1280, 1500, 1536, 2048,
    3072, 4096,
];
/// Windows of the curves: 4 KiB to 64 MiB.
pub(crate) const WINDOWS: [u64; 15] = {
    let mut windows = [4096; 15];
    let mut power = 0;
    while power < windows.len() {
        windows[power] <<= power;
        power += 1;
    }
    windows
};

/// A panel of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Panel {
    Size,
    Window,
    Latency,
}

/// A point of a panel: its size or window in bytes, and its test.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    panel: Panel,
    bytes: u64,
    suite: Suite,
}

/// The points of a question, coarse to fine: its own first, then the ends of curves, then halves of halves.
/// Impossible tests are left out.
pub(crate) fn plan(question: &Question) -> Vec<Planned> {
    let own =
        [(Panel::Size, question.size), (Panel::Latency, question.size), (Panel::Window, question.window)];
    let sizes = coarse_to_fine(&SIZES).map(|size| (Panel::Size, size));
    let mut windows = coarse_to_fine(&WINDOWS).map(|window| (Panel::Window, window));
    let by_turns: Vec<_> = sizes.flat_map(|size| [Some(size), windows.next()]).flatten().collect::<Vec<_>>();
    let rest: Vec<_> = windows.collect();
    let mut seen = HashSet::new();
    own.into_iter()
        .chain(by_turns)
        .chain(rest)
        .filter(|point| seen.insert(*point))
        .filter_map(|(panel, bytes)| {
            let mut asked = question.clone();
            let test = match panel {
                Panel::Latency => asked.test(question.latency, true),
                Panel::Size | Panel::Window => {
                    *(if panel == Panel::Size { &mut asked.size } else { &mut asked.window }) = bytes;
                    asked.test(question.bandwidth, false)
                }
            };
            Some(Planned { panel, bytes, suite: suite(test).ok()? })
        })
        .collect()
}

/// Values in the order ends, middle, quarters, ...: every prefix spreads over the whole range.
fn coarse_to_fine(values: &[u64]) -> impl Iterator<Item = u64> {
    let last = values.len() - 1;
    let (mut order, mut gaps, mut at) = (vec![0, last], vec![(0, last)], 0);
    while let Some(&(low, high)) = gaps.get(at) {
        let middle = usize::midpoint(low, high);
        if middle != low && middle != high {
            order.push(middle);
            gaps.extend([(low, middle), (middle, high)]);
        }
        at += 1;
    }
    order.into_iter().map(|index| values[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_begins_with_its_ends_and_its_middle() {
        assert_eq!(coarse_to_fine(&[1, 2, 3, 4, 5]).collect::<Vec<_>>(), [1, 5, 3, 2, 4]);
        let mut all: Vec<_> = coarse_to_fine(&SIZES).collect();
        all.sort_unstable();
        assert_eq!(all, SIZES);
    }

    #[test]
    fn a_plan_begins_with_the_question_and_leaves_impossible_tests_out() {
        let question = Question { size: 1024, window: 4096, ..Question::default() };
        let plan = plan(&question);
        let first: Vec<_> = plan.iter().take(3).map(|one| (one.panel, one.bytes)).collect();
        assert_eq!(first, [(Panel::Size, 1024), (Panel::Latency, 1024), (Panel::Window, 4096)]);
        assert_eq!(plan.iter().filter(|one| one.panel == Panel::Size).count(), SIZES.len());
        let offset = Question { host_offset: 32, ..question };
        assert!(super::plan(&offset).iter().all(|one| one.bytes < 4096 || one.panel != Panel::Size));
    }
}
