//! Short captures of every format, read with everything detected, and captures of engines that others wrote.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

mod samples;

use pcie_capture::{Direction, Dllp, Event, Facts, Format, Kind, LinkError, Options, Packet, Tlp, read};
use pcie_refusal::Refusal;
use std::ops::ControlFlow;

fn read_with(mut bytes: &[u8], options: &Options) -> Result<(Vec<Event>, Facts), Refusal> {
    let mut events = Vec::new();
    let facts = read(&mut bytes, options, &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    })?;
    Ok((events, facts))
}

fn read_all(bytes: impl AsRef<[u8]>) -> (Vec<Event>, Facts) {
    read_with(bytes.as_ref(), &Options::default()).unwrap()
}

fn refused(bytes: impl AsRef<[u8]>, options: &Options) -> String {
    read_with(bytes.as_ref(), options).unwrap_err().to_string()
}

fn tlp(event: &Event) -> &Tlp {
    match &event.packet {
        Packet::Tlp(tlp) => tlp,
        other => panic!("{other:?}"),
    }
}

const UP: Option<Direction> = Some(Direction::Upstream);
const DOWN: Option<Direction> = Some(Direction::Downstream);

#[test]
fn cells_of_an_analyser() {
    let (events, facts) = read_all(samples::CELLS);
    assert_eq!((facts.format.as_str(), facts.rate_tenths, facts.lanes), ("text", Some(25), Some(4)));
    let at: Vec<_> = events.iter().map(|event| (event.time_ps.unwrap(), event.direction)).collect();
    assert_eq!(at, [(0, DOWN), (184_000, UP), (1_504_000, UP), (1_736_000, DOWN)]);
    assert_eq!(events.iter().map(|event| event.record).collect::<Vec<_>>(), [2555, 2556, 2561, 2563]);
    let doorbell = tlp(&events[0]);
    assert_eq!(
        (doorbell.kind, doorbell.wide, doorbell.sequence),
        (Kind::MemoryWrite, Some(false), Some(3884))
    );
    assert_eq!((doorbell.address, doorbell.first_enables), (Some(0xf7c0_3b18), Some(15)));
    assert_eq!(doorbell.data, [0x4d, 0x3c, 0x2b, 0x1a]);
    assert_eq!(events[1].packet, Packet::Dllp(Dllp::Ack { sequence: 3884 }));
    let fetch = tlp(&events[2]);
    assert_eq!((fetch.length_dw, fetch.first_enables, fetch.requester), (25, Some(12), Some(0x101)));
    let data = tlp(&events[3]);
    assert_eq!((data.byte_count, data.lower_address, data.data_bytes), (Some(98), Some(2), 100));
    assert_eq!(data.data[12..], [0x08, 0x00, 0x45, 0x00]);
}

#[test]
fn fields_of_a_dissector() {
    let (events, facts) = read_all(samples::FIELDS);
    assert_eq!(facts.format, "list");
    let read = tlp(&events[0]);
    assert_eq!((read.kind, read.wide, read.length_dw), (Kind::MemoryRead, Some(true), 128));
    assert_eq!((read.tag, read.address, read.sequence), (Some(0x12), Some(0x3f_8000_0000), Some(7)));
    let completion = tlp(&events[1]);
    assert_eq!((events[1].time_ps, events[1].direction), (Some(850_000), DOWN));
    assert_eq!((completion.kind, completion.data_bytes), (Kind::Completion { locked: false }, 64));
    assert_eq!(completion.byte_count, Some(512));
}

#[test]
fn a_protocol_table_counts_bytes() {
    let (events, _) = read_all(samples::TABLE);
    assert_eq!((tlp(&events[0]).length_dw, tlp(&events[1]).data_bytes), (16, 64));
    assert_eq!((tlp(&events[1]).lower_address, events[1].time_ps), (Some(0), Some(900_000)));
}

