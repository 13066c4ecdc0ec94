//! The sentences about a store, over all bounds, shares, causes and unmeasured values.

use super::*;
use crate::bound_keys::{keys_of, keys_of_bounds};
use crate::certainty::NO_KNOWN_CAUSE;
use crate::numbers::{WORDS_MOST, words_in};
use serde_json::Value;

fn row(bound: &str, share: f64, reasons: &[&str]) -> StoreRow {
    StoreRow {
        test: 1,
        name: "BW_DMA_RDWR".into(),
        operation: "bw-rdwr".into(),
        size_bytes: 64,
        window_bytes: 8192,
        cache: "cold".into(),
        outstanding: Some(8),
        value_gbps: 100.0 * share,
        bounds: vec![(bound.to_owned(), 100.0), ("non-posted-credits".to_owned(), 103.0)],
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
    }
}

fn asked(rows: Vec<StoreRow>, origin: &str, unmeasured: bool, fits: bool) -> StoreAsked {
    let group = (0..rows.len()).filter(|nth| rows[*nth].bound() == rows[0].bound()).collect();
    let keys = rows.iter().flat_map(|row| keys_of(row.bound()).unwrap_or_default());
    let unmeasured = keys.filter(|_| unmeasured).map(|key| (key.to_owned(), "unidentified".to_owned()));
    StoreAsked {
        title: "a run".into(),
        origin: origin.into(),
        group,
        focus: vec![0],
        tests: Vec::new(),
        gains: Vec::new(),
        fits: fits
            .then(|| "the link runs below the speed and width that both of its ends support".to_owned()),
        unmeasured: unmeasured.collect(),
        borrowed: IndexMap::new(),
        notes: Vec::new(),
        rows,
    }
}

#[test]
fn no_sentence_about_a_store_is_too_long() {
    const CAUSES: [&str; 4] = [
        "IO-TLB: 16384 pages of 4 KiB over 64 entries",
        "memory: the window exceeds the cache that device-warm fills",
        "idle states: stalls of 2.3 ms that only reads in flight prevent",
        "unaligned on the device (offset 4)",
    ];
    let mut tried = 0;
    for bound in keys_of_bounds().keys() {
        for share in [0.3, 0.79, 0.85, 0.96, 1.005, 1.2] {
            for causes in [&CAUSES[..], &CAUSES[..1], &[NO_KNOWN_CAUSE], &[]] {
                for (origin, unmeasured, fits) in [
                    ("simulated", true, false),
                    ("simulated", false, false),
                    ("measured", true, true),
                    ("measured", false, false),
                ] {
                    let others =
                        ["wire-upstream", "receive-buffers", "completion-buffer", "page-walks", "read-pool"];
                    let mut rows: Vec<StoreRow> = vec![row(bound, share, causes); 12];
                    rows.extend(others.iter().map(|other| row(other, share, causes)));
                    let asked = asked(rows, origin, unmeasured, fits);
                    let answer = why_store(None, &asked, &mut |_, _| ControlFlow::Continue(())).unwrap();
                    for sentence in &answer.sentences {
                        assert!(words_in(sentence) <= WORDS_MOST, "{}: {sentence}", words_in(sentence));
                    }
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 1_000);
}

#[test]
fn the_clause_of_tests_with_one_resource_says_why_nobody_knows_it() {
    let rows = vec![row("tags", 0.9, &[]), row("tags", 0.92, &[])];
    let resource = Resource {
        bound: "tags".into(),
        key: "link.tags",
        value: 32.0,
        clause: "with 32 tags".into(),
        beside: None,
        assumed: None,
    };
    let common = vec![Some(resource.clone()), Some(resource)];
    let unmeasured = IndexMap::from([("link.tags".to_owned(), "assumed".to_owned())]);
    let clause = clause_of(common_resource(&common).unwrap(), &unmeasured);
    assert_eq!(clause, "with 32 tags (assumed)");
    let group: Vec<&StoreRow> = rows.iter().collect();
    let words = binding(&rows, &group, &clause);
    assert!(
        words.starts_with("tags binds 2 of 2 tests of bandwidth with 32 tags (assumed), both at once"),
        "{words}"
    );
    let cells: Value = serde_json::to_value(cells(&rows[0], "simulated")).unwrap();
    assert_eq!(cells["may_explain"], Value::Null);
}
