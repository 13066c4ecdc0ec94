//! A run: lines go from the cores over the link to their banks, over the bus, and back.

use pcie_model::Expander;
use pcie_refusal::{Refusal, Unfinished};
use pcie_schema::Fitting;
use pcie_time::{Draws, EventQueue, Picoseconds, Stream};
use pcie_trace::{Recorder, Segment, lane};
use pcie_wire::cxl::{CxlLink, LINE_BYTES, MemoryMessage};

use super::LineTraffic;
use super::cores::{Cores, Pace};
use super::memory::{Memory, Served};
use super::outcome::{ExpanderOutcome, StationOutcome};
use super::transmitter::{Arrival, Transmitter, idle_ns};
use crate::cache::history::TestKey;

/// Lines that fill queues before any is counted, as a share of the counted ones.
const WARM_UP_SHARE: u64 = 10;
/// Events between two looks at a request to stop.
const EVENTS_BETWEEN_LOOKS: u64 = 4096;

/// The way to memory, and the one back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    ToMemory,
    FromMemory,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A core wants a line.
    Want(usize),
    /// A direction sends its next slot.
    Slot(Way),
    /// A line is at its bank.
    AtBank(usize),
    /// A bank has been kept long enough.
    BankFree(usize),
    /// A line wants the bus.
    AtBus(usize),
    /// The expander answers.
    Answer(usize),
    /// The answer is at the host.
    Return(usize),
}

/// A line, and how long it has waited for what.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    bank: usize,
    is_read: bool,
    sent: Picoseconds,
    at_bank: Picoseconds,
    waits: Waits,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    to_memory: Picoseconds,
    bank: Picoseconds,
    refresh: Picoseconds,
    bus: Picoseconds,
    from_memory: Picoseconds,
}

/// An expander with lines on their way.
#[derive(Debug)]
pub struct ExpanderRun {
    cores: Cores,
    to_memory: Transmitter,
    memory: Memory,
    from_memory: Transmitter,
    /// Time from the whole flit to the bank, and from the bus to the answer.
    inside: Picoseconds,
    draws: Draws,
    lines: Vec<Line>,
    events: EventQueue<Event>,
    arrivals: Vec<Arrival>,
    warm_up: u64,
    counted: u64,
    bank_times: [Picoseconds; 2],
}

impl ExpanderRun {
    /// Lines of `traffic` to an expander.
    ///
    /// # Errors
    /// A number of the traffic is out of range, CXL has no such link, or the time of an unloaded read is shorter than
    /// its link and bus take.
    pub fn new(expander: &Expander, traffic: &LineTraffic, key: TestKey) -> Result<Self, Refusal> {
        expander.check()?;
        LineTraffic::shape().check(traffic)?;
        let peak = expander.rates(traffic.read_share, &[])?.peak_gbytes_per_s;
        let pace = match traffic.load {
            0.0 => Pace::Alone,
            load if load < 1.0 => Pace::Every(f64::from(LINE_BYTES) / (load * peak)),
            _ => Pace::Always,
        };
        let seeds = (key.seed, key.test);
        let unevenness = expander.arrivals.unevenness;
        let fill_buffers = traffic.cores.lines() as usize;
        let link = expander.cxl_link()?;
        let memory = Memory::new(&expander.memory);
        let (to_memory, from_memory) = (
            [MemoryMessage::ReadRequest, MemoryMessage::WriteRequest],
            [MemoryMessage::ReadData, MemoryMessage::WriteCompletion],
        );
        Ok(Self {
            cores: Cores::new(pace, unevenness, traffic.read_share, fill_buffers, seeds),
            to_memory: Transmitter::new(&link, to_memory),
            from_memory: Transmitter::new(&link, from_memory),
            inside: inside(expander, &link, &memory)?,
            memory,
            draws: Draws::new(key.seed, key.test, Stream::Addresses),
            lines: Vec::new(),
            events: EventQueue::default(),
            arrivals: Vec::new(),
            warm_up: traffic.lines / WARM_UP_SHARE + u64::from(traffic.cores.lines()),
            counted: traffic.lines,
            bank_times: [expander.memory.read_bank_ns, expander.memory.write_bank_ns]
                .map(Picoseconds::from_ns),
        })
    }

