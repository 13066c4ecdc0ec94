//! Values that the simulator could not work with, refused by name.

mod times;

use super::error::{Checked, SystemError};
use crate::profile::{BrokenRule, Credits, LastLevelCache, Ruled, System};
use pcie_workload::PAGE_BYTES;

const HEADER_CREDITS_MAX: u32 = 1 << 16;
const DATA_CREDITS_MAX: u32 = 1 << 20;
/// Ports count what a TLP takes, padding included, in 32 bits; no padding comes near a page.
const PADDING_BYTES_MAX: u32 = 4096;
const WALK_REGION_BYTES_MAX: u64 = 1 << 30;
const CLUSTERS_MAX: usize = 64;
/// Of a longest stall, over the time served between two.
const STALLED_MAX: f64 = 1000.0;

/// Refuses values that the simulator could not work with, before anything is allocated by them.
pub(super) fn check_values(system: &System) -> Result<(), SystemError> {
    cache(&system.host.llc)
        .and_then(|()| system.check())
        .and_then(|()| counts(system))
        .and_then(|()| sizes(system))
        .and_then(|()| credits(system))
        .and_then(|()| times::times(system))
        .and_then(|()| shares(system))
        .map_err(|broken| SystemError::Value { system: system.name.clone(), broken })
}

fn cache(cache: &LastLevelCache) -> Checked {
    within("host.llc.ways", cache.ways, 1, 255, "give 1 to 255")?;
    within("host.llc.slices", cache.slices, 1, 1024, "give 1 to 1024")?;
    within(
        "host.llc.ddio_ways",
        cache.ddio_ways,
        1,
        255,
        "give at least one, and no more than there are ways",
    )
}

fn counts(system: &System) -> Checked {
    let (device, host) = (&system.device, &system.host);
    for (key, count, most, remedy) in [
        ("link.tags", system.link.tags, 16_384, "give 1 to 16384"),
        ("device.dma.tags", device.dma.tags.unwrap_or(1), 16_384, "give 1 to 16384"),
        ("device.dma.transfer_multiple_bytes", device.dma.transfer_multiple_bytes, 4096, "give 1 to 4096"),
        ("device.dma.outstanding", device.dma.outstanding, 1 << 16, "give 1 to 65536"),
        ("device.dma.receive_buffers", device.dma.receive_buffers, 1 << 16, "give 1 to 65536"),
        ("host.iommu.walkers", host.iommu.walkers, 4096, "give 1 to 4096"),
        ("host.iommu.pending_walks", host.iommu.pending_walks, 1 << 16, "give 1 to 65536"),
    ] {
        within(key, count, 1, most, remedy)?;
    }
    Ok(())
}

fn sizes(system: &System) -> Checked {
    let (device, complex) = (&system.device, &system.host.root_complex);
    let engine = &device.dma.engine;
    if engine.segment_bytes == 0 || engine.word_bytes == 0 {
        return Err(BrokenRule::new("device.dma.engine", "a size of 0", "give bytes above 0"));
    }
    for (key, bytes, least) in [
        ("device.dma.engine.word_bytes", engine.word_bytes, 1),
        ("device.dma.engine.write_part_bytes", engine.write_part_bytes, 64),
        ("device.uplink_data_quantum_bytes", device.uplink_data_quantum_bytes, 4),
    ] {
        if !bytes.is_power_of_two() || bytes < least || u64::from(bytes) > PAGE_BYTES {
            return Err(BrokenRule::new(key, bytes, "give a power of two, a page of 4096 at most"));
        }
    }
    for (key, bytes, least, remedy) in [
        ("device.uplink_quantum_bytes", device.uplink_quantum_bytes, 1, "give 1 to 4096"),
        ("host.root_complex.downlink_quantum_bytes", complex.downlink_quantum_bytes, 1, "give 1 to 4096"),
        ("device.uplink_gap_bytes", device.uplink_gap_bytes, 0, "give 4096 at most"),
        ("device.uplink_dllp_bytes", device.uplink_dllp_bytes, 0, "give 4096 at most"),
        ("device.dma.engine.write_gap_bytes", engine.write_gap_bytes, 0, "give 4096 at most"),
        ("host.root_complex.downlink_dllp_bytes", complex.downlink_dllp_bytes, 0, "give 4096 at most"),
    ] {
        within(key, bytes, least, PADDING_BYTES_MAX, remedy)?;
    }
    let region_bytes = system.host.iommu.walk_region_bytes;
    if region_bytes > WALK_REGION_BYTES_MAX {
        return Err(BrokenRule::new("host.iommu.walk_region_bytes", region_bytes, "give 1073741824 at most"));
    }
    Ok(())
}

fn credits(system: &System) -> Checked {
    let complex = &system.host.root_complex;
    for (key, credits, most, remedy) in [
        (
            "host.root_complex.posted_header_credits",
            complex.posted_header_credits,
            HEADER_CREDITS_MAX,
            "give 1 to 65536, or \"infinite\"",
        ),
        (
            "host.root_complex.non_posted_header_credits",
            complex.non_posted_header_credits,
            HEADER_CREDITS_MAX,
            "give 1 to 65536, or \"infinite\"",
        ),
        (
            "host.root_complex.posted_data_credits",
            complex.posted_data_credits,
            DATA_CREDITS_MAX,
            "give 1 to 1048576, or \"infinite\"",
        ),
    ] {
        if let Credits::Count(count) = credits {
            within(key, count, 1, most, remedy)?;
        }
    }
    if complex.posted_data_credits.at_most() < system.link.mps_bytes.div_ceil(16) {
        let value = format!("{} for an MPS of {}", complex.posted_data_credits, system.link.mps_bytes);
        return Err(BrokenRule::new(
            "host.root_complex.posted_data_credits",
            value,
            "give room for at least one TLP, at 16 B each",
        ));
    }
    Ok(())
}

