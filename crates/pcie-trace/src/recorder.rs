//! What a simulator records into: a span of time, and a limit on what is kept.

use crate::segment::{Kind, Segment, Text, lane};
use pcie_time::Picoseconds;
use std::collections::BTreeMap;

/// Segments that a recorder keeps at most: about 100 MB in a store.
pub const SEGMENTS_MOST: usize = 1 << 20;

/// A TLP on a link.
#[derive(Clone, Copy, Debug)]
pub struct Tlp {
    /// The direction of the link.
    pub lane: &'static str,
    /// `MRd`, `MWr`, `CplD`, `Cpl` or `Msg`.
    pub name: &'static str,
    /// When its first byte leaves.
    pub start: Picoseconds,
    /// When its last byte has left.
    pub end: Picoseconds,
    /// The request, write or message that it belongs to.
    pub request: u64,
    /// Its tag, where it has one.
    pub tag: Option<u32>,
    /// Bus address of its first byte.
    pub address: u64,
    /// Bytes that it carries, or asks for.
    pub bytes: u32,
    /// Byte Count of a completion.
    pub byte_count: Option<u32>,
}

/// The first `span` of a test.
#[derive(Clone, Debug)]
pub struct Recorder {
    span: Picoseconds,
    /// Added to every time: the start of the transaction that is recorded.
    base: Picoseconds,
    segments: Vec<Segment>,
    /// By name, changes with their times.
    counters: BTreeMap<&'static str, Vec<(Picoseconds, i64)>>,
    changes: usize,
}

impl Recorder {
    /// Records what starts before `span`.
    #[must_use]
    pub fn new(span: Picoseconds) -> Self {
        Self { span, base: Picoseconds::ZERO, segments: Vec::new(), counters: BTreeMap::new(), changes: 0 }
    }

    /// Whether nothing from `now` on is kept.
    #[must_use]
    pub fn is_done(&self, now: Picoseconds) -> bool {
        self.base + now >= self.span || self.segments.len() + self.changes >= SEGMENTS_MOST
    }

    /// Counts all further times from `base` on.
    pub fn start_at(&mut self, base: Picoseconds) {
        self.base = base;
    }

    /// Records a TLP.
    pub fn tlp(&mut self, tlp: Tlp) {
        self.keep(Segment {
            kind: Kind::Tlp,
            lane: Text::Borrowed(tlp.lane),
            name: Text::Borrowed(tlp.name),
            start_ps: tlp.start.0,
            end_ps: tlp.end.0,
            request: Some(tlp.request),
            tag: tlp.tag,
            address: Some(tlp.address),
            bytes: Some(tlp.bytes.into()),
            value: tlp.byte_count.map(i64::from),
        });
    }

    /// Records a phase of a request. One without length is left out.
    pub fn phase(
        &mut self,
        lane: impl Into<Text>,
        name: impl Into<Text>,
        (start, end): (Picoseconds, Picoseconds),
        request: u64,
        tag: Option<u32>,
    ) {
        if end > start {
            self.keep(Segment {
                kind: Kind::Phase,
                lane: lane.into(),
                name: name.into(),
                start_ps: start.0,
                end_ps: end.0,
                request: Some(request),
                tag,
                address: None,
                bytes: None,
                value: None,
            });
        }
    }

    /// Sets a counter at the start of the test.
    pub fn begins(&mut self, counter: &'static str, value: i64) {
        self.counters.entry(counter).or_default().push((Picoseconds::ZERO, value));
    }

    /// Changes a counter, also at a time before its last change.
    pub fn change(&mut self, counter: &'static str, at: Picoseconds, by: i64) {
        let at = self.base + at;
        if by != 0 && at < self.span && self.changes + self.segments.len() < SEGMENTS_MOST {
            self.counters.entry(counter).or_default().push((at, by));
            self.changes += 1;
        }
    }

    fn keep(&mut self, segment: Segment) {
        debug_assert!(segment.start_ps <= segment.end_ps, "{segment:?} ends before it starts");
        let (start_ps, end_ps) = (segment.start_ps + self.base.0, segment.end_ps + self.base.0);
        if start_ps < self.span.0 && self.segments.len() + self.changes < SEGMENTS_MOST {
            self.segments.push(Segment { start_ps, end_ps, ..segment });
        }
    }

