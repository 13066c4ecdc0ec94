//! `pcie-model` for Python: questions come in as JSON, answers go out as JSON.

use pcie_model::pio::MessageProfile;
use pcie_model::{Ethernet, Interactions, Model, ModelError, ModelParameters, Transfer, sizing};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{InputError, RunError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BandwidthQuestion {
    model: ModelParameters,
    sizes_bytes: Vec<u64>,
    offset_bytes: u64,
    completion_bytes: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NicQuestion {
    model: ModelParameters,
    device: Interactions,
    ethernet: Ethernet,
    frames_bytes: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SizingQuestion {
    ethernet: Ethernet,
    device: Option<Interactions>,
    clock_ghz: Option<f64>,
    latencies_ns: Vec<f64>,
    frames_bytes: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesQuestion {
    model: ModelParameters,
    profile: MessageProfile,
    payloads_bytes: Vec<u64>,
    flushes: u64,
}

/// The highest bandwidth of DMA transfers of each size.
#[pyfunction]
fn model_bandwidth(question: &str) -> PyResult<String> {
    let question: BandwidthQuestion = read(question)?;
    let model = Model::try_from(question.model).map_err(input_error)?;
    let BandwidthQuestion { offset_bytes, completion_bytes, .. } = question;
    let rows = question
        .sizes_bytes
        .iter()
        .map(|&size_bytes| model.bandwidth_of(Transfer { size_bytes, offset_bytes, completion_bytes }));
    write(rows)
}

/// Whether a device described as data can exist.
#[pyfunction]
fn model_check_nic(device: &str) -> PyResult<()> {
    read::<Interactions>(device)?.check().map_err(input_error)
}

/// The packet rates that a device described as data reaches with frames of each size.
#[pyfunction]
fn model_nic(question: &str) -> PyResult<String> {
    let question: NicQuestion = read(question)?;
    let model = Model::try_from(question.model).map_err(input_error)?;
    let rows = question
        .frames_bytes
        .iter()
        .map(|&frame_bytes| model.nic(&question.device, question.ethernet, frame_bytes));
    write(rows)
}

/// The DMAs in flight and the cycle budget that a line asks of a device.
#[pyfunction]
fn model_sizing(question: &str) -> PyResult<String> {
    let question: SizingQuestion = read(question)?;
    let rows = question.frames_bytes.iter().flat_map(|&frame_bytes| {
        let question = &question;
        question.latencies_ns.iter().map(move |&latency_ns| {
            sizing(question.ethernet, frame_bytes, latency_ns, question.device.as_ref(), question.clock_ghz)
        })
    });
    write(rows)
}

/// Messages of each size, by stores and by descriptors.
#[pyfunction]
fn model_messages(py: Python<'_>, question: &str) -> PyResult<String> {
    let MessagesQuestion { model, profile, payloads_bytes, flushes } = read(question)?;
    let model = Model::try_from(model).map_err(input_error)?;
    py.detach(|| write(payloads_bytes.iter().map(|&bytes| model.messages(&profile, bytes, flushes))))
}

/// From which size on descriptor DMA beats stores.
#[pyfunction]
fn model_message_crossings(py: Python<'_>, question: &str) -> PyResult<String> {
    let MessagesQuestion { model, profile, .. } = read(question)?;
    let model = Model::try_from(model).map_err(input_error)?;
    py.detach(|| write(std::iter::once(model.crossings(&profile))))
}

/// The loopback latency of packets of each size.
#[pyfunction]
fn model_loopback(question: &str) -> PyResult<String> {
    let MessagesQuestion { model, profile, payloads_bytes, .. } = read(question)?;
    let model = Model::try_from(model).map_err(input_error)?;
    write(payloads_bytes.iter().map(|&bytes| model.loopback(&profile, bytes)))
}

/// Whether a profile of messages can be.
#[pyfunction]
fn model_check_messages(profile: &str) -> PyResult<()> {
    read::<MessageProfile>(profile)?.machine_times().map(drop).map_err(input_error)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(model_bandwidth, module)?)?;
    module.add_function(wrap_pyfunction!(model_check_nic, module)?)?;
    module.add_function(wrap_pyfunction!(model_nic, module)?)?;
    module.add_function(wrap_pyfunction!(model_check_messages, module)?)?;
    module.add_function(wrap_pyfunction!(model_loopback, module)?)?;
    module.add_function(wrap_pyfunction!(model_message_crossings, module)?)?;
    module.add_function(wrap_pyfunction!(model_messages, module)?)?;
    module.add_function(wrap_pyfunction!(model_sizing, module)?)
}

/// Through a JSON value, so that messages name the path instead of a line and column that nobody typed.
fn read<'de, T: Deserialize<'de>>(text: &str) -> PyResult<T> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(input_error)?;
    serde_path_to_error::deserialize(value).map_err(input_error)
}

fn write<T: Serialize>(rows: impl Iterator<Item = Result<T, ModelError>>) -> PyResult<String> {
    let rows = rows.collect::<Result<Vec<_>, _>>().map_err(input_error)?;
    serde_json::to_string(&rows).map_err(|error| RunError::new_err(error.to_string()))
}

fn input_error(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}