    /// Moves lines until the counted ones have returned; `is_stopped` is asked now and then.
    ///
    /// # Errors
    /// It was stopped.
    pub fn run(mut self, is_stopped: &mut dyn FnMut() -> bool) -> Result<ExpanderOutcome, Unfinished> {
        let mut measured = Measured::default();
        let (mut returned, mut handled) = (0, 0);
        self.next_line(Picoseconds::ZERO);
        if self.cores.pace() == Pace::Always {
            (1..self.cores.fill_buffers()).for_each(|_| self.next_line(Picoseconds::ZERO));
        }
        while let Some((now, event)) = self.events.pop() {
            handled += 1;
            if handled % EVENTS_BETWEEN_LOOKS == 0 && is_stopped() {
                return Err(Unfinished::Stopped);
            }
            let Event::Return(line) = event else {
                self.handle(now, event);
                continue;
            };
            returned += 1;
            if returned > self.warm_up {
                measured.add(now, &self.lines[line]);
            } else if returned == self.warm_up {
                measured = Measured::from(now, self.slots_filled(), self.memory.bus_busy());
            }
            if returned == self.warm_up + self.counted {
                return Ok(self.outcome(now, &measured));
            }
            self.free_buffer(now);
        }
        // Every line that returns, or comes, is followed by another.
        Err(Unfinished::Refused(Refusal::new("internal error: no line is on its way")))
    }

    /// The trace of the first `span`: each line on its way to memory and back. Ends early once `is_stopped` returns true.
    #[must_use]
    pub fn trace(mut self, span: Picoseconds, is_stopped: &mut dyn FnMut() -> bool) -> Vec<Segment> {
        let mut recorder = Recorder::new(span);
        recorder.begins("lines in flight", 0);
        // By line, when it was at its bank, at the bus, and answered.
        let mut passed: Vec<[Picoseconds; 3]> = Vec::new();
        let mut handled = 0u64;
        self.next_line(Picoseconds::ZERO);
        if self.cores.pace() == Pace::Always {
            (1..self.cores.fill_buffers()).for_each(|_| self.next_line(Picoseconds::ZERO));
        }
        while let Some((now, event)) = self.events.pop() {
            handled += 1;
            if recorder.is_done(now) || (handled.is_multiple_of(EVENTS_BETWEEN_LOOKS) && is_stopped()) {
                break;
            }
            passed.resize(self.lines.len(), [Picoseconds::ZERO; 3]);
            match event {
                Event::AtBank(line) => passed[line][0] = now,
                Event::AtBus(line) => passed[line][1] = now,
                Event::Answer(line) => passed[line][2] = now,
                _ => {}
            }
            let Event::Return(line) = event else {
                self.handle(now, event);
                continue;
            };
            let (Line { sent, is_read, .. }, [bank, bus, answer]) = (self.lines[line], passed[line]);
            let name = if is_read { "read" } else { "write" };
            let number = line as u64;
            recorder.change("lines in flight", sent, 1);
            recorder.change("lines in flight", now, -1);
            for (lane, name, span) in [
                (lane::CORE, name, (sent, now)),
                ("link to memory", name, (sent, bank)),
                ("bank", name, (bank, bus)),
                ("memory bus", name, (bus, answer)),
                ("link from memory", name, (answer, now)),
            ] {
                recorder.phase(lane, name, span, number, None);
            }
            self.free_buffer(now);
        }
        recorder.into_segments()
    }

