//! Percentiles, histograms and confidence intervals. `pcie-bench` decides when they suffice.

mod batch_means;
mod histogram;
mod percentile;

pub use batch_means::BatchMeans;
pub use histogram::Histogram;
pub use percentile::{nearest_rank, percentile};
