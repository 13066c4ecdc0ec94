//! Values that the simulator could not work with, refused by name.

mod times;

use super::error::{Checked, SystemError};
use crate::profile::{Credits, LastLevelCache, System};
use pcie_workload::{LINE_BYTES, PAGE_BYTES};

/// A gibibyte of host buffer is 16 Mi lines, of which each takes a few bytes in every copy of the machine's state.
const BUFFER_BYTES_MAX: u64 = 1 << 30;
/// The largest caches of a socket today have 1.1 GiB.
const CACHE_BYTES_MAX: u64 = 2 << 30;
/// DDIO ways hold lines by number.
const DDIO_BYTES_MAX: u64 = 1 << 30;
const HEADER_CREDITS_MAX: u32 = 1 << 16;
const DATA_CREDITS_MAX: u32 = 1 << 20;
/// Ports count what a TLP takes, padding included, in 32 bits; no padding comes near a page.
const PADDING_BYTES_MAX: u32 = 4096;
const CLUSTERS_MAX: usize = 64;
/// Of a longest stall, over the time served between two.
const STALLED_MAX: f64 = 1000.0;

/// Refuses values that the simulator could not work with, before anything is allocated by them.
pub(super) fn check_values(system: &System) -> Result<(), SystemError> {
    buffer(system)
        .and_then(|()| sockets(system))
        .and_then(|()| cache(&system.host.llc))
        .and_then(|()| counts(system))
        .and_then(|()| sizes(system))
        .and_then(|()| credits(system))
        .and_then(|()| times::times(system))
        .and_then(|()| shares(system))
        .map_err(|(key, value, remedy)| SystemError::Value {
            system: system.name.clone(),
            key,
            value,
            remedy,
        })
}

fn buffer(system: &System) -> Checked {
    if !system.chunk_bytes.is_power_of_two() || !(PAGE_BYTES..=BUFFER_BYTES_MAX).contains(&system.chunk_bytes)
    {
        return Err(("chunk_bytes", system.chunk_bytes.to_string(), "give a power of two, 4096 to 2^30"));
    }
    let chunks = system.chunk_addresses.len() as u64;
    if chunks == 0 || chunks.saturating_mul(system.chunk_bytes) > BUFFER_BYTES_MAX {
        return Err((
            "chunk_addresses",
            format!("{chunks} chunks"),
            "give at least one, at most 1 GiB together",
        ));
    }
    match system.chunk_addresses.iter().find(|address| *address % system.chunk_bytes != 0) {
        Some(address) => Err(("chunk_addresses", format!("{address:#x}"), "give multiples of chunk_bytes")),
        None => Ok(()),
    }
}

fn sockets(system: &System) -> Checked {
    let sockets = [
        ("device_socket", system.device_socket),
        ("memory_socket", system.memory_socket),
        ("program_socket", system.program_socket),
    ];
    match sockets.into_iter().find(|(_, socket)| *socket >= system.host.sockets) {
        Some((key, socket)) => {
            Err((key, socket.to_string(), "give a socket that host.sockets has, counted from 0"))
        }
        None => Ok(()),
    }
}

fn cache(cache: &LastLevelCache) -> Checked {
    within("host.llc.ways", cache.ways, 1, 255, "give 1 to 255")?;
    within("host.llc.slices", cache.slices, 1, 1024, "give 1 to 1024")?;
    if !(1..=cache.ways).contains(&cache.ddio_ways) {
        let value = format!("{} of {} ways", cache.ddio_ways, cache.ways);
        return Err(("host.llc.ddio_ways", value, "give at least one, and no more than there are ways"));
    }
    let set_bytes = LINE_BYTES * u64::from(cache.ways) * u64::from(cache.slices);
    if !(set_bytes..=CACHE_BYTES_MAX).contains(&cache.llc_bytes) {
        return Err((
            "host.llc.llc_bytes",
            cache.llc_bytes.to_string(),
            "give a set per slice at least, 2 GiB at most",
        ));
    }
    let ddio_bytes = cache.llc_bytes / u64::from(cache.ways) * u64::from(cache.ddio_ways);
    if ddio_bytes > DDIO_BYTES_MAX {
        let value = format!("{} of {} ways, or {ddio_bytes} bytes", cache.ddio_ways, cache.ways);
        return Err(("host.llc.ddio_ways", value, "give as many as hold 1 GiB at most"));
    }
    Ok(())
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
        return Err(("device.dma.engine", "a size of 0".into(), "give bytes above 0"));
    }
    for (key, bytes, least) in [
        ("device.dma.engine.word_bytes", engine.word_bytes, 1),
        ("device.dma.engine.write_part_bytes", engine.write_part_bytes, 64),
        ("device.uplink_data_quantum_bytes", device.uplink_data_quantum_bytes, 4),
    ] {
        if !bytes.is_power_of_two() || bytes < least || u64::from(bytes) > PAGE_BYTES {
            return Err((key, bytes.to_string(), "give a power of two, a page of 4096 at most"));
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
        return Err((
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
            return Err((key, stretch.to_string(), "give the serialisation time over the raw one, near 1"));
        }
    }
    for (key, share) in [
        ("host.root_complex.conflict_share", complex.conflict_share),
        ("host.memory.refresh.hit_share", system.host.memory.refresh.hit_share),
    ] {
        if !(0.0..=1.0).contains(&share) {
            return Err((key, share.to_string(), "give a share, 0 to 1"));
        }
    }
    let Some(idle) = &system.host.idle else { return Ok(()) };
    if idle.clusters.len() > CLUSTERS_MAX {
        return Err(("host.idle.clusters", format!("{} clusters", idle.clusters.len()), "give 64 at most"));
    }
    let stalls = &idle.stalls;
    if !(stalls.interval_ns.is_finite() && stalls.interval_ns > 0.0) {
        return Err(("host.idle.stalls.interval_ns", stalls.interval_ns.to_string(), "give ns above 0"));
    }
    if stalls.duration_ns > STALLED_MAX * stalls.interval_ns {
        let value = format!("{} every {} ns", stalls.duration_ns, stalls.interval_ns);
        return Err(("host.idle.stalls.duration_ns", value, "give 1000 times interval_ns at most"));
    }
    Ok(())
}

fn within(key: &'static str, value: u32, least: u32, most: u32, remedy: &'static str) -> Checked {
    if (least..=most).contains(&value) { Ok(()) } else { Err((key, value.to_string(), remedy)) }
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
                "memory_socket is 1: give a socket that host.sockets has",
            ),
            (refused(|system| system.chunk_bytes = 4097), "chunk_bytes is 4097: give a power of two"),
            (refused(|system| system.chunk_addresses[2] += 64), "give multiples of chunk_bytes"),
            (refused(|system| system.host.llc.ddio_ways = 21), "ddio_ways is 21 of 20 ways"),
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
