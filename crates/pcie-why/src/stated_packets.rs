//! How many packets a second vendors state of their NICs, and a warning of computed rates above that.
//!
//! A rate of *frames* whose source was read is a bound. A rate of RDMA *messages* bounds no frames: it keeps a
//! warning away, and makes none by itself. The rates are in `profiles/published/nic-packets.csv`, which callers read.

use pcie_refusal::numbers::general;
use serde::{Deserialize, Serialize};

/// What a vendor counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counts {
    /// Ethernet frames.
    Frames,
    /// RDMA messages.
    Messages,
}

/// What a vendor states of a NIC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketRate {
    /// The device, as people name it.
    pub model: String,
    /// Millions a second, all ports together.
    pub rate_mpps: f64,
    /// What is counted.
    pub counts: Counts,
    /// The frames that it bounds are smaller than this, FCS included; none: it bounds frames of every size.
    pub below_bytes: Option<u64>,
    /// Whether its source was read for the value.
    pub is_read: bool,
}

impl PacketRate {
    /// Whether it bounds frames of a size, FCS included: a rate of frames whose source was read.
    #[must_use]
    pub fn limits(&self, frame_bytes: u64) -> bool {
        let is_bound = self.counts == Counts::Frames && self.is_read;
        is_bound && self.below_bytes.is_none_or(|below| frame_bytes < below)
    }

    /// The statement, as a part of a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.counts {
            Counts::Frames => "packets",
            Counts::Messages => "RDMA messages",
        };
        let trust = if self.is_read { "" } else { ", general knowledge without a source that was read" };
        format!(
            "{} is stated to process {} million {what} a second{trust}",
            self.model,
            general(self.rate_mpps)
        )
    }

    /// Whether a text names the device: `ConnectX-6 Dx 100G`, `cx6-dx`.
    fn is_named_in(&self, text: &str) -> bool {
        let (text, model) = (text.to_ascii_lowercase(), self.model.to_ascii_lowercase());
        let words: Vec<&str> = model.split([' ', '-']).collect();
        let is_start = |at: usize| !text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
        let starts = text.char_indices().map(|(at, _)| at).filter(|at| is_start(*at));
        let mut rests = starts.filter_map(|at| after_words(&text[at..], &words));
        rests.any(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()))
    }
}

/// What follows the words at the start of a text, which spaces, `_` and `-` may separate.
fn after_words<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().try_fold(text, |rest, (nth, word)| {
        let is_separator = |letter: char| letter.is_ascii_whitespace() || matches!(letter, '_' | '-');
        let rest = if nth == 0 { rest } else { rest.trim_start_matches(is_separator) };
        if *word == "connectx" { after_connectx(rest) } else { rest.strip_prefix(word) }
    })
}

/// What follows `connectx`, `connect-x`, `cx` or `c-x` at the start of a text.
fn after_connectx(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("connect").or_else(|| text.strip_prefix('c'))?;
    rest.strip_prefix('-').unwrap_or(rest).strip_prefix('x')
}

/// What vendors state, and the highest rate that anybody published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedPackets {
    /// The statements.
    pub rates: Vec<PacketRate>,
    /// The highest published rate of a NIC, millions a second.
    pub most_mpps: f64,
    /// The id of that published row.
    pub most_id: String,
}

impl StatedPackets {
    /// The number of the statement about the device that a text names; of several, the one of the longest model.
    #[must_use]
    pub fn of_name(rates: &[PacketRate], name: &str) -> Option<usize> {
        let named = rates.iter().enumerate().filter(|(_, rate)| rate.is_named_in(name));
        // The last maximum counts: of models of the same length, the first one of the table.
        named.rev().max_by_key(|(_, rate)| rate.model.len()).map(|(nth, _)| nth)
    }

    /// A warning of a computed rate that a NIC is not known to process; none if nothing speaks against it.
    ///
    /// It rests on measured rates: a rate above every published one is warned of. What the vendor states keeps a
    /// warning away, and makes none by itself unless it is a bound. `frame_bytes` includes the FCS; `rate_mpps` is
    /// what PCIe and the line allow, millions of packets a second.
    #[must_use]
    pub fn warning(&self, name: &str, frame_bytes: u64, rate_mpps: f64) -> Option<String> {
        let stated = &self.rates[Self::of_name(&self.rates, name)?];
        if rate_mpps <= stated.rate_mpps {
            return None;
        }
        let packets = format!("{rate_mpps:.0} million packets of {frame_bytes} B a second");
        let (allowed, words) = (format!("{name}: PCIe and line allow {packets}"), stated.words());
        if stated.limits(frame_bytes) {
            return Some(format!("{allowed}; {words}"));
        }
        let (most, id) = (self.most_mpps, &self.most_id);
        let published = format!("the most published of any NIC is {most:.0} ({id})");
        (rate_mpps > most).then(|| format!("{allowed}, {published}, and {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(model: &str, rate_mpps: f64, counts: Counts) -> PacketRate {
        PacketRate { model: model.into(), rate_mpps, counts, below_bytes: Some(160), is_read: true }
    }

    fn stated() -> StatedPackets {
        let messages = [("ConnectX-5", 200.0), ("ConnectX-6", 215.0), ("ConnectX-6 Dx", 215.0)];
        let messages = messages.map(|(model, rate_mpps)| rate(model, rate_mpps, Counts::Messages));
        let rates = messages.into_iter().chain([rate("X710", 37.0, Counts::Frames)]).collect();
        StatedPackets { rates, most_mpps: 251.0, most_id: "F42".into() }
    }

    #[test]
    fn a_device_is_found_by_its_name() {
        let stated = stated();
        let model = |name| StatedPackets::of_name(&stated.rates, name).map(|nth| &*stated.rates[nth].model);
        for (name, found) in [
            ("connectx-5", Some("ConnectX-5")),
            ("ConnectX-6 Dx 2x100G", Some("ConnectX-6 Dx")),
            ("connectx-6-kernel", Some("ConnectX-6")),
            ("my cx6_dx", Some("ConnectX-6 Dx")),
            ("ConnectX-45", None),
            ("XL710", None),
            ("é X710", Some("X710")),
            ("", None),
        ] {
            assert_eq!(model(name), found, "{name}");
        }
    }

    #[test]
    fn a_rate_is_warned_of_above_every_published_one_or_above_a_bound() {
        let stated = stated();
        let warned = |name, bytes, mpps| stated.warning(name, bytes, mpps).unwrap_or_default();
        assert!(warned("connectx-5", 64, 362.0).contains("the most published of any NIC is 251 (F42), and"));
        assert!(warned("connectx-5", 64, 230.0).is_empty(), "messages bound no frames");
        assert!(warned("X710", 64, 50.0).ends_with("X710 is stated to process 37 million packets a second"));
        assert!(warned("X710", 512, 50.0).is_empty() && warned("mine", 64, 999.0).is_empty());
    }
}
