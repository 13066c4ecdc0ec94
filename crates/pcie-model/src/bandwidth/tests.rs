//! Bandwidths against published and hand-computed values, and which bound each limit makes bind.

use pcie_wire::{LinkConfiguration, LinkParameters};

use super::*;
use crate::{Bound, Limits};

pub(crate) fn model(generation: u32, lanes: u32, accounting: Accounting, limits: Limits) -> Model {
    let link = LinkConfiguration::try_from(LinkParameters {
        generation,
        lanes,
        mps_bytes: 256,
        mrrs_bytes: 512,
        rcb_bytes: 64,
        address_bits: 64,
        ecrc: false,
        completion_ecrc: None,
        flit_mode: None,
        ide_tlps: None,
    })
    .unwrap();
    Model::new(link, accounting, limits).unwrap()
}

pub(crate) fn printed(gbps: f64) -> String {
    format!("{gbps:.2}")
}

#[test]
fn sigcomm18_reproduces_the_published_bandwidths() {
    let model = model(3, 8, Accounting::Sigcomm18, Limits::default());
    for (frame_bytes, write, read) in
        [(64, "41.35", "43.41"), (512, "52.89", "53.66"), (1500, "52.80", "53.59")]
    {
        let found = model.bandwidth(frame_bytes - 4, 0).unwrap();
        assert_eq!((printed(found.write.gbps).as_str(), printed(found.read.gbps).as_str()), (write, read));
    }
}

#[test]
fn sigcomm18_cuts_completions_by_transfer_even_where_requests_are_smaller() {
    let mut model = model(3, 8, Accounting::Sigcomm18, Limits::default());
    let before = model.bandwidth(1024, 0).unwrap().read.gbps;
    model.link =
        LinkConfiguration::try_from(LinkParameters { mrrs_bytes: 128, ..model.link.into() }).unwrap();
    assert_eq!(model.bandwidth(1024, 0).unwrap().read.gbps, before);
}

#[test]
fn spec_charges_one_way_writes_no_acknowledgements_upstream() {
    let found = model(3, 8, Accounting::Spec, Limits::default()).bandwidth(256, 0).unwrap();
    assert_eq!(printed(found.write.gbps / 8.0), "7.18");
    assert_eq!(found.write.bound, Bound::WireUpstream);
    let downstream = &found.write.ceilings[1];
    assert_eq!(downstream.bound, Bound::WireDownstream);
    assert!(downstream.slack > 50.0, "{downstream:?}");
    // A read pays for the Acks of its own requests: 24 B of request for 552 B of completions.
    assert_eq!(printed(found.read.gbps / 8.0), "7.28");
}

#[test]
fn link_use_of_transfers_adds_up() {
    let found = model(3, 8, Accounting::Spec, Limits::default()).bandwidth(1024, 0).unwrap();
    // Two requests of 24 B; four completions of 20 B and 256 B each. Four writes of 24 B and 256 B each.
    assert_eq!((found.read_use.upstream_tlps, found.read_use.downstream_tlps), (2.0, 4.0));
    assert_eq!((found.rdwr_use.upstream_tlps, found.rdwr_use.downstream_tlps), (6.0, 4.0));
    assert_eq!(printed(found.read_use.efficiency * 1e4), printed(1024.0 / (48.0 + 1104.0) * 1e4));
    assert_eq!(printed(found.write_use.upstream_gbps / found.write.gbps), printed(1120.0 / 1024.0));
    assert_eq!(printed(found.read_use.upstream_gbps / found.read.gbps), printed(48.0 / 1024.0));
    // Writes alone fill their direction: no TLP comes back that they would have to acknowledge.
    assert!((found.write_use.upstream_gbps / found.tlp_gbps - 1.0).abs() < 1e-9);
}

#[test]
fn small_completions_cost_headers() {
    for accounting in [Accounting::Spec, Accounting::Sigcomm18] {
        let model = model(3, 8, accounting, Limits::default());
        let read = |completion_bytes| {
            let transfer = Transfer { size_bytes: 1024, offset_bytes: 0, completion_bytes };
            model.bandwidth_of(transfer).unwrap()
        };
        assert_eq!(read(None), read(Some(256)));
        assert_eq!(read(Some(64)).read_use.downstream_tlps, 16.0);
        assert_eq!(printed(read(Some(64)).read_use.downstream_gbps / read(Some(64)).read.gbps), "1.31");
        assert!(read(Some(128)).read.gbps > read(Some(64)).read.gbps);
        let transfer = Transfer { size_bytes: 1024, offset_bytes: 0, completion_bytes: Some(512) };
        assert!(model.bandwidth_of(transfer).unwrap_err().to_string().starts_with("completion_bytes is 512"));
    }
}

