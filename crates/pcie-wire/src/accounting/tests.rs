//! Rates against published ones and bounds computed by hand.

use super::*;
use crate::LinkParameters;

fn link(generation: u32, lanes: u32, mps_bytes: u32) -> LinkConfiguration {
    LinkConfiguration::try_from(LinkParameters::new(generation, lanes, mps_bytes, 512)).unwrap()
}

/// Rate of TLPs in one direction if both are full, Gb/s, as the published bounds have it: less the share of the raw
/// rate that the DLLPs for the other direction take.
fn both_full_gbps(link: &LinkConfiguration, intervals: DllpIntervals) -> f64 {
    let accounting = Accounting::Spec;
    accounting.tlp_gbps(link) - link.raw_gbps() * accounting.dllp_bytes_per_received_byte(link, intervals)
}

fn gigabytes(gbps: f64, kind: TlpKind, link: &LinkConfiguration, length: u32) -> f64 {
    let piece = Piece { address: 0, length };
    let bytes = Accounting::Spec.tlp_bytes(link, kind, piece);
    (gbps / 8.0 * f64::from(length) / bytes * 100.0).round() / 100.0
}

#[test]
fn spec_bounds_with_both_directions_full() {
    for (generation, lanes, mps_bytes, completion, write) in [
        (3, 8, 256, 7.22, Some(7.11)),
        (4, 16, 256, 28.97, Some(28.56)),
        (5, 16, 256, 57.95, Some(57.12)),
        (5, 16, 128, 53.98, None),
        (5, 16, 512, 60.16, None),
    ] {
        let link = link(generation, lanes, mps_bytes);
        let gbps = both_full_gbps(&link, DllpIntervals::limits(&link));
        let of = |kind| gigabytes(gbps, kind, &link, mps_bytes);
        assert_eq!(of(TlpKind::CompletionWithData), completion);
        assert!(write.is_none_or(|write| of(TlpKind::MemoryWrite) == write), "{generation}");
    }
}

#[test]
fn spec_bounds_of_one_direction_alone() {
    let link = link(3, 8, 256);
    let gbps = Accounting::Spec.tlp_gbps(&link);
    assert_eq!(gigabytes(gbps, TlpKind::CompletionWithData, &link, 256), 7.29);
    assert_eq!(gigabytes(gbps, TlpKind::MemoryWrite, &link, 256), 7.18);
}

#[test]
fn spec_bounds_in_flit_mode() {
    for (generation, factor) in [(6, 1.0), (7, 2.0)] {
        let link = link(generation, 16, 256);
        let gbps = Accounting::Spec.tlp_gbps(&link);
        for (kind, length, expected) in [
            (TlpKind::CompletionWithData, 256, 112.7),
            (TlpKind::MemoryWrite, 256, 111.1),
            (TlpKind::MemoryWrite, 64, 94.4),
            (TlpKind::CompletionWithData, 64, 99.4),
        ] {
            let found = gigabytes(gbps, kind, &link, length) / factor;
            assert!((found - expected).abs() <= 0.05, "{found} for {expected}");
        }
    }
}

#[test]
fn flit_mode_charges_partial_double_words_in_requests_only() {
    let link = link(6, 16, 256);
    let aligned = Piece { address: 4, length: 8 };
    let unaligned = Piece { address: 5, length: 7 };
    let bytes = |kind, piece| Accounting::Spec.tlp_bytes(&link, kind, piece);
    assert_eq!(bytes(TlpKind::MemoryRead, unaligned), bytes(TlpKind::MemoryRead, aligned) + 4.0);
    assert_eq!(bytes(TlpKind::MemoryWrite, unaligned), bytes(TlpKind::MemoryWrite, aligned) + 4.0);
    assert_eq!(bytes(TlpKind::CompletionWithData, unaligned), bytes(TlpKind::CompletionWithData, aligned));
}

#[test]
fn sigcomm18_gives_the_published_rate_with_the_two_typing_errors() {
    let rounded = |link: &LinkConfiguration| (Accounting::Sigcomm18.tlp_gbps(link) * 100.0).round() / 100.0;
    assert_eq!(rounded(&link(3, 8, 256)), 57.88);
    // 64 Gb/s * (1 - 8/148 - 8/248 - 4/1538), and 128 Gb/s * (1 - 8/237 - 8/327 - 4/1538).
    assert_eq!(rounded(&link(1, 32, 2048)), 58.31);
    assert_eq!(rounded(&link(2, 32, 4096)), 120.21);
    // 64 GT/s * 16 * 242/256 * (1 - 16/168 - 4/1538).
    assert_eq!(rounded(&link(6, 16, 256)), 873.29);
}

#[test]
fn more_frequent_acks_lower_the_rate() {
    let link = link(3, 8, 256);
    let limits = DllpIntervals::limits(&link);
    let eager = DllpIntervals { ack_symbols: limits.ack_symbols / 2, ..limits };
    let rate = |intervals| both_full_gbps(&link, intervals);
    assert!(rate(eager) < rate(limits));
}
