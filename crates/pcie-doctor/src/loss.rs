//! Cost of a setting: modelled bandwidth of a link now and after the fix.
//!
//! Large transfers have 4 KiB, small ones 64 B, both with 64-bit addresses. Values that the tree lacks are assumed to
//! be typical; the loss names them.

use pcie_evidence::tree::SPEEDS;
use pcie_evidence::{Function, LinkEnd};
use pcie_model::{Answer, Limits, Model, ack_limit_ns, replay_timer_ns};
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};

use crate::finding::{Loss, Operation};

pub(crate) const LARGE_BYTES: u64 = 4096;
pub(crate) const SMALL_BYTES: u64 = 64;
/// Duration of a memory read on a server, under load and idle; most measured ones lie in between.
pub(crate) const ROUND_TRIPS_NS: [f64; 2] = [500.0, 1000.0];
/// What servers set, and what GPUs support at most.
const USUAL_MPS_BYTES: u32 = 256;
/// What BIOSes and the specification's reset value give.
const USUAL_MRRS_BYTES: u32 = 512;
const RCB_BYTES: u32 = 64;
const TAGS_5_BIT: u32 = 32;
pub(crate) const TAGS_8_BIT: u32 = 256;
pub(crate) const TAGS_10_BIT: u32 = 768;

/// A link and how a function uses it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Use {
    /// The link as the model takes it.
    pub(crate) link: LinkParameters,
    /// Read requests in flight.
    pub(crate) tags: u32,
    /// Values that could not be read and were assumed.
    assumed: Option<String>,
}

impl Use {
    /// How a function uses its link; None if the link is unknown.
    pub(crate) fn of(function: &Function, end: &LinkEnd) -> Option<Self> {
        let (speed_gtps, lanes) = (end.speed_gtps?, end.lanes.filter(|lanes| *lanes > 0)?);
        let control = function.control.as_ref();
        let mps_bytes = control.and_then(|control| control.mps_bytes).filter(|bytes| *bytes > 0);
        let mrrs_bytes = control.and_then(|control| control.mrrs_bytes).filter(|bytes| *bytes > 0);
        let assumed: Vec<String> =
            [("MPS", mps_bytes, USUAL_MPS_BYTES), ("MRRS", mrrs_bytes, USUAL_MRRS_BYTES)]
                .into_iter()
                .filter(|(_, known, _)| known.is_none())
                .map(|(name, _, usual)| format!("{name} {usual} B"))
                .collect();
        let mut link = LinkParameters::new(
            generation(speed_gtps)?,
            lanes,
            mps_bytes.unwrap_or(USUAL_MPS_BYTES),
            mrrs_bytes.unwrap_or(USUAL_MRRS_BYTES),
        );
        link.rcb_bytes = end.rcb_bytes.unwrap_or(RCB_BYTES);
        link.ecrc = function.errors.as_ref().and_then(|errors| errors.ecrc_generated) == Some(true);
        link.flit_mode = end.flit_mode.filter(|is_on| *is_on);
        LinkConfiguration::try_from(link).ok()?;
        let tags = control.and_then(|control| control.tags()).unwrap_or(TAGS_5_BIT);
        let assumed = (!assumed.is_empty()).then(|| format!("not read, assumed: {}", assumed.join(", ")));
        Some(Self { link, tags, assumed })
    }

    /// The same on another link; None if there is no such link.
    pub(crate) fn with_link(&self, speed_gtps: f64, lanes: u32) -> Option<Self> {
        let mut other = self.clone();
        other.link.generation = generation(speed_gtps)?;
        other.link.lanes = lanes;
        other.link.flit_mode = None;
        Some(other)
    }

    /// The same with another maximum payload.
    pub(crate) fn with_mps(&self, mps_bytes: u32) -> Self {
        let mut other = self.clone();
        other.link.mps_bytes = mps_bytes;
        other
    }