fn shares(system: &System) -> Checked {
    let complex = &system.host.root_complex;
    for (key, stretch) in [
        ("host.root_complex.downlink_stretch", complex.downlink_stretch),
        ("host.root_complex.uplink_stretch", complex.uplink_stretch),
    ] {
        if !(0.5..=10.0).contains(&stretch) {
            return Err(BrokenRule::new(
                key,
                stretch,
                "give the serialisation time over the raw one, near 1",
            ));
        }
    }
    for (key, share) in [
        ("host.root_complex.conflict_share", complex.conflict_share),
        ("host.memory.refresh.hit_share", system.host.memory.refresh.hit_share),
    ] {
        if !(0.0..=1.0).contains(&share) {
            return Err(BrokenRule::new(key, share, "give a share, 0 to 1"));
        }
    }
    let Some(idle) = &system.host.idle else { return Ok(()) };
    if idle.clusters.len() > CLUSTERS_MAX {
        return Err(BrokenRule::new(
            "host.idle.clusters",
            format!("{} clusters", idle.clusters.len()),
            "give 64 at most",
        ));
    }
    let stalls = &idle.stalls;
    if !(stalls.interval_ns.is_finite() && stalls.interval_ns > 0.0) {
        return Err(BrokenRule::new("host.idle.stalls.interval_ns", stalls.interval_ns, "give ns above 0"));
    }
    if stalls.duration_ns > STALLED_MAX * stalls.interval_ns {
        let value = format!("{} every {} ns", stalls.duration_ns, stalls.interval_ns);
        return Err(BrokenRule::new(
            "host.idle.stalls.duration_ns",
            value,
            "give 1000 times interval_ns at most",
        ));
    }
    Ok(())
}

fn within(key: &'static str, value: u32, least: u32, most: u32, remedy: &'static str) -> Checked {
    if (least..=most).contains(&value) { Ok(()) } else { Err(BrokenRule::new(key, value, remedy)) }
}

#[cfg(test)]
mod tests {
    use crate::Machine;
    use crate::profile::Credits;
    use crate::test_systems::snb;

    fn refused(change: impl Fn(&mut crate::profile::System)) -> String {
        let mut system = snb().system().clone();
        change(&mut system);
        Machine::new(system).unwrap_err().to_string()
    }

    #[test]
    fn messages_name_key_value_and_remedy() {
        for (message, expected) in [
            (refused(|system| system.link.mps_bytes = 300), "link.mps_bytes: 300 is not a size"),
            (refused(|system| system.link.tags = 0), "link.tags is 0: give 1 to 16384"),
            (
                refused(|system| system.memory_socket = 1),
                "memory_socket is 1: snb-e5-2630 has sockets 0 to 0",
            ),
            (refused(|system| system.chunk_bytes = 4097), "chunk_bytes is 4097: give a power of two"),
            (refused(|system| system.chunk_addresses[2] += 64), "give multiples of chunk_bytes"),
            (
                refused(|system| system.host.llc.ddio_ways = 21),
                "ddio_ways is 21: give at most ways, which is 20",
            ),
            (refused(|system| system.host.llc.slices = 4095), "host.llc.slices is 4095: give 1 to 1024"),
            (refused(|system| system.host.llc.llc_bytes = 64), "host.llc.llc_bytes is 64"),
            (
                refused(|system| system.host.root_complex.posted_data_credits = Credits::Count(3)),
                "posted_data_credits is 3 for an MPS of",
            ),
            (
                refused(|system| system.host.root_complex.posted_header_credits = Credits::Count(u32::MAX)),
                "posted_header_credits is 4294967295: give 1 to 65536, or \"infinite\"",
            ),
            (
                refused(|system| system.chunk_addresses = (0..1 << 20).map(|chunk| chunk << 22).collect()),
                "chunk_addresses is 1048576 chunks: give at least one, at most 1 GiB together",
            ),
            (refused(|system| system.device.uplink_gap_bytes = u32::MAX), "uplink_gap_bytes is 4294967295"),
            (refused(|system| system.host.root_complex.uplink_stretch = f64::NAN), "uplink_stretch is NaN"),
            (
                refused(|system| system.host.root_complex.request_interval_ns = 1e8),
                "request_interval_ns is 100000000: give ns, 0 to 100000",
            ),
            (
                refused(|system| system.host.root_complex.conflict_share = 1.5),
                "conflict_share is 1.5: give a share",
            ),
            (refused(|system| system.host.memory.refresh.caught_ns = -1.0), "caught_ns is -1: give ns"),
            (refused(|system| system.device.dma.engine.segment_ns = f64::NAN), "segment_ns is NaN"),
            (refused(|system| system.device.dma.loop_ns = -1.0), "loop_ns is -1: give ns"),
            (
                refused(|system| system.device.timer.denominator = u64::from(u32::MAX)),
                "device.timer is 40/4294967295 ns, 16 cycles: give a tick of 1 ps",
            ),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
