//! Packing keeps order, gaps and boundaries for any TLPs of one direction.

use pcie_wire::{FLIT_BYTES, FLIT_DOUBLE_WORDS, FlitEntry, FlitSpan, FlitStream};
use proptest::prelude::*;

/// Bytes sent between one TLP's readiness and the next one's, and double words of each.
fn any_tlps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((prop_oneof![Just(0), 0u64..2_000], 3u64..1_030), 1..40)
}

fn any_entry() -> impl Strategy<Value = FlitEntry> {
    prop_oneof![Just(FlitEntry::Running), Just(FlitEntry::Next)]
}

/// Each TLP with the bytes sent when it is ready, and its double words.
fn packed(entry: FlitEntry, tlps: &[(u64, u64)]) -> Vec<(u64, FlitSpan)> {
    let mut stream = FlitStream::new(entry);
    let mut sent_bytes = 0;
    let mut add = |(later, double_words): &(u64, u64)| {
        sent_bytes += later;
        (sent_bytes, stream.add(sent_bytes, *double_words))
    };
    tlps.iter().map(&mut add).collect()
}

/// Bytes of flits sent before a double word.
fn sent_before(double_word: u64) -> u64 {
    double_word / FLIT_DOUBLE_WORDS * FLIT_BYTES + 4 * (double_word % FLIT_DOUBLE_WORDS)
}

proptest! {
    #[test]
    fn parts_are_the_tlp_without_gap_and_in_one_flit_each(entry in any_entry(), tlps in any_tlps()) {
        for ((_, span), (_, double_words)) in packed(entry, &tlps).into_iter().zip(&tlps) {
            let mut next = span.first;
            for part in span.parts() {
                prop_assert_eq!(part.flit * FLIT_DOUBLE_WORDS + part.first, next);
                prop_assert!(part.double_words > 0 && part.first + part.double_words <= FLIT_DOUBLE_WORDS);
                next += part.double_words;
            }
            prop_assert_eq!((next, span.end - span.first), (span.end, *double_words));
            prop_assert_eq!(span.parts().last().map(|part| part.flit + 1), Some(span.flits_until_whole()));
        }
    }

    #[test]
    fn no_tlp_starts_before_it_is_ready_nor_leaves_more_nops_than_its_entry_asks(
        entry in any_entry(), tlps in any_tlps(),
    ) {
        let mut free = 0;
        for (sent_bytes, span) in packed(entry, &tlps) {
            prop_assert!(span.first >= free && sent_before(span.first) >= sent_bytes);
            // NOPs only before a double word that is the entry's first one, and the one before came too soon.
            if span.first > free {
                let (step, waits) = match entry {
                    FlitEntry::Running => (1, 4),
                    FlitEntry::Next => (FLIT_DOUBLE_WORDS, FLIT_BYTES),
                };
                prop_assert_eq!(span.first % step, 0);
                // Behind a flit's last double word come 20 bytes without TLPs.
                prop_assert!(sent_before(span.first) < sent_bytes + waits.max(24));
            }
            free = span.end;
        }
    }

    #[test]
    fn joining_the_running_flit_is_never_later(tlps in any_tlps()) {
        let pairs = packed(FlitEntry::Running, &tlps).into_iter().zip(packed(FlitEntry::Next, &tlps));
        for ((_, running), (_, next)) in pairs {
            prop_assert!(running.end <= next.end);
        }
    }
}
