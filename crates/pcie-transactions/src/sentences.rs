//! The report in three sentences: what was moved at what share of the bound, what bound it, what to change.

use crate::report::{CutRow, Report};
use crate::shares::Cause;
use pcie_refusal::numbers::{byte_size, significant};

/// Gain below which another cut is not worth a sentence.
const GAIN: f64 = 1.03;

/// The three sentences.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    vec![moved(report), bound(report), change(report)]
}

/// Significant digits, and whole numbers above those.
fn number(value: f64, digits: usize) -> String {
    if value.abs() >= 10_f64.powi(digits as i32) { format!("{value:.0}") } else { significant(value, digits) }
}

fn percent(share: f64) -> String {
    format!("{} %", number(100.0 * share, 2))
}

fn gbps(value: f64) -> String {
    format!("{} Gb/s", number(value, 3))
}

fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e4 => (ns, "ns"),
        ns if ns < 1e7 => (ns / 1e3, "us"),
        ns if ns < 1e10 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", number(value, 3))
}

fn size(bytes: u64) -> String {
    byte_size(bytes)
}

fn link(report: &Report) -> Option<String> {
    let (generation, lanes) = (report.link.generation?, report.link.lanes?);
    let guessed = if report.link.source == Some("pace") { " (the slowest link that fits)" } else { "" };
    Some(format!("Gen{generation} x{lanes}{guessed}"))
}

fn moved(report: &Report) -> String {
    let simulated = if report.simulated == Some(true) { "Simulated: " } else { "" };
    let parts: Vec<String> =
        report.moved.iter().map(|moved| format!("{} of {}", size(moved.bytes), moved.what)).collect();
    let what = if parts.is_empty() { "no data".to_owned() } else { parts.join(" and ") };
    let (Some(duration), Some(rate)) = (report.duration_ns, report.gbps) else {
        let share = report.payload_share.map_or_else(String::new, |share| {
            format!("; {} of the bytes of their TLPs are data", percent(share))
        });
        return format!("{simulated}The capture moves {what}{share}.");
    };
    let of_bound = match (report.efficiency, report.bound_gbps, link(report)) {
        (Some(share), Some(bound), Some(link)) => format!(
            ", {} of the {} that {link} allows with MPS {} and MRRS {}",
            percent(share),
            gbps(bound),
            report.settings.mps_bytes,
            report.settings.mrrs_bytes
        ),
        _ => String::new(),
    };
    format!("{simulated}The capture moves {what} in {}: {}{of_bound}.", time(duration), gbps(rate))
}

fn bound(report: &Report) -> String {
    let Some(binding) = &report.binding else {
        return match report.rules.first() {
            Some((rule, count)) => {
                format!(
                    "The capture has no times, so nothing shows what binds; rule {rule} is broken {count} times."
                )
            }
            None => "The capture has no times, so nothing shows what binds.".into(),
        };
    };
    let (direction, share) = (binding.direction, percent(binding.share));
    let settings = &report.settings;
    let latency = report.latency.map_or_else(String::new, |latency| {
        format!(" (median latency {}, p99 {})", time(latency.median_ns), time(latency.p99_ns))
    });
    let is = |cause: Cause| binding.cause == cause.word();
    if is(Cause::Cuts) {
        let cut = if settings.completions_cut_at_bytes.is_some_and(|cut| cut < settings.mps_bytes) {
            let cut = settings.completions_cut_at_bytes.unwrap_or(0);
            format!("; the completer cuts its completions every {cut} B")
        } else {
            String::new()
        };
        return format!(
            "Small or unaligned cuts bind: the {direction} link spends {share} of the time on headers and padding that larger packets would save{cut}."
        );
    }
    if is(Cause::Tags) {
        let most =
            if direction == "upstream" { settings.host_reads_in_flight } else { settings.tags_in_flight };
        return format!(
            "Tags bind: the {direction} link is idle for {share} of the time with all {most} reads in flight{latency}."
        );
    }
    if is(Cause::LateCompletions) {
        return format!(
            "Late completions bind: for {share} of the time all tags wait longer than the fastest tenth of the reads takes{latency}."
        );
    }
    if is(Cause::Credits) {
        return format!(
            "Flow-control credits bind: for {share} of the time the {direction} link is idle because none are left."
        );
    }
    if is(Cause::Retries) {
        let again = report.acknowledgements.sent_again;
        return format!(
            "Retries bind: {again} TLPs are sent again, which takes {share} of the time of the {direction} link."
        );
    }
    if is(Cause::OtherWay) {
        return format!(
            "The other direction binds: for {share} of the time the {direction} link is idle while requests wait behind other packets."
        );
    }
    if is(Cause::DeviceGaps) || is(Cause::HostGaps) {
        let who = if is(Cause::DeviceGaps) { "device" } else { "host" };
        let most = if who == "device" { settings.tags_in_flight } else { settings.host_reads_in_flight };
        let flight = if most > 0 && report.latency.is_some() {
            format!(", with at most {most} reads in flight{latency}")
        } else {
            String::new()
        };
        let chain = match report.stores.descriptor_reads.first() {
            Some(one) => format!(
                "; each transfer waits for its descriptor ({} after the doorbell, {} for its data)",
                one.doorbell_record
                    .and_then(|record| report.stores.doorbells.iter().find(|bell| bell.record == record))
                    .and_then(|bell| bell.read_after_ps)
                    .map_or_else(|| "unknown".into(), |ps| time(ps as f64 / 1000.0)),
                one.latency_ps.map_or_else(|| "unknown".into(), |ps| time(ps as f64 / 1000.0)),
            ),
            None => String::new(),
        };
        return format!(
            "Gaps of the {who} bind: the {direction} link is idle for {share} of the time because the {who} asks for and sends nothing{flight}{chain}."
        );
    }
    format!("The wire binds: packets take {share} of the time of the {direction} link.")
}

