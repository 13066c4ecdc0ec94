//! The curves of a question in closed form: fast enough to follow a slider.

use pcie_model::{
    Answer, Bound, Ceiling, Ethernet, Limits, Model, ModelParameters, Transfer, low_share, with_addresses,
};
use pcie_refusal::Refusal;
use pcie_sim::Machine;
use pcie_sim::profile::{Link, System};
use pcie_wire::Accounting;
use pcie_workload::{Operation, Pattern, Test};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{SIZES, WINDOWS};
use crate::point::system_of;
use crate::question::Question;

const CEILINGS_MOST: usize = 5;
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
    let low = tests.first().map_or(0.0, |test| low_share_of(system, test));
    let link = model(&system.link);
    let mut found = Vec::new();
    for test in tests {
        let transfer = Transfer {
            size_bytes: test.size_bytes,
            offset_bytes: question.host_offset,
            completion_bytes: None,
        };
        let bandwidth = with_addresses(&link, Some(low), |model| model.bandwidth_of(transfer))?;
        let answer = match question.bandwidth {
            Operation::BwWr => bandwidth.write,
            Operation::BwRdwr => bandwidth.rdwr,
            _ => bandwidth.read,
        };
        found.push(Reference { name: "link alone".into(), size: test.size_bytes, gbps: answer.gbps });
    }
    let capacity = Model::try_from(link)?.bandwidth(64, 0)?.tlp_gbps;
    for line in Ethernet::suiting(capacity) {
        found.extend(tests.iter().map(|test| {
            let name = format!("{}G Ethernet", line.line_gbps);
            Reference { name, size: test.size_bytes, gbps: line.needed_gbps(test.size_bytes) }
        }));
    }
    Ok(found)
}

/// The share of a test's transfers below 4 GiB, whose headers hold 32 bits of address.
fn low_share_of(system: &System, test: &Test) -> f64 {
    let visited = if test.pattern == Pattern::Fixed { test.size_bytes } else { test.window_bytes };
    low_share(&system.chunk_addresses, system.chunk_bytes, visited.min(system.buffer_bytes()))
}

fn model(link: &Link) -> ModelParameters {
    let link = link.with_addresses(64);
    ModelParameters { link, accounting: Accounting::Spec, limits: Limits::default() }
}

/// The link in words.
fn link_words(link: &Link) -> String {
    let Link { generation, lanes, mps_bytes, mrrs_bytes, .. } = link;
    let ecrc = if link.ecrc { ", ECRC" } else { "" };
    let ide = if link.ide == Some(true) { ", IDE" } else { "" };
    format!("Gen{generation} x{lanes}, MPS {mps_bytes}, MRRS {mrrs_bytes}{ecrc}{ide}")
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
