//! The queue of read requests in the root complex, ordered by the time of their data, and the choice among
//! those whose data are available. Each request is packed into one word.
//!
//! The choice, the number of requests that became available since the last one, and the position of a new
//! request are random, so branches on them would be mispredicted. The common case is branchless: a fixed
//! number of steps, which change nothing if there is nothing to do. Loops handle the rest.

use super::NEVER;
use crate::profile::CompletionOrder;
use pcie_time::{DrawSequence, Draws, Picoseconds};
use std::hint::select_unpredictable;

/// A request: in the upper 48 bits the time of its data since the queue's base, then its tag, and in the
/// lowest bit whether it is small. Single words are faster to sort than pairs.
///
/// 48 bits hold 281 s, longer than any request: at most as many as there are tags wait for each other in the
/// root complex, each for a few of the longest steps that a profile allows.
type Key = u64;

const REQUEST_BITS: u32 = 16;
const REQUEST: Key = (1 << REQUEST_BITS) - 1;
const LATEST: u64 = Key::MAX >> REQUEST_BITS;
/// Age of the base at which it is moved forward.
const BASE_AGE_MAX: Picoseconds = Picoseconds(LATEST / 4);
const NO_KEY: Key = Key::MAX;

/// Keys with which a new one is always compared.
const STEPS: usize = 3;
/// Keys behind the available ones that are always checked.
const LOOKS: usize = 2;

/// Requests that have not been chosen.
#[derive(Debug)]
pub(super) struct PackedReads {
    rule: CompletionOrder,
    draws: DrawSequence,
    /// Origin of the keys' times.
    base: Picoseconds,
    /// Keys in order, earliest data first. Those before `first` are of chosen requests: at least `STEPS`, all
    /// earlier than a new key. Those from `end` on are `NO_KEY`.
    keys: Vec<Key>,
    first: usize,
    end: usize,
    /// Requests before this index had data at the last check.
    looked: usize,
    /// Small ones among them.
    small_ones: u64,
    /// Whether the oldest has always been chosen, because none was small. Then nobody looks which have data.
    in_order: bool,
    /// Chosen requests to keep before they are removed.
    gone_most: usize,
    /// Requests that fit into a word of [`Order`], and bits of each.
    packed_most: u32,
    packed_bits: u32,
}

