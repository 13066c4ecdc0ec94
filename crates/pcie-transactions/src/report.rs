//! The report of a capture: what was moved, how fast, what bound it, and where the time went.

use crate::analysis::{Analysis, Assumed, Source};
use crate::flight::InFlight;
use crate::latencies::{Distribution, Grouped};
use crate::pairing::identifier;
use crate::rules::Violation;
use crate::settings::Settings;
use crate::shares::Cause;
use crate::stores::Stores;
use crate::transaction::Transaction;
use pcie_capture::{Direction, Facts};
use pcie_model::{Limits, Load, Model};
use pcie_wire::{Accounting, LinkParameters};
use serde::Serialize;

/// Share of the time that a cause other than the wire needs to be what binds.
const BINDS: f64 = 0.07;
/// Pages of a report.
const PAGES_LISTED: usize = 10;

/// Packets by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Records of the file.
    pub records: u64,
    /// Transaction layer packets.
    pub tlps: u64,
    /// Data link layer packets.
    pub dllps: u64,
    /// Ordered sets and others.
    pub others: u64,
    /// Packets that the source marks as wrong.
    pub errors: u64,
    /// TLPs that were seen at another port before.
    pub copies: u64,
    /// Poisoned TLPs.
    pub poisoned: u64,
    /// Packets with a time before that of the packet before them.
    pub backwards: u64,
}

/// Acknowledgements, and packets that were sent again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Acknowledgements {
    /// TLPs with a sequence number.
    pub tlps_with_sequence: u64,
    /// TLPs that were sent again.
    pub sent_again: u64,
    /// Naks.
    pub naks: u64,
    /// Time from the start of a TLP to that of its Ack.
    pub latency: Option<Distribution>,
}

/// The link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkFound {
    /// Generation; `None` if the capture has no times and nobody stated it.
    pub generation: Option<u32>,
    /// Width.
    pub lanes: Option<u32>,
    /// `stated`, `file`, or `pace`: the slowest link on which the fastest packets fit.
    pub source: Option<&'static str>,
    /// Every link with the same rate, as `gen3x8`.
    pub alike: Vec<String>,
    /// Its rate for TLPs in each direction, Gb/s.
    pub tlp_gbps: Option<f64>,
    /// Time of a byte of a TLP, ns.
    pub byte_ns: Option<f64>,
    /// Whether TLPs travel in flits; `None` if nothing shows it.
    pub flits: Option<bool>,
}

/// Data that went one way by one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// Who asked, and for what: `device reads`, `device writes`, `host reads`, `host writes`.
    pub what: &'static str,
    /// The way of the data.
    pub direction: &'static str,
    /// Bytes that were asked for and delivered.
    pub bytes: u64,
    /// Packets that carried them.
    pub packets: u64,
    /// Their rate over the whole capture, Gb/s.
    pub gbps: Option<f64>,
}

/// Time by cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Way of the link.
    pub direction: &'static str,
    /// What it spent time on.
    pub cause: &'static str,
    /// How long, ns.
    pub ns: f64,
    /// Share of the time of the capture, 0 to 1: those of a way add up to 1.
    pub share: f64,
}

/// The same accesses with other cuts, by the closed form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CutRow {
    /// `as captured`, or the sizes.
    pub cuts: String,
    /// MPS.
    pub mps_bytes: u32,
    /// MRRS.
    pub mrrs_bytes: u32,
    /// Read requests of the device.
    pub read_requests: f64,
    /// Write TLPs of the device.
    pub write_tlps: f64,
    /// Bytes of TLPs towards the root complex.
    pub upstream_bytes: f64,
    /// Bytes of TLPs from it.
    pub downstream_bytes: f64,
    /// All data over the time that the link needs, Gb/s.
    pub link_gbps: Option<f64>,
    /// The same with the tags in flight and the average latency of the capture, Gb/s.
    pub bound_gbps: Option<f64>,
    /// The bound that binds then.
    pub bound: Option<String>,
}

