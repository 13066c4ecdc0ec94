//! What bounds a device besides the wire.

use serde::{Deserialize, Serialize};

use crate::ModelError;
use crate::error::above_zero;

/// Limits of a device and of the receiver at the other end. What is left out does not bind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// From a read request's departure to its data's arrival, in ns.
    pub round_trip_ns: Option<f64>,
    /// Read requests that may be outstanding: 32 with 5-bit tags, 256 with 8, 768 with 10.
    pub tags: Option<u32>,
    /// DMAs, reads and writes alike, that the device keeps in flight, each for the round trip.
    pub dmas_in_flight: Option<u32>,
    /// Posted header credits (PH): write TLPs that the receiver holds.
    pub posted_header_credits: Option<u32>,
    /// Posted data credits (PD): units of 16 B of write data that the receiver holds.
    pub posted_data_credits: Option<u32>,
    /// Non-posted header credits (NPH): read requests that the receiver holds.
    pub non_posted_header_credits: Option<u32>,
    /// From a TLP's departure to its credit's return, in ns.
    pub credit_return_ns: Option<f64>,
    /// DMAs that the device can start, in millions a second.
    pub device_mdmas_per_s: Option<f64>,
    /// Symbol times between Acks while TLPs arrive; the specification's limit, if left out.
    pub ack_interval_symbols: Option<u32>,
    /// Symbol times between UpdateFCs while TLPs arrive; the specification's guideline, if left out.
    pub update_fc_interval_symbols: Option<u32>,
}

impl Limits {
    /// Check each number, and that those are together that mean something only together.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        for (key, count) in [
            ("tags", self.tags),
            ("dmas_in_flight", self.dmas_in_flight),
            ("posted_header_credits", self.posted_header_credits),
            ("posted_data_credits", self.posted_data_credits),
            ("non_posted_header_credits", self.non_posted_header_credits),
            ("ack_interval_symbols", self.ack_interval_symbols),
            ("update_fc_interval_symbols", self.update_fc_interval_symbols),
        ] {
            count.map_or(Ok(()), |count| above_zero(key, f64::from(count)))?;
        }
        for (key, value) in [
            ("round_trip_ns", self.round_trip_ns),
            ("credit_return_ns", self.credit_return_ns),
            ("device_mdmas_per_s", self.device_mdmas_per_s),
        ] {
            value.map_or(Ok(()), |value| above_zero(key, value))?;
        }
        for (key, given, needed, time) in [
            ("tags", self.tags, "round_trip_ns", self.round_trip_ns),
            ("dmas_in_flight", self.dmas_in_flight, "round_trip_ns", self.round_trip_ns),
            ("posted_header_credits", self.posted_header_credits, "credit_return_ns", self.credit_return_ns),
            ("posted_data_credits", self.posted_data_credits, "credit_return_ns", self.credit_return_ns),
            (
                "non_posted_header_credits",
                self.non_posted_header_credits,
                "credit_return_ns",
                self.credit_return_ns,
            ),
        ] {
            if given.is_some() && time.is_none() {
                return Err(ModelError::Needs { key, needed });
            }
        }
        Ok(())
    }
}
