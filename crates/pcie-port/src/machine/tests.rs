use super::*;

const TWO: &str = include_str!("../../../../profiles/fabrics/two-cores.toml");

fn machine() -> (Machine, [NodeId; 3]) {
    let machine = Machine::new(read_description(TWO.as_bytes()).unwrap(), Options::default()).unwrap();
    let nodes = ["host", "A", "B"].map(|name| machine.node(name).unwrap());
    (machine, nodes)
}

fn tlp(kind: Kind, address: u64, length: u32, tag: u16) -> Tlp {
    Tlp { kind, tag, address, length, relaxed: false }
}

fn drain(machine: &mut Machine) -> Vec<Event> {
    std::iter::from_fn(|| machine.wait(None).unwrap()).collect()
}

#[test]
fn completions_cover_a_read_in_order_and_everything_comes_back() {
    let (mut machine, [host, a, b]) = machine();
    let before = machine.credits(a).unwrap();
    let options = Options { mrrs_bytes: Some(1024), ..Options::default() };
    let mut larger = Machine::new(machine.topology().clone(), options).unwrap();
    larger.submit(a, &tlp(Kind::Read, 4096 + 60, 900, 7), Picoseconds::ZERO).unwrap();
    let mut next = 4096 + 60;
    for event in drain(&mut larger) {
        let Event::Completion { node, from, completion } = event else { continue };
        assert_eq!((node, from, completion.tag, completion.address), (a, host, 7, next));
        assert_eq!(u64::from(completion.byte_count), 4096 + 960 - next);
        next += u64::from(completion.length);
        assert_eq!(completion.last, next == 4096 + 960);
    }
    assert_eq!((next, larger.reads_in_flight(a)), (4096 + 960, Ok(0)));
    let bar = machine.region(b).unwrap().0;
    for number in 0..4 {
        machine
            .submit(a, &tlp(Kind::Write, bar + 256 * number, 256, number as u16), Picoseconds::ZERO)
            .unwrap();
    }
    assert!(machine.credits(a).unwrap().posted_data < before.posted_data);
    machine.submit(a, &tlp(Kind::Write, 0xfee0_0000, 4, 9), Picoseconds::ZERO).unwrap();
    let events = drain(&mut machine);
    assert!(events.is_sorted_by_key(Event::at));
    let writes = events.iter().filter(|event| matches!(event, Event::Write { node, .. } if *node == b));
    assert_eq!(writes.count(), 4);
    assert!(events.iter().any(|event| matches!(event, Event::Message { node, tag: 9, .. } if *node == host)));
    assert_eq!((machine.credits(a), machine.next_at()), (Ok(before), None));
}

#[test]
fn a_device_answers_for_itself_with_data_errors_or_nothing() {
    let (mut machine, [_, a, b]) = machine();
    machine.attach(b, 0).unwrap();
    let bar = machine.region(b).unwrap().0;
    for (tag, outcome) in [Outcome::Data, Outcome::Unsupported, Outcome::Lost].into_iter().enumerate() {
        let tag = tag as u16;
        machine.submit(a, &tlp(Kind::Read, bar, 256, tag), machine.now()).unwrap();
        let asked = std::iter::from_fn(|| machine.wait(None).unwrap());
        let asked = asked
            .filter_map(|event| if let Event::Read { request, .. } = event { Some(request) } else { None });
        let [request] = asked.collect::<Vec<_>>()[..] else { panic!("no read") };
        assert_eq!(
            machine.complete(a, request, 4, machine.now(), outcome),
            Err(MachineError::Request(request))
        );
        if outcome == Outcome::Data {
            machine.complete(b, request, 100, machine.now(), outcome).unwrap();
            machine.complete(b, request, 157, machine.now(), outcome).unwrap_err();
            machine.complete(b, request, 156, machine.now(), outcome).unwrap();
        } else {
            machine.complete(b, request, 0, machine.now(), outcome).unwrap();
        }
        machine.complete(b, request, 1, machine.now(), outcome).unwrap_err();
        let answers = drain(&mut machine).into_iter().filter_map(|event| {
            if let Event::Completion { completion, .. } = event {
                Some((completion.length, completion.last))
            } else {
                None
            }
        });
        let expected = match outcome {
            Outcome::Data => vec![(100, false), (156, true)],
            Outcome::Lost => vec![],
            _ => vec![(0, true)],
        };
        assert_eq!(answers.collect::<Vec<_>>(), expected, "{outcome:?}");
        assert_eq!(machine.reads_in_flight(a), Ok(u32::from(outcome == Outcome::Lost)));
    }
    machine.give_up(a, 2).unwrap();
    assert_eq!(machine.give_up(a, 2), Err(TlpError::NoRead(2).into()));
    assert_eq!(machine.reads_in_flight(a), Ok(0));
}