#[test]
fn lists_whose_columns_are_unclear_are_refused_with_their_names() {
    let list = "When,Kind of packet,Words\n1,MRd,4\n";
    let forced = Options { format: Some(Format::List), ..Options::default() };
    let said = refused(list, &forced);
    assert!(said.contains("type=NAME") && said.contains("When, Kind of packet, Words"), "{said}");
    let columns = ["Kind of packet", "When", "Words"].map(str::to_owned);
    let fields = [pcie_capture::Field::Type, pcie_capture::Field::Time, pcie_capture::Field::Length];
    let mut named = Options { columns: fields.into_iter().zip(columns).collect(), ..forced };
    let said = refused(list, &named);
    assert!(said.starts_with("line 2: When is \"1\"") && said.contains("--time-unit"), "{said}");
    named.time_unit = Some("us".to_owned());
    let (events, _) = read_with(list.as_bytes(), &named).unwrap();
    assert_eq!((events[0].time_ps, tlp(&events[0]).length_dw), (Some(0), 4));
    let both = "Type,Length,Tag,TLP Length\nMRd,4,1,4\n";
    let said = refused(both, &Options::default());
    assert!(said.contains("Length") && said.contains("--column length=NAME"), "{said}");
}

#[test]
fn dumps_of_pcileech() {
    let (events, facts) = read_all(samples::PCILEECH);
    assert_eq!((facts.format.as_str(), events.len()), ("pcileech", 2));
    assert_eq!((events[0].direction, events[1].direction, events[0].time_ps), (UP, DOWN, None));
    assert_eq!((tlp(&events[0]).length_dw, tlp(&events[0]).address), (32, Some(0x1_0000_1000)));
    assert_eq!(tlp(&events[1]).data, [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
}

#[test]
fn headers_of_a_kernel_log() {
    let (events, facts) = read_all(samples::KERNEL);
    assert_eq!((facts.format.as_str(), events.len()), ("kernel-log", 2));
    assert_eq!(facts.ports, ["0000:03:00.0", "0000:04:00.0"]);
    assert_eq!((tlp(&events[0]).address, tlp(&events[0]).data_bytes), (Some(0xfee0_0438), 4));
    assert_eq!(events[1].time_ps, Some(654_270_000_000));
    assert_eq!(facts.skipped, [("header of flit mode".to_owned(), 1, 7)]);
}

#[test]
fn a_log_of_a_simulated_nic() {
    let (events, facts) = read_all(samples::SIMBRICKS);
    assert_eq!((facts.format.as_str(), facts.simulated), ("simbricks", Some(true)));
    let kinds: Vec<_> = events.iter().map(|event| (tlp(event).kind, event.time_ps.unwrap())).collect();
    let completion = Kind::Completion { locked: false };
    assert_eq!(
        kinds,
        [
            (Kind::MemoryWrite, 0),
            (Kind::MemoryRead, 1000),
            (Kind::MemoryWrite, 1500),
            (completion, 7500),
            (Kind::MemoryWrite, 7900)
        ]
    );
    let read = tlp(&events[1]);
    assert_eq!((read.length_dw, read.last_enables, read.tag), (16, Some(3), Some(0)));
}

#[test]
fn frames_of_cocotbext_pcie() {
    let (events, facts) = read_all(samples::FRAMES);
    assert_eq!((facts.format.as_str(), facts.ports.len()), ("cocotb", 2));
    let (write, completion) = (tlp(&events[0]), tlp(&events[1]));
    assert_eq!((write.kind, write.address), (Kind::MemoryWrite, Some(0x1_0000_0040)));
    assert_eq!((write.first_enables, write.last_enables, write.requester), (Some(12), Some(3), Some(0x300)));
    assert_eq!(write.data, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0]);
    assert_eq!((completion.byte_count, completion.completer), (Some(8), Some(8)));
    assert_eq!((events[1].time_ps, events[1].direction), (Some(100_000), DOWN));
}

#[test]
fn traces() {
    let (events, _) = read_all(samples::TRACE);
    let (read, write) = (tlp(&events[0]), tlp(&events[1]));
    assert_eq!((read.address, read.length_dw, events[0].time_ps), (Some(64), 128, Some(0)));
    assert_eq!((write.address, write.length_dw), (Some(4096), 2));
    assert_eq!((write.first_enables, write.last_enables, events[1].time_ps), (Some(12), Some(1), Some(4000)));
}

#[test]
fn streams_of_intel_blocks() {
    let (events, facts) = read_all(samples::SIGNALTAP);
    assert_eq!((facts.format.as_str(), events.len()), ("signaltap", 2));
    let (write, completion) = (tlp(&events[0]), tlp(&events[1]));
    assert_eq!((write.address, write.requester, write.tag), (Some(0x1000), Some(0x100), Some(3)));
    assert_eq!(write.data, [0x11, 0x22, 0x33, 0x44]);
    assert_eq!((events[0].time_ps, events[1].time_ps, events[1].direction), (Some(4000), Some(8000), DOWN));
    assert_eq!((completion.byte_count, completion.tag, completion.data_bytes), (Some(8), Some(7), 8));
    let (events, facts) = read_all(samples::PTILE);
    assert_eq!((facts.format.as_str(), events.len()), ("vcd", 1));
    let write = tlp(&events[0]);
    assert_eq!((write.address, write.data.as_slice()), (Some(0x1_0000_2000), &[1, 2, 3, 4, 5, 6, 7, 8][..]));
    assert_eq!((events[0].time_ps, events[0].error), (Some(2000), None));
}

#[test]
fn tlps_in_ethernet() {
    let (events, facts) = read_all(samples::nettlp_pcap());
    assert_eq!(facts.format, "nettlp");
    assert_eq!((events[0].direction, events[1].direction), (UP, DOWN));
    assert_eq!((tlp(&events[0]).address, tlp(&events[1]).data.len()), (Some(0x1_0000_1000), 4));
    // Another frame of the same network is no TLP.
    let other = vec![0x40; 90];
    let none = Options::default();
    let said = refused(samples::pcap(1, std::slice::from_ref(&other)), &none);
    assert!(said.contains("Ethernet (link type 1)"), "{said}");
    let forced = Options { link_type: Some(1), skip_bytes: 48, ..Options::default() };
    let said = refused(samples::pcap(1, &[other]), &forced);
    assert!(said.contains("Ethernet (link type 1)") && said.contains("byte 48"), "{said}");
}

#[test]
fn cut_files_are_refused_where_they_end() {
    for format in [Format::Raw, Format::Cyrozap] {
        let whole = samples::written(format);
        let said = refused(&whole[..whole.len() - 3], &Options::default());
        assert!(said.starts_with("byte ") && said.contains("half a block after "), "{said}");
    }
    let whole = samples::written(Format::IlaCsv);
    let said = refused(&whole[..whole.len() - 40], &Options::default());
    assert!(said.starts_with("line ") && said.contains("cells instead of 27"), "{said}");
    assert!(refused("", &Options::default()).contains("the file is empty"));
    assert!(refused("What is this?\n", &Options::default()).contains("name its format: raw"));
}

#[test]
fn a_reader_stops_when_its_receiver_has_enough() {
    let mut count = 0;
    let facts = read(&mut samples::CELLS.as_bytes(), &Options::default(), &mut |_| {
        count += 1;
        if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((count, facts.unwrap().format), (2, "text".to_owned()));
}

/// Device: 4 writes of 256 bytes, then reads of 2048 bytes at 64 above a page; MPS 256, MRRS 512.
#[test]
fn a_model_of_cocotbext_pcie() {
    let (events, facts) = read_all(include_bytes!("fixtures/cocotb.log.gz"));
    assert_eq!(
        (facts.format.as_str(), facts.ports.as_slice()),
        ("cocotb", &["cocotb.pcie.Device[01]".to_owned()][..])
    );
    let tlps = |kind| {
        events.iter().filter(move |event| matches!(&event.packet, Packet::Tlp(tlp) if tlp.kind == kind))
    };
    let writes: u32 = tlps(Kind::MemoryWrite).map(|event| tlp(event).data_bytes).sum();
    let asked: u32 = tlps(Kind::MemoryRead).map(|event| 4 * u32::from(tlp(event).length_dw)).sum();
    let completion = Kind::Completion { locked: false };
    let brought: u32 = tlps(completion).map(|event| tlp(event).data_bytes).sum();
    assert_eq!((writes, asked, brought), (1024, 2048, 2048));
    assert!(tlps(Kind::MemoryRead).all(|event| event.direction == UP && tlp(event).length_dw <= 128));
    assert!(tlps(completion).all(|event| event.direction == DOWN && tlp(event).data_bytes <= 256));
    // Sequence numbers of what the device sends follow each other.
    let sent: Vec<u16> = events
        .iter()
        .filter(|event| event.direction == UP)
        .filter_map(|event| match &event.packet {
            Packet::Tlp(tlp) => tlp.sequence,
            _ => None,
        })
        .collect();
    assert_eq!(sent, (sent[0]..sent[0] + 9).collect::<Vec<_>>());
    assert!(events.windows(2).all(|two| two[0].time_ps <= two[1].time_ps));
}

/// LitePCIe's packetizer on a stream of the 7 series of 64 bits: see its script for what it sends.
#[test]
fn a_stream_of_litepcie() {
    let options = Options { clock_ps: Some(8000), ..Options::default() };
    let (events, facts) = read_with(include_bytes!("fixtures/litepcie.vcd.gz"), &options).unwrap();
    assert_eq!((facts.ports.as_slice(), facts.skipped.len()), (&["stream/s_axis_tx".to_owned()][..], 0));
    let shown: Vec<_> =
        events.iter().map(|event| (tlp(event).kind, tlp(event).address, tlp(event).tag.unwrap())).collect();
    assert_eq!(
        shown,
        [
            (Kind::MemoryRead, Some(0x1000), 0),
            (Kind::MemoryRead, Some(0x1200), 1),
            (Kind::MemoryRead, Some(0x2_0000_0000), 2),
            (Kind::MemoryWrite, Some(0x3000), 0),
            (Kind::Completion { locked: false }, None, 9),
        ]
    );
    assert_eq!(
        (tlp(&events[0]).length_dw, tlp(&events[2]).wide, tlp(&events[3]).data_bytes),
        (128, Some(true), 128)
    );
    assert_eq!(tlp(&events[3]).data, (0..64).collect::<Vec<u8>>());
    assert!(events.iter().all(|event| event.error.is_none()));
    assert_eq!((events[0].time_ps, events[1].time_ps), (Some(16_000), Some(32_000)));
}

/// RQ and RC of 512 bits with several packets in a beat, made without pcielab.
#[test]
fn a_straddled_capture() {
    let options = Options { clock_ps: Some(4000), ..Options::default() };
    let (events, facts) = read_with(include_bytes!("fixtures/straddled.csv.gz"), &options).unwrap();
    assert_eq!((events.len(), facts.skipped.len()), (64 + 16 + 128, 0));
    assert!(events.iter().all(|event| event.error != Some(LinkError::Malformed)));
    assert!(events.windows(2).all(|two| two[0].time_ps <= two[1].time_ps));
    let (mut reads, mut flying, mut most) = (0_u64, 0_u32, 0);
    for event in &events {
        let tlp = tlp(event);
        match tlp.kind {
            Kind::MemoryRead => {
                assert_eq!((tlp.address, tlp.length_dw), (Some(0x1_0000_0000 + 256 * reads), 64));
                reads += 1;
                flying += 1;
                most = most.max(flying);
            }
            Kind::Completion { .. } => flying -= u32::from(tlp.byte_count == Some(128)),
            kind => assert_eq!((kind, tlp.data_bytes), (Kind::MemoryWrite, 128)),
        }
    }
    assert_eq!((reads, flying, most), (64, 0, 8));
}

/// Drivers of cocotbext-pcie on eight buses of 64 to 512 bits: what the buses show is what the drivers log.
#[test]
fn buses_show_what_their_drivers_log() {
    let by_port = |bytes: &[u8]| {
        let (events, facts) = read_all(bytes);
        assert_eq!((facts.ports.len(), facts.skipped.len()), (8, 0), "{:?}", facts.skipped);
        let mut ports: Vec<(String, Vec<Packet>)> = Vec::new();
        for (index, name) in facts.ports.iter().enumerate() {
            let of_port = events.iter().filter(|event| usize::from(event.port) == index);
            let name = name.rsplit(['.', '/']).next().unwrap();
            ports.push((name.to_owned(), of_port.map(|event| event.packet.clone()).collect()));
        }
        ports.sort_by(|one, other| one.0.cmp(&other.0));
        ports
    };
    let logged = by_port(include_bytes!("fixtures/ultrascale.log.gz"));
    let shown = by_port(include_bytes!("fixtures/ultrascale.vcd.gz"));
    assert!(logged.iter().all(|(_, packets)| packets.len() == 24));
    for (log, bus) in logged.iter().zip(&shown) {
        assert_eq!(log, bus);
    }
}
