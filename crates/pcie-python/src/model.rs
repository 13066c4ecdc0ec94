//! `pcie-model` for Python: questions and answers are JSON.

use pcie_model::mmio::{Access, Corner, Mmio};
use pcie_model::{
    Ethernet, Interleaved, InterpacketGap, LocalMemory, Model, ModelParameters, Requesters, Transfer,
    interleaved, sizing, with_addresses,
};
use pcie_refusal::{Kind, Refusal};
use pcie_wire::{LinkConfiguration, LinkParameters};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::json::{parse, text};
use crate::progress::Watched;
use crate::single::{Bar, Core, Engine, Expander, Messages, Nic};

/// A question about DMA transfers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BandwidthQuestion {
    /// Link, accounting and limits.
    model: ModelParameters,
    /// Sizes.
    sizes_bytes: Vec<u64>,
    /// Start address of transfers modulo 4 KiB.
    offset_bytes: u64,
    /// Boundary at which the host cuts completions; null for MPS.
    completion_bytes: Option<u32>,
    /// Share of the transfers with addresses below 4 GiB; null where all have those of the link.
    low_share: Option<f64>,
}

/// A question about a NIC.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NicQuestion {
    /// Link, accounting and limits.
    model: ModelParameters,
    /// The line.
    ethernet: Ethernet,
    /// Sizes of frames, FCS included.
    frames_bytes: Vec<u64>,
    /// Share of the transfers with addresses below 4 GiB; null where all have those of the link.
    low_share: Option<f64>,
}

/// A question about keeping up with a line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizingQuestion {
    /// The line.
    ethernet: Ethernet,
    /// Its clock; null without cycles.
    clock_ghz: Option<f64>,
    /// Latencies of one DMA.
    latencies_ns: Vec<f64>,
    /// Sizes of frames, FCS included.
    frames_bytes: Vec<u64>,
}

/// A question about filling a link with reads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSizingQuestion {
    /// Link and accounting.
    model: ModelParameters,
    /// Sizes.
    sizes_bytes: Vec<u64>,
    /// Round trips of a read request.
    latencies_ns: Vec<f64>,
    /// Boundary at which the host cuts completions; null for MPS.
    completion_bytes: Option<u32>,
    /// Clock of the device; null without cycles.
    clock_ghz: Option<f64>,
}

/// A question about an engine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineQuestion {
    /// The link; null for the engine's usual one.
    link: Option<LinkParameters>,
    /// Data of a command.
    sizes_bytes: Vec<u64>,
    /// Commands in flight; null for the engine's usual number.
    depth: Option<u32>,
}

/// A question about a memory expander.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpanderQuestion {
    /// Shares of the lines that are read.
    read_shares: Vec<f64>,
    /// Shares of the peak at which to tell how long a read takes.
    loads: Vec<f64>,
    /// Cores whose lines in flight may limit it; null: any number.
    cores: Option<Requesters>,
}

/// A question about memories that lines are interleaved over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterleavedQuestion {
    /// Weights of the expanders, in their order.
    weights: Vec<f64>,
    /// Memory of the host among them; null: none.
    local: Option<LocalMemory>,
    /// Its weight.
    local_weight: f64,
    /// Shares of the lines that are read.
    read_shares: Vec<f64>,
    /// Shares of the peak at which to tell how long a read takes.
    loads: Vec<f64>,
}

/// A question about loads and stores.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MmioQuestion {
    /// The link.
    link: LinkParameters,
    /// The accesses.
    accesses: Vec<Access>,
}

/// A question about messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesQuestion {
    /// Link, accounting and limits.
    model: ModelParameters,
    /// Sizes of payloads.
    payloads_bytes: Vec<u64>,
    /// Partial flushes that cut the buffers of a message.
    flushes: u64,
}

/// The highest bandwidth of DMA transfers of each size.
#[pyfunction]
pub(crate) fn model_bandwidth(question: &str) -> Result<String> {
    let BandwidthQuestion { model, sizes_bytes, offset_bytes, completion_bytes, low_share } =
        parse("", question)?;
    write(sizes_bytes.iter().map(|&size_bytes| {
        let transfer = Transfer { size_bytes, offset_bytes, completion_bytes };
        with_addresses(&model, low_share, |model| model.bandwidth_of(transfer))
    }))
}

