//! Quantities and links as people write them, and the constants of links and lines.
//!
//! `name`, an option or a key of a file, begins every message.

use pcie_doctor::Tunnel as PcieTunnel;
use pcie_model::{FCS_BYTES, LINE_RATES_GBPS};
use pcie_refusal::Refusal;
use pcie_schema::quantity_words::{self, Kind, Written};
use pcie_schema::size;
use pcie_why::COUNTED_PACKETS;
use pcie_wire::{Generation, Lanes, Links};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use crate::error::{Error, Result};

/// Generation and lanes of a link, or of several equal links that carry data side by side.
#[pyclass(frozen, eq, hash, module = "pcielab._core")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Width(Links);

#[pymethods]
impl Width {
    #[new]
    #[pyo3(signature = (generation, lanes, links = 1))]
    fn new(generation: u32, lanes: u32, links: u32) -> Result<Self> {
        let (generation, lanes) = (Generation::try_from(generation)?, Lanes::try_from(lanes)?);
        Ok(Self(Links { generation, lanes, count: links }))
    }

    /// 1 to 7.
    #[getter]
    fn generation(&self) -> u32 {
        self.0.generation.number()
    }

    /// Of one link.
    #[getter]
    fn lanes(&self) -> u32 {
        self.0.lanes.count()
    }

    /// How many of them.
    #[getter]
    fn links(&self) -> u32 {
        self.0.count
    }

    /// Bit rate of one direction after line coding, all links together, Gb/s.
    #[getter]
    fn raw_gbps(&self) -> f64 {
        self.0.raw_gbps()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Width({}, {}, {})", self.generation(), self.lanes(), self.links())
    }
}

/// A tunnel that carries PCIe: Thunderbolt or USB4.
#[pyclass(frozen, eq, hash, module = "pcielab._core")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Tunnel(PcieTunnel);

#[pymethods]
impl Tunnel {
    /// The word that `read_tunnel` has for it.
    #[getter]
    fn word(&self) -> &'static str {
        self.0.word()
    }

    /// The most that TLPs can have of one direction, Gb/s.
    #[getter]
    fn raw_gbps(&self) -> f64 {
        self.0.raw_gbps()
    }

    /// Most bytes of payload in a TLP.
    #[getter]
    fn payload_bytes(&self) -> u32 {
        PcieTunnel::PAYLOAD.bytes()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("read_tunnel('{}')", self.word())
    }
}

/// The tunnel of a word, `tb4`; None if it does not begin like one.
#[pyfunction]
pub(crate) fn read_tunnel(text: &str, name: &str) -> Result<Option<Tunnel>> {
    Ok(named(PcieTunnel::read(text), name)?.map(Tunnel))
}

/// The link of a word, or several: `gen5x16`, `4x gen3x4`.
#[pyfunction]
pub(crate) fn read_width(text: &str, name: &str) -> Result<Width> {
    Ok(Width(named(Links::read(text), name)?))
}

/// Generation and lanes of one link in words, unchecked.
#[pyfunction]
pub(crate) fn read_link(text: &str) -> Option<(u32, u32)> {
    pcie_wire::generation_and_lanes(text)
}

/// The generation of a signalling rate, GT/s.
#[pyfunction]
pub(crate) fn generation_of(speed_gtps: f64) -> Option<u32> {
    Generation::ALL.into_iter().find(|one| speed_of(*one) == speed_gtps).map(Generation::number)
}

/// Bit rate of one direction of a link after line coding, Gb/s.
#[pyfunction]
pub(crate) fn raw_gbps(generation: u32, lanes: u32) -> Result<f64> {
    Ok(Generation::try_from(generation)?.raw_gbps(Lanes::try_from(lanes)?))
}

/// A size in bytes, above 0: `4K`.
#[pyfunction]
pub(crate) fn read_size(text: &str, name: &str) -> Result<u64> {
    named(size::read_size(text), name)
}

/// A list of sizes in bytes with its ranges expanded: `60,64:4K:x2`.
#[pyfunction]
pub(crate) fn read_sizes(text: &str, name: &str) -> Result<Vec<u64>> {
    named(size::read_sizes(text), name)
}

/// A list of counts with its ranges expanded: `0,3:6`.
#[pyfunction]
pub(crate) fn read_counts(text: &str, name: &str, most: u64) -> Result<Vec<u64>> {
    named(size::read_counts(text, most), name)
}

