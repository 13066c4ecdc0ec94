//! Captures made with one limit each: the report names that limit first.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod made;

use made::Plan;
use pcie_capture::{Event, Facts};
use pcie_transactions::{Options, Report, explain};
use std::ops::ControlFlow;

fn explained(events: &[Event], options: &Options) -> Report {
    let mut read = |take: &mut dyn FnMut(Event) -> ControlFlow<()>| {
        for event in events {
            if take(event.clone()).is_break() {
                break;
            }
        }
        Ok(Facts { format: "made".into(), ..Facts::default() })
    };
    explain(&mut read, options, &mut |_| false).unwrap()
}

fn report(plan: &Plan) -> Report {
    let options = Options { generation: Some(3), lanes: Some(8), ..Options::default() };
    explained(&plan.events(), &options)
}

/// Each plan with the cause that the report has to name.
fn plans() -> Vec<(&'static str, Plan, &'static str)> {
    let reads = Plan::default();
    let writes = Plan { write: true, bytes: 256, ..Plan::default() };
    vec![
        ("few tags", Plan { tags: 4, ..reads }, "tags"),
        ("one tag", Plan { tags: 1, bytes: 64, ..reads }, "tags"),
        ("few tags, a clock of 4 ns", Plan { tags: 4, clock_ps: 4000, ..reads }, "tags"),
        ("small cuts", Plan { bytes: 64, adjacent: true, tags: 256, ..reads }, "small or unaligned cuts"),
        ("small writes", Plan { bytes: 32, adjacent: true, ..writes }, "small or unaligned cuts"),
        ("completions cut at RCB", Plan { cut: 64, tags: 256, ..reads }, "small or unaligned cuts"),
        (
            "late completions",
            Plan { tags: 32, late_every: 8, late_ps: 20_000_000, ..reads },
            "late completions",
        ),
        ("few credits", Plan { credits: Some(8), return_ps: 1_000_000, ..writes }, "credits"),
        (
            "few credits, captured later",
            Plan { credits: Some(8), return_ps: 1_000_000, shows_initial: false, ..writes },
            "credits",
        ),
        ("a slow device", Plan { pause_ps: 300_000, ..writes }, "device gaps"),
        ("a slow reader", Plan { pause_ps: 400_000, tags: 64, latency_ps: 900_000, ..reads }, "device gaps"),
        ("a slow host", Plan { pause_ps: 300_000, bytes: 64, host: true, ..writes }, "host gaps"),
        ("a bad link", Plan { nak_every: 20, ..writes }, "retries"),
        ("nothing but the wire: writes", writes, "wire"),
        ("nothing but the wire: reads", Plan { tags: 256, ..reads }, "wire"),
    ]
}

#[test]
fn the_planted_limit_is_named_first() {
    let mut wrong = Vec::new();
    for (name, plan, cause) in plans() {
        let report = report(&plan);
        let binding = report.binding.clone().unwrap();
        if binding.cause != cause {
            wrong.push(format!("{name}: {} instead of {cause}: {:#?}", binding.cause, report.shares));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The latency of a plan does not depend on what is in flight.
#[test]
fn as_many_reads_as_it_says_are_bound_by_tags_no_more() {
    for (name, plan, _) in plans().into_iter().filter(|(.., cause)| *cause == "tags") {
        let change = report(&plan).sentences[2].clone();
        let reads = change.split("at this latency, ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let tags: u32 = reads.parse().unwrap();
        assert!(tags > plan.tags, "{name}: {change}");
        for (tags, is_bound) in [(tags, false), (tags * 3 / 4, true)] {
            let cause = report(&Plan { tags, ..plan }).binding.unwrap().cause;
            assert_eq!(cause == "tags", is_bound, "{name}: {cause} with {tags} tags");
        }
    }
}

#[test]
fn shares_of_a_way_add_up_to_its_time() {
    for (name, plan, _) in plans() {
        let report = report(&plan);
        let duration = report.duration_ns.unwrap();
        for way in ["upstream", "downstream"] {
            let rows = || report.shares.iter().filter(|share| share.direction == way);
            let (share, ns): (f64, f64) = (rows().map(|row| row.share).sum(), rows().map(|row| row.ns).sum());
            assert!((share - 1.0).abs() < 1e-9 && (ns / duration - 1.0).abs() < 1e-9, "{name} {way}");
        }
    }
}

#[test]
fn links_and_settings_are_those_of_the_plan() {
    for (name, plan, _) in plans() {
        let report = report(&plan);
        let of_pace = explained(&plan.events(), &Options::default());
        let busy = report
            .binding
            .as_ref()
            .is_some_and(|binding| ["wire", "small or unaligned cuts"].contains(&binding.cause));
        if busy {
            assert!(of_pace.link.alike.contains(&"gen3x8".to_owned()), "{name}: {:?}", of_pace.link);
            assert_eq!(of_pace.binding, report.binding, "{name}");
        }
        if !plan.write {
            let waits =
                ["tags", "late completions"].contains(&report.binding.as_ref().map_or("", |one| one.cause));
            assert!(!waits || report.settings.tags_in_flight == plan.tags, "{name}");
            assert_eq!(report.latency.unwrap().count, u64::from(plan.count), "{name}");
        }
        assert_eq!((report.open, report.violations.len()), (0, 0), "{name}: {:?}", report.violations);
    }
}

#[test]
fn broken_rules_are_named_with_their_records() {
    let mut events = Plan { tags: 4, count: 40, ..Plan::default() }.events();
    made::break_rules(&mut events);
    let report = explained(&events, &Options::default());
    let broken: Vec<&str> = report.rules.iter().map(|(rule, _)| *rule).collect();
    for rule in made::BROKEN {
        assert!(broken.contains(&rule), "{rule} is not among {broken:?}");
    }
    assert!(report.violations.iter().all(|violation| violation.record > 0 && !violation.detail.is_empty()));
}

#[test]
fn a_capture_without_times_shows_settings_and_bytes() {
    let mut events = Plan { count: 100, ..Plan::default() }.events();
    events.iter_mut().for_each(|event| event.time_ps = None);
    let report = explained(&events, &Options::default());
    assert!(report.binding.is_none() && report.gbps.is_none() && report.link.generation.is_none());
    assert_eq!(report.settings.mrrs_bytes, 512);
    assert!(report.payload_share.unwrap() > 0.8, "{:?}", report.payload_share);
    assert_eq!(report.sentences.len(), 3);
}

#[test]
fn stopping_gives_what_was_read() {
    let events = Plan::default().events();
    let mut read = |take: &mut dyn FnMut(Event) -> ControlFlow<()>| {
        let _ = events.iter().try_for_each(|event| take(event.clone()));
        Ok(Facts::default())
    };
    let report = explain(&mut read, &Options::default(), &mut |events| events >= 1024).unwrap();
    assert!(report.interrupted && report.counts.tlps == 1024, "{:?}", report.counts);
    let options = Options { generation: Some(9), ..Options::default() };
    assert!(explain(&mut read, &options, &mut |_| false).unwrap_err().to_string().contains("give 1 to 7"));
}