/// The packet rates that a NIC reaches with frames of each size.
#[pyfunction]
pub(crate) fn model_nic(device: &Nic, question: &str) -> Result<String> {
    let NicQuestion { model, ethernet, frames_bytes, low_share } = parse("", question)?;
    write(frames_bytes.iter().map(|&frame_bytes| {
        let device = device.0.content.for_frames(Some(frame_bytes));
        with_addresses(&model, low_share, |model| model.nic(&device, ethernet, frame_bytes))
    }))
}

/// The rates that an engine reaches with commands of each size.
#[pyfunction]
pub(crate) fn model_engine(engine: &Engine, question: &str) -> Result<String> {
    let EngineQuestion { link, sizes_bytes, depth } = parse("", question)?;
    let engine = &engine.0.content;
    let link = link.unwrap_or_else(|| engine.usual_link());
    write(sizes_bytes.iter().map(|&size_bytes| engine.rates(size_bytes, link, depth)))
}

/// The peak of an expander with each mix, and how long reads take below it.
#[pyfunction]
pub(crate) fn model_expander(expander: &Expander, question: &str) -> Result<String> {
    let ExpanderQuestion { read_shares, loads, cores } = parse("", question)?;
    let rates = |&read_share: &f64| expander.0.content.rates_of_cores(read_share, &loads, cores.as_ref());
    write(read_shares.iter().map(rates))
}

/// What expanders and memory of the host give together, with each mix.
#[pyfunction]
pub(crate) fn model_interleaved(expanders: Vec<PyRef<'_, Expander>>, question: &str) -> Result<String> {
    let InterleavedQuestion { weights, local, local_weight, read_shares, loads } = parse("", question)?;
    if weights.len() != expanders.len() {
        let remedy = format!("give one for each of the {} expanders", expanders.len());
        return Err(Refusal::of("weights", weights.len(), remedy).into());
    }
    let local = local.iter().map(|local| Interleaved::Local(local, local_weight));
    let weighted = expanders.iter().zip(weights);
    let memories: Vec<Interleaved<'_>> = local
        .chain(weighted.map(|(expander, weight)| Interleaved::Expander(&expander.0.content, weight)))
        .collect();
    write(read_shares.iter().map(|&read_share| interleaved(&memories, read_share, &loads)))
}

/// A core, a BAR and the link of a question, with its accesses.
fn mmio(core: &Core, bar: &Bar, question: &str) -> Result<(Mmio, Vec<Access>)> {
    let MmioQuestion { link, accesses } = parse("", question)?;
    let link = LinkConfiguration::try_from(link).map_err(|refusal| refusal.below("link"))?;
    Ok((Mmio::new(core.0.content.clone(), bar.0.content.clone(), link)?, accesses))
}

/// What loads and stores of each kind cost.
#[pyfunction]
pub(crate) fn model_mmio(core: &Core, bar: &Bar, question: &str) -> Result<String> {
    let (mmio, accesses) = mmio(core, bar, question)?;
    write(accesses.iter().map(|access| mmio.times(access)))
}

/// Loads and stores of each kind, simulated TLP by TLP with the usual values.
#[pyfunction]
pub(crate) fn simulate_mmio(py: Python<'_>, core: &Core, bar: &Bar, question: &str) -> Result<String> {
    let (mmio, accesses) = mmio(core, bar, question)?;
    py.detach(|| {
        let values = mmio.values(Corner::Usual);
        let mut watched = Watched::new();
        let mut outcomes = Vec::new();
        for access in &accesses {
            let simulated = pcie_sim::mmio::simulate(&mmio, access, &values, &mut || watched.is_signalled())?;
            let Some(outcome) = simulated else { break };
            outcomes.push(outcome);
        }
        text(&watched.result(Ok::<_, Error>(outcomes))?)
    })
}

/// The share of a buffer's first bytes that lies below 4 GiB.
#[pyfunction]
pub(crate) fn low_share(addresses: Vec<u64>, piece_bytes: u64, window_bytes: u64) -> f64 {
    pcie_model::low_share(&addresses, piece_bytes, window_bytes)
}

/// The bandwidth that DMA of each size needs to keep up with a full Ethernet line, Gb/s.
#[pyfunction]
pub(crate) fn ethernet_need(line_gbps: f64, sizes_bytes: Vec<u64>) -> Vec<f64> {
    let line = Ethernet { line_gbps, vlan: false, gap: InterpacketGap::Standard };
    sizes_bytes.into_iter().map(|size_bytes| line.needed_gbps(size_bytes)).collect()
}