#[test]
fn sigcomm18_accepts_rcbs_that_no_link_has() {
    let asked = |accounting: &str, rcb_bytes: u32| {
        let text = format!(
            r#"{{"link":{{"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512,"rcb_bytes":{rcb_bytes}}},"accounting":"{accounting}"}}"#
        );
        Model::try_from(serde_json::from_str::<crate::ModelParameters>(&text).unwrap())
    };
    let before = asked("sigcomm18", 64).unwrap().bandwidth(1024, 0);
    for rcb_bytes in [256, 512] {
        assert_eq!(asked("sigcomm18", rcb_bytes).unwrap().bandwidth(1024, 0), before);
        assert!(asked("spec", rcb_bytes).unwrap_err().to_string().contains("give 64 or 128"));
    }
    assert!(asked("sigcomm18", 96).is_err());
}

#[test]
fn reads_and_writes_at_once_share_the_upstream_link() {
    let found = model(3, 8, Accounting::Sigcomm18, Limits::default()).bandwidth(1496, 0).unwrap();
    // Figure 1: 57.88 * 1496 / (3 * 24 + 6 * 24 + 1496).
    assert_eq!(printed(found.rdwr.gbps), "50.58");
    assert_eq!(found.rdwr.bound, Bound::WireUpstream);
}

#[test]
fn every_limit_binds_when_it_is_tight() {
    let rtt = Limits { round_trip_ns: Some(1_000.0), credit_return_ns: Some(1_000.0), ..Limits::default() };
    for (limits, read, write) in [
        (Limits { tags: Some(4), ..rtt }, Bound::Tags, Bound::WireUpstream),
        (Limits { dmas_in_flight: Some(4), ..rtt }, Bound::Latency, Bound::Latency),
        (Limits { posted_header_credits: Some(4), ..rtt }, Bound::WireDownstream, Bound::PostedCredits),
        (Limits { posted_data_credits: Some(16), ..rtt }, Bound::WireDownstream, Bound::PostedCredits),
        (Limits { non_posted_header_credits: Some(4), ..rtt }, Bound::NonPostedCredits, Bound::WireUpstream),
        (Limits { device_mdmas_per_s: Some(4.0), ..rtt }, Bound::DeviceRate, Bound::DeviceRate),
        (Limits { dmas_in_flight: Some(8), dma_ns: Some(2_000.0), ..rtt }, Bound::Latency, Bound::Latency),
        (Limits { device_port_ns: Some(250.0), ..rtt }, Bound::DevicePort, Bound::DevicePort),
        (Limits { root_port_ns: Some(250.0), ..rtt }, Bound::RootPort, Bound::RootPort),
        (Limits { request_interval_ns: Some(250.0), ..rtt }, Bound::RequestRate, Bound::WireUpstream),
        (
            Limits { write_interval_ns: Some(150.0), write_line_ns: Some(100.0), ..rtt },
            Bound::WireDownstream,
            Bound::WriteRate,
        ),
        (Limits { completion_buffer_headers: Some(4), ..rtt }, Bound::CompletionBuffer, Bound::WireUpstream),
        (
            Limits { completion_buffer_bytes: Some(4 * 64), ..rtt },
            Bound::CompletionBuffer,
            Bound::WireUpstream,
        ),
        (
            Limits { receive_buffers: Some(2), receive_ns: Some(500.0), ..rtt },
            Bound::ReceiveBuffers,
            Bound::WireUpstream,
        ),
        (
            Limits { walks_per_dma: Some(0.5), walk_interval_ns: Some(500.0), ..rtt },
            Bound::PageWalks,
            Bound::PageWalks,
        ),
        (
            Limits { misses_per_dma: Some(0.5), miss_interval_ns: Some(500.0), ..rtt },
            Bound::Translation,
            Bound::Translation,
        ),
        (
            Limits { write_pool_lines: Some(2), write_hold_ns: Some(500.0), ..rtt },
            Bound::WireDownstream,
            Bound::WritePool,
        ),
        (
            Limits { read_pool_lines: Some(2), read_hold_ns: Some(500.0), ..rtt },
            Bound::ReadPool,
            Bound::WireUpstream,
        ),
        (Limits { memory_line_ns: Some(250.0), ..rtt }, Bound::WireDownstream, Bound::Memory),
    ] {
        let found = model(3, 8, Accounting::Spec, limits).bandwidth(64, 0).unwrap();
        assert_eq!((found.read.bound, found.write.bound), (read, write), "{limits:?}");
        for answer in [found.read, found.write] {
            if !matches!(answer.bound, Bound::WireUpstream | Bound::WireDownstream) {
                // Each of these limits allows 4 transfers of 64 B in 1 us.
                assert!((answer.gbps - 4.0 * 64.0 * 8.0 / 1_000.0).abs() < 1e-9, "{answer:?}");
            }
        }
    }
}

#[test]
fn tags_that_fill_the_link_in_a_microsecond() {
    let limits = Limits { round_trip_ns: Some(1_000.0), ..Limits::default() };
    let tags = |generation, lanes, size_bytes| {
        model(generation, lanes, Accounting::Spec, limits).bandwidth(size_bytes, 0).unwrap().tags_to_fill
    };
    assert_eq!([64, 256, 512].map(|size_bytes| tags(5, 16, size_bytes)), [Some(747), Some(228), Some(114)]);
    assert_eq!([64, 512].map(|size_bytes| tags(3, 8, size_bytes)), [Some(94), Some(15)]);
}

