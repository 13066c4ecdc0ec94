//! What a device must keep in flight so that its reads fill the link: each bound of [`Model`] that has slots,
//! solved for the slots.

use pcie_refusal::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

use crate::checks::above_zero;
use crate::{Load, Model, Transfer};

/// The reads in flight, and the space for their completions, with which the link binds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinkSizing {
    /// Bytes of one read DMA.
    pub size_bytes: u64,
    /// Round trip of a read request, from its departure to its data's arrival, in ns.
    pub latency_ns: f64,
    /// The full link's rate for this size, in Gb/s of data.
    pub read_gbps: f64,
    /// Read requests outstanding that fill the link; one fewer does not.
    pub tags_to_fill: u64,
    /// Read DMAs in flight that fill the link.
    pub dmas_in_flight: u64,
    /// Headers in the device's buffer for completions that suffice: each request reserves as many as RCB allows.
    pub completion_headers: u64,
    /// Bytes in that buffer that suffice: each request reserves its data in whole credits of 16 B.
    pub completion_bytes: u64,
    /// Clock cycles from one read request to the next, where the clock is known.
    pub cycles_per_request: Option<f64>,
}

impl Model {
    /// Size a device for reads that fill the link, where a read request takes `latency_ns`. The model's own limits
    /// have no part in it.
    ///
    /// # Errors
    /// As [`Model::bandwidth_of`], and for a latency or clock out of range.
    pub fn link_sizing(
        &self,
        transfer: Transfer,
        latency_ns: f64,
        clock_ghz: Option<f64>,
    ) -> Result<LinkSizing, Refusal> {
        above_zero("latency_ns", latency_ns)?;
        clock_ghz.map_or(Ok(()), |clock_ghz| above_zero("clock_ghz", clock_ghz))?;
        self.check_transfer(transfer)?;
        let (fastest, wire_ns) = self.fastest_on_the_wire(self.reads(transfer));
        let slots = |needed: fn(&Load) -> f64| slots_to_fill(least(&fastest, needed), latency_ns, wire_ns);
        let requests = least(&fastest, |read| read.read_requests);
        Ok(LinkSizing {
            size_bytes: transfer.size_bytes,
            latency_ns,
            read_gbps: transfer.size_bytes as f64 * 8.0 / wire_ns,
            tags_to_fill: slots(|read| read.read_requests),
            dmas_in_flight: slots(|read| read.dmas),
            completion_headers: slots(|read| read.reserved_headers),
            completion_bytes: slots(|read| read.reserved_bytes),
            cycles_per_request: clock_ghz.map(|clock_ghz| wire_ns * clock_ghz / requests),
        })
    }

    /// Read requests in flight with which the link binds, not the tags.
    pub(crate) fn tags_to_fill(&self, reads: [Load; 2], round_trip_ns: f64) -> u64 {
        let (fastest, wire_ns) = self.fastest_on_the_wire(reads);
        slots_to_fill(least(&fastest, |read| read.read_requests), round_trip_ns, wire_ns)
    }

    /// The cuts of a read that the wire carries fastest, and their time on the fuller direction in ns.
    fn fastest_on_the_wire(&self, reads: [Load; 2]) -> (Vec<Load>, f64) {
        let wire_ns = |read: &Load| self.wires_ns(read).into_iter().fold(0.0, f64::max);
        let least_ns = least(&reads, wire_ns);
        (reads.into_iter().filter(|read| wire_ns(read) <= least_ns).collect(), least_ns)
    }
}

/// The least of a cost among cuts of a read.
fn least(reads: &[Load], cost: impl Fn(&Load) -> f64) -> f64 {
    reads.iter().map(cost).fold(f64::INFINITY, f64::min)
}

/// The least slots with which work that holds `needed` of them for `held_ns` takes no longer than the wire.
fn slots_to_fill(needed: f64, held_ns: f64, wire_ns: f64) -> u64 {
    let fills = |slots: u64| needed * held_ns / slots as f64 <= wire_ns;
    // The quotient is rounded: its neighbours decide.
    let near = (needed * held_ns / wire_ns).round() as u64;
    (near.saturating_sub(1).max(1)..=near).find(|&slots| fills(slots)).unwrap_or(near + 1)
}

