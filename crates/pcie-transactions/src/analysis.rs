//! Takes the events of a capture one by one, and makes the report. Memory grows with what is in flight, not with the file.

use crate::copies::{Copies, SEQUENCES};
use crate::flight::Flight;
use crate::latencies::{Grouped, Latencies};
use crate::pairing::{Pairing, Step};
use crate::report::{Acknowledgements, Counts, Report};
use crate::rules::{Rule, StatedLimits, Violations, check_packet, opposite};
use crate::runs::{Access, Accesses, Cut};
use crate::settings::{Settings, Watch};
use crate::shares::{Flow, Shares};
use crate::stores::{Request, StoreWatch};
use crate::transaction::{Class, Transaction, is_posted};
use crate::wire::{Pace, byte_ps, link_of, slowest_links, tlp_bytes};
use pcie_capture::{Direction, Dllp, Event, Facts, Kind, Packet, Tlp};
use pcie_model::Load;
use pcie_refusal::Refusal;
use pcie_wire::{DLLP_BYTES, Generation, LinkConfiguration, LinkParameters, PAGE_BYTES};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Transactions that a report lists.
pub(crate) const LISTED_MOST: usize = 64;
/// Different latencies that are kept exactly.
const LATENCIES_MOST: usize = 1 << 16;
/// The same of each group.
const GROUP_LATENCIES_MOST: usize = 1 << 10;
/// Sizes of reads, and pages, with a distribution of their own.
const SIZES_MOST: usize = 64;
const PAGES_MOST: usize = 1 << 10;
/// Bytes of a part of a page.
const PART_BYTES: u64 = 256;
/// TLPs that wait for an acknowledgement.
const UNACKNOWLEDGED_MOST: usize = 1 << 12;
/// Events from which link and settings are taken first.
const SURVEY_EVENTS: u64 = 50_000;
/// Bytes of a data credit.
const CREDIT_BYTES: u32 = 16;

/// What the user knows of the captured link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Generation, 1 to 7.
    pub generation: Option<u32>,
    /// Width.
    pub lanes: Option<u32>,
    /// Whether the link runs in flit mode.
    pub flits: Option<bool>,
    /// Limits; packets beyond them are violations.
    pub limits: StatedLimits,
}

/// How a link was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user states it.
    Stated,
    /// The file states it.
    File,
    /// The slowest link on which the fastest packets can follow each other.
    Pace,
}

/// The link that the report counts with.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumed {
    /// Generation, width and sizes.
    pub link: LinkConfiguration,
    /// Links with the same byte time, this one included.
    pub alike: Vec<(u32, u32)>,
    /// How it was found; `None`: the capture does not show it, and there are no rates.
    pub source: Option<Source>,
    /// Whether TLPs travel in flits.
    pub flits: bool,
}

/// Looks at packets for what the link is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    paces: [Pace; 2],
    /// Settings.
    pub settings: Watch,
    dllps: u64,
    events: u64,
}

impl Survey {
    fn packet(&mut self, event: &Event, bytes: u32) {
        self.events += 1;
        if let (Some(time), Some(direction)) = (event.time_ps, event.direction) {
            self.paces[direction as usize].take(time, bytes);
        }
    }