#[test]
fn events_do_not_depend_on_the_steps_of_time() {
    let run = |step: Option<u64>| {
        let (mut machine, [_, a, b]) = machine();
        let bar = machine.region(b).unwrap().0;
        for (number, kind) in [Kind::Write, Kind::Read, Kind::Write].into_iter().enumerate() {
            let at = Picoseconds(20_000 * number as u64);
            machine.transfer(a, kind, bar + 100, 100_000, at).unwrap();
            machine.transfer(b, kind, 5, 5_000, at).unwrap();
        }
        let Some(step) = step else { return drain(&mut machine) };
        let mut found = vec![];
        while machine.next_at().is_some() {
            machine.advance(machine.now() + Picoseconds(step)).unwrap();
            found.extend(std::iter::from_fn(|| machine.take()));
        }
        found
    };
    let whole = run(None);
    assert_eq!(whole.iter().filter(|event| matches!(event, Event::Done { .. })).count(), 6);
    assert_eq!(whole, run(Some(777)));
    assert_eq!(whole, run(Some(1 << 40)));
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let (mut machine, [host, a, b]) = machine();
    let bar = machine.region(b).unwrap().0;
    let (before, zero) = (machine.credits(a).unwrap(), Picoseconds::ZERO);
    for wrong in [
        tlp(Kind::Write, bar, 257, 0),
        tlp(Kind::Write, bar, 0, 0),
        tlp(Kind::Write, bar + 4090, 16, 0),
        tlp(Kind::Write, machine.region(a).unwrap().0, 16, 0),
        tlp(Kind::Read, bar + (2 << 20) - 4, 8, 0),
        tlp(Kind::Read, u64::MAX, 1, 0),
        tlp(Kind::Read, bar, 4, TAGS),
        tlp(Kind::Message, 8, 4, 0),
    ] {
        machine.submit(a, &wrong, zero).unwrap_err();
    }
    let good = tlp(Kind::Read, bar, 64, 1);
    assert_eq!(machine.submit(99, &good, zero), Err(MachineError::Node(99)));
    machine.transfer(a, Kind::Write, bar, 3 << 20, zero).unwrap_err();
    machine.attach(host, 0).unwrap_err();
    machine.attach(b, 4096).unwrap_err();
    assert!(machine.node("switch").unwrap_err().to_string().contains("no host or device"));
    assert_eq!((machine.credits(a), machine.next_at()), (Ok(before), None));
    machine.submit(a, &good, zero).unwrap();
    assert_eq!(machine.submit(a, &good, zero), Err(TlpError::TagInUse(1).into()));
    machine.advance(Picoseconds(5)).unwrap();
    assert!(matches!(
        machine.submit(a, &tlp(Kind::Read, bar, 64, 2), zero),
        Err(MachineError::Tlp(TlpError::Past { .. }))
    ));
}

#[test]
fn a_described_machine_has_routes_between_its_devices() {
    let text = "kind = \"machine\"\nname = \"box\"\nsockets = 2\n[[switch]]\nname = \"sw\"\nlink = \"gen5x16\"\nsocket = 1\n\
        [[device]]\nname = \"gpu0..1\"\nkind = \"gpu\"\nlink = \"gen5x16\"\nbelow = \"sw\"\n[[device]]\nname = \"odd\"\n\
        kind = \"device\"\nlink = \"gen4x4\"\nsocket = 0\n[[peers]]\nkind = \"nvlink\"\ndevices = \"gpu0..1\"\n";
    let mut machine = Machine::new(read_description(text.as_bytes()).unwrap(), Options::default()).unwrap();
    let [gpu0, gpu1, odd] = ["gpu0", "gpu1", "odd"].map(|name| machine.node(name).unwrap());
    machine.attach(odd, 1 << 20).unwrap();
    let second = machine.region(machine.node("host1").unwrap()).unwrap().0;
    for (from, to) in
        [(gpu0, machine.region(gpu1).unwrap().0), (odd, second), (gpu1, machine.region(odd).unwrap().0)]
    {
        machine.transfer(from, Kind::Write, to, 10_000, Picoseconds::ZERO).unwrap();
    }
    assert_eq!(drain(&mut machine).iter().filter(|event| matches!(event, Event::Done { .. })).count(), 3);
    let refused = read_description(text.replace("gen5x16", "gen9x16").as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("link") && refused.contains("gen5x16"), "{refused}");
}
