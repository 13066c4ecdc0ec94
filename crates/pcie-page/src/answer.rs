//! The curves of a question in closed form: fast enough to follow a slider.

use pcie_model::{Answer, Bound, Ceiling, Limits, Model, ModelParameters, Transfer};
use pcie_refusal::Refusal;
use pcie_sim::Machine;
use pcie_sim::profile::{Link, System};
use pcie_wire::{Accounting, LinkParameters};
use pcie_workload::{Operation, Pattern, Test};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{SIZES, WINDOWS};
use crate::point::system_of;
use crate::question::Question;

const CEILINGS_MOST: usize = 5;
/// Ethernet rates that may be shown, Gb/s.
const ETHERNET_GBPS: [f64; 6] = [10.0, 40.0, 100.0, 200.0, 400.0, 800.0];
/// A rate is shown if the link's capacity is less than this multiple of it.
const SPARED: f64 = 4.0;
const FCS_BYTES: u64 = 4;
const SHORTEST_FRAME_BYTES: u64 = 64;
/// Preamble, start of frame and the gap after it.
const BETWEEN_FRAMES_BYTES: u64 = 20;
const FOUR_GIB: u64 = 1 << 32;

/// A system and a question about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    system: Value,
    title: String,
    question: Question,
}

/// Everything that a page draws without simulating.
#[derive(Debug, Serialize)]
pub(crate) struct Curves {
    title: String,
    link: String,
    sizes: Vec<Sized>,
    windows: Vec<Windowed>,
    references: Vec<Reference>,
    edges: Vec<Edge>,
}

/// A bound of a size.
#[derive(Debug, Serialize)]
struct Sized {
    size: u64,
    #[serde(flatten)]
    bounds: Bounds,
}

/// A bound of a window.
#[derive(Debug, Serialize)]
struct Windowed {
    window: u64,
    #[serde(flatten)]
    bounds: Bounds,
}

#[derive(Debug, Serialize)]
struct Bounds {
    gbps: f64,
    binds: Bound,
    ceilings: Vec<Ceiling>,
}

impl From<Answer> for Bounds {
    fn from(answer: Answer) -> Self {
        let ceilings = answer.ceilings.into_iter().take(CEILINGS_MOST).collect();
        Self { gbps: answer.gbps, binds: answer.bound, ceilings }
    }
}

/// A bandwidth to compare with.
#[derive(Debug, Serialize)]
struct Reference {
    name: String,
    size: u64,
    gbps: f64,
}

/// A window that fills a cache or the IO-TLB.
#[derive(Debug, Serialize)]
struct Edge {
    name: &'static str,
    window: u64,
}

/// The curves of a question.
pub(crate) fn answer(asked: &Asked) -> Result<Curves, Refusal> {
    let system = system_of(asked.system.clone())?;
    let question = &asked.question;
    let own = question.test(question.bandwidth, false);
    own.validate()?;
    let (link, edges) = (link_words(&system.link), edges(&system));
    let of_sizes = with_each(&own, &SIZES, own.size_bytes, |test, size| test.size_bytes = size);
    let of_windows = with_each(&own, &WINDOWS, own.window_bytes, |test, window| test.window_bytes = window);
    let references = references(&system, question, &of_sizes)?;
    let machine = Machine::new(system)?;
    let mut curves = Curves {
        title: asked.title.clone(),
        link,
        sizes: Vec::new(),
        windows: Vec::new(),
        references,
        edges,
    };
    for test in of_sizes {
        if let Some(bounds) = machine.bounds(&test)? {
            curves.sizes.push(Sized { size: test.size_bytes, bounds: bounds.answer.into() });
        }
    }
    for test in of_windows {
        if let Some(bounds) = machine.bounds(&test)? {
            curves.windows.push(Windowed { window: test.window_bytes, bounds: bounds.answer.into() });
        }
    }
    Ok(curves)
}

/// A test with each value that is possible, its own included.
fn with_each(own: &Test, values: &[u64], own_value: u64, set: impl Fn(&mut Test, u64)) -> Vec<Test> {
    let mut values: Vec<u64> = values.iter().copied().chain([own_value]).collect();
    values.sort_unstable();
    values.dedup();
    let tests = values.into_iter().map(|value| {
        let mut test = own.clone();
        set(&mut test, value);
        test
    });
    tests.filter(|test| test.validate().is_ok()).collect()
}

