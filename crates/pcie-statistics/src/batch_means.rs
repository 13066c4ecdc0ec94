//! Confidence interval of a mean, from the means of batches.

/// Means of batches, and the confidence interval of their mean.
#[derive(Clone, Debug, Default)]
pub struct BatchMeans {
    means: Vec<f64>,
}

impl BatchMeans {
    /// Adds the mean of a batch.
    pub fn add(&mut self, mean: f64) {
        self.means.push(mean);
    }

    /// Number of batches.
    #[must_use]
    pub fn count(&self) -> usize {
        self.means.len()
    }

    /// Mean of the batches.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.means.iter().sum::<f64>() / self.means.len() as f64
    }

    /// Half the width of the 95 % confidence interval of the mean (Student); infinite below two batches.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        let count = self.means.len();
        if count < 2 {
            return f64::INFINITY;
        }
        let mean = self.mean();
        let variance =
            self.means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
        student_975(count - 1) * (variance / count as f64).sqrt()
    }
}

/// Student's 97.5 % quantile: tabulated to 9 degrees of freedom, then by Abramowitz and Stegun 26.7.5.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    if let Some(value) = TABLE.get(degrees.wrapping_sub(1)) {
        return *value;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_agree_with_tables() {
        for (degrees, expected) in [(1, 12.706), (10, 2.228), (20, 2.086), (60, 2.000)] {
            assert!((student_975(degrees) - expected).abs() < 2e-3, "{degrees}");
        }
    }
}
