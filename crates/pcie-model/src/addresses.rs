//! Bounds for buffers partly below 4 GiB: a TLP's header holds 32 or 64 bits of address, as its address needs.
//!
//! A transfer takes the mean time of both lengths, weighted by their shares of the buffer. `pcie-sim` does the same for
//! a whole system, transfer by transfer.

use pcie_refusal::Refusal;

use crate::{Answer, Bandwidth, Ceiling, Model, ModelParameters, NicThroughput};

const FOUR_GIB: u64 = 1 << 32;

/// The share of a buffer's first `bytes` that lies below 4 GiB; 0 if no address is known.
///
/// `addresses` are those of the buffer's contiguous pieces of `piece_bytes`, in order.
#[must_use]
pub fn low_share(addresses: &[u64], piece_bytes: u64, bytes: u64) -> f64 {
    // A store's buffer may have fewer bytes than pieces.
    let end = bytes.min((addresses.len() as u64).saturating_mul(piece_bytes));
    if end == 0 {
        return 0.0;
    }
    let starts = (0..end).step_by(usize::try_from(piece_bytes).unwrap_or(usize::MAX));
    let below = starts.zip(addresses).filter(|(_, address)| **address < FOUR_GIB);
    below.map(|(start, _)| piece_bytes.min(end - start)).sum::<u64>() as f64 / end as f64
}

/// Answers that are a mean of two lengths of addresses.
pub trait Mixed: Sized {
    /// The answer where a share of the transfers, `low`, has short addresses and the rest has long ones.
    #[must_use]
    fn mixed(low: f64, short: &Self, long: Self) -> Self;
}

/// Asks a model whose transfers have short addresses in a share of `low`, and long ones otherwise; without a share, all
/// have those of its link.
///
/// # Errors
/// As the models of both lengths, and as the question.
pub fn with_addresses<T: Mixed>(
    parameters: &ModelParameters,
    low: Option<f64>,
    ask: impl Fn(&Model) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let of = |address_bits| {
        let mut parameters = parameters.clone();
        parameters.link.address_bits = address_bits;
        ask(&parameters.try_into()?)
    };
    match low {
        None => of(parameters.link.address_bits),
        Some(low) if low <= 0.0 => of(64),
        Some(low) if low >= 1.0 => of(32),
        Some(low) => Ok(T::mixed(low, &of(32)?, of(64)?)),
    }
}

impl Mixed for Answer {
    fn mixed(low: f64, short: &Self, long: Self) -> Self {
        let times = long.ceilings.iter().filter_map(|one| {
            let of_short = short.ceilings.iter().find(|ceiling| ceiling.bound == one.bound)?;
            Some((one.bound, low / of_short.gbps + (1.0 - low) / one.gbps))
        });
        let mut times: Vec<_> = times.collect();
        times.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let Some(&(bound, slowest)) = times.first() else { return long };
        let ceilings = times
            .iter()
            .map(|&(bound, time)| Ceiling { bound, gbps: 1.0 / time, slack: slowest / time - 1.0 })
            .collect();
        let gbps = 1.0 / slowest;
        Self { gbps, millions_per_s: short.millions_per_s * gbps / short.gbps, bound, ceilings }
    }
}

/// The link's use, and what fills it, are those of long addresses.
impl Mixed for Bandwidth {
    fn mixed(low: f64, short: &Self, long: Self) -> Self {
        Self {
            read: Answer::mixed(low, &short.read, long.read),
            write: Answer::mixed(low, &short.write, long.write),
            rdwr: Answer::mixed(low, &short.rdwr, long.rdwr),
            ..long
        }
    }
}

impl Mixed for NicThroughput {
    fn mixed(low: f64, short: &Self, long: Self) -> Self {
        let one_way = |short: &Option<Answer>, long: Option<Answer>| {
            short.as_ref().zip(long).map(|(short, long)| Answer::mixed(low, short, long))
        };
        Self {
            bi: Answer::mixed(low, &short.bi, long.bi),
            tx: one_way(&short.tx, long.tx),
            rx: one_way(&short.rx, long.rx),
            ..long
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_wire::{Accounting, LinkParameters};

    const LOW: u64 = 1 << 30;
    const HIGH: u64 = 1 << 40;

    #[test]
    fn the_share_counts_bytes() {
        for (addresses, bytes, share) in [
            (&[][..], u64::MAX, 0.0),
            (&[LOW][..], u64::MAX, 1.0),
            (&[HIGH, LOW][..], u64::MAX, 0.5),
            (&[HIGH, LOW][..], 4096, 0.0),
            (&[HIGH, LOW][..], 4097, 1.0 / 4097.0),
            (&[HIGH, LOW][..], 1 << 30, 0.5),
            (&[LOW, HIGH][..], 6144, 2.0 / 3.0),
        ] {
            assert!((low_share(addresses, 4096, bytes) - share).abs() < 1e-15, "{addresses:?} {bytes}");
        }
        assert_eq!(low_share(&[LOW], 0, 100).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_mixture_takes_the_mean_time() {
        let parameters = ModelParameters {
            link: LinkParameters::new(3, 8, 256, 512),
            accounting: Accounting::Spec,
            limits: crate::Limits::default(),
        };
        for size in [8, 64, 300] {
            let at = |low| with_addresses(&parameters, low, |model| model.bandwidth(size, 0)).unwrap().write;
            let (short, long) = (at(Some(1.0)).gbps, at(Some(0.0)).gbps);
            assert!(short > long);
            assert_eq!(at(None), at(Some(0.0)), "the link's addresses are long");
            for low in [0.01, 0.3, 0.5, 0.99] {
                let mixed = at(Some(low));
                assert!((1.0 / mixed.gbps - (low / short + (1.0 - low) / long)).abs() < 1e-12);
                assert_eq!((mixed.ceilings[0].gbps, mixed.ceilings[0].slack), (mixed.gbps, 0.0));
                assert!(mixed.ceilings.iter().all(|ceiling| ceiling.gbps >= mixed.gbps));
            }
        }
    }
}