/// Latencies of a group of reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// `size`, `offset in page` or `page`.
    pub by: &'static str,
    /// Bytes, or an address; `None`: all other groups.
    pub key: Option<u64>,
    /// The latencies.
    #[serde(flatten)]
    pub latency: Distribution,
}

/// A transaction as a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Record of the request.
    pub record: u64,
    /// Record of its last completion.
    pub completion_record: Option<u64>,
    /// Way of the request.
    pub direction: Option<&'static str>,
    /// What it asks for.
    pub kind: &'static str,
    /// Who asks.
    pub requester: Option<String>,
    /// Its tag.
    pub tag: Option<u16>,
    /// First byte, in hexadecimal digits.
    pub address: Option<String>,
    /// Bytes.
    pub bytes: u32,
    /// Start of the request, ns from the first packet.
    pub start_ns: Option<f64>,
    /// Time to the start of its Ack.
    pub acknowledged_after_ns: Option<f64>,
    /// Time to the start of its first completion.
    pub first_after_ns: Option<f64>,
    /// Time to the start of its last completion.
    pub last_after_ns: Option<f64>,
    /// Completions.
    pub completions: u32,
    /// Bytes of data of the last completion.
    pub last_completion_bytes: u32,
    /// Their status; `open` if the last one is missing.
    pub status: Option<&'static str>,
}

impl Row {
    /// Of a transaction; times count from `zero_ps`.
    #[must_use]
    pub fn of(transaction: &Transaction, acknowledged_ps: Option<u64>, zero_ps: u64) -> Self {
        let start = transaction.start_ps;
        let ns = |ps: u64| ps as f64 / 1000.0;
        let after = |at: Option<u64>| Some(ns(at?.saturating_sub(start?)));
        Self {
            record: transaction.record,
            completion_record: (transaction.completions > 0).then_some(transaction.last_record),
            direction: transaction.direction.map(direction_word),
            kind: transaction.class.word(),
            requester: transaction.requester.map(identifier),
            tag: transaction.tag,
            address: transaction.address.map(|address| format!("{address:#x}")),
            bytes: transaction.bytes,
            start_ns: start.map(|start| ns(start.saturating_sub(zero_ps))),
            acknowledged_after_ns: after(acknowledged_ps),
            first_after_ns: after(transaction.first_ps),
            last_after_ns: after(transaction.last_ps),
            completions: transaction.completions,
            last_completion_bytes: transaction.last_data_bytes,
            status: if transaction.is_done { transaction.status.map(status_word) } else { Some("open") },
        }
    }
}

/// The name of a completion's status.
#[must_use]
pub fn status_word(status: u8) -> &'static str {
    match status {
        0 => "SC",
        1 => "UR",
        2 => "RRS",
        4 => "CA",
        _ => "reserved",
    }
}

/// `upstream` or `downstream`.
#[must_use]
pub fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Upstream => "upstream",
        Direction::Downstream => "downstream",
    }
}

const WAYS: [&str; 2] = ["upstream", "downstream"];

/// What bound the capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Binding {
    /// `wire`, or a cause of [`Share`].
    pub cause: &'static str,
    /// Way of the link with the data.
    pub direction: &'static str,
    /// Its share of the time; of the wire, that of all packets.
    pub share: f64,
}

