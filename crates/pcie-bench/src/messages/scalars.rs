//! Numbers of a test of messages as the store keeps them.

use pcie_store::Scalar;

/// A number about something of a test; about all of it, if `subject` is empty.
pub(super) fn about(subject: &str, metric: &str, unit: &str, value: f64) -> Scalar {
    Scalar { subject: subject.into(), metric: metric.into(), unit: unit.into(), value }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
