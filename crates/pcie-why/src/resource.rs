//! The resource behind the bound of a test or a NIC: the key that sets it, its value, and a clause that states both.
//!
//! Of the keys that the bound of a test is made of, the one is named whose next step raises the bound most, in closed
//! form. A NIC's bound is what the simulation shows.

use crate::changes::{Change, NIC, TEST, changed_system, changed_test, json_of, rounded_to};
use pcie_model::{Bound, Ceiling, Interactions, Interval};
use pcie_schema::Fitting as _;
use pcie_sim::nic::NicBound;
use pcie_sim::profile::System;
use pcie_sim::{Machine, TestBounds};
use pcie_workload::Test;
use serde::Serialize;
use serde_json::Value;

/// What a bound is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// The bound, in the word of tests or of NICs.
    pub bound: String,
    /// The key that sets it; one of a test begins with `test.`, one of a NIC with `nic.`.
    pub key: &'static str,
    /// The key's value; of a pace, the time for each transfer in ns.
    pub value: f64,
    /// A clause: `with 32 tags`.
    pub clause: String,
    /// Another key of the bound whose step raises it about as much, and its value: `MRRS 128`.
    pub beside: Option<String>,
    /// What is known of the value, where no document gives it.
    pub assumed: Option<Assumed>,
}

/// A value that is only known to lie in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumed {
    /// Least value.
    pub least: u32,
    /// Greatest value.
    pub most: u32,
    /// What the question's value would be with each of them; none where that cannot run.
    pub values: Option<[f64; 2]>,
}

/// A key of a bound, and the words around its value.
type Made = (&'static str, &'static str, &'static str);

const WALKS: [Made; 4] = [
    ("host.iommu.walkers", "with ", " page walkers"),
    ("host.iommu.pending_walks", "with ", " pending page walks"),
    ("host.iommu.tlb.entries", "with ", " IO-TLB entries"),
    ("host.iommu.walker_busy_ns", "with walks of ", " ns"),
];
const WITH: &str = "with ";
/// A step that raises a bound by this share of what the best step does raises it about as much.
const ALIKE: f64 = 0.9;
/// Least rise of a bound that counts.
const RISES: f64 = 1.02;
const GENERATION: Made = ("link.generation", "over Gen", "");

/// The keys of a bound, the first of them the one to name where no step shows which matters.
fn made_of(bound: Bound) -> &'static [Made] {
    match bound {
        Bound::WireUpstream | Bound::WireDownstream | Bound::DevicePort | Bound::RootPort => &[GENERATION],
        Bound::Tags => &[
            ("link.tags", "with ", " tags"),
            ("device.dma.tags", "with ", " tags of the device"),
            ("link.mrrs_bytes", "with MRRS ", ""),
        ],
        Bound::PostedCredits => &[
            ("host.root_complex.posted_header_credits", "with ", " posted header credits"),
            ("host.root_complex.posted_data_credits", "with ", " posted data credits"),
        ],
        Bound::NonPostedCredits => {
            &[("host.root_complex.non_posted_header_credits", "with ", " non-posted header credits")]
        }
        Bound::Latency => &[
            ("device.dma.outstanding", "with ", " DMAs in flight"),
            ("test.outstanding", "with ", " DMAs in flight"),
        ],
        Bound::DeviceRate => &[
            ("device.dma.request_interval_ns", "with a transfer every ", " ns"),
            ("device.dma.busy_request_interval_ns", "with a transfer every ", " ns"),
            ("device.dma.engine.segment_ns", "with a transfer every ", " ns"),
            ("device.dma.engine.word_ns", "with a transfer every ", " ns"),
            ("device.dma.engine.read_fixed_ns", "with a transfer every ", " ns"),
            ("device.dma.engine.write_fixed_ns", "with a transfer every ", " ns"),
        ],
        Bound::ReplayBuffer => &[
            ("link.replay_buffer_flits", "with a replay buffer of ", " flits"),
            ("link.replay_buffer_bytes", "with a replay buffer of ", " B"),
        ],
        Bound::RequestRate => {
            &[("host.root_complex.request_interval_ns", "with a read request every ", " ns")]
        }
        Bound::WriteRate => &[
            ("host.root_complex.write_interval_ns", "with a write TLP every ", " ns"),
            ("host.root_complex.write_line_ns", "with a written line every ", " ns"),
        ],
        Bound::ReceiveBuffers => &[("device.dma.receive_buffers", "with ", " receive buffers")],
        Bound::CompletionBuffer => &[
            ("device.dma.completion_buffer_bytes", "with ", " B for completions"),
            ("device.dma.completion_buffer_headers", "with ", " completion headers"),
        ],
        Bound::PageWalks | Bound::Translation => &WALKS,
        Bound::WritePool => &[("host.root_complex.write_pool_lines", "with ", " lines of writes")],
        Bound::ReadPool => &[("host.root_complex.read_pool_lines", "with ", " lines of reads")],
        Bound::Memory => &[("host.load.cores", "with ", " busy cores")],
        Bound::StoreInterval | Bound::CoreStores => &[],
    }
}

