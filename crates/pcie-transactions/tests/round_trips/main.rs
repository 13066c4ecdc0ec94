//! Simulated tests as captures of every format that is written: read back, the report has the link, the settings, the
//! rates and the binding cause of the test, and its latencies to the clock of the format.
//!
//! `PCIELAB_ROUND_TRIPS` is the number of tests, 3 without it; `make tlp-round-trips` tries 200.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use pcie_capture::{Event, Facts, Format, Options as ReadOptions, WRITTEN, WriteOptions, Writer, read};
use pcie_port::trace::Line;
use pcie_port::{Endpoint, Port, Prepared};
use pcie_sim::{Machine, TestKey};
use pcie_time::Picoseconds;
use pcie_transactions::{Options, Report, explain, record::record};
use pcie_workload::{CacheState, Operation};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;

const SNB: &str = include_str!("../../../pcie-sim/tests/fixtures/snb.json");
/// Period of the clock of samples, ps: 512 bits a cycle are four times the rate of the link, so that packets do not
/// wait for a cycle.
fn clock_ps(generation: u64, lanes: u64) -> u64 {
    (64_000 / (lanes << (generation - 1))).clamp(250, 4000)
}

/// A test: a system with another link, and the transfers of its device.
struct Drawn {
    link: Value,
    write: bool,
    bytes: u64,
    adjacent: bool,
    pause_ps: u64,
}

/// Draws by a plain recurrence, so that every machine tries the same tests.
fn draw(number: u64) -> Drawn {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut pick = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let mps = [128, 256, 512][pick(3)];
    let mrrs = [512, 1024, 4096][pick(3)];
    let write = pick(2) == 1;
    let (generation, lanes, tags) = (1 + pick(5), [4, 8, 16][pick(3)], [4, 8, 16, 32, 64][pick(5)]);
    Drawn {
        link: json!({
            "generation": generation,
            "lanes": lanes,
            "mps_bytes": mps,
            "mrrs_bytes": mrrs,
            "tags": tags,
        }),
        write,
        // At least the largest packet, so that the capture shows it.
        bytes: (if write { mps } else { mrrs }) * [1, 2][pick(2)],
        adjacent: pick(2) == 1,
        pause_ps: [0, 0, 0, 400_000][pick(4)],
    }
}

fn endpoint(drawn: &Drawn) -> Endpoint {
    let mut system: Value = serde_json::from_str(SNB).unwrap();
    for (key, value) in drawn.link.as_object().unwrap() {
        system["link"][key] = value.clone();
    }
    let machine = Arc::new(Machine::without_device(serde_json::from_value(system).unwrap()).unwrap());
    let key = TestKey { seed: 1, test: 0 };
    let prepared = Prepared { cache: CacheState::HostWarm, window_bytes: 1 << 20 };
    let state = prepared.state(&machine, key);
    Endpoint::new(Port::new(machine, key, state, Operation::BwRdwr))
}

fn captured(drawn: &Drawn, transfers: u64) -> (Vec<Event>, Facts) {
    let step = if drawn.adjacent { drawn.bytes } else { 8192 };
    let line = |number: u64| Line {
        ready: Picoseconds(number * drawn.pause_ps),
        write: drawn.write,
        offset: number * step % (1 << 20),
        bytes: drawn.bytes,
    };
    let lines: Vec<Line> = (0..transfers).map(line).collect();
    record(&lines, endpoint(drawn), false, &mut || false).unwrap()
}

fn explained(events: &[Event], facts: &Facts, options: &Options) -> Report {
    let mut source = |take: &mut dyn FnMut(Event) -> ControlFlow<()>| {
        let _ = events.iter().try_for_each(|event| take(event.clone()));
        Ok(facts.clone())
    };
    explain(&mut source, options, &mut |_| false).unwrap()
}

fn written(events: &[Event], facts: &Facts, format: Format, clock_ps: u64) -> Vec<u8> {
    let options = WriteOptions { clock_ps, ..WriteOptions::default() };
    let mut writer = Writer::new(format, facts, &options, Vec::new()).unwrap();
    events.iter().for_each(|event| writer.event(event).unwrap());
    writer.finish().unwrap().1
}