/// The report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Three sentences: what was moved, what bound it, what to change.
    pub sentences: Vec<String>,
    /// Format of the file.
    pub format: String,
    /// Whether times and bytes come from a simulator.
    pub simulated: Option<bool>,
    /// Whether the reading was stopped.
    pub interrupted: bool,
    /// Packets.
    pub counts: Counts,
    /// Parts that could not be read: what, how many, the first record.
    pub skipped: Vec<(String, u64, u64)>,
    /// From the start of the first packet to the end of the last, ns.
    pub duration_ns: Option<f64>,
    /// The link.
    pub link: LinkFound,
    /// Settings.
    pub settings: Settings,
    /// Data by way and kind.
    pub moved: Vec<Moved>,
    /// All data, Gb/s.
    pub gbps: Option<f64>,
    /// What the link allows for the same accesses, cut as large as MPS and MRRS, Gb/s.
    pub bound_gbps: Option<f64>,
    /// The share of it that was reached.
    pub efficiency: Option<f64>,
    /// Data over all bytes of TLPs, with the cuts as captured.
    pub payload_share: Option<f64>,
    /// What bound the capture; `None` without times.
    pub binding: Option<Binding>,
    /// Time by cause.
    pub shares: Vec<Share>,
    /// Latency of the device's reads: to the start of the last completion.
    pub latency: Option<Distribution>,
    /// The same to the start of the first completion.
    pub first_latency: Option<Distribution>,
    /// Latency of the host's reads.
    pub host_latency: Option<Distribution>,
    /// Latency by size, part of a page, and page.
    pub groups: Vec<Group>,
    /// What was in flight over time.
    pub in_flight: Vec<InFlight>,
    /// Reads that were done after a later one.
    pub out_of_order: u64,
    /// Requests without their last completion at the end.
    pub open: u64,
    /// Completions with an error, by status.
    pub errors: Vec<(&'static str, u64)>,
    /// Acks and packets sent again.
    pub acknowledgements: Acknowledgements,
    /// Broken rules with their counts.
    pub rules: Vec<(&'static str, u64)>,
    /// The first of each.
    pub violations: Vec<Violation>,
    /// Accesses: adjacent requests merged.
    pub accesses: u64,
    /// The same accesses with other cuts.
    pub cuts: Vec<CutRow>,
    /// Write-combining, doorbells, descriptors.
    pub stores: Stores,
    /// The first transactions.
    pub transactions: Vec<Row>,
}

impl Analysis {
    /// The report of what was taken.
    pub(crate) fn finish(mut self, facts: &Facts, interrupted: bool) -> Report {
        let open = self.give_up_open();
        let accesses = std::mem::take(&mut self.accesses).into_open();
        accesses.iter().for_each(|access| self.access(access));
        let mut shares = self.shares.take();
        if let Some(shares) = &mut shares {
            shares.finish();
        }
        self.shares = shares;
        let settings = self.settings();
        let zero = self.first_ps.unwrap_or(0);
        let duration_ps = self.duration_ps();
        let data: u64 = self.moved.iter().flatten().map(|(bytes, _)| bytes).sum();
        let per_time = |bytes: u64| duration_ps.map(|ps| 8000.0 * bytes as f64 / ps);
        let assumed = self.assumed.clone();
        let late = self.late_share();
        let all_shares = self.all_shares(duration_ps, late);
        let binding = binding_of(&all_shares, self.busiest());
        let cuts = self.cut_rows(&settings, data);
        let bound_gbps = cuts.get(1).and_then(|row| row.link_gbps);
        let gbps = per_time(data).filter(|_| data > 0);
        let wire = self.captured.upstream_bytes + self.captured.downstream_bytes;
        let moved = self.moved(per_time);
        let groups = self.groups();
        let acknowledgements = self.retries();
        let skipped = facts.skipped.clone();
        let statuses = &self.statuses;
        let errors = (1..8_u8)
            .filter(|status| statuses[usize::from(*status)] > 0)
            .map(|status| (status_word(status), statuses[usize::from(status)]));
        let mut report = Report {
            sentences: Vec::new(),
            format: facts.format.clone(),
            simulated: facts.simulated,
            interrupted,
            counts: self.counts,
            skipped,
            duration_ns: duration_ps.map(|ps| ps / 1000.0),
            link: link_found(assumed.as_ref(), self.counts.dllps),
            moved,
            gbps,
            bound_gbps,
            efficiency: gbps.zip(bound_gbps).map(|(gbps, bound)| gbps / bound),
            payload_share: (wire > 0.0).then(|| data as f64 / wire),
            binding,
            shares: all_shares,
            latency: self.latencies.distribution(),
            first_latency: self.first_latencies.distribution(),
            host_latency: self.host_latencies.distribution(),
            groups,
            in_flight: if duration_ps.is_some() { self.flight.spans() } else { Vec::new() },
            out_of_order: self.out_of_order,
            open,
            errors: errors.collect(),
            acknowledgements,
            rules: self.violations.counts().iter().map(|(rule, count)| (rule.word(), *count)).collect(),
            violations: self.violations.into_kept(),
            accesses: self.access_count,
            cuts,
            stores: self.stores.finish(),
            transactions: self
                .listed
                .iter()
                .map(|(one, acknowledged)| Row::of(one, *acknowledged, zero))
                .collect(),
            settings,
        };
        report.transactions.sort_by_key(|row| row.record);
        report.sentences = crate::sentences::sentences(&report);
        report
    }

    /// From the start of the first packet to the end of the last, ps.
    fn duration_ps(&self) -> Option<f64> {
        let start = self.first_ps? as f64;
        let end = match &self.shares {
            Some(shares) => shares.end(),
            None => self.last_ps? as f64,
        };
        Some(end - start).filter(|ps| *ps > 0.0)
    }

    /// The share of the latencies, summed, that is beyond the fastest tenth of reads of the same size.
    fn late_share(&self) -> f64 {
        let (mut fast, mut all) = (0.0, 0.0);
        for (_, latencies) in self.by_size.groups() {
            let count = latencies.count() as f64;
            fast += count * latencies.rank(0.1).unwrap_or(0) as f64;
            all += count * latencies.average().unwrap_or(0.0);
        }
        if all > 0.0 { (1.0 - fast / all).max(0.0) } else { 0.0 }
    }

    fn all_shares(&self, duration_ps: Option<f64>, late: f64) -> Vec<Share> {
        let (Some(shares), Some(duration)) = (&self.shares, duration_ps) else { return Vec::new() };
        let ideal = self.cuts.first().map(|cut| cut.load).unwrap_or_default();
        let of_way = |way: usize| {
            let ideal_tlps = [ideal.upstream_bytes, ideal.downstream_bytes][way];
            let causes = shares.causes(way, ideal_tlps, late);
            // Packets that overlap by the rounding of times make a little more than the time.
            let sum: f64 = causes.iter().map(|(_, ps)| ps).sum();
            causes.into_iter().map(move |(cause, ps)| Share {
                direction: WAYS[way],
                cause: cause.word(),
                ns: ps / 1000.0 * duration / sum,
                share: ps / sum,
            })
        };
        of_way(0).chain(of_way(1)).collect()
    }

    fn moved(&self, gbps: impl Fn(u64) -> Option<f64>) -> Vec<Moved> {
        let names = [["host reads", "device writes"], ["device reads", "host writes"]];
        let mut rows = Vec::new();
        for (way, kinds) in names.iter().enumerate() {
            for (kind, what) in kinds.iter().enumerate() {
                let (bytes, packets) = self.moved[way][kind];
                if packets > 0 {
                    rows.push(Moved { what, direction: WAYS[way], bytes, packets, gbps: gbps(bytes) });
                }
            }
        }
        rows
    }

    fn cut_rows(&self, settings: &Settings, data: u64) -> Vec<CutRow> {
        let Some(assumed) = &self.assumed else { return Vec::new() };
        let timed = assumed.source.is_some() && data > 0;
        let limits = Limits {
            tags: (settings.tags_in_flight > 0).then_some(settings.tags_in_flight),
            round_trip_ns: self.latencies.average().map(|ps| ps / 1000.0),
            ..Limits::default()
        };
        let row = |cuts: String, link, load: &Load| {
            let gbps = |limits: Limits| {
                let model = Model::new(link, Accounting::Spec, limits).ok()?;
                model.answer(load, data).filter(|_| timed)
            };
            let parameters = LinkParameters::from(link);
            let bound = gbps(limits);
            CutRow {
                cuts,
                mps_bytes: parameters.mps_bytes,
                mrrs_bytes: parameters.mrrs_bytes,
                read_requests: load.read_requests,
                write_tlps: load.write_tlps,
                upstream_bytes: load.upstream_bytes,
                downstream_bytes: load.downstream_bytes,
                link_gbps: gbps(Limits::default()).map(|answer| answer.gbps),
                bound_gbps: bound.as_ref().map(|answer| answer.gbps),
                bound: bound.map(|answer| answer.bound.to_string()),
            }
        };
        let mut rows = vec![row("as captured".into(), assumed.link, &self.captured)];
        for cut in &self.cuts {
            let parameters = LinkParameters::from(cut.link);
            let name = format!("MPS {}, MRRS {}", parameters.mps_bytes, parameters.mrrs_bytes);
            rows.push(row(name, cut.link, &cut.load));
        }
        rows
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut add = |by: &'static str, grouped: &Grouped<u64>, factor: u64| {
            let rows = grouped.groups().map(|(key, one)| (Some(key * factor), one));
            let others = [(None, grouped.others())].into_iter();
            let mut rows: Vec<Group> = rows
                .chain(others)
                .filter_map(|(key, one)| Some(Group { by, key, latency: one.distribution()? }))
                .collect();
            if factor > 1 {
                rows.sort_by(|one, other| other.latency.average_ns.total_cmp(&one.latency.average_ns));
                rows.truncate(PAGES_LISTED);
            }
            groups.extend(rows);
        };
        add("size", &self.by_size, 1);
        add("offset in page", &self.by_part, 1);
        add("page", &self.by_page, 4096);
        groups
    }
}

