//! Take what somebody noticed, in words or as a measured value, and order findings by it.

use std::cmp::Reverse;
use std::sync::LazyLock;

use pcie_refusal::{Kind, Refusal, shown};
use regex::Regex;

use crate::finding::{Finding, Loss, Operation, Symptom};

const WORDS: [(Symptom, &str); 6] = [
    (
        Symptom::Errors,
        r"errors?|aer|rxerr|badtlp|replay|correct(?:able|ed)|uncorrect\w+|malformed|ecrc|poison\w*",
    ),
    (
        Symptom::LostRate,
        r"slow\w*|bandwidth|throughput|rate|speed|half|low|drops?|rx|tx|receive|send|gb/s|gbit\w*",
    ),
    (Symptom::Latency, r"latency|late|jitter|tail|stutter\w*|lag\w*|wake\w*|ns|us"),
    (Symptom::PeerToPeer, r"p2p|peer\w*|nccl|gpudirect|all-?reduce|rdma|atomics?|rocm|kfd"),
    (
        Symptom::Hang,
        r"hangs?|hung|freez\w+|frozen|crash\w*|stuck|stops?|reset\w*|time-?outs?|panic|lost|black screen",
    ),
    (
        Symptom::Missing,
        r"missing|not (?:there|found|detected|seen|enumerated|recogni\w+)|gone|disappear\w*|bar|no space",
    ),
];
const KNOWN: &str = "errors, slow, latency, p2p, hang, missing, or a measured value such as 3.2 GB/s";
const NEAR: f64 = 0.15;
const BITS_OF_A_BYTE: f64 = 8.0;

#[expect(clippy::expect_used, reason = "constants that tests compile")]
static PATTERNS: LazyLock<Vec<(Symptom, Regex)>> = LazyLock::new(|| {
    WORDS
        .map(|(symptom, words)| {
            (symptom, Regex::new(&format!(r"(?i)\b(?:{words})\b")).expect("a pattern of words"))
        })
        .into()
});
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)([0-9]+(?:\.[0-9]+)?) ?([GMT]i?B/s|[GMT]b(?:it)?/s|[GMT]bps)").expect("a pattern")
});
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static READS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:tx|send\w*|read\w*|h2d)\b").expect("a pattern"));
#[expect(clippy::expect_used, reason = "a constant that tests compile")]
static WRITES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:rx|receive\w*|write\w*|d2h)\b").expect("a pattern"));

/// What somebody noticed.
#[derive(Debug, PartialEq)]
pub(crate) struct Complaint {
    /// The symptoms that the words name.
    symptoms: Vec<Symptom>,
    /// A measured rate, Gb/s.
    gbps: Option<f64>,
    /// The direction that the words name: a device that receives writes to memory, and one that sends reads.
    operation: Option<Operation>,
}

impl Complaint {
    /// The symptom of a text: `RX slow`, `hang`, `3.2 GB/s`.
    pub(crate) fn of(text: &str) -> Result<Self, Refusal> {
        let gbps = VALUE.captures(text).and_then(|found| {
            let (_, [number, unit]) = found.extract();
            gbps(number, unit)
        });
        let mut symptoms: Vec<Symptom> = PATTERNS
            .iter()
            .filter(|(_, pattern)| pattern.is_match(text))
            .map(|(symptom, _)| *symptom)
            .collect();
        if gbps.is_some() && !symptoms.contains(&Symptom::LostRate) {
            symptoms.push(Symptom::LostRate);
        }
        if symptoms.is_empty() {
            let name = shown::named(text);
            let wording = format!("--symptom {name}: names no symptom: give {KNOWN}");
            return Err(Refusal::worded(wording).kind(Kind::WrongValue));
        }
        let operation = if READS.is_match(text) {
            Some(Operation::Read)
        } else {
            WRITES.is_match(text).then_some(Operation::Write)
        };
        Ok(Self { symptoms, gbps, operation })
    }

    /// Puts the findings first that explain what was noticed; others keep their order.
    pub(crate) fn order(&self, findings: &mut [Finding]) {
        findings.sort_by_key(|finding| Reverse(self.fit(finding)));
    }

    /// How well a finding explains it: the rate it predicts, the symptom, its direction.
    fn fit(&self, finding: &Finding) -> u8 {
        let fits = finding.explains.iter().any(|symptom| self.symptoms.contains(symptom));
        let is_near = |loss: &Loss| {
            self.gbps.is_some_and(|gbps| (loss.now_gbps - gbps).abs() <= NEAR * gbps)
                && loss.lost_gbps() > 0.0
        };
        let near = finding.losses.iter().any(is_near);
        let direction = fits && finding.losses.iter().any(|loss| Some(loss.operation) == self.operation);
        4 * u8::from(near) + 2 * u8::from(fits) + u8::from(direction)
    }
}

fn gbps(number: &str, unit: &str) -> Option<f64> {
    let factor = match unit.chars().next()?.to_ascii_lowercase() {
        'm' => 1e-3,
        't' => 1e3,
        _ => 1.0,
    };
    let bits = if unit.contains('B') { BITS_OF_A_BYTE } else { 1.0 };
    Some(number.parse::<f64>().ok()? * (factor * bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_values_are_symptoms() {
        let rx = Complaint::of("RX slow").unwrap();
        assert_eq!((rx.symptoms, rx.operation), (vec![Symptom::LostRate], Some(Operation::Write)));
        let value = Complaint::of("only 3.2 GB/s when sending").unwrap();
        assert_eq!((value.gbps, value.operation), (Some(25.6), Some(Operation::Read)));
        assert_eq!(Complaint::of("800 Mbit/s").unwrap().gbps, Some(0.8));
        assert_eq!(Complaint::of("the GPU disappeared").unwrap().symptoms, [Symptom::Missing]);
    }

    #[test]
    fn other_words_are_refused_by_name() {
        let refusal = Complaint::of("purple").unwrap_err().to_string();
        assert!(refusal.starts_with("--symptom purple: names no symptom: give errors, slow"), "{refusal}");
    }
}