/// The link alone, and full Ethernet of the rates that suit it.
fn references(system: &System, question: &Question, tests: &[Test]) -> Result<Vec<Reference>, Refusal> {
    let low = tests.first().map_or(0.0, |test| low_share(system, test));
    let mut found = Vec::new();
    for test in tests {
        let gbps = link_gbps(&system.link, low, question, test.size_bytes)?;
        found.push(Reference { name: "link alone".into(), size: test.size_bytes, gbps });
    }
    let capacity = model(&system.link, 64)?.bandwidth(64, 0)?.tlp_gbps;
    for rate in ETHERNET_GBPS.into_iter().filter(|rate| *rate <= capacity && capacity < SPARED * rate) {
        found.extend(tests.iter().map(|test| {
            let frame = (test.size_bytes + FCS_BYTES).max(SHORTEST_FRAME_BYTES) + BETWEEN_FRAMES_BYTES;
            let gbps = rate * test.size_bytes as f64 / frame as f64;
            Reference { name: format!("{rate}G Ethernet"), size: test.size_bytes, gbps }
        }));
    }
    Ok(found)
}

/// The share of a test's transfers below 4 GiB, whose headers hold 32 bits of address.
fn low_share(system: &System, test: &Test) -> f64 {
    let visited = if test.pattern == Pattern::Fixed { test.size_bytes } else { test.window_bytes };
    let piece = system.chunk_bytes;
    let end = visited.min(system.buffer_bytes());
    let starts = (0..end).step_by(usize::try_from(piece).unwrap_or(usize::MAX));
    let low: u64 = starts
        .zip(&system.chunk_addresses)
        .filter(|(_, address)| **address < FOUR_GIB)
        .map(|(start, _)| piece.min(end - start))
        .sum();
    if end == 0 { 0.0 } else { low as f64 / end as f64 }
}

/// Bandwidth of transfers on the link alone: the mean time of both lengths of addresses.
fn link_gbps(link: &Link, low: f64, question: &Question, size_bytes: u64) -> Result<f64, Refusal> {
    let mut parts = Vec::new();
    for (bits, share) in [(32, low), (64, 1.0 - low)] {
        if share > 0.0 {
            let transfer =
                Transfer { size_bytes, offset_bytes: question.host_offset, completion_bytes: None };
            let bandwidth = model(link, bits)?.bandwidth_of(transfer)?;
            let answer = match question.bandwidth {
                Operation::BwWr => bandwidth.write,
                Operation::BwRdwr => bandwidth.rdwr,
                _ => bandwidth.read,
            };
            parts.push((share, answer));
        }
    }
    if let [(_, only)] = parts.as_slice() {
        return Ok(only.gbps);
    }
    let bounds = parts.first().map(|(_, answer)| answer.ceilings.as_slice()).unwrap_or_default();
    let mean_time = |bound: Bound| -> f64 {
        let of = |answer: &Answer| answer.ceilings.iter().find(|one| one.bound == bound).map(|one| one.gbps);
        parts.iter().filter_map(|(share, answer)| Some(share / of(answer)?)).sum()
    };
    let slowest = bounds.iter().map(|one| mean_time(one.bound)).fold(0.0, f64::max);
    Ok(1.0 / slowest)
}

fn model(link: &Link, address_bits: u32) -> Result<Model, Refusal> {
    let link = LinkParameters {
        generation: link.generation,
        lanes: link.lanes,
        mps_bytes: link.mps_bytes,
        mrrs_bytes: link.mrrs_bytes,
        rcb_bytes: link.rcb_bytes,
        address_bits,
        ecrc: link.ecrc,
        flit_mode: Some(link.flit),
    };
    ModelParameters { link, accounting: Accounting::Spec, limits: Limits::default() }.try_into()
}

/// The link in words.
fn link_words(link: &Link) -> String {
    let Link { generation, lanes, mps_bytes, mrrs_bytes, .. } = link;
    let ecrc = if link.ecrc { ", ECRC" } else { "" };
    format!("Gen{generation} x{lanes}, MPS {mps_bytes}, MRRS {mrrs_bytes}{ecrc}")
}

/// Windows at which caches and IO-TLB are full.
fn edges(system: &System) -> Vec<Edge> {
    let capacities = system.capacities();
    let named = [
        ("DDIO's share", Some(capacities.device_lines_bytes)),
        ("last-level cache", Some(capacities.host_lines_bytes)),
        ("IO-TLB", capacities.io_tlb_bytes),
    ];
    named.into_iter().filter_map(|(name, window)| Some(Edge { name, window: window? })).collect()
}
