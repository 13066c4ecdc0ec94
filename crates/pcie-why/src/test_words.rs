//! The parameters of a test in words.

use pcie_refusal::numbers::byte_size;
use pcie_refusal::{Kind, Refusal};
use pcie_workload::Test;
use serde::Deserialize;
use serde_json::Value;

/// The parameters of a test as a store of any version has them.
#[derive(Deserialize)]
struct Worded {
    operation: String,
    size_bytes: u64,
    host_offset_bytes: u64,
    device_offset_bytes: u64,
    pattern: String,
    window_bytes: u64,
    cache: String,
    path: String,
    outstanding: Option<u64>,
}

/// The parameters of a test of transfers.
#[must_use]
pub fn test_in_words(test: &Test) -> String {
    let parameters = serde_json::to_value(test).unwrap_or_default();
    parameters_in_words(parameters, false).unwrap_or_default()
}

/// The parameters of a store's test of transfers; `flushed`: cold caches were flushed line by line.
///
/// # Errors
/// One of them is missing or no such value.
pub fn parameters_in_words(parameters: Value, flushed: bool) -> Result<String, Refusal> {
    let test: Worded = serde_json::from_value(parameters)
        .map_err(|error| Refusal::new(error).kind(Kind::Malformed).about("a test's parameters"))?;
    let operation = match test.operation.as_str() {
        "lat-rd" => "read latency",
        "lat-wrrd" => "write-then-read latency",
        "lat-chase" => "latency of dependent reads (pointer chase)",
        "bw-rd" => "read bandwidth",
        "bw-wr" => "write bandwidth",
        "bw-rdwr" => "bandwidth of alternating reads and writes, per direction",
        other => other,
    };
    let cache = match test.cache.as_str() {
        "cold" if flushed => "window flushed from the host's caches before",
        "cold" => "host thrashed its caches before",
        "device-thrash" => "device thrashed the host's caches before",
        "device-warm" => "device wrote the window before",
        "host-warm" => "host wrote the window before",
        other => other,
    };
    let mut parts = vec![operation.to_owned(), format!("{} B transfers", test.size_bytes)];
    let offsets = [
        (test.host_offset_bytes, "a cache line of the host"),
        (test.device_offset_bytes, "a word of the device"),
    ];
    let past = offsets.iter().filter(|(bytes, _)| *bytes > 0);
    parts.extend(past.map(|(bytes, start)| format!("{bytes} B past {start}")));
    parts.push(format!("{} in a window of {}", test.pattern, byte_size(test.window_bytes)));
    parts.push(cache.to_owned());
    parts.push(format!("path {}", test.path));
    parts.extend(test.outstanding.map(|most| format!("at most {most} in flight")));
    Ok(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_workload::Operation;
    use serde_json::json;

    #[test]
    fn a_test_is_described_with_what_differs_from_the_usual() {
        let test = Test {
            operation: Operation::BwRd,
            size_bytes: 64,
            window_bytes: 8192,
            host_offset_bytes: 4,
            outstanding: Some(2),
            ..Test::default()
        };
        let words =
            "read bandwidth, 64 B transfers, 4 B past a cache line of the host, random in a window of 8 KiB";
        let cold = "host thrashed its caches before, path dma, at most 2 in flight";
        assert_eq!(test_in_words(&test), format!("{words}, {cold}"));
        let mut parameters = serde_json::to_value(&test).unwrap();
        let flushed = parameters_in_words(parameters.clone(), true).unwrap();
        assert!(flushed.contains("window flushed from the host's caches before"));
        parameters["operation"] = json!("bw-new");
        assert!(parameters_in_words(parameters, false).unwrap().starts_with("bw-new, 64 B transfers"));
        assert!(parameters_in_words(json!({"operation": 1}), false).is_err());
    }
}
