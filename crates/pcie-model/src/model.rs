//! The model: a link, how its bytes are accounted for, and what else bounds the device.

use pcie_refusal::Refusal;
use pcie_wire::{Accounting, DllpIntervals, LinkConfiguration, LinkParameters, ReadCompletionBoundary};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::unknown_to_sigcomm18;
use crate::{Answer, Bound, Limits, Load};

/// RCBs that the 2018 model accepts although no link has them: its equations cut completions at MPS, whatever
/// the RCB.
const RCBS_OF_SIGCOMM18: [u32; 2] = [256, 512];

/// A model before validation; [`Model`] is the validated one.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelParameters {
    /// The link.
    pub link: LinkParameters,
    /// How its bytes are accounted for.
    pub accounting: Accounting,
    /// What else bounds the device.
    #[serde(default)]
    pub limits: Limits,
}

impl TryFrom<ModelParameters> for Model {
    type Error = Refusal;

    fn try_from(given: ModelParameters) -> Result<Self, Refusal> {
        let mut link = given.link;
        if given.accounting == Accounting::Sigcomm18 && RCBS_OF_SIGCOMM18.contains(&link.rcb_bytes) {
            link.rcb_bytes = ReadCompletionBoundary::Bytes64.bytes();
        }
        Self::new(LinkConfiguration::try_from(link)?, given.accounting, given.limits)
    }
}

/// A validated link, accounting and limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(crate) link: LinkConfiguration,
    pub(crate) accounting: Accounting,
    pub(crate) limits: Limits,
}

impl Model {
    /// Check the limits, and that the accounting supports them.
    ///
    /// # Errors
    /// [`Refusal`], naming the key.
    pub fn new(link: LinkConfiguration, accounting: Accounting, limits: Limits) -> Result<Self, Refusal> {
        limits.check()?;
        if accounting == Accounting::Sigcomm18 {
            let flits_by_choice = link.flit_mode() && !link.generation.requires_flit_mode();
            for (key, given) in [
                ("flit_mode", flits_by_choice),
                ("ide_tlps", link.ide_tlps().is_some()),
                ("ack_interval_symbols", limits.ack_interval_symbols.is_some()),
                ("update_fc_interval_symbols", limits.update_fc_interval_symbols.is_some()),
            ] {
                if given {
                    return Err(unknown_to_sigcomm18(key));
                }
            }
        }
        Ok(Self { link, accounting, limits })
    }

    /// How often the two ends send Acks and UpdateFCs.
    pub(crate) fn dllp_intervals(&self) -> DllpIntervals {
        let limits = DllpIntervals::limits(&self.link);
        DllpIntervals {
            ack_symbols: self.limits.ack_interval_symbols.unwrap_or(limits.ack_symbols),
            update_fc_symbols: self.limits.update_fc_interval_symbols.unwrap_or(limits.update_fc_symbols),
        }
    }

    /// The highest rate of units of work that each cost `load` and move `data_bytes` in one direction; `None`
    /// for an empty load.
    pub fn answer(&self, load: &Load, data_bytes: u64) -> Option<Answer> {
        self.answer_in_part(load, data_bytes, |_| 1.0)
    }

    /// The same where work counts as done once a share of it, 0 to 1, has passed a bound: buffers hold the
    /// rest.
    pub fn answer_in_part(
        &self,
        load: &Load,
        data_bytes: u64,
        share: impl Fn(Bound) -> f64,
    ) -> Option<Answer> {
        Answer::from_costs(self.costs_ns(load).map(|(bound, ns)| (bound, ns * share(bound))), data_bytes)
    }

    /// The time that one unit of work takes on the link, upstream and downstream.
    pub(crate) fn wires_ns(&self, load: &Load) -> [f64; 2] {
        let bytes_per_ns = self.accounting.tlp_gbps(&self.link) / 8.0;
        let returned = self.accounting.dllp_bytes_per_received_byte(&self.link, self.dllp_intervals());
        let wire_ns = |sent: f64, received: f64| (sent + returned * received) / bytes_per_ns;
        [
            wire_ns(load.upstream_bytes, load.downstream_bytes),
            wire_ns(load.downstream_bytes, load.upstream_bytes),
        ]
    }