/// Whole numbers that an option allows: a tuple of the least and the most, or a list.
#[derive(FromPyObject)]
pub(crate) enum Allowed {
    Between(u128, u128),
    Only(Vec<u128>),
}

/// A whole number: `bytes`, a `generation`, `lanes`, or a `count`. `allowed` has the least and the most, or the
/// only values; without it, any from 0.
#[pyfunction]
#[pyo3(signature = (text, name, kind, allowed = None))]
pub(crate) fn read_whole(text: &str, name: &str, kind: &str, allowed: Option<Allowed>) -> Result<u128> {
    let (read, noun, remedy) = match kind {
        "generation" => {
            (pcie_wire::generation_of_text(text), "a generation", "give 1 to 7, or gen4, or 16GT/s")
        }
        "lanes" => (pcie_wire::lanes_of_text(text), "a link width", "give 1, 2, 4, 8, 12, 16 or 32, or x16"),
        _ => {
            let in_bytes = kind == "bytes";
            let read = match allowed {
                None => size::read_whole(text, in_bytes),
                Some(Allowed::Between(least, most)) => {
                    size::read_whole_within(text, in_bytes, &(least..=most))
                }
                Some(Allowed::Only(values)) => size::read_whole_of(text, in_bytes, &values),
            };
            return named(read, name);
        }
    };
    let number = read.map(u128::from).ok_or_else(|| {
        Refusal::new(format!("{} is not {noun}", pcie_refusal::shown::quoted(text)))
            .kind(pcie_refusal::Kind::Malformed)
            .remedy(remedy)
    });
    named(number, name)
}

/// A number with its unit in the usual spelling, and the unit's length in the base unit of its kind.
#[pyfunction]
pub(crate) fn read_quantity(text: &str, name: &str, kind: &str) -> Result<(f64, &'static str, f64)> {
    let Written { number, unit, scale } = named(quantity_words::read(text, kind_of(kind)?, None), name)?;
    Ok((number, unit, scale))
}

/// A number in a unit, which bare numbers have; `allowed` has the least and the most.
#[pyfunction]
#[pyo3(signature = (text, name, kind, unit, allowed = None))]
pub(crate) fn read_number(
    text: &str,
    name: &str,
    kind: &str,
    unit: &str,
    allowed: Option<(f64, f64)>,
) -> Result<f64> {
    let kind = kind_of(kind)?;
    let read = match allowed {
        None => quantity_words::read_in(text, kind, unit),
        Some((least, most)) => quantity_words::read_within(text, kind, unit, &(least..=most)),
    };
    named(read, name)
}

/// Adds the constants.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let lanes = Lanes::ALL.map(Lanes::count);
    module.add("LANES", PyTuple::new(py, lanes)?)?;
    module.add("SPEEDS_GTPS", PyTuple::new(py, Generation::ALL.map(speed_of))?)?;
    module.add("LINE_RATES_GBPS", PyTuple::new(py, LINE_RATES_GBPS)?)?;
    module.add("FCS_BYTES", FCS_BYTES)?;
    module.add("COUNTED_PACKETS", COUNTED_PACKETS)?;
    let units = PyDict::new(py);
    for (word, kind) in KINDS {
        units.set_item(word, kind.units_and_scales().into_py_dict(py)?)?;
    }
    module.add("UNITS", units)
}

/// Signalling rate of a lane, GT/s.
fn speed_of(generation: Generation) -> f64 {
    generation.megatransfers_per_second() as f64 / 1_000.0
}

fn named<T>(read: std::result::Result<T, Refusal>, name: &str) -> Result<T> {
    read.map_err(|refusal| Error::Refused(refusal.key(name)))
}

/// The kinds of quantities by their words in Python.
const KINDS: [(&str, Kind); 7] = [
    ("time", Kind::Time),
    ("rate", Kind::Rate),
    ("line", Kind::Line),
    ("frequency", Kind::Frequency),
    ("events", Kind::Events),
    ("number", Kind::Number),
    ("share", Kind::Share),
];

fn kind_of(word: &str) -> Result<Kind> {
    let known = KINDS.iter().find(|(known, _)| *known == word);
    known.map(|(_, kind)| *kind).ok_or_else(|| Error::Failed(format!("no kind of quantity {word}")))
}
