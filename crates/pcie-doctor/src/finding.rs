//! Findings: observations with their values, modelled cost, sureness and fix.

use std::borrow::Cow;
use std::ops::Deref;

use pcie_evidence::Function;
use pcie_model::Bound;
use serde::{Deserialize, Serialize};

use crate::cause::Grade;

/// Severity of a finding, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fault that the registers or counters show; a modelled loss alone is never one.
    Error,
    /// A setting that costs little, costs only some kinds of traffic, or whose cost is modelled.
    Warning,
    /// A limit or property of the hardware, not a fault.
    Note,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Confidence in a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sureness {
    /// The registers show it, on both ends of a link.
    Certain,
    /// The setting is certain; its cost was measured on other machines.
    Likely,
    /// The device may have been idle: read again while it is busy.
    #[serde(rename = "look under load")]
    LookUnderLoad,
}

impl Sureness {
    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::LookUnderLoad => "look under load",
        }
    }
}

/// What somebody notices, and what a cause may explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Symptom {
    /// Errors that a register, a counter or the kernel's log shows.
    #[serde(rename = "errors")]
    Errors,
    /// Less bandwidth than the link should give.
    #[serde(rename = "lost rate")]
    LostRate,
    /// Slow single transfers, or a tail.
    #[serde(rename = "latency")]
    Latency,
    /// Devices that reach each other slowly, wrongly or not at all.
    #[serde(rename = "peer-to-peer")]
    PeerToPeer,
    /// A device, driver or machine that stops.
    #[serde(rename = "hang")]
    Hang,
    /// A device, or memory of it, that is not there.
    #[serde(rename = "not enumerated")]
    Missing,
}

/// A value that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Register and field, or file: `LnkSta speed`.
    pub name: String,
    /// Slot of the function that it was read from; None for the machine as a whole.
    pub function: Option<String>,
    /// The value, in words.
    pub value: String,
}

impl Value {
    /// A value of a function.
    pub(crate) fn of(function: &Function, name: impl Into<String>, value: impl ToString) -> Self {
        Self { name: name.into(), function: Some(function.slot.clone()), value: value.to_string() }
    }

    /// A value of the machine as a whole.
    pub(crate) fn of_machine(name: impl Into<String>, value: impl ToString) -> Self {
        Self { name: name.into(), function: None, value: value.to_string() }
    }
}

/// Kind of transfers of a modelled loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The device reads host memory.
    Read,
    /// The device writes host memory.
    Write,
    /// Both at once.
    Rdwr,
}

/// Modelled bandwidth, now and after the fix; for reads and writes together, of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Kind of transfers.
    pub operation: Operation,
    /// Size of the transfers.
    pub size_bytes: u64,
    /// Assumed duration of a read, if the loss depends on it.
    pub round_trip_ns: Option<f64>,
    /// Bandwidth now.
    pub now_gbps: f64,
    /// The binding bound now.
    pub now_bound: Bound,
    /// Bandwidth after the fix.
    pub could_gbps: f64,
    /// The binding bound after the fix.
    pub could_bound: Bound,
    /// Values that could not be read and were assumed.
    pub assumed: Option<String>,
}

impl Loss {
    /// Lost bandwidth, Gb/s.
    #[must_use]
    pub fn lost_gbps(&self) -> f64 {
        self.could_gbps - self.now_gbps
    }

    /// Bandwidth now and after the fix, with enough decimals, up to four, to show the difference.
    #[must_use]
    pub fn shown_gbps(&self) -> (String, String) {
        let lost_gbps = self.lost_gbps();
        let decimals = match lost_gbps {
            lost if lost <= 0.0 || lost >= 0.2 => 1,
            lost if lost >= 0.02 => 2,
            lost if lost >= 0.002 => 3,
            _ => 4,
        };
        (format!("{:.decimals$}", self.now_gbps), format!("{:.decimals$}", self.could_gbps))
    }
}