    /// The time that each bound needs for one unit of work; 0 where it does not apply.
    pub(crate) fn costs_ns(&self, load: &Load) -> [(Bound, f64); 19] {
        let [upstream_ns, downstream_ns] = self.wires_ns(load);
        let limits = &self.limits;
        let posted_ns = f64::max(
            queue_ns(load.write_tlps, limits.posted_header_credits, limits.credit_return_ns),
            queue_ns(load.write_data_credits, limits.posted_data_credits, limits.credit_return_ns),
        );
        let completion_buffer_ns = f64::max(
            queue_ns(load.reserved_headers, limits.completion_buffer_headers, limits.round_trip_ns),
            queue_ns(load.reserved_bytes, limits.completion_buffer_bytes, limits.round_trip_ns),
        );
        let walks = load.dmas * limits.walks_per_dma.unwrap_or(0.0);
        let misses = load.dmas * limits.misses_per_dma.unwrap_or(0.0);
        let write_ns = in_turn_ns(load.write_tlps, limits.write_interval_ns)
            + in_turn_ns(load.write_lines, limits.write_line_ns);
        [
            (Bound::WireUpstream, upstream_ns),
            (Bound::WireDownstream, downstream_ns),
            (Bound::Tags, queue_ns(load.read_requests, limits.tags, limits.round_trip_ns)),
            (Bound::PostedCredits, posted_ns),
            (
                Bound::NonPostedCredits,
                queue_ns(load.read_requests, limits.non_posted_header_credits, limits.credit_return_ns),
            ),
            (
                Bound::Latency,
                queue_ns(load.dmas, limits.dmas_in_flight, limits.dma_ns.or(limits.round_trip_ns)),
            ),
            (
                Bound::DeviceRate,
                limits.device_mdmas_per_s.map_or(0.0, |millions| load.dmas * 1_000.0 / millions),
            ),
            (Bound::DevicePort, in_turn_ns(load.dmas, limits.device_port_ns)),
            (Bound::RootPort, in_turn_ns(load.dmas, limits.root_port_ns)),
            (Bound::ReplayBuffer, in_turn_ns(load.dmas, limits.replay_buffer_ns)),
            (Bound::RequestRate, in_turn_ns(load.read_requests, limits.request_interval_ns)),
            (Bound::WriteRate, write_ns),
            (Bound::ReceiveBuffers, queue_ns(load.read_requests, limits.receive_buffers, limits.receive_ns)),
            (Bound::CompletionBuffer, completion_buffer_ns),
            (Bound::PageWalks, in_turn_ns(walks, limits.walk_interval_ns)),
            (Bound::Translation, in_turn_ns(misses, limits.miss_interval_ns)),
            (Bound::WritePool, queue_ns(load.write_lines, limits.write_pool_lines, limits.write_hold_ns)),
            (Bound::ReadPool, queue_ns(load.read_lines, limits.read_pool_lines, limits.read_hold_ns)),
            (Bound::Memory, in_turn_ns(load.write_lines, limits.memory_line_ns)),
        ]
    }
}

/// Time per unit of work at a resource of `slots`, each of which the work holds for `held_ns`.
fn queue_ns(needed: f64, slots: Option<u32>, held_ns: Option<f64>) -> f64 {
    match (slots, held_ns) {
        (Some(slots), Some(held_ns)) => needed * held_ns / f64::from(slots),
        _ => 0.0,
    }
}

/// Time per unit of work at a resource that serves pieces one by one.
fn in_turn_ns(needed: f64, piece_ns: Option<f64>) -> f64 {
    needed * piece_ns.unwrap_or(0.0)
}