    fn handle(&mut self, now: Picoseconds, event: Event) {
        match event {
            Event::Want(line) => {
                if matches!(self.cores.pace(), Pace::Every(_)) {
                    self.next_line(now);
                }
                if self.cores.want(line) {
                    self.send(now, line);
                }
            }
            Event::Slot(way) => self.slot(now, way),
            Event::AtBank(line) => {
                self.lines[line].at_bank = now;
                let Line { bank, is_read, .. } = self.lines[line];
                if let Some(served) = self.memory.arrive(now, bank, line, is_read) {
                    self.serve(bank, served);
                }
            }
            Event::BankFree(bank) => {
                let lines = &self.lines;
                if let Some(served) = self.memory.free(now, bank, |line| lines[line].is_read) {
                    self.serve(bank, served);
                }
            }
            Event::AtBus(line) => {
                let (passed, refresh) = self.memory.over_bus(now, self.lines[line].bank);
                let waits = &mut self.lines[line].waits;
                waits.bus = passed - now - self.memory.line() - refresh;
                waits.refresh += refresh;
                self.events.push(passed + self.inside, Event::Answer(line));
            }
            Event::Answer(line) => {
                let nth = usize::from(!self.lines[line].is_read);
                let next = self.from_memory.push(now, nth, line);
                self.wake(Way::FromMemory, next);
            }
            Event::Return(_) => {}
        }
    }

    /// Draws the next line, and when a core wants it.
    fn next_line(&mut self, now: Picoseconds) {
        let line = self.lines.len();
        let bank = self.draws.below(line as u64, self.memory.banks()) as usize;
        self.lines.push(Line { bank, is_read: self.cores.is_read(line), ..Line::default() });
        self.events.push(now + self.cores.distance(line), Event::Want(line));
    }

    fn send(&mut self, now: Picoseconds, line: usize) {
        self.lines[line].sent = now;
        let nth = usize::from(!self.lines[line].is_read);
        let next = self.to_memory.push(now, nth, line);
        self.wake(Way::ToMemory, next);
    }

    fn slot(&mut self, now: Picoseconds, way: Way) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let transmitter = match way {
            Way::ToMemory => &mut self.to_memory,
            Way::FromMemory => &mut self.from_memory,
        };
        let next = transmitter.send(now, &mut arrivals);
        self.wake(way, next);
        for Arrival { line, at, waited } in arrivals.drain(..) {
            match way {
                Way::ToMemory => {
                    self.lines[line].waits.to_memory = waited;
                    self.events.push(at + self.inside, Event::AtBank(line));
                }
                Way::FromMemory => {
                    self.lines[line].waits.from_memory = waited;
                    self.events.push(at, Event::Return(line));
                }
            }
        }
        self.arrivals = arrivals;
    }

    fn wake(&mut self, way: Way, next: Option<Picoseconds>) {
        if let Some(at) = next {
            self.events.push(at, Event::Slot(way));
        }
    }

    fn serve(&mut self, bank: usize, served: Served) {
        let line = &mut self.lines[served.line];
        line.waits.refresh = served.refresh;
        line.waits.bank = served.at - line.at_bank - served.refresh;
        self.events.push(served.free_at, Event::BankFree(bank));
        self.events.push(served.at, Event::AtBus(served.line));
    }

    /// A line has returned: its fill buffer serves the next.
    fn free_buffer(&mut self, now: Picoseconds) {
        if let Some(line) = self.cores.free() {
            self.send(now, line);
        }
        if !matches!(self.cores.pace(), Pace::Every(_)) {
            self.next_line(now);
        }
    }

    fn slots_filled(&self) -> [u64; 2] {
        [self.to_memory.filled(), self.from_memory.filled()]
    }

    fn outcome(&self, now: Picoseconds, measured: &Measured) -> ExpanderOutcome {
        let elapsed_ns = (now - measured.since).as_ns();
        let slots = self.slots_filled();
        let filled = |nth: usize| {
            Some((slots[nth] - measured.slots[nth]) as f64 * self.to_memory.slot_ns() / elapsed_ns)
        };
        let buses = f64::from(self.memory.channels());
        let bus = (self.memory.bus_busy() - measured.bus_busy).as_ns() / (elapsed_ns * buses);
        let [reads, writes] = measured.counts.map(|count| count as f64);
        let [read, write] = self.bank_times.map(Picoseconds::as_ns);
        let banks = (reads * read + writes * write) / (elapsed_ns * self.memory.banks() as f64);
        let wait = |sum: Picoseconds| if reads > 0.0 { sum.as_ns() / reads } else { 0.0 };
        let station = |name, busy_share, sum| StationOutcome { name, busy_share, read_wait_ns: wait(sum) };
        let waits = &measured.waits;
        ExpanderOutcome {
            gbytes_per_s: (reads + writes) * f64::from(LINE_BYTES) / elapsed_ns,
            read_latencies_ns: measured.latencies_ns.clone(),
            in_flight: measured.in_flight_ns / elapsed_ns,
            stations: vec![
                station("slots-to-memory", filled(0), waits.to_memory),
                station("memory-banks", Some(banks), waits.bank),
                station("refresh", None, waits.refresh),
                station("memory-bus", Some(bus), waits.bus),
                station("slots-from-memory", filled(1), waits.from_memory),
            ],
        }
    }
}

