//! Words on two runs: short in every combination of sorts, sizes and changes.

use super::*;
use crate::numbers::{WORDS_MOST, words_in};

const SORTS: [&str; 4] = ["reads", "writes", "latencies", "reads and writes at once"];
const KEYS: [&str; 3] =
    ["host.root_complex.posted_data_credits 4096 -> 256", "link.mrrs_bytes 512 -> 4096", "iommu off"];

fn moved(sort: &str, size_bytes: u64, effects_percent: Vec<f64>) -> Moved {
    let whole: f64 = effects_percent.iter().sum();
    let unit = if sort == SORTS[2] { NS } else { "Gb/s" };
    let (test, name, bounds) = (7, "BW_RD".to_owned(), [None, Some(120.0)]);
    let (sort, unit, b) = (sort.to_owned(), unit.to_owned(), 100.0 + whole);
    Moved { test, name, sort, size_bytes: Some(size_bytes), unit, a: 100.0, b, effects_percent, bounds }
}

fn two(changes: usize, rows: Vec<Moved>, is_simulated: bool) -> TwoRuns {
    let run = || Run { title: "a machine".into(), file: "run.db".into(), origin: SIMULATED.into() };
    let changes = KEYS[..changes].iter().map(|key| vec![(*key).to_owned()]).collect();
    TwoRuns {
        a: run(),
        b: run(),
        differences: Differences { changes, is_simulated, rows },
        notes: Vec::new(),
    }
}

#[test]
fn no_sentence_on_two_runs_is_too_long() {
    let mut tried = 0;
    for changes in 0..=KEYS.len() {
        for sorts in 1..=SORTS.len() {
            for which in 0..16_u32 {
                let effects = |nth: usize| {
                    let moves = which >> (nth % 4) & 1 == 1;
                    (0..changes).map(|one| if moves { 12.34 * (one as f64 - 0.5) } else { 0.1 }).collect()
                };
                let sizes = [64, 256, 1024, 4096].into_iter().enumerate();
                let rows = SORTS[..sorts]
                    .iter()
                    .enumerate()
                    .flat_map(|(of, sort)| sizes.clone().map(move |(nth, size)| (of + nth, *sort, size)));
                let rows = rows.map(|(nth, sort, size)| moved(sort, size, effects(nth))).collect();
                let answer = two(changes, rows, which % 3 > 0).answer().unwrap();
                for sentence in &answer.sentences {
                    assert!(words_in(sentence) <= WORDS_MOST, "{sentence}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 200);
}

#[test]
fn the_largest_change_is_named_with_what_it_does_alone() {
    let rows = vec![moved("reads", 64, vec![30.0, 2.0]), moved("writes", 64, vec![0.0, 0.2])];
    let answer = two(2, rows, true).answer().unwrap();
    let keys = "host.root_complex.posted_data_credits 4096 -> 256, link.mrrs_bytes 512 -> 4096, together";
    assert_eq!(answer.sentences[0], format!("{keys}: reads gain 32 %; writes nothing."));
    assert_eq!(answer.sentences[2], format!("{} alone: reads gain 30 %; writes nothing.", KEYS[0]));
    assert_eq!(answer.binds.as_deref(), Some(KEYS[0]));
    assert_eq!(answer.changes.iter().map(|one| one.after.round()).collect::<Vec<_>>(), [130.0, 102.0]);
    assert_eq!(answer.notes, ["1 test that does not change is left out"]);
    assert_eq!(answer.bars.len(), 2);
    assert!(two(1, Vec::new(), true).answer().is_err());
}
