//! The keys of a system that each bound is made of, and which of them are borrowed from another machine.

use indexmap::IndexMap;

const LINE_READ: [&str; 5] = [
    "host.root_complex.read_ns",
    "host.root_complex.busy_read_ns",
    "host.memory.host_line_ns",
    "host.memory.miss_ns",
    "host.memory.busy_miss_ns",
];
const RETURN: [&str; 2] = ["host.root_complex.flight_ns", "host.root_complex.credit_return_ns"];
const WALKS: [&str; 7] = [
    "host.iommu.walk_ns",
    "host.iommu.walkers",
    "host.iommu.walker_busy_ns",
    "host.iommu.pending_walks",
    "host.iommu.tlb.entries",
    "host.iommu.invalidation",
    "host.iommu.strict_walk_reads",
];
const LINK: [&str; 6] =
    ["link.generation", "link.lanes", "link.mps_bytes", "link.flit", "link.ecrc", "link.ide"];
const READS: [&str; 3] = ["link.mrrs_bytes", "link.rcb_bytes", "link.root_port_ecrc"];

/// Keys of the time of a read.
const ROUND_TRIP: [&str; 9] = [
    LINE_READ[0],
    LINE_READ[1],
    LINE_READ[2],
    LINE_READ[3],
    LINE_READ[4],
    "host.root_complex.flight_ns",
    "link.flit_check_ns",
    "host.iommu.walk_ns",
    "device.dma.tag_return_ns",
];

/// Keys of each bound that a system has; bounds of messages have none, which a core's profile gives.
#[must_use]
pub fn keys_of_bounds() -> IndexMap<&'static str, Vec<&'static str>> {
    let keys = [
        ("wire-upstream", [&LINK[..], &READS].concat()),
        ("wire-downstream", [&LINK[..], &READS].concat()),
        ("tags", [&["link.tags", "device.dma.tags", "link.mrrs_bytes"][..], &ROUND_TRIP].concat()),
        (
            "posted-credits",
            [
                &["host.root_complex.posted_header_credits", "host.root_complex.posted_data_credits"][..],
                &RETURN,
            ]
            .concat(),
        ),
        ("non-posted-credits", [&["host.root_complex.non_posted_header_credits"][..], &RETURN].concat()),
        ("latency", [&["device.dma.outstanding"][..], &ROUND_TRIP].concat()),
        ("device-rate", vec!["device.dma.request_interval_ns", "device.dma.busy_request_interval_ns"]),
        (
            "device-port",
            [
                &LINK[..],
                &[
                    "device.uplink_quantum_bytes",
                    "device.uplink_data_quantum_bytes",
                    "device.uplink_gap_bytes",
                    "device.uplink_dllp_bytes",
                    "host.root_complex.uplink_stretch",
                ],
            ]
            .concat(),
        ),
        (
            "root-port",
            [
                &LINK[..],
                &READS,
                &[
                    "host.root_complex.completion_split",
                    "host.root_complex.downlink_quantum_bytes",
                    "host.root_complex.downlink_dllp_bytes",
                    "host.root_complex.downlink_stretch",
                ],
            ]
            .concat(),
        ),
        (
            "replay-buffer",
            [
                &LINK[..],
                &[
                    "link.replay_buffer_flits",
                    "link.replay_buffer_bytes",
                    "link.flit_check_ns",
                    "host.root_complex.flight_ns",
                ],
            ]
            .concat(),
        ),
        ("request-rate", vec!["host.root_complex.request_interval_ns", "link.mrrs_bytes"]),
        (
            "write-rate",
            vec!["host.root_complex.write_interval_ns", "host.root_complex.write_line_ns", "link.mps_bytes"],
        ),
        ("receive-buffers", vec!["device.dma.receive_buffers", "host.root_complex.flight_ns"]),
        (
            "completion-buffer",
            [
                &["device.dma.completion_buffer_bytes", "device.dma.completion_buffer_headers"][..],
                &ROUND_TRIP,
            ]
            .concat(),
        ),
        ("page-walks", [&WALKS[..], &["host.iommu.walk_region_bytes"]].concat()),
        ("translation", [&WALKS[..], &["host.iommu.page_life"]].concat()),
        ("write-pool", vec!["host.root_complex.write_pool_lines", "host.root_complex.write_ns"]),
        ("read-pool", [&["host.root_complex.read_pool_lines"][..], &LINE_READ].concat()),
        (
            "memory",
            vec![
                "host.memory.saturated_gbytes_per_s",
                "host.memory.traffic_per_written_byte",
                "host.load.cores",
                "host.load.kind",
                "host.load.core_share",
            ],
        ),
    ];
    keys.into_iter().collect()
}

/// Keys of a bound; `None` of a bound that no key of a system makes.
#[must_use]
pub fn keys_of(bound: &str) -> Option<Vec<&'static str>> {
    keys_of_bounds().swap_remove(bound)
}

/// Keys behind what a NIC holds, which waits for round trips, or behind another bound of it; none behind the line.
pub(crate) fn keys_behind_nic(bound: &str) -> Vec<&'static str> {
    if bound == "line" { Vec::new() } else { keys_of(bound).unwrap_or_else(|| ROUND_TRIP.to_vec()) }
}

/// Whether the host alone makes a bound.
#[must_use]
pub fn is_of_host(bound: &str) -> bool {
    keys_of(bound).is_some_and(|keys| keys.iter().all(|key| key.starts_with("host.")))
}

/// A sentence on the borrowed keys behind each of some bounds that a system makes; none if nothing is borrowed.
///
/// `borrowed`: the keys, and the profile that each comes from.
#[must_use]
pub fn borrowed_sentences(bounds: &[&str], borrowed: &IndexMap<String, String>) -> Vec<String> {
    if borrowed.is_empty() {
        return Vec::new();
    }
    let mut said: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for bound in bounds {
        let Some(keys) = keys_of(bound).filter(|_| !said.contains(bound)) else { continue };
        said.push(bound);
        let mut by_profile: IndexMap<&str, Vec<&str>> = IndexMap::new();
        for key in keys {
            if let Some(profile) = borrowed.get(key) {
                by_profile.entry(profile).or_default().push(key);
            }
        }
        let named = by_profile.iter().map(|(profile, keys)| format!("{} (from {profile})", keys.join(", ")));
        let named = named.collect::<Vec<_>>().join("; ");
        let named = if named.is_empty() { "none" } else { named.as_str() };
        sentences.push(format!("borrowed keys behind {bound}: {named}"));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_named_once_with_its_borrowed_keys() {
        let borrowed = [("host.root_complex.write_ns", "gen5-server"), ("link.tags", "mine")];
        let borrowed =
            borrowed.map(|(key, profile)| (key.to_owned(), profile.to_owned())).into_iter().collect();
        let found = borrowed_sentences(&["write-pool", "line", "write-pool", "memory"], &borrowed);
        let pool = "borrowed keys behind write-pool: host.root_complex.write_ns (from gen5-server)";
        assert_eq!(found, [pool, "borrowed keys behind memory: none"]);
        assert!(borrowed_sentences(&["memory"], &IndexMap::new()).is_empty());
    }

    #[test]
    fn bounds_of_the_host_are_made_of_its_keys_alone() {
        assert_eq!(["memory", "tags", "line"].map(is_of_host), [true, false, false]);
        assert!(keys_of_bounds().values().all(|keys| !keys.is_empty()));
        assert!(keys_behind_nic("line").is_empty());
        assert_eq!(keys_behind_nic("descriptors-held"), ROUND_TRIP);
    }
}