    /// The segments in the order of their starts, with every counter's values.
    #[must_use]
    pub fn into_segments(self) -> Vec<Segment> {
        let mut segments = self.segments;
        for (name, mut changes) in self.counters {
            changes.sort_by_key(|(at, _)| *at);
            let mut value = 0;
            for (nth, (at, by)) in changes.iter().enumerate() {
                value += by;
                // Only the last of several changes at one time.
                if changes.get(nth + 1).is_none_or(|(next, _)| next != at) {
                    segments.push(counter(name, at.0, value));
                }
            }
        }
        segments.sort_by_key(|segment| segment.start_ps);
        segments
    }

    /// Changes the times of what was recorded from `first` on with a function that keeps their order.
    pub fn map_times(&mut self, first: usize, mapped: impl Fn(Picoseconds) -> Picoseconds) {
        for segment in &mut self.segments[first..] {
            segment.start_ps = mapped(Picoseconds(segment.start_ps)).0;
            segment.end_ps = mapped(Picoseconds(segment.end_ps)).0;
        }
    }

    /// Changes the times of all counters with a function that keeps their order.
    pub fn map_counters(&mut self, mapped: impl Fn(Picoseconds) -> Picoseconds) {
        for (at, _) in self.counters.values_mut().flatten() {
            *at = mapped(*at);
        }
    }

    /// Segments so far.
    #[must_use]
    pub fn recorded(&self) -> usize {
        self.segments.len()
    }
}

fn counter(name: &'static str, at_ps: u64, value: i64) -> Segment {
    Segment {
        kind: Kind::Counter,
        lane: Text::Borrowed(lane::COUNTERS),
        name: Text::Borrowed(name),
        start_ps: at_ps,
        end_ps: at_ps,
        request: None,
        tag: None,
        address: None,
        bytes: None,
        value: Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_starts_in_the_span_is_kept_and_in_order() {
        let mut recorder = Recorder::new(Picoseconds(100));
        recorder.phase(lane::DEVICE, "late", (Picoseconds(50), Picoseconds(200)), 1, None);
        recorder.phase(lane::DEVICE, "early", (Picoseconds(10), Picoseconds(20)), 0, Some(3));
        recorder.phase(lane::DEVICE, "empty", (Picoseconds(10), Picoseconds(10)), 0, None);
        recorder.phase(lane::DEVICE, "beyond", (Picoseconds(100), Picoseconds(120)), 2, None);
        assert!(!recorder.is_done(Picoseconds(99)) && recorder.is_done(Picoseconds(100)));
        let names: Vec<_> = recorder.into_segments().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["early", "late"]);
    }

    #[test]
    fn counters_add_changes_in_the_order_of_time() {
        let mut recorder = Recorder::new(Picoseconds(100));
        recorder.begins("tags", 0);
        recorder.change("tags", Picoseconds(40), -1);
        recorder.change("tags", Picoseconds(10), 1);
        recorder.change("tags", Picoseconds(40), 2);
        let values: Vec<_> =
            recorder.into_segments().into_iter().map(|one| (one.start_ps, one.value)).collect();
        assert_eq!(values, [(0, Some(0)), (10, Some(1)), (40, Some(2))]);
    }

    #[test]
    fn times_count_from_the_start_of_a_transaction() {
        let mut recorder = Recorder::new(Picoseconds(1000));
        recorder.start_at(Picoseconds(500));
        recorder.phase(lane::CORE, "one", (Picoseconds(1), Picoseconds(2)), 0, None);
        recorder.map_times(0, |time| time + Picoseconds(10));
        let segment = recorder.into_segments().remove(0);
        assert_eq!((segment.start_ps, segment.end_ps), (511, 512));
        let text = serde_json::to_string(&segment).unwrap_or_default();
        assert_eq!(
            text,
            r#"{"kind":"phase","lane":"core","name":"one","start_ps":511,"end_ps":512,"request":0}"#
        );
    }
}
