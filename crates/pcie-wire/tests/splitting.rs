//! Splitting follows the specification's rules for any transfer on any link.

#![expect(clippy::unwrap_used, reason = "test code outside test functions")]

use pcie_wire::{CompletionPolicy, LinkConfiguration, LinkParameters, PAGE_BYTES, Piece, SplitAt};
use proptest::prelude::*;

fn any_link() -> impl Strategy<Value = LinkConfiguration> {
    (7u32..=12, 7u32..=12, prop_oneof![Just(64), Just(128)]).prop_map(|(mps, mrrs, rcb_bytes)| {
        let parameters = LinkParameters { rcb_bytes, ..LinkParameters::new(4, 16, 1 << mps, 1 << mrrs) };
        LinkConfiguration::try_from(parameters).unwrap()
    })
}

fn any_split() -> impl Strategy<Value = SplitAt> {
    prop_oneof![Just(SplitAt::TransferSize), Just(SplitAt::AlignedAddress)]
}

fn any_policy() -> impl Strategy<Value = CompletionPolicy> {
    prop_oneof![
        Just(CompletionPolicy::AsLargeAsMps),
        Just(CompletionPolicy::AtMpsBoundaries),
        Just(CompletionPolicy::EveryRcb),
    ]
}

/// The pieces cover the transfer without gap or overlap.
fn assert_covers(pieces: &[Piece], address: u64, length: u64) {
    let mut next = address;
    for piece in pieces {
        assert_eq!(piece.address, next);
        assert!(piece.length > 0);
        next += u64::from(piece.length);
    }
    assert_eq!(next, address + length);
}

fn assert_request_rules(pieces: &[Piece], limit: u32) {
    for piece in pieces {
        assert!(piece.padded_bytes() <= limit, "{piece:?} is over {limit}");
        let last = piece.address + u64::from(piece.length) - 1;
        assert_eq!(piece.address / u64::from(PAGE_BYTES), last / u64::from(PAGE_BYTES), "{piece:?}");
    }
}

proptest! {
    #[test]
    fn requests_cover_the_transfer_within_their_limits(
        link in any_link(), split_at in any_split(), address in 0u64..1 << 48, length in 0u64..20_000,
    ) {
        let writes: Vec<_> = link.writes(address, length, split_at).collect();
        assert_covers(&writes, address, length);
        assert_request_rules(&writes, link.mps.bytes());
        let reads: Vec<_> = link.read_requests(address, length, split_at).collect();
        assert_covers(&reads, address, length);
        assert_request_rules(&reads, link.mrrs.bytes());
    }

    #[test]
    fn writes_in_parts_cross_no_boundary_and_are_the_fewest(
        link in any_link(), boundary in 7u32..=12, address in 0u64..1 << 48, length in 0u64..20_000,
    ) {
        let boundary = 1u32 << boundary;
        let writes: Vec<_> = link.writes_in_parts(address, length, boundary).collect();
        assert_covers(&writes, address, length);
        assert_request_rules(&writes, link.mps.bytes().min(boundary));
        for pair in writes.windows(2) {
            let end = pair[1].address;
            let full = pair[0].padded_bytes() == link.mps.bytes();
            prop_assert!(full || end.is_multiple_of(u64::from(boundary)), "{:?} ends too soon", pair[0]);
        }
    }

    #[test]
    fn aligned_splitting_starts_all_but_the_first_request_at_the_limit(
        link in any_link(), address in 0u64..1 << 48, length in 0u64..20_000,
    ) {
        for request in link.read_requests(address, length, SplitAt::AlignedAddress).skip(1) {
            prop_assert_eq!(request.address % u64::from(link.mrrs.bytes()), 0);
        }
    }

    #[test]
    fn splitting_by_size_never_needs_more_requests(
        link in any_link(), address in 0u64..1 << 48, length in 0u64..20_000,
    ) {
        let count = |split_at| link.writes(address, length, split_at).count();
        prop_assert!(count(SplitAt::TransferSize) <= count(SplitAt::AlignedAddress));
    }

    #[test]
    fn completions_cover_the_request_and_are_cut_at_rcb(
        link in any_link(), policy in any_policy(), address in 0u64..1 << 48, length in 1u64..20_000,
    ) {
        for request in link.read_requests(address, length, SplitAt::TransferSize) {
            let completions: Vec<_> = link.completions(request, policy).collect();
            assert_covers(&completions, request.address, u64::from(request.length));
            assert_request_rules(&completions, link.mps.bytes());
            for later in &completions[1..] {
                prop_assert_eq!(later.address % u64::from(link.rcb.bytes()), 0);
            }
        }
    }

    #[test]
    fn policies_are_ordered_by_number_of_completions(
        link in any_link(), address in 0u64..1 << 48, length in 1u64..4096,
    ) {
        for request in link.read_requests(address, length, SplitAt::TransferSize) {
            let count = |policy| link.completions(request, policy).count();
            prop_assert!(count(CompletionPolicy::AsLargeAsMps) <= count(CompletionPolicy::AtMpsBoundaries));
            prop_assert!(count(CompletionPolicy::AtMpsBoundaries) <= count(CompletionPolicy::EveryRcb));
        }
    }
}

fn completion_lengths(rcb_bytes: u32, address: u64, policy: CompletionPolicy) -> Vec<u32> {
    let parameters = LinkParameters { rcb_bytes, ..LinkParameters::new(3, 8, 256, 512) };
    let link = LinkConfiguration::try_from(parameters).unwrap();
    link.completions(Piece { address, length: 200 }, policy).map(|piece| piece.length).collect()
}

#[test]
fn two_hundred_bytes_split_as_in_the_specifications_example() {
    assert_eq!(completion_lengths(128, 0x60, CompletionPolicy::EveryRcb), [32, 128, 40]);
    assert_eq!(completion_lengths(128, 0x10, CompletionPolicy::EveryRcb), [112, 88]);
    assert_eq!(completion_lengths(128, 0x60, CompletionPolicy::AsLargeAsMps), [200]);
    assert_eq!(completion_lengths(64, 0xf0, CompletionPolicy::AtMpsBoundaries), [16, 184]);
}

#[test]
fn a_transfer_may_end_at_the_top_of_the_address_space() {
    let link = LinkConfiguration::try_from(LinkParameters::new(3, 8, 256, 512)).unwrap();
    let total: u32 = link.writes(u64::MAX - 299, 300, SplitAt::TransferSize).map(|piece| piece.length).sum();
    assert_eq!(total, 300);
}
