//! What is written is read: random events through every writer, and its file cut and changed through every reader.

use crate::event::{Direction, Event, Facts, Kind, LinkError, Packet, Tlp};
use crate::{Format, Options, WRITTEN, WriteOptions, Writer, read, samples};
use pcie_refusal::Refusal;
use proptest::prelude::*;
use std::ops::ControlFlow;

const CLOCK_PS: u64 = 4000;

fn read_all(mut bytes: &[u8], options: &Options) -> Result<(Vec<Event>, Facts), Refusal> {
    let mut events = Vec::new();
    let facts = read(&mut bytes, options, &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    })?;
    Ok((events, facts))
}

fn written(format: Format, facts: &Facts, events: &[Event]) -> Vec<u8> {
    let options = WriteOptions { clock_ps: CLOCK_PS, ..WriteOptions::default() };
    let mut writer = Writer::new(format, facts, &options, Vec::new()).unwrap();
    for event in events {
        writer.event(event).unwrap();
    }
    writer.finish().unwrap().1
}

fn facts() -> Facts {
    Facts {
        ports: vec!["device".to_owned(), "host side".to_owned()],
        rate_tenths: Some(50),
        lanes: Some(8),
        simulated: Some(true),
        ..Facts::default()
    }
}

/// Events in the order of time, the first at 0.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let packet = prop_oneof![
        6 => samples::tlp().prop_map(Packet::Tlp),
        1 => samples::dllp().prop_map(Packet::Dllp),
        1 => Just(Packet::Other),
    ];
    let error =
        prop_oneof![6 => Just(None), 1 => prop::sample::select(LinkError::ALL.to_vec()).prop_map(Some)];
    let event = (packet, 0..2_000_000_u64, any::<bool>(), 0..2_u16, error, 0..20_usize);
    prop::collection::vec(event, 1..12).prop_map(|list| {
        let mut now = 0;
        let mut events = Vec::new();
        for (number, (mut packet, step, up, port, error, kept)) in list.into_iter().enumerate() {
            now += if number == 0 { 0 } else { step };
            if let Packet::Tlp(tlp) = &mut packet {
                tlp.data.truncate(4 * kept);
            }
            let direction = Some(if up { Direction::Upstream } else { Direction::Downstream });
            let record = number as u64 + 1;
            events.push(Event { time_ps: Some(now), direction, port, record, packet, error });
        }
        events
    })
}

/// Records count the packets of a file, or its lines.
fn numbered(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    events.into_iter().zip(1..).map(|(event, record)| Event { record, ..event }).collect()
}

/// A record with an error that only a frame shows has whole data.
fn whole(mut event: Event) -> Event {
    if let Packet::Tlp(tlp) = &mut event.packet {
        tlp.data.resize((tlp.data_bytes as usize).min(64), 0);
    }
    event
}

