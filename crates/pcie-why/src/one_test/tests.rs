//! The sentences about a test, over all bounds, shares, causes, resources and unmeasured values.

use super::*;
use crate::bound_keys::keys_of_bounds;
use pcie_schema::Fitting as _;
use pcie_workload::Operation;

const CAUSES: [&str; 6] = [
    "IO-TLB: 16384 pages of 4 KiB over 64 entries",
    "remote memory",
    "memory: the window exceeds the cache that device-warm fills",
    "unaligned on the host (offset 4)",
    "unaligned on the device (offset 4)",
    "ends inside a cache line",
];

fn asked(measured: Option<f64>, origin: &str, unmeasured: &[&str]) -> TestAsked {
    TestAsked {
        title: "a system".into(),
        test: Test { size_bytes: 64, window_bytes: 8192, ..Test::default() },
        measured,
        origin: origin.into(),
        unmeasured: unmeasured.iter().map(|key| ((*key).to_owned(), "unidentified".to_owned())).collect(),
        borrowed: IndexMap::new(),
        notes: Vec::new(),
    }
}

fn case<'a>(asked: &'a TestAsked, bound: Option<&str>, simulated: f64, causes: Vec<Cause>) -> Case<'a> {
    let bounds = bound.map(|bound| vec![(bound.to_owned(), 100.0), ("non-posted-credits".to_owned(), 103.0)]);
    let key = bound.and_then(keys_of).map_or("link.tags", |keys| keys[0]);
    Case {
        asked,
        bounds: bounds.unwrap_or_default(),
        simulated,
        gains: Vec::new(),
        causes,
        reasons: CAUSES.map(str::to_owned).to_vec(),
        origin: if asked.measured.is_none() { SIMULATED } else { &asked.origin },
        unit: if bound.is_some() { GBPS } else { NS },
        resource: bound.map(|bound| Resource {
            bound: bound.to_owned(),
            key,
            value: 128.0,
            clause: "with 128 non-posted header credits".into(),
            beside: Some("walks of 1.25 ns".into()),
            assumed: None,
        }),
    }
}

#[test]
fn no_sentence_about_a_test_is_too_long() {
    let bounds = keys_of_bounds();
    let defects =
        ["the link at x8", "an IOMMU with super-pages", "memory on the other socket", "no extended tags"];
    let mut tried = 0;
    for bound in bounds.keys().map(|bound| Some(*bound)).chain([None]) {
        let unmeasured = bound.and_then(keys_of).unwrap_or_default();
        for unmeasured in [&unmeasured[..], &[]] {
            for value in [None, Some(20.0), Some(79.0), Some(96.0), Some(100.5), Some(120.0), Some(400.0)] {
                for origin in ["measured", "simulated"] {
                    let asked = asked(value, origin, unmeasured);
                    let fitting = value.unwrap_or(1.0);
                    let causes = defects.map(|name| (name.to_owned(), fitting)).to_vec();
                    for causes in [causes, vec![("the link at x8".to_owned(), 1.0)]] {
                        for simulated in [97.0, 101.0, 120.0, 60.0] {
                            for sentence in case(&asked, bound, simulated, causes.clone()).answer().sentences
                            {
                                let words = words_in(&sentence);
                                assert!(words <= WORDS_MOST, "{words}: {sentence}");
                                tried += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 10_000);
}

#[test]
fn the_word_on_an_unmeasured_resource_stands_behind_its_value() {
    let asked = asked(None, "measured", &["link.tags"]);
    let answer = case(&asked, Some("tags"), 97.0, Vec::new()).answer();
    let clause = "with 128 non-posted header credits (unidentified) and walks of 1.25 ns; the simulated 97.0 Gb/s is 97 % of it.";
    assert_eq!(answer.sentences[0], format!("tags binds at 100 Gb/s {clause}"));
    assert_eq!(answer.sure.level, Level::NotSure);
    assert!(answer.sentences[1].starts_with("Not sure: on an unmeasured value, "));
}

fn gain(key: &str, value: serde_json::Value, after: f64) -> Gain {
    let keys = IndexMap::from([(key.to_owned(), value)]);
    let change = Effect { keys, ..Effect::new(format!("{key} changed"), 60.0, after, GBPS, "host") };
    let percents = vec![change.gain_percent()];
    Gain { change, percents, how: How::Single, is_full: true, is_best: true, is_worth: false }
}

#[test]
fn a_reason_that_a_change_takes_away_holds_a_value_down() {
    let asked = asked(None, "measured", &[]);
    for (key, after, holds) in [
        ("iommu", 90.0, true),
        ("iommu", 70.0, false),
        ("link.tags", 100.0, false),
        ("memory_socket", 95.0, false),
    ] {
        let mut case = case(&asked, Some("root-port"), 60.0, Vec::new());
        case.reasons = vec!["IO-TLB: 64 pages of 4 KiB over 32 entries".to_owned()];
        case.gains = vec![gain(key, json!("off"), after)];
        let sentences = case.answer().sentences;
        assert_eq!(
            sentences[0].ends_with("is 60 % of it, held down by IO-TLB: 64 pages of 4 KiB over 32 entries."),
            holds
        );
        let proof = format!(
            "{key} changed alone gives {} Gb/s, {after:.0} % of what root-port allows.",
            digits(after)
        );
        assert_eq!(sentences[1].ends_with(&proof), holds, "{}", sentences[1]);
    }
}

#[test]
fn a_value_far_below_that_fits_no_defect_is_a_pace() {
    let asked = asked(Some(7.0), "measured", &[]);
    let answer = case(&asked, Some("tags"), 97.0, vec![("the link at x8".into(), 50.0)]).answer();
    assert_eq!(answer.change, None);
    assert!(
        answer.sentences[2].contains("fits one transfer every 73.1 ns (13.7 in flight over a microsecond)")
    );
}

#[test]
fn changes_of_a_simulated_run_start_from_its_value() {
    let text = include_str!("../../../pcie-sim/tests/fixtures/gen5-x16.json");
    let system = System::read(serde_json::from_str(text).unwrap()).unwrap();
    let test = Test::random_dma(Operation::LatRd, 64, 8192, 1024);
    let asked = TestAsked { test, ..asked(Some(500.0), SIMULATED, &[]) };
    let answer = why_test(&system, &asked, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(!answer.changes.is_empty());
    assert!(answer.changes.iter().all(|effect| (effect.before - 500.0).abs() < 1e-9));
}