/// The controller's and the medium's part of an unloaded read, each way.
fn inside(expander: &Expander, link: &CxlLink, memory: &Memory) -> Result<Picoseconds, Refusal> {
    let of_link_ns = idle_ns(link, MemoryMessage::ReadRequest) + idle_ns(link, MemoryMessage::ReadData);
    let least_ns = of_link_ns + memory.line().as_ns();
    let unloaded_ns = expander.controller.unloaded_ns;
    if unloaded_ns < least_ns {
        let remedy = format!("give {least_ns:.1} or more, what an idle link and bus take");
        return Err(Refusal::of("controller.unloaded_ns", unloaded_ns, remedy));
    }
    Ok(Picoseconds::from_ns(0.5 * (unloaded_ns - least_ns)))
}

/// What is measured of the counted lines.
#[derive(Debug, Default)]
struct Measured {
    since: Picoseconds,
    slots: [u64; 2],
    bus_busy: Picoseconds,
    /// Reads and writes.
    counts: [u64; 2],
    waits: Waits,
    latencies_ns: Vec<f64>,
    in_flight_ns: f64,
}

impl Measured {
    fn from(since: Picoseconds, slots: [u64; 2], bus_busy: Picoseconds) -> Self {
        Self { since, slots, bus_busy, ..Self::default() }
    }

    /// Counts a line that returns.
    fn add(&mut self, now: Picoseconds, line: &Line) {
        let latency_ns = (now - line.sent).as_ns();
        self.counts[usize::from(!line.is_read)] += 1;
        self.in_flight_ns += latency_ns;
        if !line.is_read {
            return;
        }
        self.latencies_ns.push(latency_ns);
        self.waits.to_memory += line.waits.to_memory;
        self.waits.bank += line.waits.bank;
        self.waits.refresh += line.waits.refresh;
        self.waits.bus += line.waits.bus;
        self.waits.from_memory += line.waits.from_memory;
    }
}

#[cfg(test)]
mod tests {
    use pcie_model::Requesters;
    use proptest::prelude::*;

    use super::*;

    const CORES: Requesters = Requesters { cores: 16, fill_buffers: 16, host_ns: 0.0 };
    const SHIPPED: &str = include_str!("../../../../profiles/expanders/cxl2-ddr5-5600.toml");
    const PUBLISHED: &str = include_str!("../../../../profiles/published/expander-curves.csv");

    fn shipped() -> Expander {
        let mut table: toml::Table = SHIPPED.parse().unwrap();
        table.retain(|key, _| key != "title" && key != "provenance");
        table.try_into().unwrap()
    }