    /// The link, by the options, the file or the pace of the packets.
    pub(crate) fn assumed(&self, options: &Options, facts: &Facts, settings: &Settings) -> Assumed {
        let from_file = facts
            .rate_tenths
            .and_then(|tenths| Generation::of_megatransfers(u64::from(tenths) * 100).map(Generation::number));
        let generation = options.generation.or(from_file);
        let lanes = options.lanes.or(facts.lanes.map(u32::from));
        let of_pace = self
            .paces
            .iter()
            .filter_map(|pace| {
                let resolution = pace.resolution_ps().max(facts.resolution_ps.unwrap_or(0));
                pace.ps_per_byte(resolution)
            })
            .min_by(f64::total_cmp);
        let (alike, source) = match (generation, lanes, of_pace) {
            (Some(generation), Some(lanes), _) => {
                let stated = options.generation.is_some() && options.lanes.is_some();
                (vec![(generation, lanes)], Some(if stated { Source::Stated } else { Source::File }))
            }
            (generation, lanes, Some(pace)) => (slowest_links(pace, generation, lanes), Some(Source::Pace)),
            _ => (Vec::new(), None),
        };
        let (generation, lanes) = alike.first().copied().unwrap_or((3, 8));
        let mut parameters = LinkParameters::new(generation, lanes, settings.mps_bytes, settings.mrrs_bytes);
        parameters.mps_bytes = options.limits.mps_bytes.unwrap_or(settings.mps_bytes);
        parameters.mrrs_bytes = options.limits.mrrs_bytes.unwrap_or(settings.mrrs_bytes);
        parameters.rcb_bytes = options.limits.rcb_bytes.or(settings.rcb_bytes).unwrap_or(64);
        parameters.address_bits = if settings.wide_addresses { 64 } else { 32 };
        parameters.ecrc = settings.ecrc == Some(true);
        parameters.flit_mode = options.flits.filter(|flits| *flits);
        let link = link_of(parameters).or_else(|| link_of(LinkParameters::new(3, 8, 256, 512)));
        // Both have valid parameters; the second has constants.
        let link = link.unwrap_or_else(|| unreachable!("a link of constants is valid"));
        Assumed { link, alike, source, flits: link.flit_mode() }
    }
}

/// Reads a source once: calls its argument with every event until that breaks, and returns what the file says of itself.
pub type ReadOnce<'a> = dyn FnMut(&mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<Facts, Refusal> + 'a;