fn read_back(content: &[u8], format: Format, clock_ps: u64, options: &Options) -> Report {
    let sampled = matches!(format, Format::IlaCsv);
    let reading =
        ReadOptions { clock_ps: sampled.then_some(clock_ps), format: Some(format), ..ReadOptions::default() };
    let mut source = |take: &mut dyn FnMut(Event) -> ControlFlow<()>| read(&mut &content[..], &reading, take);
    explain(&mut source, options, &mut |_| false).unwrap()
}

/// The coarsest step of times in a format, ns.
fn step_ns(format: Format, clock_ps: u64) -> f64 {
    match format {
        Format::IlaCsv | Format::Vcd => clock_ps as f64 / 1000.0,
        _ => 0.001,
    }
}

#[test]
fn captures_of_simulated_tests_read_back_as_they_were() {
    let count = std::env::var("PCIELAB_ROUND_TRIPS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut wrong = Vec::new();
    for number in 0..count {
        let drawn = draw(number);
        let (events, facts) = captured(&drawn, if count > 3 { 100 } else { 40 });
        let link = &drawn.link;
        let (generation, lanes) = (link["generation"].as_u64().unwrap(), link["lanes"].as_u64().unwrap());
        let clock = clock_ps(generation, lanes);
        let stated =
            Options { generation: Some(generation as u32), lanes: Some(lanes as u32), ..Options::default() };
        let truth = explained(&events, &facts, &stated);
        let mut check = |what: &str, is: bool, shown: String| {
            if !is {
                wrong.push(format!("test {number}, {what}: {shown} of {link}"));
            }
        };
        let name = format!("gen{generation}x{lanes}");
        check(
            "link of the facts",
            explained(&events, &facts, &Options::default()).link.alike == [name.clone()],
            String::new(),
        );
        let settings = &truth.settings;
        if drawn.write {
            check(
                "MPS",
                link["mps_bytes"] == settings.mps_bytes && settings.mps_is_used,
                format!("{settings:?}"),
            );
        } else {
            check(
                "MRRS",
                link["mrrs_bytes"] == settings.mrrs_bytes && settings.mrrs_is_used,
                format!("{settings:?}"),
            );
            let tags = truth.binding.as_ref().is_some_and(|binding| binding.cause == "tags");
            check("tags", !tags || link["tags"] == settings.tags_in_flight, format!("{settings:?}"));
        }
        check("rules", truth.violations.is_empty() && truth.open == 0, format!("{:?}", truth.violations));
        for format in WRITTEN {
            let content = written(&events, &facts, format, clock);
            // Samples and value changes have no field for the link, so that nothing but their pace shows it.
            if !matches!(format, Format::IlaCsv | Format::Vcd) {
                let alike = read_back(&content, format, clock, &Options::default()).link.alike;
                check(format.word(), alike == [name.clone()], format!("link {alike:?}"));
            }
            let back = read_back(&content, format, clock, &stated);
            let step = step_ns(format, clock);
            let word = format.word();
            check(
                word,
                same_settings(&back, &truth),
                format!("{:?} instead of {:?}", back.settings, truth.settings),
            );
            check(
                word,
                back.binding.as_ref().map(|binding| binding.cause)
                    == truth.binding.as_ref().map(|binding| binding.cause),
                format!("{:?} instead of {:?}", back.binding, truth.binding),
            );
            let (rate, of_truth) = (back.gbps.unwrap(), truth.gbps.unwrap());
            let duration = truth.duration_ns.unwrap();
            check(
                word,
                (rate / of_truth - 1.0).abs() <= 2.5 * step / duration,
                format!("{rate} instead of {of_truth} Gb/s"),
            );
            if let (Some(one), Some(other)) = (back.latency, truth.latency) {
                check(word, one.count == other.count, format!("{} latencies", one.count));
                for (one, other) in [
                    (one.least_ns, other.least_ns),
                    (one.median_ns, other.median_ns),
                    (one.p99_ns, other.p99_ns),
                    (one.most_ns, other.most_ns),
                ] {
                    check(word, (one - other).abs() <= step, format!("{one} instead of {other} ns"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// What a format may leave out (attributes, digests) apart.
fn same_settings(one: &Report, other: &Report) -> bool {
    let of = |report: &Report| {
        let settings = &report.settings;
        (
            settings.mps_bytes,
            settings.mrrs_bytes,
            settings.rcb_bytes,
            settings.completions_cut_at_bytes,
            settings.tags_in_flight,
            settings.highest_tag,
            settings.wide_addresses,
        )
    };
    of(one) == of(other)
}