/// One match of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// How bad it is.
    pub severity: Severity,
    /// How sure it is.
    pub sureness: Sureness,
    /// Slot of the function concerned; None for the machine as a whole.
    pub device: Option<String>,
    /// Slot of the port on the other end of its link.
    pub port: Option<String>,
    /// One sentence.
    pub what: String,
    /// What it rests on.
    pub values: Vec<Value>,
    /// Cost in bandwidth; the first loss ranks the finding.
    pub losses: Vec<Loss>,
    /// Most latency that it adds.
    pub added_latency_ns: Option<f64>,
    /// The fix, or the first check.
    pub remedy: String,
    /// The fix as one register write, if it is one: risky (it may hang the machine), and lost at the next reset.
    pub command: Option<String>,
    /// The fix as register writes in this order, for both ends of a link; risky like `command`.
    pub commands: Vec<String>,
    /// What of the visible evidence it explains: errors, lost links, lines of the kernel's log, reports on the
    /// device.
    pub explained: Vec<String>,
}

impl Observation {
    /// An observation on the machine as a whole, which further calls complete.
    pub(crate) fn new(severity: Severity, sureness: Sureness, what: impl Into<String>) -> Self {
        Self {
            severity,
            sureness,
            device: None,
            port: None,
            what: what.into(),
            values: Vec::new(),
            losses: Vec::new(),
            added_latency_ns: None,
            remedy: String::new(),
            command: None,
            commands: Vec::new(),
            explained: Vec::new(),
        }
    }

    /// Names the function concerned.
    pub(crate) fn on(mut self, device: &Function) -> Self {
        self.device = Some(device.slot.clone());
        self
    }

    /// Names the function concerned by its slot, where a log may know a function that the tree lacks.
    pub(crate) fn on_slot(mut self, slot: Option<&str>) -> Self {
        self.device = slot.map(str::to_owned);
        self
    }

    /// Names the port on the other end of the link.
    pub(crate) fn below(mut self, port: Option<&Function>) -> Self {
        self.port = port.map(|port| port.slot.clone());
        self
    }

    /// Adds values.
    pub(crate) fn values(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.values.extend(values);
        self
    }

    /// Adds losses.
    pub(crate) fn losses(mut self, losses: impl IntoIterator<Item = Loss>) -> Self {
        self.losses.extend(losses);
        self
    }

    /// Sets the fix.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Sets the fix as one register write.
    pub(crate) fn command(mut self, command: Option<String>) -> Self {
        self.command = command;
        self
    }

    /// Adds register writes.
    pub(crate) fn commands(mut self, commands: impl IntoIterator<Item = String>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Sets the added latency.
    pub(crate) fn added_latency(mut self, latency_ns: Option<f64>) -> Self {
        self.added_latency_ns = latency_ns;
        self
    }

    /// Lost bandwidth of the first loss, Gb/s.
    #[must_use]
    pub fn lost_gbps(&self) -> f64 {
        self.losses.first().map_or(0.0, Loss::lost_gbps)
    }
}

/// An observation with its rule and the evidence for its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The observation.
    #[serde(flatten)]
    pub seen: Observation,
    /// Name of the rule.
    pub rule: Cow<'static, str>,
    /// Cause of low numbers: an ID of `causes.toml`, as D01, or a word if that list has none.
    pub cause: Cow<'static, str>,
    /// Cost measured elsewhere, or consequence of the specification.
    pub evidence: Cow<'static, str>,
    /// Quality of the evidence.
    pub grade: Grade,
    /// Sources of the evidence.
    pub sources: Cow<'static, [String]>,
    /// Symptoms that the cause explains where they show.
    pub explains: Cow<'static, [Symptom]>,
    /// What would confirm the cause.
    pub confirm: Option<Cow<'static, str>>,
    /// The section of the guide that explains the finding, below the root of the documentation.
    pub guide: String,
}

impl Deref for Finding {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        &self.seen
    }
}