fn link_found(assumed: Option<&Assumed>, dllps: u64) -> LinkFound {
    let assumed = assumed.filter(|assumed| assumed.source.is_some());
    let parameters = assumed.map(|assumed| LinkParameters::from(assumed.link));
    LinkFound {
        generation: parameters.map(|link| link.generation),
        lanes: parameters.map(|link| link.lanes),
        source: assumed.and_then(|assumed| assumed.source).map(|source| match source {
            Source::Stated => "stated",
            Source::File => "file",
            Source::Pace => "pace",
        }),
        alike: assumed.map_or_else(Vec::new, |assumed| {
            assumed.alike.iter().map(|(generation, lanes)| format!("gen{generation}x{lanes}")).collect()
        }),
        tlp_gbps: assumed.map(|assumed| Accounting::Spec.tlp_gbps(&assumed.link)),
        byte_ns: assumed.map(|assumed| crate::wire::byte_ps(&assumed.link) / 1000.0),
        flits: assumed.filter(|assumed| assumed.flits).map(|_| true).or((dllps > 0).then_some(false)),
    }
}

/// What binds the way with the data: the largest cause that something could be done about, or the wire.
fn binding_of(shares: &[Share], way: usize) -> Option<Binding> {
    let direction = WAYS[way];
    let of_way = || shares.iter().filter(|share| share.direction == direction);
    let sending = [Cause::Payload, Cause::Headers, Cause::Requests, Cause::Dllps].map(Cause::word);
    let worst = of_way()
        .filter(|share| !sending.contains(&share.cause))
        .max_by(|one, other| one.share.total_cmp(&other.share));
    of_way().next()?;
    Some(match worst.filter(|worst| worst.share >= BINDS) {
        Some(worst) => Binding { cause: worst.cause, direction, share: worst.share },
        None => {
            let share = of_way()
                .filter(|share| sending.contains(&share.cause) || share.cause == Cause::Cuts.word())
                .map(|share| share.share)
                .sum();
            Binding { cause: "wire", direction, share }
        }
    })
}
