//! Findings from two readings of one machine, some time apart.

use std::collections::HashMap;

use pcie_evidence::{Function, Tree};

use crate::finding::{Finding, Loss, Observation, Operation, Severity, Sureness, Value};
use crate::loss::{Use, loss_to_replays};
use crate::rule::finding;
use crate::rules::link::shown;
use pcie_refusal::numbers::significant;

/// Findings about rising errors and retrained links between two readings, `seconds` apart.
#[must_use]
pub fn changes(before: &Tree, after: &Tree, seconds: f64) -> Vec<Finding> {
    let first: HashMap<&str, &Function> =
        before.functions().iter().map(|function| (function.slot.as_str(), function)).collect();
    let mut found = Vec::new();
    for now in after.functions() {
        let Some(then) = first.get(now.slot.as_str()) else { continue };
        let seen =
            [("errors-rise", "D04", errors(then, now, seconds)), ("link-changes", "D05", link(then, now))];
        for (rule, cause, seen) in seen {
            let seen = seen.map(|seen| seen.on(now).below(after.parent(now)));
            found.extend(seen.and_then(|seen| finding(rule, cause, seen, &[], None, None)));
        }
    }
    found
}

fn errors(then: &Function, now: &Function, seconds: f64) -> Option<Observation> {
    let counted = now.errors.as_ref()?.correctable.as_ref()?;
    let earlier = then.errors.as_ref()?.correctable.as_ref()?;
    let rise = |(name, count): (&String, &u64)| Some((name.clone(), count.checked_sub(*earlier.get(name)?)?));
    let rising: Vec<(String, u64)> = counted
        .iter()
        .filter_map(rise)
        .filter(|(name, more)| *more > 0 && !name.starts_with("TOTAL"))
        .collect();
    if rising.is_empty() {
        return None;
    }
    let losses = replays(now, &rising, seconds);
    let rate = rising.iter().map(|(_, more)| *more as f64).sum::<f64>() / seconds;
    let what = format!("{} correctable errors per second: the link is not clean", significant(rate, 3));
    let value = |(name, more)| Value::of(now, format!("aer_dev_correctable {name}"), format!("+{more}"));
    let seen = Observation::new(Severity::Error, Sureness::Certain, what)
        .values(rising.into_iter().map(value))
        .losses(losses);
    Some(seen.remedy(
        "reseat the card first; then try a shorter riser or cable, a retimer, or one generation lower in the BIOS",
    ))
}

/// What the replays behind rising counts cost. A port receives the device's writes and sends the data of its reads: it
/// counts bad TLPs of the first, and timeouts of the second.
fn replays(now: &Function, rising: &[(String, u64)], seconds: f64) -> Vec<Loss> {
    let Some(usage) = now.link.as_ref().and_then(|end| Use::of(now, end)) else { return Vec::new() };
    let per_s = |wanted: &str| {
        let count = rising.iter().find(|(name, _)| name == wanted).map_or(0, |(_, more)| *more);
        count as f64 / seconds
    };
    let (received, sent) = match now.is_port() {
        true => (Operation::Write, Operation::Read),
        false => (Operation::Read, Operation::Write),
    };
    [(received, per_s("BadTLP"), 0.0), (sent, 0.0, per_s("Timeout"))]
        .into_iter()
        .filter_map(|(operation, bad_tlps, timeouts)| loss_to_replays(&usage, operation, bad_tlps, timeouts))
        .collect()
}

fn link(then: &Function, now: &Function) -> Option<Observation> {
    let (was, is) = (then.link.as_ref()?, now.link.as_ref()?);
    if !was.is_up() || now.is_port() {
        return None;
    }
    let (was, became) = (shown(was.speed_gtps, was.lanes), shown(is.speed_gtps, is.lanes));
    if was == became {
        return None;
    }
    let what = format!("link changed from {was} to {became} between two readings");
    let values = [Value::of(now, "LnkSta before", was), Value::of(now, "LnkSta after", became)];
    let seen = Observation::new(Severity::Warning, Sureness::LookUnderLoad, what).values(values);
    Some(
        seen.remedy(
            "watch it under load; if it retrains there, limit it to one generation lower in the BIOS",
        ),
    )
}