impl PackedReads {
    /// For at most `tags` requests.
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64, tags: usize) -> Self {
        let packed_bits = (2 * tags).next_power_of_two().trailing_zeros();
        let packed_most = u64::BITS / packed_bits;
        let gone_most = 4 * tags + 64;
        let mut keys = vec![NO_KEY; gone_most + 2 * tags + packed_most as usize + LOOKS];
        keys[..STEPS].fill(0);
        Self {
            rule,
            draws: DrawSequence::new(draws, drawn + 1),
            base: Picoseconds::ZERO,
            keys,
            first: STEPS,
            end: STEPS,
            looked: STEPS,
            small_ones: 0,
            in_order: rule != CompletionOrder::Random,
            gone_most,
            packed_most,
            packed_bits,
        }
    }

    #[inline]
    pub(super) fn earliest(&self) -> Picoseconds {
        if self.first == self.end {
            return NEVER;
        }
        self.base + Picoseconds(self.keys[self.first] >> REQUEST_BITS)
    }

    /// Inserts a request behind those of the same or an earlier time.
    #[inline(always)]
    pub(super) fn add(&mut self, time: Picoseconds, tag: u32, small: bool) {
        let request = u64::from(tag) << 1 | u64::from(small);
        self.in_order &= !small || self.rule == CompletionOrder::Fifo;
        let mut key = time.since(self.base).0 << REQUEST_BITS | request;
        let mut start = self.end - STEPS;
        self.end += 1;
        loop {
            let keys = &mut self.keys[start..=start + STEPS];
            for nth in (0..STEPS).rev() {
                let other = keys[nth];
                let later = other > key | REQUEST;
                keys[nth + 1] = select_unpredictable(later, other, key);
                key = select_unpredictable(later, key, other);
            }
            keys[0] = key;
            if start < STEPS || self.keys[start - 1] <= key | REQUEST {
                return;
            }
            start -= STEPS;
        }
    }

    /// Answers requests one after the other, from `at` until `limit`: each is chosen among those with data
    /// when the one before has been answered. `answer(time of the choice, tag, limit)` returns the time of
    /// the next choice and the new limit. Returns the time of the next choice.
    #[inline(always)]
    pub(super) fn answer_while(
        &mut self,
        mut at: Picoseconds,
        mut limit: Picoseconds,
        mut answer: impl FnMut(Picoseconds, u32, Picoseconds) -> (Picoseconds, Picoseconds),
    ) -> Picoseconds {
        let in_order = self.in_order;
        let mut order = if in_order { Order::NONE } else { Order::new(self) };
        let keys = &mut self.keys[..];
        let (mut first, mut looked, mut small_ones) = (self.first, self.looked, self.small_ones);
        while first < self.end {
            let now = at.max(self.base + Picoseconds(keys[first] >> REQUEST_BITS));
            if now >= limit {
                break;
            }
            let chosen = if in_order {
                keys[first] & REQUEST
            } else {
                let available = now.since(self.base).0.min(LATEST - 1) << REQUEST_BITS | REQUEST;
                for _ in 0..LOOKS {
                    let come = keys[looked] <= available;
                    small_ones += keys[looked] & u64::from(come);
                    looked += usize::from(come);
                }
                while keys[looked] <= available {
                    small_ones += keys[looked] & 1;
                    looked += 1;
                }
                let nth = match self.rule {
                    CompletionOrder::Fifo => 0,
                    CompletionOrder::RandomSmall if small_ones == 0 => 0,
                    CompletionOrder::Random | CompletionOrder::RandomSmall => {
                        self.draws.below((looked - first) as u64)
                    }
                };
                let chosen = order.take(keys, first, nth);
                small_ones -= chosen & 1;
                chosen
            };
            first += 1;
            (at, limit) = answer(now, (chosen >> 1) as u32, limit);
        }
        if !in_order {
            order.put_back(keys, first, self.end);
        }
        (self.first, self.looked, self.small_ones) = (first, looked.max(first), small_ones);
        let now = at.min(limit);
        if first > self.gone_most || now.since(self.base) > BASE_AGE_MAX {
            self.rebase(now);
        }
        at
    }

    /// Removes the keys of chosen requests and moves the base to `now`. Earlier times become `now`: those
    /// requests keep their order, and new ones are later.
    fn rebase(&mut self, now: Picoseconds) {
        let since = now.since(self.base).0;
        self.base += Picoseconds(since);
        let left = self.end - self.first;
        for nth in 0..left {
            let key = self.keys[self.first + nth];
            let time = (key >> REQUEST_BITS).saturating_sub(since);
            self.keys[STEPS + nth] = time << REQUEST_BITS | key & REQUEST;
        }
        self.keys[..STEPS].fill(0);
        self.keys[STEPS + left..self.end].fill(NO_KEY);
        self.looked = self.looked - self.first + STEPS;
        (self.first, self.end) = (STEPS, STEPS + left);
    }
}

/// The first requests in order, without times, in one word, the first in the lowest bits: shifts remove one.
#[derive(Clone, Copy, Debug)]
struct Order {
    word: u64,
    count: u32,
    bits: u32,
}

impl Order {
    /// Of no request.
    const NONE: Self = Self { word: 0, count: 0, bits: 0 };

    #[inline(always)]
    fn new(reads: &PackedReads) -> Self {
        let bits = reads.packed_bits;
        let count = reads.packed_most.min((reads.end - reads.first) as u32);
        let first = &reads.keys[reads.first..reads.first + count as usize];
        let word = first.iter().rev().fold(0, |word: u64, key| word.wrapping_shl(bits) | key & REQUEST);
        Self { word, count, bits }
    }

    /// Removes the n-th request, counted from index `first` of the keys.
    #[inline(always)]
    fn take(&mut self, keys: &mut [Key], first: usize, nth: u64) -> u64 {
        if nth >= u64::from(self.count) {
            return self.take_behind(keys, first, nth as usize);
        }
        let shift = nth as u32 * self.bits;
        let from = self.word >> shift;
        let below = (1u64 << shift) - 1;
        self.word = self.word & below | from >> self.bits << shift;
        // The next key follows the others. If there is none, these bits are never taken.
        let next = keys[first + self.count as usize] & ((1 << self.bits) - 1);
        self.word |= next << (self.bits * (self.count - 1));
        from & ((1 << self.bits) - 1)
    }

    /// Removes a request that is not in the word: shifts those between by one.
    #[cold]
    fn take_behind(&mut self, keys: &mut [Key], first: usize, nth: usize) -> u64 {
        let chosen = keys[first + nth] & REQUEST;
        for index in (first + self.count as usize..first + nth).rev() {
            keys[index + 1] = keys[index + 1] & !REQUEST | keys[index] & REQUEST;
        }
        chosen
    }

    /// Writes this order back to the keys from index `first` on.
    #[inline(always)]
    fn put_back(self, keys: &mut [Key], first: usize, end: usize) {
        let mut word = self.word;
        for key in &mut keys[first..end.min(first + self.count as usize)] {
            *key = *key & !REQUEST | word & ((1 << self.bits) - 1);
            word >>= self.bits;
        }
    }
}