/// What the interfaces of a hard block keep of an event.
fn on_interfaces(event: Event) -> Option<Event> {
    let Packet::Tlp(mut tlp) = whole(event.clone()).packet else { return None };
    let upstream = event.direction == Some(Direction::Upstream);
    let is_configuration =
        matches!(tlp.kind, Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. });
    if tlp.kind == Kind::DeferrableWrite || (is_configuration && !upstream) {
        return None;
    }
    tlp.sequence = None;
    tlp.digest = None;
    tlp.tag = tlp.tag.map(|tag| tag & 0xff);
    if !matches!(tlp.kind, Kind::Completion { .. }) && !upstream {
        tlp.poisoned = None;
    }
    if crate::header::is_addressed(tlp.kind) {
        tlp.wide = tlp.address.map(|address| address >> 32 != 0);
    }
    Some(Event { packet: Packet::Tlp(tlp), port: 0, record: 0, error: None, ..event })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn plain_tlps_in_pcapng(events in events()) {
        let (found, facts) = match read_all(&written(Format::Raw, &facts(), &events), &Options::default()) {
            Ok(found) => found,
            Err(_) if !events.iter().any(|event| matches!(event.packet, Packet::Tlp(_))) => return Ok(()),
            Err(refusal) => return Err(TestCaseError::fail(refusal.to_string())),
        };
        let kept = events.into_iter().filter_map(|event| {
            let Packet::Tlp(tlp) = event.packet else { return None };
            Some(Event { packet: Packet::Tlp(Tlp { sequence: None, ..tlp }), ..event })
        });
        let kept: Vec<_> = kept.collect();
        let start = kept.first().and_then(|event| event.time_ps).unwrap_or(0);
        let kept = kept.into_iter().map(|event| Event { time_ps: event.time_ps.map(|time| time - start), ..event });
        prop_assert_eq!(found, numbered(kept));
        prop_assert_eq!((facts.rate_tenths, facts.lanes, facts.simulated), (Some(50), Some(8), Some(true)));
    }

    #[test]
    fn records_in_pcapng(events in events()) {
        // The errors that a cut packet cannot show have whole packets.
        let good = Event { error: None, ..whole(events[0].clone()) };
        let events: Vec<Event> = std::iter::once(good).chain(events.into_iter().skip(1).map(whole)).collect();
        let bytes = written(Format::Cyrozap, &facts(), &events);
        let (found, facts) = read_all(&bytes, &Options::default()).unwrap();
        prop_assert_eq!(facts.format, "cyrozap by pcielab");
        prop_assert_eq!(found, numbered(events));
        prop_assert_eq!((facts.rate_tenths, facts.lanes), (Some(50), Some(8)));
    }

    #[test]
    fn lists(events in events()) {
        for format in [Format::List, Format::Text] {
            let bytes = written(format, &facts(), &events);
            let (found, facts) = read_all(&bytes, &Options::default()).unwrap();
            prop_assert_eq!(&facts.format, format.word());
            let ports = facts.ports.clone();
            let names = ["device", "host side"];
            let named = |event: Event| (ports[usize::from(event.port)].clone(), Event { port: 0, ..event });
            let found: Vec<_> = found.into_iter().map(named).collect();
            let expected = events.iter().map(|event| {
                (names[usize::from(event.port)].to_owned(), Event { port: 0, ..event.clone() })
            });
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
            prop_assert_eq!((facts.rate_tenths, facts.lanes, facts.simulated), (Some(50), Some(8), Some(true)));
        }
    }

    #[test]
    fn interfaces(events in events()) {
        let mut now = 0;
        let events: Vec<Event> = events
            .into_iter()
            .map(|event| {
                // Far enough apart that none waits for its interface.
                now += 80 * CLOCK_PS + event.time_ps.unwrap_or(0) / CLOCK_PS % 50 * CLOCK_PS;
                Event { time_ps: Some(now), ..event }
            })
            .collect();
        let kept: Vec<Event> = events.iter().cloned().filter_map(on_interfaces).collect();
        for format in [Format::IlaCsv, Format::Vcd] {
            let bytes = written(format, &facts(), &events);
            let options = Options { clock_ps: Some(CLOCK_PS), ..Options::default() };
            let found = read_all(&bytes, &options);
            if kept.is_empty() {
                prop_assert!(found.is_err());
                continue;
            }
            let (found, facts) = found.unwrap();
            prop_assert_eq!(&facts.format, format.word());
            let found: Vec<_> = found.into_iter().map(|event| Event { port: 0, record: 0, ..event }).collect();
            prop_assert_eq!(&found, &kept);
        }
    }

    #[test]
    fn missing_fields_stay_missing_in_lists(tlp in samples::tlp(), mask in any::<u16>()) {
        let mut tlp = tlp;
        let mut bit = 0;
        let mut drop = || { bit += 1; mask >> (bit - 1) & 1 != 0 };
        if drop() { tlp.requester = None; }
        if drop() { tlp.completer = None; }
        if drop() { tlp.tag = None; }
        if drop() { tlp.first_enables = None; }
        if drop() { tlp.last_enables = None; }
        if drop() { tlp.address = None; }
        if drop() { tlp.status = None; }
        if drop() { tlp.byte_count = None; }
        if drop() { tlp.lower_address = None; }
        if drop() { tlp.traffic_class = None; }
        if drop() { tlp.attributes = None; }
        if drop() { tlp.poisoned = None; }
        if drop() { tlp.sequence = None; }
        let time_ps = if drop() { None } else { Some(0) };
        let direction = if drop() { None } else { Some(Direction::Upstream) };
        let event = Event { time_ps, direction, port: 0, record: 1, packet: Packet::Tlp(tlp), error: None };
        let facts = Facts { ports: vec!["link".to_owned()], ..Facts::default() };
        for format in [Format::List, Format::Text] {
            let bytes = written(format, &facts, std::slice::from_ref(&event));
            let options = Options { format: Some(format), ..Options::default() };
            let (found, _) = read_all(&bytes, &options).unwrap();
            prop_assert_eq!(&found, std::slice::from_ref(&event));
        }
    }
}

#[test]
fn only_some_formats_are_written() {
    for format in Format::ALL {
        let made = Writer::new(format, &Facts::default(), &WriteOptions::default(), Vec::new());
        assert_eq!(made.is_ok(), WRITTEN.contains(&format), "{format:?}");
    }
    let options = WriteOptions { link_type: Some(1), ..WriteOptions::default() };
    let refused =
        Writer::new(Format::Raw, &Facts::default(), &options, Vec::new()).err().unwrap().to_string();
    assert!(refused.contains("147 to 162"), "{refused}");
}
