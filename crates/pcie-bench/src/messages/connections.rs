//! Results of the connections of a mux.

use super::scalars::{about, mean};
use pcie_statistics::percentile;
use pcie_store::Scalar;

/// Results of a connection whose messages go by stores or by descriptors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionResult {
    /// Its name.
    pub name: String,
    /// Payload of all its messages.
    pub payload_bytes: u64,
    /// From the core's start of each message until the device has all of it, ns.
    pub latencies_ns: Vec<f64>,
    /// Messages that went by stores.
    pub by_stores: u64,
    /// Messages that arrived before an earlier one.
    pub overtook: u64,
}

impl ConnectionResult {
    /// Its numbers, under `connection NAME`.
    pub(super) fn scalars(&self, elapsed_ns: f64) -> Vec<Scalar> {
        let subject = format!("connection {}", self.name);
        let of = |metric: &str, unit: &str, value: f64| about(&subject, metric, unit, value);
        let count = self.latencies_ns.len() as f64;
        let mut scalars = vec![
            of("bandwidth", "Gb/s", self.payload_bytes as f64 * 8.0 / elapsed_ns),
            of("rate", "1/s", count * 1e9 / elapsed_ns),
            of("samples", "1", count),
            of("by_stores", "1", self.by_stores as f64),
            of("overtook", "1", self.overtook as f64),
        ];
        let mut sorted = self.latencies_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let ranks = [("median", 0.5), ("p99", 0.99), ("maximum", 1.0)];
        let ranked = ranks.map(|(metric, share)| Some(of(metric, "ns", percentile(&sorted, share)?)));
        let average = (!sorted.is_empty()).then(|| of("average", "ns", mean(&sorted)));
        scalars.extend(std::iter::once(average).chain(ranked).flatten());
        scalars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_scalars_carry_its_name() {
        let connection = ConnectionResult {
            name: "requests".into(),
            payload_bytes: 256,
            latencies_ns: vec![40.0, 10.0, 20.0, 30.0],
            by_stores: 3,
            overtook: 1,
        };
        let scalars = connection.scalars(1000.0);
        assert!(scalars.iter().all(|scalar| scalar.subject == "connection requests"));
        let found: Vec<_> = scalars.iter().map(|scalar| (scalar.metric.as_str(), scalar.value)).collect();
        let expected = [
            ("bandwidth", 2.048),
            ("rate", 4e6),
            ("samples", 4.0),
            ("by_stores", 3.0),
            ("overtook", 1.0),
            ("average", 25.0),
            ("median", 20.0),
            ("p99", 40.0),
            ("maximum", 40.0),
        ];
        assert_eq!(found, expected);
    }
}
