//! Speed and memory of reading a large pcap-ng: writes one of `--megabytes` into a temporary folder, then streams it.
//!
//! Prints the rate of reading on one core and the peak of the process's memory. `make capture-speed`.

use pcie_capture::{Direction, Event, Facts, Format, Kind, Options, Packet, Tlp, WriteOptions, Writer, read};
use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// A read of 256 bytes, its completion and a write of 256 bytes, each 40 ns after the one before.
fn event(number: u64) -> Event {
    let (up, down) = (Some(Direction::Upstream), Some(Direction::Downstream));
    let address = Some(0x1_0000_0000 + 256 * (number / 3 % 65536));
    let tag = Some((number / 3 % 256) as u16);
    let whole = Tlp { length_dw: 64, requester: Some(0x300), tag, ..Tlp::of(Kind::MemoryRead) };
    let enables = Some(15);
    let request = Tlp { address, first_enables: enables, last_enables: enables, ..whole.clone() };
    let data = vec![number as u8; 64];
    let (direction, tlp) = match number % 3 {
        0 => (up, request),
        1 => {
            let kind = Kind::Completion { locked: false };
            (down, Tlp { kind, data_bytes: 256, byte_count: Some(256), status: Some(0), data, ..whole })
        }
        _ => (up, Tlp { kind: Kind::MemoryWrite, data_bytes: 256, data, ..request }),
    };
    let time_ps = Some(40_000 * number);
    Event { time_ps, direction, port: 0, record: number + 1, packet: Packet::Tlp(tlp), error: None }
}

/// Peak memory of this process in KiB, where the system says.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (mut megabytes, mut format) = (1000_u64, Format::Raw);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or("give a value")?;
        match argument.as_str() {
            "--megabytes" => megabytes = value.parse()?,
            "--format" => format = Format::of_word(&value).map_err(|refusal| refusal.to_string())?,
            other => return Err(format!("{other}: give --megabytes or --format").into()),
        }
    }
    let folder = std::env::temp_dir().join(format!("pcielab-capture-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = measure(&folder.join("large"), megabytes << 20, format);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(path: &std::path::Path, bytes: u64, format: Format) -> Result<(), Failure> {
    let facts = Facts { ports: vec!["link".to_owned()], simulated: Some(true), ..Facts::default() };
    let target = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = Writer::new(format, &facts, &WriteOptions::default(), target)?;
    let begun = Instant::now();
    let mut written = 0;
    while written == 0 || (written & 0xffff != 0) || std::fs::metadata(path)?.len() < bytes {
        writer.event(&event(written))?;
        written += 1;
    }
    writer.finish()?;
    let size = std::fs::metadata(path)?.len() as f64 / 1e6;
    let seconds = begun.elapsed().as_secs_f64();
    println!("{} of {size:.0} MB, {written} packets: written at {:.0} MB/s", format.word(), size / seconds);
    let before = peak_kib();
    let (mut count, mut data) = (0_u64, 0_u64);
    let begun = Instant::now();
    read(&mut File::open(path)?, &Options::default(), &mut |event| {
        count += 1;
        if let Packet::Tlp(tlp) = &event.packet {
            data += u64::from(tlp.data_bytes);
        }
        ControlFlow::Continue(())
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("read {count} packets with {data} bytes of data at {:.0} MB/s on one core", size / seconds);
    if let (Some(before), Some(after)) = (before, peak_kib()) {
        println!("peak memory {} KiB, {} KiB before reading", after, before);
    }
    if count != written {
        return Err(format!("{written} packets were written and {count} read").into());
    }
    Ok(())
}