/// The Ethernet lines that suit a link's capacity for TLPs, Gb/s.
#[pyfunction]
pub(crate) fn ethernet_suiting(capacity_gbps: f64) -> Vec<f64> {
    Ethernet::suiting(capacity_gbps).map(|line| line.line_gbps).collect()
}

/// The link of the slot that NICs of a line rate usually have: its generation, lanes, MPS and MRRS.
#[pyfunction]
pub(crate) fn ethernet_link(line_gbps: f64) -> (u32, u32, u32, u32) {
    let LinkParameters { generation, lanes, mps_bytes, mrrs_bytes, .. } = pcie_why::usual_link(line_gbps);
    (generation, lanes, mps_bytes, mrrs_bytes)
}

/// The DMAs in flight and the cycle budget that a line requires of a device; without one, packets alone count.
#[pyfunction]
pub(crate) fn model_sizing(device: Option<&Nic>, question: &str) -> Result<String> {
    let SizingQuestion { ethernet, clock_ghz, latencies_ns, frames_bytes } = parse("", question)?;
    let rows = frames_bytes.iter().flat_map(|&frame_bytes| {
        let device = device.map(|device| device.0.content.for_frames(Some(frame_bytes)));
        latencies_ns
            .iter()
            .map(move |&latency_ns| sizing(ethernet, frame_bytes, latency_ns, device.as_deref(), clock_ghz))
    });
    write(rows)
}

/// The reads in flight and the completion space that fill a link.
#[pyfunction]
pub(crate) fn model_link_sizing(question: &str) -> Result<String> {
    let LinkSizingQuestion { model, sizes_bytes, latencies_ns, completion_bytes, clock_ghz } =
        parse("", question)?;
    let model = Model::try_from(model)?;
    let rows = sizes_bytes.iter().flat_map(|&size_bytes| {
        let (model, transfer) = (&model, Transfer { size_bytes, offset_bytes: 0, completion_bytes });
        latencies_ns.iter().map(move |&latency_ns| model.link_sizing(transfer, latency_ns, clock_ghz))
    });
    write(rows)
}

/// Messages of each size, by stores and by descriptors.
#[pyfunction]
pub(crate) fn model_messages(py: Python<'_>, profile: &Messages, question: &str) -> Result<String> {
    let MessagesQuestion { model, payloads_bytes, flushes } = parse("", question)?;
    let (model, profile) = (Model::try_from(model)?, &profile.0.content);
    py.detach(|| write(payloads_bytes.iter().map(|&bytes| model.messages(profile, bytes, flushes))))
}

/// The sizes at which descriptor DMA beats stores.
#[pyfunction]
pub(crate) fn model_message_crossings(py: Python<'_>, profile: &Messages, question: &str) -> Result<String> {
    let MessagesQuestion { model, .. } = parse("", question)?;
    let (model, profile) = (Model::try_from(model)?, &profile.0.content);
    py.detach(|| write(std::iter::once(model.crossings(profile))))
}

/// The loopback latency of packets of each size.
#[pyfunction]
pub(crate) fn model_loopback(profile: &Messages, question: &str) -> Result<String> {
    let MessagesQuestion { model, payloads_bytes, .. } = parse("", question)?;
    let model = Model::try_from(model)?;
    write(payloads_bytes.iter().map(|&bytes| model.loopback(&profile.0.content, bytes)))
}

/// Most rows of an answer.
const ROWS_MOST: usize = 100_000;

/// Rows as JSON, until a signal comes.
fn write<T: Serialize>(rows: impl Iterator<Item = std::result::Result<T, Refusal>>) -> Result<String> {
    let mut watched = Watched::new();
    let mut found = Vec::new();
    for row in rows.take_while(|_| !watched.is_signalled()) {
        if found.len() == ROWS_MOST {
            let problem = format!("the answer has more than {ROWS_MOST} rows");
            return Err(Refusal::new(problem)
                .kind(Kind::TooLarge)
                .remedy("give fewer sizes or latencies")
                .into());
        }
        found.push(row?);
    }
    text(&watched.result(Ok::<_, Error>(found))?)
}