#[cfg(test)]
mod tests {
    use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};
    use proptest::prelude::*;

    use super::*;
    use crate::bandwidth::tests::model;
    use crate::{Bound, Limits};

    fn links() -> impl Strategy<Value = LinkConfiguration> {
        let sizes = || prop::sample::select(vec![128u32, 256, 512, 1024, 2048, 4096]);
        let parameters = (
            1..=7u32,
            prop::sample::select(vec![1u32, 2, 4, 8, 12, 16, 32]),
            sizes(),
            sizes(),
            prop::sample::select(vec![64u32, 128]),
            prop::sample::select(vec![32u32, 64]),
            any::<bool>(),
        );
        parameters.prop_filter_map(
            "a link that the specification has",
            |(generation, lanes, mps_bytes, mrrs_bytes, rcb_bytes, address_bits, ecrc)| {
                LinkConfiguration::try_from(LinkParameters {
                    rcb_bytes,
                    address_bits,
                    ecrc,
                    ..LinkParameters::new(generation, lanes, mps_bytes, mrrs_bytes)
                })
                .ok()
            },
        )
    }

    fn accountings() -> impl Strategy<Value = Accounting> {
        prop::sample::select(vec![Accounting::Spec, Accounting::Sigcomm18])
    }

    proptest! {
        #[test]
        fn slots_fill_the_link_and_one_fewer_does_not(
            link in links(),
            accounting in accountings(),
            size_bytes in 1..20_000u64,
            offset_bytes in 0..4096u64,
            latency_ns in 1.0..5_000.0f64,
        ) {
            let offset_bytes = if accounting == Accounting::Spec { offset_bytes } else { 0 };
            let transfer = Transfer { size_bytes, offset_bytes, completion_bytes: None };
            let read = |limits: Limits| {
                let limits = Limits { round_trip_ns: Some(latency_ns), ..limits };
                Model::new(link, accounting, limits).unwrap().bandwidth_of(transfer).unwrap()
            };
            let full = read(Limits::default());
            let sizing = Model::new(link, accounting, Limits::default())
                .unwrap()
                .link_sizing(transfer, latency_ns, None)
                .unwrap();
            prop_assert_eq!(full.tags_to_fill, Some(sizing.tags_to_fill));
            prop_assert_eq!(full.read.gbps, sizing.read_gbps);
            type Limited = fn(Option<u32>) -> Limits;
            let limits: [(u64, Bound, Limited); 4] = [
                (sizing.tags_to_fill, Bound::Tags, |tags| Limits { tags, ..Limits::default() }),
                (sizing.dmas_in_flight, Bound::Latency, |dmas_in_flight| {
                    Limits { dmas_in_flight, ..Limits::default() }
                }),
                (sizing.completion_headers, Bound::CompletionBuffer, |completion_buffer_headers| {
                    Limits { completion_buffer_headers, ..Limits::default() }
                }),
                (sizing.completion_bytes, Bound::CompletionBuffer, |completion_buffer_bytes| {
                    Limits { completion_buffer_bytes, ..Limits::default() }
                }),
            ];
            for (slots, bound, limited) in limits {
                let slots = u32::try_from(slots).unwrap();
                let filled = read(limited(Some(slots))).read;
                prop_assert_eq!((filled.gbps, filled.bound), (full.read.gbps, full.read.bound));
                if slots > 1 {
                    let short = read(limited(Some(slots - 1))).read;
                    prop_assert!(short.gbps < full.read.gbps, "{} {:?}", slots - 1, bound);
                    if offset_bytes == 0 {
                        prop_assert_eq!(short.bound, bound);
                    }
                }
            }
        }
    }

    #[test]
    fn a_gen4_x8_link_needs_168_tags_for_64_bytes_in_900_ns() {
        let model = model(4, 8, Accounting::Spec, Limits::default());
        let transfer = Transfer { size_bytes: 64, offset_bytes: 0, completion_bytes: None };
        let sizing = model.link_sizing(transfer, 900.0, Some(0.25)).unwrap();
        assert_eq!((sizing.tags_to_fill, sizing.dmas_in_flight), (168, 168));
        // A request reserves one header and 64 B.
        assert_eq!(sizing.completion_headers, 168);
        assert!((167 * 64..=168 * 64).contains(&sizing.completion_bytes), "{sizing:?}");
        let request_ns = 64.0 * 8.0 / sizing.read_gbps;
        assert!((sizing.cycles_per_request.unwrap() - request_ns * 0.25).abs() < 1e-9);
    }

    #[test]
    fn refuses_numbers_out_of_range_by_key() {
        let model = model(4, 8, Accounting::Spec, Limits::default());
        let transfer = Transfer { size_bytes: 64, offset_bytes: 0, completion_bytes: None };
        let message = |transfer, latency_ns, clock_ghz| {
            model.link_sizing(transfer, latency_ns, clock_ghz).unwrap_err().to_string()
        };
        assert!(message(transfer, 0.0, None).starts_with("latency_ns is 0"));
        assert!(message(transfer, 900.0, Some(-1.0)).starts_with("clock_ghz is -1"));
        assert!(message(Transfer { size_bytes: 0, ..transfer }, 900.0, None).starts_with("size_bytes is 0"));
    }
}
