//! Values that the simulator could not work with, refused by name.

use super::SystemError;
use crate::profile::System;
use pcie_workload::{LINE_BYTES, PAGE_BYTES};

pub(super) fn check_values(system: &System) -> Result<(), SystemError> {
    let wrong = |key, value: String, remedy| {
        Err(SystemError::Value { system: system.name.clone(), key, value, remedy })
    };
    let chunks = system.chunk_addresses.len() as u64;
    if !system.chunk_bytes.is_power_of_two()
        || system.chunk_bytes < PAGE_BYTES
        || system.chunk_bytes > 1 << 36
    {
        return wrong("chunk_bytes", system.chunk_bytes.to_string(), "give a power of two, 4096 to 2^36");
    }
    if chunks == 0 || chunks.saturating_mul(system.chunk_bytes) > 1 << 36 {
        return wrong(
            "chunk_addresses",
            format!("{chunks} chunks"),
            "give at least one, at most 64 GiB together",
        );
    }
    if let Some(address) = system.chunk_addresses.iter().find(|address| *address % system.chunk_bytes != 0) {
        return wrong("chunk_addresses", format!("{address:#x}"), "give multiples of chunk_bytes");
    }
    let sockets = [
        ("device_socket", system.device_socket),
        ("memory_socket", system.memory_socket),
        ("program_socket", system.program_socket),
    ];
    for (key, socket) in sockets {
        if socket >= system.host.sockets {
            return wrong(key, socket.to_string(), "give a socket that host.sockets has, counted from 0");
        }
    }
    let cache = &system.host.llc;
    if cache.ways == 0 || cache.ddio_ways == 0 || cache.ddio_ways > cache.ways || cache.slices == 0 {
        let value = format!("{} ways, {} for DDIO, {} slices", cache.ways, cache.ddio_ways, cache.slices);
        return wrong(
            "host.llc",
            value,
            "give at least one of each, and no more ways for DDIO than there are",
        );
    }
    let set_bytes = LINE_BYTES * u64::from(cache.ways) * u64::from(cache.slices);
    if cache.llc_bytes < set_bytes || cache.llc_bytes > 1 << 32 {
        return wrong(
            "host.llc.llc_bytes",
            cache.llc_bytes.to_string(),
            "give a set per slice at least, 4 GiB at most",
        );
    }
    let timer = system.device.timer;
    if timer.numerator_ns == 0 || timer.denominator == 0 || timer.cycles == 0 {
        return wrong("device.timer", format!("{timer:?}"), "give values above 0");
    }
    let counts = [
        ("link.tags", system.link.tags, 16_384, "give 1 to 16384"),
        ("device.dma.outstanding", system.device.dma.outstanding, 1 << 20, "give 1 to 1048576"),
        ("device.dma.receive_buffers", system.device.dma.receive_buffers, 1 << 20, "give 1 to 1048576"),
        ("host.iommu.walkers", system.host.iommu.walkers, 4096, "give 1 to 4096"),
        ("host.llc.ways", cache.ways, 1024, "give 1 to 1024"),
    ];
    for (key, count, most, remedy) in counts {
        if count == 0 || count > most {
            return wrong(key, count.to_string(), remedy);
        }
    }
    let engine = &system.device.dma.engine;
    if engine.segment_bytes == 0 || engine.word_bytes == 0 {
        return wrong("device.dma.engine", "a size of 0".into(), "give bytes above 0");
    }
    let powers = [
        ("device.dma.engine.word_bytes", engine.word_bytes, 1),
        ("device.dma.engine.write_part_bytes", engine.write_part_bytes, 64),
        ("device.uplink_data_quantum_bytes", system.device.uplink_data_quantum_bytes, 4),
    ];
    for (key, bytes, least) in powers {
        if !bytes.is_power_of_two() || bytes < least || u64::from(bytes) > PAGE_BYTES {
            return wrong(key, bytes.to_string(), "give a power of two, a page of 4096 at most");
        }
    }
    let complex = &system.host.root_complex;
    let posted_units = system.link.mps_bytes.div_ceil(16);
    if complex.posted_header_credits == 0
        || complex.posted_data_credits < posted_units
        || complex.non_posted_header_credits == 0
    {
        let value = format!(
            "{} posted headers, {} posted data, {} non-posted headers",
            complex.posted_header_credits, complex.posted_data_credits, complex.non_posted_header_credits
        );
        return wrong("host.root_complex credits", value, "give room for at least one TLP of each kind");
    }
    for (key, stretch) in [
        ("host.root_complex.downlink_stretch", complex.downlink_stretch),
        ("host.root_complex.uplink_stretch", complex.uplink_stretch),
    ] {
        if !(0.5..=10.0).contains(&stretch) {
            return wrong(key, stretch.to_string(), "give the serialisation time over the raw one, near 1");
        }
    }
    if let Some(idle) = &system.host.idle {
        let interval_ns = idle.stalls.interval_ns;
        if !(interval_ns.is_finite() && interval_ns > 0.0) {
            return wrong("host.idle.stalls.interval_ns", interval_ns.to_string(), "give ns above 0");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Machine;
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
            (refused(|system| system.host.llc.ddio_ways = 21), "20 ways, 21 for DDIO"),
            (refused(|system| system.host.llc.llc_bytes = 64), "host.llc.llc_bytes is 64"),
            (refused(|system| system.host.root_complex.posted_data_credits = 3), "3 posted data"),
            (refused(|system| system.host.root_complex.uplink_stretch = f64::NAN), "uplink_stretch is NaN"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
