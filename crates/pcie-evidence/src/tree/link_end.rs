//! One end of a link.

use pcie_wire::{Generation, Lanes};
use serde::{Deserialize, Serialize};

use super::SPEEDS;

/// One end of a link: supported and negotiated values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEnd {
    /// Highest speed of this end (LnkCap), GT/s a lane.
    pub max_speed_gtps: Option<f64>,
    /// Lanes of this end (LnkCap).
    pub max_lanes: Option<u32>,
    /// Negotiated speed (LnkSta), GT/s a lane.
    pub speed_gtps: Option<f64>,
    /// Negotiated lanes (LnkSta); 0 where nothing is attached.
    pub lanes: Option<u32>,
    /// Highest speed that software allows (LnkCtl2), GT/s a lane.
    pub target_speed_gtps: Option<f64>,
    /// Read completion boundary (LnkCtl): 64 or 128.
    pub rcb_bytes: Option<u32>,
    /// Power states that the link may enter by itself (LnkCtl): L0s, L1.
    pub aspm_enabled: Option<Vec<String>>,
    /// Longest time to leave L0s (LnkCap).
    pub l0s_exit_ns: Option<f64>,
    /// Longest time to leave L1 (LnkCap).
    pub l1_exit_ns: Option<f64>,
    /// Whether the link runs in flit mode (LnkSta2).
    pub flit_mode: Option<bool>,
    /// Of a port: whether its data link layer is active (LnkSta); None if it does not report that (LnkCap).
    pub active: Option<bool>,
    /// Of a port: whether software disabled the link (LnkCtl).
    pub disabled: Option<bool>,
    /// Lanes on which this end saw errors since the bits were cleared (Lane Error Status), from 8 GT/s on.
    pub lane_errors: Option<Vec<u32>>,
    /// Power states that this end supports (LnkCap): L0s, L1.
    pub aspm_supported: Option<Vec<String>>,
    /// L1 substates that are on (L1SubCtl1): `ASPM L1.2`, `ASPM L1.1`, `PCI-PM L1.2`, `PCI-PM L1.1`.
    pub l1_substates: Option<Vec<String>>,
    /// Whether Common Clock Configuration is set: both ends have one reference clock (LnkCtl).
    pub common_clock: Option<bool>,
    /// Of a port: whether the link changed speed or width, or retrained, since the bits were cleared (LnkSta).
    pub retrained: Option<bool>,
}

impl LinkEnd {
    /// Whether something is attached, and both values of the link are known.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.speed_gtps.is_some() && self.lanes.is_some_and(|lanes| lanes > 0)
    }

    /// Raw bit rate in one direction, after line coding, Gb/s; 0 if it is down.
    #[must_use]
    pub fn raw_gbps(&self) -> f64 {
        let (Some(speed), Some(lanes)) = (self.speed_gtps, self.lanes) else { return 0.0 };
        let number = SPEEDS.iter().position(|known| *known == speed);
        let generation = number.and_then(|number| Generation::ALL.get(number));
        generation.map_or(0.0, |generation| generation.raw_gbps(Lanes::ALL[0]) * f64::from(lanes))
    }
}
