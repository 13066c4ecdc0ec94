//! Sentences about limits and flows, and their lengths.

use super::*;
use crate::gains::Effect;
use crate::numbers::{WORDS_MOST, words_in};

fn row(name: &str, unit: &str, value: f64, limit: Option<f64>) -> Limited {
    Limited {
        name: name.into(),
        size_bytes: Some(4096),
        value,
        unit: unit.into(),
        limits: limit.into_iter().map(|limit| ("non-posted-credits".to_owned(), limit)).collect(),
        reasons: vec!["latency under load: not known".into(), "IO-TLB: 8 pages of 4 KiB".into()],
    }
}

fn limits(unit: &str, value: f64, limit: Option<f64>, remedies: Remedies) -> Worded {
    let row = row("host to device, pinned", unit, value, limit);
    let mut other = row.clone();
    other.limits.iter_mut().for_each(|(name, _)| *name = "wire-downstream".into());
    let rows = vec![row.clone(), row.clone(), other];
    Limits {
        title: "a run".into(),
        about: "messages".into(),
        origin: "measured".into(),
        rows,
        group: 2,
        row,
        gains: Vec::new(),
        remedies,
    }
    .worded()
}

#[test]
fn a_limit_of_any_run_is_said_in_short_sentences() {
    for unit in ["Gb/s", "ns"] {
        for value in [10.0, 80.0, 96.0, 101.0, 130.0] {
            for limit in [Some(100.0), None] {
                for remedies in
                    [Remedies::Messages, Remedies::Tool("fio".into()), Remedies::None, Remedies::Caches]
                {
                    for sentence in limits(unit, value, limit, remedies).sentences {
                        assert!(words_in(&sentence) <= WORDS_MOST, "{}: {sentence}", words_in(&sentence));
                    }
                }
            }
        }
    }
    let worded = limits("Gb/s", 96.0, Some(100.0), Remedies::Tool("perftest".into()));
    let binds =
        "non-posted-credits binds 2 of 3 rates, wire-downstream 1: host to device, pinned of 4096 B reaches";
    assert_eq!(worded.sentences[0], format!("{binds} 96.0 Gb/s, and the bound allows 100."));
    assert!(worded.sentences[2].contains("use more queue pairs (-q)"));
    let above = limits("Gb/s", 130.0, Some(100.0), Remedies::Tool("perftest".into()));
    assert!(above.sentences[2].starts_with("The link that was given allows less"));
}

#[test]
fn flows_are_named_by_the_edge_that_limits_them() {
    let flows: Vec<String> = ["a to b", "c to d", "e to f", "g to h"].map(str::to_owned).to_vec();
    let edge = Edge { name: "s:u".into(), flows: flows.clone(), load: 8.0, capacity: 8.0, lost: Some(4.0) };
    let best = Effect::new(
        "doubling the edge s:u, which affects a to b, c to d, e to f and 1 more",
        8.0,
        12.0,
        "GB/s",
        "link",
    );
    let estimated = EstimatedFlows {
        title: "flows".into(),
        flows: 5,
        edge: Some(edge),
        apart: Vec::new(),
        best: Some(best.clone()),
    };
    let worded = estimated.worded();
    let carries = "it carries 8.00 of 8.00 GB/s, and they get 4.00 GB/s less than alone";
    assert_eq!(worded.sentences[0], format!("The edge s:u binds 4 of 5 flows: {carries}."));
    assert!(worded.sentences[2].starts_with("Most is gained by doubling the edge s:u"));
    assert_eq!(worded.best, Some(best.clone()));
    let unlimited = EstimatedFlows { edge: None, best: None, ..estimated };
    assert!(unlimited.worded().sentences[0].starts_with("No edge limits any of the 5 flows"));
    let simulated = SimulatedFlows {
        title: "flows".into(),
        origin: "simulated".into(),
        flows: 5,
        asking: 5,
        group: flows,
        flow: "a to b".into(),
        value: 2.0,
        limits: vec![("edge s:u".into(), 8.0)],
        reasons: vec!["other flows".into()],
        best: Some(Effect { after: 8.01, ..best }),
    };
    let said = simulated.worded();
    assert_eq!(said.best, None);
    assert!(said.sentences[2].starts_with("No change that was tried gives any flow more"));
    for sentence in worded.sentences.iter().chain(&said.sentences) {
        assert!(words_in(sentence) <= WORDS_MOST, "{}: {sentence}", words_in(sentence));
    }
}