/// The resource behind the bound that binds a test on a system; `None` of a latency.
#[must_use]
pub fn resource(system: &System, test: &Test) -> Option<Resource> {
    let question = Question { system, test, whole: (json_of(system).ok()?, json_of(test).ok()?) };
    let answer = bounds(system.clone(), test)?.answer;
    let bound = answer.ceilings.first()?;
    let present = |made: &&Made| question.value(made.0).is_some();
    let keys: Vec<&Made> = made_of(bound.bound).iter().filter(present).collect();
    let raised: Vec<f64> = match keys.len() {
        1 => vec![1.0],
        _ => keys.iter().map(|made| question.raised(made.0, bound)).collect(),
    };
    let mut named = 0;
    for nth in 1..keys.len() {
        if raised[nth] > raised[named] {
            named = nth;
        }
    }
    let is_alike = |nth: &usize| {
        *nth != named && raised[*nth] - 1.0 >= ALIKE * (raised[named] - 1.0) && raised[*nth] > RISES
    };
    let beside = (0..keys.len()).find(is_alike).and_then(|nth| {
        let (key, before, after) = keys[nth];
        let value = rounded_to(question.value(key)?, 3);
        Some(format!("{}{value}{after}", before.strip_prefix(WITH).unwrap_or(before)))
    });
    let (key, before, after) = **keys.get(named)?;
    let value = match bound.bound {
        Bound::DeviceRate => test.size_bytes as f64 * 8.0 / bound.gbps,
        _ => question.value(key)?,
    };
    let mut clause = format!("{before}{}{after}", rounded_to(value, 3));
    if key == GENERATION.0 {
        clause.push_str(&format!(" x{}", system.link.lanes));
    }
    let beside = beside.filter(|_| bound.bound != Bound::DeviceRate);
    Some(Resource { bound: bound.bound.to_string(), key, value, clause, beside, assumed: None })
}

/// The resource of a NIC, or of its link, behind a bound that the simulation shows; `None` of other bounds.
pub(crate) fn resource_of_nic(bound: NicBound, nic: &Interactions, system: &System) -> Option<Resource> {
    let queues = &nic.queues;
    let own_tags = system.device.dma.tags.filter(|own| *own < system.link.tags);
    let (key, value, before, after) = match bound {
        NicBound::DescriptorsHeld => (
            "nic.queues.descriptors_held",
            queues.descriptors_held,
            "it holds ",
            " descriptors, the most it can",
        ),
        NicBound::Ring => {
            ("nic.queues.ring_descriptors", queues.ring_descriptors, "a ring of ", " descriptors fills")
        }
        NicBound::TransmitFifo => (
            "nic.queues.transmit_fifo_bytes",
            queues.transmit_fifo_bytes,
            "the queue to the line, ",
            " B, is full",
        ),
        NicBound::ReceiveFifo => (
            "nic.queues.receive_fifo_bytes",
            queues.receive_fifo_bytes,
            "the queue from the line, ",
            " B, overflows",
        ),
        NicBound::Tags => match own_tags {
            Some(own) => ("device.dma.tags", own, "all ", " tags are in use"),
            None => ("link.tags", system.link.tags, "all ", " tags are in use"),
        },
        NicBound::NonPostedCredits => (
            "host.root_complex.non_posted_header_credits",
            system.host.root_complex.non_posted_header_credits.count()?,
            "all ",
            " non-posted header credits are in use",
        ),
        _ => return None,
    };
    let known = key.strip_prefix(NIC).and_then(|own| nic.assumed.get(own));
    let doubt = if known.is_some() { " (assumed)" } else { "" };
    let clause = format!("{before}{value}{after}{doubt}");
    let assumed =
        known.map(|Interval { least, most, .. }| Assumed { least: *least, most: *most, values: None });
    Some(Resource { bound: bound.to_string(), key, value: f64::from(value), clause, beside: None, assumed })
}

/// The bounds of a test on a system.
pub(crate) fn bounds(system: System, test: &Test) -> Option<TestBounds> {
    Machine::new(system).ok()?.bounds(test).ok().flatten()
}

struct Question<'a> {
    system: &'a System,
    test: &'a Test,
    whole: (Value, Value),
}

impl Question<'_> {
    /// The number of a key; `None` where it is absent or no limit.
    fn value(&self, key: &str) -> Option<f64> {
        let (whole, own) = self.of(key);
        whole.pointer(&format!("/{}", own.replace('.', "/")))?.as_f64()
    }

    fn of<'k>(&self, key: &'k str) -> (&Value, &'k str) {
        key.strip_prefix(TEST).map_or((&self.whole.0, key), |own| (&self.whole.1, own))
    }

    /// By how much the next step of a key raises a bound, as a ratio.
    fn raised(&self, key: &str, bound: &Ceiling) -> f64 {
        let (whole, own) = self.of(key);
        let shape = if key.starts_with(TEST) { Test::shape() } else { System::shape() };
        let from = whole.pointer(&format!("/{}", own.replace('.', "/"))).cloned().unwrap_or_default();
        let ratio = |step: pcie_schema::relief::Relieved| {
            let change = Change::of_step(key, step.to);
            let (system, test) =
                (changed_system(self.system, &change).ok()?, changed_test(self.test, &change).ok()?);
            let after = bounds(system, &test)?.answer;
            let own = after.ceilings.iter().find(|ceiling| ceiling.bound == bound.bound);
            Some(own.map_or(f64::INFINITY, |ceiling| ceiling.gbps / bound.gbps))
        };
        let steps = shape.steps_of(own, &from, whole).into_iter();
        steps.filter_map(ratio).fold(1.0, f64::max)
    }
}
