//! The search on a made-up engine: a rate that is the least of two limits.

use super::*;
use pcie_schema::relief::Who;
use serde_json::{Value, json};

/// A rate limited by `tags` and `port`, each a number.
struct Least {
    limits: [(&'static str, Who, f64); 3],
    changes: Vec<Change>,
}

impl Least {
    fn new(limits: [(&'static str, Who, f64); 3]) -> Self {
        let changes = limits.iter().map(|(key, who, value)| change(key, *who, 2.0 * value)).collect();
        Self { limits, changes }
    }

    fn rate(&self, change: &Change) -> f64 {
        let value = |(key, _, value): &(&str, Who, f64)| {
            change.keys.get(*key).and_then(Value::as_f64).unwrap_or(*value)
        };
        self.limits.iter().map(value).fold(f64::INFINITY, f64::min)
    }
}

fn change(key: &str, who: Who, value: f64) -> Change {
    let mut made = Change::of_value(key, Part::Link, json!(value));
    made.who = who;
    made
}

impl Engine for Least {
    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn values(
        &mut self,
        changes: &[Change],
        _: Length,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Option<Vec<f64>>>, Unfinished> {
        if progress(0).is_break() {
            return Err(Unfinished::Stopped);
        }
        Ok(changes.iter().map(|change| Some(vec![self.rate(change)])).collect())
    }

    fn further(&self, change: &Change) -> Option<Change> {
        let (key, value) = change.only_key()?;
        Some(self::change(key, change.who, 2.0 * value.as_f64()?))
    }

    fn raised(&self, changes: &[Change]) -> Vec<f64> {
        vec![1.0; changes.len()]
    }

    fn is_without_effect(&self, change: &Change) -> bool {
        change.keys.contains_key("idle")
    }

    fn is_latency(&self) -> bool {
        false
    }
}

fn found(limits: [(&'static str, Who, f64); 3]) -> Found {
    search(&mut Least::new(limits), &mut |_, _| ControlFlow::Continue(())).unwrap().unwrap()
}

#[test]
fn the_limit_is_named_and_raised_until_another_binds() {
    let found = found([("tags", Who::Device, 10.0), ("port", Who::Slot, 65.0), ("memory", Who::Slot, 500.0)]);
    let best = &found.tried[found.best.unwrap()];
    assert_eq!((best.change.keys["tags"].as_f64(), best.values.clone()), (Some(80.0), vec![65.0]));
    assert_eq!(best.how, How::Further);
}

#[test]
fn a_pair_is_found_where_two_limits_are_alike() {
    let found = found([("tags", Who::Device, 10.0), ("port", Who::Slot, 10.0), ("memory", Who::Slot, 500.0)]);
    assert_eq!(found.best, None, "neither helps alone");
    let pair = &found.tried[found.pair.unwrap()];
    assert_eq!((pair.how, pair.gain_percent), (How::Pair, 100.0));
    assert!(pair.change.keys.contains_key("tags") && pair.change.keys.contains_key("port"));
}

#[test]
fn a_change_that_is_easier_than_the_best_is_simulated_at_full_length() {
    let changes = ["tags", "walkers", "size", "pool", "iommu", "mps"].map(|key| {
        let who = match key {
            "iommu" | "mps" => Who::Setting,
            "size" => Who::Workload,
            _ => Who::Processor,
        };
        let mut made = change(key, who, 1.0);
        made.of = if key == "size" { Part::Test } else { Part::Host };
        made
    });
    let gains = [20.0, 19.0, 30.0, 18.0, 4.0, 5.0];
    assert_eq!(easier(&changes, &gains, &[2, 0, 1, 3]), Some(5));
    assert_eq!(easier(&changes, &gains, &[2, 0, 4]), None, "one of them is easier");
    assert_eq!(easier(&changes, &gains, &[5]), None);
}

#[test]
fn a_stopped_search_says_so() {
    let limits = [("tags", Who::Device, 10.0), ("port", Who::Slot, 10.0), ("memory", Who::Slot, 500.0)];
    let stopped = search(&mut Least::new(limits), &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Unfinished::Stopped)));
}

#[test]
fn a_change_that_is_known_to_have_no_effect_is_tried_without_a_simulation() {
    let found = found([("idle", Who::Device, 10.0), ("port", Who::Slot, 65.0), ("memory", Who::Slot, 500.0)]);
    let idle = found
        .tried
        .iter()
        .find(|tried| tried.how == How::Single && tried.change.keys.contains_key("idle"))
        .unwrap();
    assert_eq!((idle.values.clone(), idle.gain_percent, idle.is_full), (vec![10.0], 0.0, false));
}