#[test]
fn refuses_questions_out_of_range_by_key() {
    let spec = model(3, 8, Accounting::Spec, Limits::default());
    assert!(spec.bandwidth(0, 0).unwrap_err().to_string().starts_with("size_bytes is 0"));
    assert!(spec.bandwidth(1, 4096).unwrap_err().to_string().starts_with("offset_bytes is 4096"));
    let sigcomm18 = model(3, 8, Accounting::Sigcomm18, Limits::default());
    assert!(sigcomm18.bandwidth(64, 1).unwrap_err().to_string().contains("use the accounting spec"));
    let tags_alone = Limits { tags: Some(32), ..Limits::default() };
    let message = Model::new(spec.link, Accounting::Spec, tags_alone).unwrap_err().to_string();
    assert!(message.starts_with("tags: needs round_trip_ns"), "{message}");
    let zero_tags = Limits { tags: Some(0), round_trip_ns: Some(1.0), ..Limits::default() };
    assert!(
        Model::new(spec.link, Accounting::Spec, zero_tags).unwrap_err().to_string().starts_with("tags is 0")
    );
}

#[test]
fn unaligned_read_is_bounded_by_the_better_cut() {
    let spec = model(3, 8, Accounting::Spec, Limits::default());
    let found = spec.bandwidth(2048, 25).unwrap();
    // Cut at multiples of 512: completions of 231 (232 with its first double word), 7 x 256 and 25 (28) bytes.
    let downstream_bytes = 9.0 * 20.0 + 232.0 + 7.0 * 256.0 + 28.0;
    let returned = 5.0 * 24.0 * 16.0 / (203.0 * 8.0);
    let expected = found.tlp_gbps * 2048.0 / (downstream_bytes + returned);
    assert!((found.read.gbps - expected).abs() < 1e-9, "{} for {expected}", found.read.gbps);
}

#[test]
fn flits_are_full_where_the_link_binds_and_nops_take_the_rest() {
    let link = LinkConfiguration::try_from(LinkParameters::new(6, 16, 256, 512)).unwrap();
    let of = |limits| Model::new(link, Accounting::Spec, limits).unwrap().bandwidth(64, 0).unwrap();
    let found = of(Limits::default());
    let (fill, nops) =
        (found.read_use.upstream_flit_fill.unwrap(), found.read_use.upstream_nop_gbps.unwrap());
    // A request of 16 B for each completion of 76 B, which fill all flits downstream.
    assert!((fill - 16.0 / 76.0).abs() < 1e-9 && (nops - 60.0 / 76.0 * found.tlp_gbps).abs() < 1e-6);
    assert_eq!(
        (found.read_use.downstream_flit_fill, found.read_use.downstream_nop_gbps),
        (Some(1.0), Some(0.0))
    );
    let few_tags = of(Limits { tags: Some(1), round_trip_ns: Some(100.0), ..Limits::default() });
    assert!(few_tags.read_use.downstream_flit_fill.unwrap() < 0.01);
    let without = LinkConfiguration::try_from(LinkParameters::new(5, 16, 256, 512)).unwrap();
    let without = Model::new(without, Accounting::Spec, Limits::default()).unwrap().bandwidth(64, 0).unwrap();
    assert_eq!((without.read_use.upstream_flit_fill, without.read_use.upstream_nop_gbps), (None, None));
}

#[test]
fn ide_costs_its_bytes_where_the_link_binds() {
    // A write of 256 B: 280 B without flits and 272 B in them, and 4 B of prefix and a share of a MAC of 12 B more.
    for (generation, plain_bytes) in [(5, 280.0), (6, 272.0)] {
        for (tlps, ide_bytes) in [(1, 16.0), (4, 7.0), (8, 5.5)] {
            let given =
                LinkParameters { ide_tlps: Some(tlps), ..LinkParameters::new(generation, 16, 256, 512) };
            let link = LinkConfiguration::try_from(given).unwrap();
            let found =
                |limits| Model::new(link, Accounting::Spec, limits).unwrap().bandwidth(256, 0).unwrap();
            let filled = found(Limits::default());
            let expected = ide_bytes / (plain_bytes + ide_bytes);
            assert!((filled.write_use.ide_share.unwrap() - expected).abs() < 1e-12, "{generation} {tlps}");
            assert!((filled.write.gbps / filled.tlp_gbps - 256.0 / (plain_bytes + ide_bytes)).abs() < 1e-12);
            let few_tags = found(Limits { tags: Some(1), round_trip_ns: Some(1e3), ..Limits::default() });
            assert_eq!(few_tags.read_use.ide_share, Some(0.0));
        }
    }
    let given = LinkParameters { ide_tlps: Some(1), ..LinkParameters::new(3, 8, 256, 512) };
    let link = LinkConfiguration::try_from(given).unwrap();
    let refused = Model::new(link, Accounting::Sigcomm18, Limits::default()).unwrap_err().to_string();
    assert!(refused.starts_with("ide_tlps: the accounting sigcomm18 does not know it"), "{refused}");
    let without = model(3, 8, Accounting::Spec, Limits::default()).bandwidth(256, 0).unwrap();
    assert_eq!(without.write_use.ide_share, None);
}
