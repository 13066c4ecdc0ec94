//! Remedies for unknown words: a key in the wrong unit (`walk_us`) gets its right name, others the closest known ones.

use crate::alike::{UNITS, alike, either, parts_first};

const LISTED_WORDS_MOST: usize = 30;
const ALIKE_MOST: usize = 3;
/// Keys that people mean by other words, which do not resemble them; the first that exists is meant.
const MEANT: [(&[&str], &[&str]); 12] = [
    (&["from", "src", "sender"], &["source", "upper"]),
    (&["to", "dst", "dest", "target", "receiver"], &["destination", "lower"]),
    (&["parent", "upstream", "above", "behind", "below", "under"], &["upper"]),
    (&["child", "downstream"], &["lower"]),
    (&["width", "lane"], &["lanes"]),
    (&["speed", "gen"], &["generation"]),
    (
        &["rate", "bandwidth", "demand", "gbytes_per_s", "asked_gbytes_per_s", "gbps", "gbits_per_s", "GB/s"],
        &["standalone_gbytes_per_s", "down_gbytes_per_s"],
    ),
    (&["host", "device", "switch", "gpu", "nic", "drive", "endpoint", "root-port"], &["node"]),
    (&["type", "role"], &["kind"]),
    (&["model", "preset", "profile"], &["device"]),
    (&["queue_depth", "depth", "inflight", "in_flight"], &["outstanding"]),
    (&["op", "operation"], &["primitive"]),
];

/// The known word closest to `word`; None if none is close.
#[must_use]
pub fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    in_right_unit(word, known).or_else(|| meant_or_alike(word, known).first().copied())
}

/// A remedy for an unknown word: the closest known ones, and all known ones if they are few.
#[must_use]
pub fn suggestion(word: &str, known: &[&str]) -> String {
    if let Some(key) = in_right_unit(word, known) {
        return format!("the key is {key}: its unit is part of its name");
    }
    let matches = meant_or_alike(word, known);
    let listed =
        (known.len() <= LISTED_WORDS_MOST).then(|| format!("known: {}", parts_first(word, known).join(", ")));
    match (matches.is_empty(), listed) {
        (false, Some(listed)) => format!("did you mean {}? ({listed})", either(&matches)),
        (false, None) => format!("did you mean {}?", either(&matches)),
        (true, Some(listed)) => listed,
        (true, None) => "see the reference for the known ones".to_owned(),
    }
}

fn meant_or_alike<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let meant = MEANT.iter().find(|(words, _)| words.contains(&word)).map_or(&[][..], |(_, keys)| keys);
    let found = meant.iter().find_map(|key| known.iter().copied().find(|one| one == key));
    found.map_or_else(|| alike(word, known, ALIKE_MOST), |key| vec![key])
}

/// The known key of the same quantity as `word`, in another unit or without one.
fn in_right_unit<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().copied().find(|key| {
        let quantity = quantity(key);
        *key != quantity && (quantity == word || quantity == self::quantity(word))
    })
}

fn quantity(key: &str) -> &str {
    match key.rsplit_once('_') {
        Some((stem, unit)) if !stem.is_empty() && UNITS.contains(&unit.to_lowercase().as_str()) => stem,
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_another_unit_is_named() {
        let known = ["walk_ns", "tlb_entries"];
        assert_eq!(suggestion("walk_us", &known), "the key is walk_ns: its unit is part of its name");
        assert_eq!(closest("walk", &known), Some("walk_ns"));
    }

    #[test]
    fn a_word_that_people_use_means_a_key_only_where_there_is_one() {
        assert_eq!(suggestion("width", &["lanes", "tags"]), "did you mean lanes? (known: lanes, tags)");
        assert_eq!(suggestion("width", &["tags"]), "known: tags");
        let many: Vec<String> = (0..40).map(|nth| format!("word{nth}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(suggestion("zzz", &many), "see the reference for the known ones");
    }
}