/// Explains a capture. `read` reads it from its start, up to four times: first a part of it, for the link; then whole; again
/// where the whole shows a faster link or larger packets. `watch` is called with the number of events now and then, and stops the
/// reading by returning true; the report then says so.
///
/// # Errors
/// Those of reading; options that no link has; a capture without any TLP.
pub fn explain(
    read: &mut ReadOnce<'_>,
    options: &Options,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Report, Refusal> {
    check(options)?;
    let mut first = Analysis::new(*options, None);
    let mut stopped = false;
    let facts = read(&mut |event| {
        first.take(&event);
        stopped = first.events.is_multiple_of(1024) && watch(first.events);
        if stopped || first.survey.events >= SURVEY_EVENTS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    // Stopped so early, the rest is not read for the report either.
    let most = if stopped { first.events } else { u64::MAX };
    let mut assumed = first.survey.assumed(options, &facts, &first.settings());
    for last in [false, false, true] {
        let mut analysis = Analysis::new(*options, Some(assumed.clone()));
        let facts = read(&mut |event| {
            analysis.take(&event);
            let asked = most == u64::MAX && analysis.events.is_multiple_of(1024) && watch(analysis.events);
            stopped = stopped || asked;
            if asked || analysis.events >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let found = analysis.survey.assumed(options, &facts, &analysis.settings());
        if found == assumed || last || stopped {
            if analysis.counts.tlps == 0 {
                let format = if facts.format.is_empty() { "the capture" } else { &facts.format };
                return Err(Refusal::new(format!("{format}: has no TLP"))
                    .kind(pcie_refusal::Kind::Missing)
                    .remedy("give a capture of the transaction layer"));
            }
            return Ok(analysis.finish(&facts, stopped));
        }
        assumed = found;
    }
    Err(Refusal::new("the capture changes while it is read"))
}

fn check(options: &Options) -> Result<(), Refusal> {
    let mut parameters = LinkParameters::new(3, 8, 256, 512);
    parameters.generation = options.generation.unwrap_or(parameters.generation);
    parameters.lanes = options.lanes.unwrap_or(parameters.lanes);
    parameters.mps_bytes = options.limits.mps_bytes.unwrap_or(parameters.mps_bytes);
    parameters.mrrs_bytes = options.limits.mrrs_bytes.unwrap_or(parameters.mrrs_bytes);
    parameters.rcb_bytes = options.limits.rcb_bytes.unwrap_or(parameters.rcb_bytes);
    parameters.flit_mode = options.flits.filter(|flits| *flits || options.generation.is_some());
    LinkConfiguration::try_from(parameters).map(drop)
}

/// A TLP that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    sequence: u16,
    record: u64,
    time_ps: Option<u64>,
}

/// One way of the link.
#[derive(Debug, Default)]
struct WayState {
    last_sequence: Option<u16>,
    unacknowledged: VecDeque<Unacknowledged>,
    packets: u64,
    retries: u64,
    naks: u64,
}

/// The state of an analysis.
pub(crate) struct Analysis {
    pub(crate) options: Options,
    pub(crate) assumed: Option<Assumed>,
    pub(crate) survey: Survey,
    pub(crate) events: u64,
    pub(crate) counts: Counts,
    /// TLPs by way.
    way_tlps: [u64; 2],
    pub(crate) first_ps: Option<u64>,
    pub(crate) last_ps: Option<u64>,
    pub(crate) violations: Violations,
    pub(crate) pairing: Pairing,
    /// Reads that were done after a later one; known at the end.
    pub(crate) out_of_order: u64,
    pub(crate) shares: Option<Shares>,
    pub(crate) flight: Flight,
    pub(crate) reads: [u32; 2],
    pub(crate) most_reads: [u32; 2],
    pub(crate) accesses: Accesses,
    pub(crate) access_count: u64,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) captured: Load,
    pub(crate) latencies: Latencies,
    pub(crate) first_latencies: Latencies,
    pub(crate) host_latencies: Latencies,
    pub(crate) by_size: Grouped<u64>,
    pub(crate) by_part: Grouped<u64>,
    pub(crate) by_page: Grouped<u64>,
    pub(crate) acknowledgements: Latencies,
    pub(crate) stores: StoreWatch,
    pub(crate) listed: Vec<(Transaction, Option<u64>)>,
    /// The last TLPs that were acknowledged before their transaction was done: record and time.
    acknowledged: VecDeque<(u64, u64)>,
    pub(crate) moved: [[(u64, u64); 2]; 2],
    pub(crate) statuses: [u64; 8],
    ways: [WayState; 2],
    copies: Copies,
}

impl Analysis {
    pub(crate) fn new(options: Options, assumed: Option<Assumed>) -> Self {
        let timed = assumed.as_ref().filter(|assumed| assumed.source.is_some());
        let shares = timed.map(|assumed| Shares::new(byte_ps(&assumed.link)));
        let cuts = assumed.as_ref().map(cuts_of).unwrap_or_default();
        Self {
            options,
            shares,
            assumed,
            survey: Survey::default(),
            events: 0,
            counts: Counts::default(),
            way_tlps: [0; 2],
            first_ps: None,
            last_ps: None,
            violations: Violations::default(),
            pairing: Pairing::default(),
            out_of_order: 0,
            flight: Flight::default(),
            reads: [0; 2],
            most_reads: [0; 2],
            accesses: Accesses::default(),
            access_count: 0,
            cuts,
            captured: Load::default(),
            latencies: Latencies::new(LATENCIES_MOST),
            first_latencies: Latencies::new(LATENCIES_MOST),
            host_latencies: Latencies::new(LATENCIES_MOST),
            by_size: Grouped::new(SIZES_MOST, GROUP_LATENCIES_MOST),
            by_part: Grouped::new((u64::from(PAGE_BYTES) / PART_BYTES) as usize, GROUP_LATENCIES_MOST),
            by_page: Grouped::new(PAGES_MOST, 64),
            acknowledgements: Latencies::new(LATENCIES_MOST),
            stores: StoreWatch::default(),
            listed: Vec::new(),
            acknowledged: VecDeque::new(),
            moved: Default::default(),
            statuses: [0; 8],
            ways: Default::default(),
            copies: Copies::default(),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        let most = |way: usize| {
            self.shares.as_ref().map_or(self.most_reads[1 - way], |shares| shares.most_reads(way))
        };
        // The device's reads are answered downstream.
        self.survey.settings.settings(most(1), most(0))
    }

    fn flits(&self) -> bool {
        self.assumed.as_ref().is_some_and(|assumed| assumed.flits)
    }

    pub(crate) fn take(&mut self, event: &Event) {
        self.events += 1;
        self.counts.records = self.counts.records.max(event.record);
        self.counts.errors += u64::from(event.error.is_some());
        if let Some(time) = event.time_ps {
            self.counts.backwards += u64::from(self.last_ps.is_some_and(|last| time < last));
            self.first_ps.get_or_insert(time);
            self.last_ps = self.last_ps.max(Some(time));
            if let Some(shares) = &mut self.shares {
                shares.advance(time);
            }
            if self.assumed.is_some() {
                self.flight.advance(time);
            }
        }
        match &event.packet {
            Packet::Tlp(tlp) => self.tlp(event, tlp),
            Packet::Dllp(dllp) => self.dllp(event, *dllp),
            Packet::Other => self.counts.others += 1,
        }
    }

    fn tlp(&mut self, event: &Event, tlp: &Tlp) {
        self.counts.tlps += 1;
        if let Some(direction) = event.direction {
            self.way_tlps[direction as usize] += 1;
        }
        self.counts.poisoned += u64::from(tlp.poisoned == Some(true));
        let bytes = tlp_bytes(tlp, self.flits());
        self.survey.packet(event, bytes);
        if self.copies.is_copy(event, tlp) {
            self.counts.copies += 1;
            return;
        }
        if self.is_repeated(event, tlp) {
            if let (Some(direction), Some(shares)) = (event.direction, &mut self.shares) {
                shares.occupy(direction as usize, bytes, |sent| sent.retries += u64::from(bytes));
                shares.refuse(direction as usize, false);
            }
            return;
        }
        let step = self.pairing.take(event, tlp, &self.options.limits, &mut self.violations);
        check_packet(tlp, event.record, step.range, &self.options.limits, &mut self.violations);
        self.survey.settings.take(tlp, event.direction, &step);
        self.count_wire(event, tlp, bytes, &step);
        self.follow_reads(event, tlp, &step);
        self.request(event, tlp, &step);
        if let Some(done) = step.done {
            self.done(done);
        }
    }

    /// Whether a TLP is one that was sent before.
    fn is_repeated(&mut self, event: &Event, tlp: &Tlp) -> bool {
        let (Some(direction), Some(sequence)) = (event.direction, tlp.sequence) else { return false };
        let way = &mut self.ways[direction as usize];
        way.packets += 1;
        let step = way.last_sequence.map_or(1, |last| sequence.wrapping_sub(last) % SEQUENCES);
        // Only what was sent before can be sent again.
        let back = way.last_sequence.map_or(0, |last| last.wrapping_sub(sequence) % SEQUENCES);
        let is_known = u64::from(back) < way.packets;
        if is_known && (step == 0 || step > SEQUENCES / 2) {
            way.retries += 1;
            return true;
        }
        way.last_sequence = Some(sequence);
        if way.unacknowledged.len() >= UNACKNOWLEDGED_MOST {
            way.unacknowledged.pop_front();
        }
        let (record, time_ps) = (event.record, event.time_ps);
        way.unacknowledged.push_back(Unacknowledged { sequence, record, time_ps });
        false
    }

    fn count_wire(&mut self, event: &Event, tlp: &Tlp, bytes: u32, step: &Step) {
        let Some(direction) = event.direction else { return };
        let way = direction as usize;
        let data = matches!(
            tlp.kind,
            Kind::MemoryRead | Kind::MemoryWrite | Kind::DeferrableWrite | Kind::Completion { .. }
        );
        let is_read = matches!(tlp.kind, Kind::Completion { .. });
        let moved = &mut self.moved[way][usize::from(!is_read)];
        if step.delivered > 0 {
            moved.0 += u64::from(step.delivered);
            moved.1 += 1;
            self.flight.deliver(way, step.delivered);
        }
        let sent = match direction {
            Direction::Upstream => &mut self.captured.upstream_bytes,
            Direction::Downstream => &mut self.captured.downstream_bytes,
        };
        if data {
            *sent += f64::from(bytes);
        }
        match (tlp.kind, direction) {
            (Kind::MemoryRead, Direction::Upstream) => self.captured.read_requests += 1.0,
            (Kind::MemoryWrite, Direction::Upstream) => self.captured.write_tlps += 1.0,
            (Kind::Completion { .. }, Direction::Downstream) => self.captured.completions += 1.0,
            _ => {}
        }
        let Some(shares) = &mut self.shares else { return };
        shares.occupy(way, bytes, |sent| {
            sent.payload += u64::from(step.delivered);
            // Requests of reads are headers that reading needs; they carry no payload themselves.
            *(if data { &mut sent.tlps } else { &mut sent.others }) += u64::from(bytes);
        });
        shares.data(way, step.delivered, is_read);
        if is_posted(tlp.kind) {
            shares.spend(way, Flow::Posted, tlp.data_bytes.div_ceil(CREDIT_BYTES));
        } else if !is_read && tlp.kind != Kind::Prefix {
            shares.spend(way, Flow::NonPosted, tlp.data_bytes.div_ceil(CREDIT_BYTES));
        }
    }

    fn follow_reads(&mut self, event: &Event, tlp: &Tlp, step: &Step) {
        // By the way of the request.
        let request_way = match (step.opens_read, event.direction) {
            (true, direction) => direction.map_or(0, |direction| direction as usize),
            (false, direction) => direction.map_or(0, |direction| opposite(direction) as usize),
        };
        let data_way = 1 - request_way;
        if step.opens_read {
            let bytes = step.range.map_or(0, |range| range.bytes);
            self.reads[request_way] += 1;
            self.most_reads[request_way] = self.most_reads[request_way].max(self.reads[request_way]);
            self.flight.change(1, i64::from(bytes));
            if let (Some(shares), Some(_)) = (&mut self.shares, event.direction) {
                shares.open_read(data_way, (tlp.requester, tlp.tag));
            }
        } else if let Kind::Completion { .. } = tlp.kind {
            self.flight.change(0, -i64::from(step.delivered));
        }
        if step.ends_read {
            self.reads[request_way] = self.reads[request_way].saturating_sub(1);
            self.flight.change(-1, 0);
            if let (Some(shares), Some(_)) = (&mut self.shares, event.direction) {
                shares.close_read(data_way, (tlp.requester, tlp.tag));
            }
        }
    }

    /// Accesses, and what the host and the device do to each other.
    fn request(&mut self, event: &Event, tlp: &Tlp, step: &Step) {
        let (Some(range), Some(class)) = (step.range, Class::of(tlp.kind)) else { return };
        if !matches!(class, Class::Read | Class::Write) {
            return;
        }
        self.stores.request(&Request {
            class,
            direction: event.direction,
            record: event.record,
            address: range.address,
            bytes: range.bytes,
            start_ps: event.time_ps,
        });
        if self.assumed.is_none() {
            return;
        }
        let ended = self.accesses.take(class == Class::Write, event.direction, range, event.time_ps);
        if let Some(access) = ended {
            self.access(&access);
        }
    }

    pub(crate) fn access(&mut self, access: &Access) {
        self.access_count += 1;
        self.cuts.iter_mut().for_each(|cut| cut.add(access));
    }

    fn done(&mut self, transaction: Transaction) {
        if let Some(status) = transaction.status {
            self.statuses[usize::from(status & 7)] += 1;
        }
        let read = transaction.class == Class::Read && transaction.is_done;
        if let (true, Some(latency), Some(0)) = (read, transaction.latency_ps(), transaction.status) {
            if transaction.direction == Some(Direction::Downstream) {
                self.host_latencies.add(latency);
            } else {
                self.latencies.add(latency);
                self.first_latencies.add(transaction.first_latency_ps().unwrap_or(latency));
                self.by_size.add(u64::from(transaction.bytes), latency);
                if let Some(address) = transaction.address {
                    self.by_part.add(address % u64::from(PAGE_BYTES) / PART_BYTES * PART_BYTES, latency);
                    self.by_page.add(address / u64::from(PAGE_BYTES), latency);
                }
            }
        }
        self.stores.done(&transaction);
        self.list(transaction);
    }

    fn list(&mut self, transaction: Transaction) {
        if self.listed.len() < LISTED_MOST {
            let of_record = |(record, _): &&(u64, u64)| *record == transaction.record;
            let acknowledged = self.acknowledged.iter().find(of_record).map(|(_, time)| *time);
            self.listed.push((transaction, acknowledged));
        }
    }

    fn dllp(&mut self, event: &Event, dllp: Dllp) {
        self.counts.dllps += 1;
        self.survey.dllps += 1;
        self.survey.packet(event, DLLP_BYTES);
        let Some(direction) = event.direction else { return };
        let sender = opposite(direction) as usize;
        if let Some(shares) = &mut self.shares {
            shares.occupy(direction as usize, DLLP_BYTES, |sent| sent.dllps += u64::from(DLLP_BYTES));
        }
        match dllp {
            Dllp::Ack { sequence } => self.acknowledge(sender, sequence, event),
            Dllp::Nak { sequence } => {
                self.acknowledge(sender, sequence, event);
                self.ways[sender].naks += 1;
                if let Some(shares) = &mut self.shares {
                    shares.refuse(sender, true);
                }
            }
            Dllp::Credits { initial, class, channel: 0, header, data, header_scale, data_scale } => {
                let flow = match class {
                    0 => Flow::Posted,
                    1 => Flow::NonPosted,
                    _ => return,
                };
                if let Some(shares) = &mut self.shares {
                    shares.announce(sender, flow, (header, header_scale), (data, data_scale), initial);
                }
            }
            Dllp::Credits { .. } | Dllp::Other { .. } => {}
        }
    }

    fn acknowledge(&mut self, sender: usize, sequence: u16, event: &Event) {
        let way = &mut self.ways[sender];
        while let Some(first) = way.unacknowledged.front().copied() {
            if sequence.wrapping_sub(first.sequence) % SEQUENCES > SEQUENCES / 2 {
                break;
            }
            way.unacknowledged.pop_front();
            let passed = event.time_ps.zip(first.time_ps).map(|(now, sent)| now.saturating_sub(sent));
            if let Some(passed) = passed {
                self.acknowledgements.add(passed);
            }
            // A read is listed only when it is done: its own acknowledgement comes before.
            let of_record = |listed: &&mut (Transaction, Option<u64>)| listed.0.record == first.record;
            if let Some(listed) = self.listed.iter_mut().rev().find(of_record) {
                listed.1 = event.time_ps;
            } else if let (true, Some(time)) = (self.listed.len() < LISTED_MOST, event.time_ps) {
                self.acknowledged.truncate(LISTED_MOST - 1);
                self.acknowledged.push_front((first.record, time));
            }
        }
    }

    pub(crate) fn retries(&self) -> Acknowledgements {
        let sum = |of: fn(&WayState) -> u64| self.ways.iter().map(of).sum();
        Acknowledgements {
            tlps_with_sequence: sum(|way| way.packets),
            sent_again: sum(|way| way.retries),
            naks: sum(|way| way.naks),
            latency: self.acknowledgements.distribution(),
        }
    }

    /// Reads that never got their completions, as violations if they waited longer than any other.
    pub(crate) fn give_up_open(&mut self) -> u64 {
        self.out_of_order = self.pairing.out_of_order;
        let open = std::mem::take(&mut self.pairing).into_open();
        if self.way_tlps.contains(&0) && self.way_tlps != [0, 0] {
            // The requests went the way that was not captured.
            self.violations.forget(Rule::UnexpectedCompletion);
        }
        let longest = self.latencies.rank(1.0).unwrap_or(0).max(self.host_latencies.rank(1.0).unwrap_or(0));
        let end = self.last_ps;
        let count = open.len() as u64;
        for transaction in open {
            let waited = end.zip(transaction.start_ps).map(|(end, start)| end.saturating_sub(start));
            if longest > 0 && waited.is_some_and(|waited| waited > 2 * longest) {
                let waited_ns = waited.unwrap_or(0) as f64 / 1000.0;
                let (record, class) = (transaction.record, transaction.class.word());
                self.violations.add(Rule::MissingCompletion, record, || {
                    format!(
                        "{class} without its last completion for {waited_ns:.0} ns, to the end of the capture"
                    )
                });
            }
            self.list(transaction);
        }
        count
    }

    /// The way with more data: 0 up, 1 down.
    pub(crate) fn busiest(&self) -> usize {
        let data = |way: usize| self.moved[way][0].0 + self.moved[way][1].0;
        usize::from(data(1) > data(0))
    }
}

/// The cuts that a report compares: the link's own sizes first.
fn cuts_of(assumed: &Assumed) -> Vec<Cut> {
    let given = LinkParameters::from(assumed.link);
    let sizes = [(given.mps_bytes, given.mrrs_bytes), (256, 512), (256, 4096), (512, 512), (512, 4096)];
    let mut cuts: Vec<Cut> = Vec::new();
    for (mps_bytes, mrrs_bytes) in sizes {
        let larger = mps_bytes >= given.mps_bytes && mrrs_bytes >= given.mrrs_bytes;
        let link = link_of(LinkParameters { mps_bytes, mrrs_bytes, ..given });
        if let Some(link) = link.filter(|link| larger && !cuts.iter().any(|cut| cut.link == *link)) {
            cuts.push(Cut { link, load: Load::default() });
        }
    }
    cuts
}