    fn found(expander: &Expander, read_share: f64, load: f64, lines: u64) -> ExpanderOutcome {
        let traffic = LineTraffic { read_share, load, cores: CORES, lines };
        let run = ExpanderRun::new(expander, &traffic, TestKey { seed: 1, test: 0 }).unwrap();
        run.run(&mut || false).unwrap()
    }

    /// The published mixes: the share of reads, the highest bandwidth, what a read takes longer at 25, 50, 75, 90 %,
    /// and its time in the saturated state.
    fn published() -> impl Iterator<Item = (f64, f64, Vec<f64>, f64)> {
        let lines = PUBLISHED.lines().filter(|line| line.starts_with("cxl2-ddr5-5600"));
        let numbers = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect::<Vec<f64>>();
        lines.map(numbers).map(|row| (row[0] / 100.0, row[1], row[3..7].to_vec(), row[7]))
    }

    #[test]
    fn peaks_are_those_of_the_closed_form_and_of_the_publication() {
        for (share, peak, _, full_ns) in published() {
            let modelled = shipped().rates(share, &[]).unwrap().peak_gbytes_per_s;
            let lines = (2_000.0 / share).max(10_000.0) as u64;
            let simulated = found(&shipped(), share, 1.0, lines);
            assert!((simulated.gbytes_per_s / modelled - 1.0).abs() < 0.01, "{share}: {simulated:?}");
            assert!((simulated.gbytes_per_s / peak - 1.0).abs() < 0.01, "{share}: {peak}");
            assert!((simulated.in_flight - 256.0).abs() < 1.0, "{share}");
            // With 16 cores of 16 fill buffers, saturated reads take as long as published; neither was fitted to them.
            let mean_ns = simulated.mean_ns();
            assert!((mean_ns / full_ns - 1.0).abs() < 0.15, "{share}: {mean_ns} {full_ns}");
        }
    }