    /// The same with another maximum read request.
    pub(crate) fn with_mrrs(&self, mrrs_bytes: u32) -> Self {
        let mut other = self.clone();
        other.link.mrrs_bytes = mrrs_bytes;
        other
    }

    /// The same with another number of tags.
    pub(crate) fn with_tags(&self, tags: u32) -> Self {
        Self { tags, ..self.clone() }
    }

    /// The same without the four bytes of ECRC on each TLP.
    pub(crate) fn without_ecrc(&self) -> Self {
        let mut other = self.clone();
        other.link.ecrc = false;
        other
    }

    fn answer(&self, operation: Operation, size_bytes: u64, round_trip_ns: Option<f64>) -> Option<Answer> {
        let link = LinkConfiguration::try_from(self.link).ok()?;
        let tags = round_trip_ns.map(|_| self.tags);
        let limits = Limits { round_trip_ns, tags, ..Limits::default() };
        let answers = Model::new(link, Accounting::Spec, limits).ok()?.bandwidth(size_bytes, 0).ok()?;
        Some(match operation {
            Operation::Read => answers.read,
            Operation::Write => answers.write,
            Operation::Rdwr => answers.rdwr,
        })
    }
}

/// The PCIe generation of a speed.
pub(crate) fn generation(speed_gtps: f64) -> Option<u32> {
    let index = SPEEDS.iter().position(|known| *known == speed_gtps)?;
    u32::try_from(index + 1).ok()
}

/// Bandwidth of large transfers lost between two uses of a link, where tags do not bind; None if a link has values
/// that no link has.
pub(crate) fn loss(now: &Use, could: &Use, operation: Operation) -> Option<Loss> {
    loss_of(now, could, operation, LARGE_BYTES, None)
}

/// The same for transfers of one size, and with the duration of a read.
pub(crate) fn loss_of(
    now: &Use,
    could: &Use,
    operation: Operation,
    size_bytes: u64,
    round_trip_ns: Option<f64>,
) -> Option<Loss> {
    let (is_now, would_be) = (
        now.answer(operation, size_bytes, round_trip_ns)?,
        could.answer(operation, size_bytes, round_trip_ns)?,
    );
    Some(Loss {
        operation,
        size_bytes,
        round_trip_ns,
        now_gbps: is_now.gbps,
        now_bound: is_now.bound,
        could_gbps: would_be.gbps,
        could_bound: would_be.bound,
        assumed: now.assumed.clone(),
    })
}

/// Header, framing, ECRC and LCRC of the longest TLP.
const TLP_OVERHEAD_BYTES: u32 = 28;

/// Bandwidth of large transfers that replays cost, by their rates: after a bad TLP, all that may be unacknowledged is
/// sent again; after a timeout, the replay timer has run before. None in flit mode, where flits are sent again.
pub(crate) fn loss_to_replays(
    now: &Use,
    operation: Operation,
    bad_tlps_per_s: f64,
    timeouts_per_s: f64,
) -> Option<Loss> {
    let link = LinkConfiguration::try_from(now.link).ok().filter(|link| !link.flit_mode())?;
    let longest_ns =
        f64::from(link.mps.bytes() + TLP_OVERHEAD_BYTES + link.ide_bytes()) * 8.0 / link.raw_gbps();
    let lost_ns = bad_tlps_per_s * (longest_ns + ack_limit_ns(&link))
        + timeouts_per_s * (longest_ns + replay_timer_ns(&link));
    let clean = loss(now, now, operation)?;
    let share = (lost_ns / 1e9).min(1.0);
    (share > 0.0).then_some(Loss { now_gbps: clean.could_gbps * (1.0 - share), ..clean })
}

/// The losses of reads and of writes.
pub(crate) fn both_losses(now: &Use, could: &Use) -> Vec<Loss> {
    [Operation::Read, Operation::Write]
        .into_iter()
        .filter_map(|operation| loss(now, could, operation))
        .collect()
}
