//! Values that the simulator could not work with, refused by name.

use super::SystemError;
use crate::profile::System;
use pcie_workload::{LINE_BYTES, PAGE_BYTES};

/// The longest time that a profile may give for a step that a transaction waits for, ns. Steps take nanoseconds to
/// microseconds; that times add up in whole numbers of 64 bits, whatever waits for what, hangs on it.
const TRANSACTION_NS_MOST: f64 = 1e5;
const TRANSACTION_TIME: &str = "give ns, 0 to 100000";
/// The same of what comes between transactions, and of idle states: a second.
const PAUSE_NS_MOST: f64 = 1e9;
const PAUSE_TIME: &str = "give ns, 0 to 1000000000";

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
    let parts = [timer.numerator_ns, timer.denominator, timer.cycles];
    let tick = f64::from(u32::try_from(timer.numerator_ns).unwrap_or(0)) / timer.denominator as f64;
    if parts.iter().any(|part| !(1..=u64::from(u32::MAX)).contains(part)) || !(1e-3..=1e9).contains(&tick) {
        let value = format!("{}/{} ns, {} cycles", timer.numerator_ns, timer.denominator, timer.cycles);
        return wrong(
            "device.timer",
            value,
            "give a tick of 1 ps to 1 s in whole numbers of 32 bits above 0",
        );
    }
    for (most, remedy, times) in [
        (TRANSACTION_NS_MOST, TRANSACTION_TIME, transaction_times(system)),
        (PAUSE_NS_MOST, PAUSE_TIME, pauses(system)),
    ] {
        if let Some((key, ns)) = times.into_iter().find(|(_, ns)| !(0.0..=most).contains(ns)) {
            return wrong(key, ns.to_string(), remedy);
        }
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

/// The times of the steps that a transaction waits for, by key.
fn transaction_times(system: &System) -> Vec<(&'static str, f64)> {
    let (dma, root) = (&system.device.dma, &system.host.root_complex);
    let (engine, memory, iommu) = (&dma.engine, &system.host.memory, &system.host.iommu);
    let mut times = vec![
        ("device.dma.read_overhead_ns", dma.read_overhead_ns),
        ("device.dma.write_overhead_ns", dma.write_overhead_ns),
        ("device.dma.write_to_read_ns", dma.write_to_read_ns),
        ("device.dma.write_acknowledged_ns", dma.write_acknowledged_ns),
        ("device.dma.request_interval_ns", dma.request_interval_ns),
        ("device.dma.partial_word_ns", dma.partial_word_ns),
        ("device.dma.unaligned_card_ns", dma.unaligned_card_ns),
        ("device.dma.unaligned_host_ns", dma.unaligned_host_ns),
        ("device.dma.engine.read_fixed_ns", engine.read_fixed_ns),
        ("device.dma.engine.write_fixed_ns", engine.write_fixed_ns),
        ("device.dma.engine.segment_ns", engine.segment_ns),
        ("device.dma.engine.word_ns", engine.word_ns),
        ("device.dma.engine.short_tail_ns", engine.short_tail_ns),
        ("device.dma.engine.misaligned_single_ns", engine.misaligned_single_ns),
        ("device.dma.engine.boundary_aligned_ns", engine.boundary_aligned_ns),
        ("device.dma.engine.boundary_misaligned_ns", engine.boundary_misaligned_ns),
        ("host.root_complex.read_ns", root.read_ns),
        ("host.root_complex.busy_read_ns", root.busy_read_ns),
        ("host.root_complex.write_ns", root.write_ns),
        ("host.root_complex.line_interval_ns", root.line_interval_ns),
        ("host.root_complex.completion_interval_ns", root.completion_interval_ns),
        ("host.root_complex.flight_ns", root.flight_ns),
        ("host.root_complex.request_interval_ns", root.request_interval_ns),
        ("host.root_complex.write_interval_ns", root.write_interval_ns),
        ("host.root_complex.write_line_ns", root.write_line_ns),
        ("host.root_complex.partial_line_busy_ns", root.partial_line_busy_ns),
        ("host.root_complex.jitter_ns", root.jitter_ns),
        ("host.root_complex.busy_jitter_ns", root.busy_jitter_ns),
        ("host.root_complex.credit_return_ns", root.credit_return_ns),
        ("host.memory.host_line_ns", memory.host_line_ns),
        ("host.memory.miss_ns", memory.miss_ns),
        ("host.memory.busy_miss_ns", memory.busy_miss_ns),
        ("host.memory.remote_ns", memory.remote_ns),
        ("host.memory.remote_dirty_ns", memory.remote_dirty_ns),
        ("host.memory.ownership_ns", memory.ownership_ns),
        ("host.memory.remote_ownership_ns", memory.remote_ownership_ns),
        ("host.memory.untouched_ns", memory.untouched_ns),
        ("host.memory.refresh.duration_ns", memory.refresh.duration_ns),
        ("host.iommu.walk_ns", iommu.walk_ns),
        ("host.iommu.walker_busy_ns", iommu.walker_busy_ns),
        ("host.iommu.same_page_stall_ns", iommu.same_page_stall_ns),
    ];
    if let Some(command) = &system.device.command {
        times.extend([
            ("device.command.read_overhead_ns", command.read_overhead_ns),
            ("device.command.read_byte_ns", command.read_byte_ns),
            ("device.command.write_byte_ns", command.write_byte_ns),
            ("device.command.read_split_ns", command.read_split_ns),
            ("device.command.write_split_ns", command.write_split_ns),
            ("device.command.write_loop_byte_ns", command.write_loop_byte_ns),
        ]);
    }
    times
}

/// The times between transactions, and those of idle states, by key.
fn pauses(system: &System) -> Vec<(&'static str, f64)> {
    let mut times = vec![
        ("device.dma.loop_ns", system.device.dma.loop_ns),
        ("host.memory.refresh.interval_ns", system.host.memory.refresh.interval_ns),
    ];
    if let Some(command) = &system.device.command {
        times.push(("device.command.loop_ns", command.loop_ns));
        times.push(("device.command.write_loop_ns", command.write_loop_ns));
        if let Some(window) = &command.bar_window {
            times.push(("device.command.bar_window.moved_ns", window.moved_ns));
            times.push(("device.command.bar_window.move_ns", window.move_ns));
        }
    }
    if let Some(idle) = &system.host.idle {
        times.extend([
            ("host.idle.gap_ns", idle.gap_ns),
            ("host.idle.wake_ns", idle.wake_ns),
            ("host.idle.wake_floor_ns", idle.wake_floor_ns),
            ("host.idle.stalls.duration_ns", idle.stalls.duration_ns),
        ]);
        for cluster in &idle.clusters {
            times.push(("host.idle.clusters.low_ns", cluster.low_ns));
            times.push(("host.idle.clusters.high_ns", cluster.high_ns));
        }
    }
    times
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
            (
                refused(|system| system.host.root_complex.request_interval_ns = 1e8),
                "request_interval_ns is 100000000: give ns, 0 to 100000",
            ),
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