    #[test]
    fn latencies_are_those_of_the_closed_form_and_of_the_publication() {
        let loads = [0.25, 0.5, 0.75, 0.9];
        for (share, _, added_ns, _) in published() {
            let modelled = shipped().rates(share, &loads).unwrap();
            for ((row, load), published_ns) in modelled.loads.iter().zip(loads).zip(added_ns) {
                // Enough reads for a mean that chance moves by less than half a nanosecond.
                let lines = (6_000.0 / share) as u64;
                let simulated_ns = found(&shipped(), share, load, lines).mean_ns() - 107.4;
                for other_ns in [row.read_latency_ns - 107.4, published_ns] {
                    let most_ns = f64::max(2.0, 0.15 * other_ns);
                    assert!(
                        (simulated_ns - other_ns).abs() <= most_ns,
                        "{share} {load}: {simulated_ns} {other_ns}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_read_alone_takes_the_time_of_the_profile() {
        let alone = found(&shipped(), 1.0, 0.0, 1000);
        assert!((alone.mean_ns() / 107.4 - 1.0).abs() < 0.01, "{}", alone.mean_ns());
        assert!(alone.in_flight < 1.0);
    }

    #[test]
    fn few_lines_in_flight_limit_the_rate_as_in_the_closed_form() {
        for cores in [1, 2, 4] {
            let cores = Requesters { cores, ..CORES };
            let modelled = shipped().rates_of_cores(1.0, &[], Some(&cores)).unwrap();
            let traffic = LineTraffic { read_share: 1.0, load: 1.0, cores, lines: 10_000 };
            let run = ExpanderRun::new(&shipped(), &traffic, TestKey { seed: 1, test: 0 }).unwrap();
            let ratio = run.run(&mut || false).unwrap().gbytes_per_s / modelled.peak_gbytes_per_s;
            assert!((ratio - 1.0).abs() < 0.05, "{cores:?} {ratio}");
        }
    }

    #[test]
    fn refreshes_and_macs_cost_what_they_cost_in_closed_form() {
        let mut changed = shipped();
        (changed.memory.refresh_ns, changed.link.ide_flits) = (295.0, 5);
        for share in [0.58, 1.0] {
            let modelled = changed.rates(share, &[0.5]).unwrap();
            // Enough lines in flight to keep the bus full after a refresh.
            let cores = Requesters { cores: 64, ..CORES };
            let traffic = LineTraffic { read_share: share, load: 1.0, cores, lines: 20_000 };
            let run = ExpanderRun::new(&changed, &traffic, TestKey { seed: 1, test: 0 }).unwrap();
            let peak = run.run(&mut || false).unwrap().gbytes_per_s;
            assert!((peak / modelled.peak_gbytes_per_s - 1.0).abs() < 0.01, "{share} {peak} {modelled:?}");
        }
        // Less the lines that queue up behind a refresh, which the closed form does not have.
        let refreshed = found(&changed, 0.5, 0.1, 20_000);
        let wait_ns = refreshed.stations.iter().find(|one| one.name == "refresh").unwrap().read_wait_ns;
        assert!((wait_ns / (295.0 * 295.0 / 7800.0) - 1.0).abs() < 0.1, "{wait_ns}");
    }

    #[test]
    fn the_same_seed_gives_the_same_lines() {
        let one = found(&shipped(), 0.5, 0.7, 1000);
        assert_eq!(one, found(&shipped(), 0.5, 0.7, 1000));
        let traffic = LineTraffic { read_share: 0.5, load: 0.7, cores: CORES, lines: 1000 };
        let other = ExpanderRun::new(&shipped(), &traffic, TestKey { seed: 2, test: 0 }).unwrap();
        assert_ne!(one, other.run(&mut || false).unwrap());
    }

    #[test]
    fn impossible_traffic_and_times_are_refused_by_key() {
        let refused = |expander: &Expander, traffic: &LineTraffic| {
            ExpanderRun::new(expander, traffic, TestKey { seed: 1, test: 0 }).unwrap_err().to_string()
        };
        let traffic = LineTraffic { read_share: 0.5, load: 0.7, cores: CORES, lines: 1000 };
        assert!(refused(&shipped(), &LineTraffic { load: -1.0, ..traffic }).starts_with("load is -1"));
        assert!(refused(&shipped(), &LineTraffic { lines: 1, ..traffic }).starts_with("lines is 1"));
        let no_cores = Requesters { cores: 0, ..CORES };
        let message = refused(&shipped(), &LineTraffic { cores: no_cores, ..traffic });
        assert!(message.starts_with("cores.cores is 0"), "{message}");
        let mut short = shipped();
        short.controller.unloaded_ns = 2.0;
        let message = refused(&short, &traffic);
        assert!(message.starts_with("controller.unloaded_ns is 2: give 6.8 or more"), "{message}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn no_mix_exceeds_its_peak_and_every_line_returns(
            read_share in 0.0..=1.0,
            load in 0.01..2.0,
            generation in 3u32..=7,
            lanes in prop::sample::select(vec![4u32, 8, 16]),
            channels in 1u32..4,
        ) {
            let mut expander = shipped();
            (expander.link.generation, expander.link.lanes) = (generation, lanes);
            expander.link.flit_bytes = if generation < 6 { 68 } else { 256 };
            expander.memory.channels = channels;
            expander.controller.unloaded_ns = 400.0;
            let peak = expander.rates(read_share, &[]).unwrap().peak_gbytes_per_s;
            let simulated = found(&expander, read_share, load, 4000);
            // Lines that waited before the counted time may return in it: 256 at most.
            let most = peak * (1.0 + 256.0 / 4000.0);
            prop_assert!(simulated.gbytes_per_s < most, "{} {peak}", simulated.gbytes_per_s);
            // By Little's law over lines that return, of which some were sent before.
            prop_assert!(simulated.in_flight <= 1.1 * 256.0);
            let least_ns = 400.0 - 2.0 * 256.0 * 8.0 / (8.0 * f64::from(lanes));
            prop_assert!(simulated.read_latencies_ns.iter().all(|&ns| ns > least_ns));
        }
    }
}
