//! Statistics of what was measured or simulated: percentiles, histograms, and how far an average may be off. Arithmetic
//! only: when enough is known is for `pcie-bench` to say.

mod batch_means;
mod histogram;
mod percentile;

pub use batch_means::BatchMeans;
pub use histogram::Histogram;
pub use percentile::{nearest_rank, percentile};