/// The largest gain among other cuts: the row, and the factor over the cuts as captured.
fn better_cut(report: &Report) -> Option<(&CutRow, f64, f64)> {
    let captured = report.cuts.first()?.bound_gbps?;
    let best = report
        .cuts
        .iter()
        .skip(1)
        .filter_map(|row| Some((row, row.bound_gbps?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (best.1 > GAIN * captured).then_some((best.0, captured, best.1))
}

/// Reads in flight that fill the link by Little's law, if the capture moves nothing else than data that the device
/// reads.
fn reads_that_fill_the_link(report: &Report) -> Option<f64> {
    let [_] = report.moved[..] else { return None };
    let tags = f64::from(report.settings.tags_in_flight);
    let link_gbps = report.cuts.first()?.link_gbps?;
    (tags > 0.0).then_some((tags * link_gbps / report.gbps?).ceil())
}

fn change(report: &Report) -> String {
    if report.interrupted {
        return "The reading was stopped: the figures are of the part that was read.".into();
    }
    let Some(binding) = &report.binding else {
        return "Give a capture with times, and --generation and --lanes, to see what binds.".into();
    };
    let cut = better_cut(report).map(|(row, captured, better)| {
        format!(
            "requests cut as {} would raise the closed-form bound from {} to {}",
            row.cuts,
            gbps(captured),
            gbps(better)
        )
    });
    let is = |cause: Cause| binding.cause == cause.word();
    let then = |first: String| match &cut {
        Some(cut) => format!("{first}; {cut}."),
        None => format!("{first}."),
    };
    if is(Cause::Cuts) {
        let own = report.cuts.first().zip(report.cuts.get(1));
        return match own {
            Some((captured, own))
                if own.read_requests + own.write_tlps < captured.read_requests + captured.write_tlps =>
            {
                let requests = |row: &CutRow| row.read_requests + row.write_tlps;
                format!(
                    "Merge adjacent accesses: {:.0} requests instead of {:.0} with the MPS and MRRS of the capture{}.",
                    requests(own),
                    requests(captured),
                    captured.link_gbps.zip(own.link_gbps).map_or_else(String::new, |(now, better)| format!(
                        " raise what the link allows from {} to {}",
                        gbps(now),
                        gbps(better)
                    ))
                )
            }
            _ => then("Let the completer cut at MPS instead of every Read Completion Boundary".into()),
        };
    }
    if is(Cause::Tags) {
        let enough = reads_that_fill_the_link(report).map_or_else(String::new, |reads| {
            format!(": at this latency, {reads} would fill the link with the present cuts")
        });
        return then(format!("Keep more reads in flight{enough}"));
    }
    if is(Cause::LateCompletions) {
        return then(
            "Find what delays completions (IO-TLB misses, the other socket, cold caches): the latency by page and size shows which reads are late".into(),
        );
    }
    if is(Cause::Credits) {
        return "Raise the receiver's buffers, or let it return credits earlier.".into();
    }
    if is(Cause::Retries) {
        return "Repair the link: check signal integrity, and the replay timer.".into();
    }
    if is(Cause::OtherWay) {
        return then("Let requests pass the writes before them".into());
    }
    if is(Cause::DeviceGaps) {
        return then(
            "Let the device ask ahead: start requests before the answers to earlier ones are there".into(),
        );
    }
    if is(Cause::HostGaps) {
        return then("Let the host send ahead: batch stores, and avoid reads of the device".into());
    }
    match cut {
        Some(cut) => format!("A faster or wider link; {cut}."),
        None => "Only a faster or wider link gives more.".into(),
    }
}
