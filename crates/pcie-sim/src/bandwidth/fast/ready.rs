//! Requests on their way through the root complex, in the order in which their data will be there, and the choice among
//! those whose data are.
//!
//! Which request is chosen, how many have come to be ready since the last choice, and where a new one belongs are chance, so
//! branches on them would be predicted wrongly. What is usual is done without: a few steps are always taken, and change
//! nothing where there is nothing to do. What is rare is left to loops.

use super::NEVER;
use crate::profile::CompletionOrder;
use pcie_time::{Draws, Picoseconds};
use std::hint::select_unpredictable;

/// A request that was not chosen yet: when its data are there, since the base of the list, and below that its tag, and
/// below that whether it is small. Numbers of one word are quicker to order than pairs.
///
/// 48 bits are 281 seconds, and no request takes longer: as many as there are tags wait for each other in the root complex,
/// a few times as long each as `machine/check.rs` lets a step take.
type Key = u64;

const REQUEST_BITS: u32 = 16;
const REQUEST: Key = (1 << REQUEST_BITS) - 1;
/// The latest time of a key.
const LATEST: u64 = Key::MAX >> REQUEST_BITS;
/// With its base so far back, the list counts from a later one.
const BASE_AGE_MAX: Picoseconds = Picoseconds(LATEST / 4);
const NO_KEY: Key = Key::MAX;

/// Keys by which a new one moves forward without a look at whether it has to.
const STEPS: usize = 3;
/// Keys that are looked at behind those that are known to be ready.
const LOOKS: usize = 2;

/// The requests that were not chosen yet.
#[derive(Debug)]
pub(super) struct Ready {
    rule: CompletionOrder,
    draws: Draws,
    drawn: u64,
    /// Times of the keys count from here.
    base: Picoseconds,
    /// Keys in order, earliest data first. Those before `first` are of requests that have gone; they are as many at least
    /// as a new one is compared with, and earlier than it. Those from `end` on are of a time that does not come.
    keys: Vec<Key>,
    first: usize,
    end: usize,
    /// The data of those before were there when last looked at.
    looked: usize,
    /// How many of them are small.
    small_ones: u64,
    /// From so many on, those that have gone are cleared away.
    gone_most: usize,
    /// How many requests fit into a word, and how many bits each then has.
    packed_most: u32,
    packed_bits: u32,
}

impl Ready {
    /// For at most as many requests as there are tags.
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64, tags: usize) -> Self {
        let packed_bits = (2 * tags).next_power_of_two().trailing_zeros();
        let packed_most = u64::BITS / packed_bits;
        let gone_most = 4 * tags + 64;
        let mut keys = vec![NO_KEY; gone_most + 2 * tags + packed_most as usize + LOOKS];
        keys[..STEPS].fill(0);
        Self {
            rule,
            draws,
            drawn,
            base: Picoseconds::ZERO,
            keys,
            first: STEPS,
            end: STEPS,
            looked: STEPS,
            small_ones: 0,
            gone_most,
            packed_most,
            packed_bits,
        }
    }

    /// When the first data are there that were not chosen.
    #[inline]
    pub(super) fn earliest(&self) -> Picoseconds {
        if self.first == self.end {
            return NEVER;
        }
        self.base + Picoseconds(self.keys[self.first] >> REQUEST_BITS)
    }

    /// Adds the request with a tag, `small` if it counts as such, behind those whose data are there no later.
    #[inline(always)]
    pub(super) fn add(&mut self, time: Picoseconds, tag: u32, small: bool) {
        let request = u64::from(tag) << 1 | u64::from(small);
        let mut key = time.since(self.base).0 << REQUEST_BITS | request;
        let mut place = self.end - STEPS;
        self.end += 1;
        loop {
            // Each is compared with the one before it, and the later of the two goes behind.
            let keys = &mut self.keys[place..=place + STEPS];
            for nth in (0..STEPS).rev() {
                let other = keys[nth];
                let later = other > key | REQUEST;
                keys[nth + 1] = select_unpredictable(later, other, key);
                key = select_unpredictable(later, key, other);
            }
            keys[0] = key;
            if place < STEPS || self.keys[place - 1] <= key | REQUEST {
                return;
            }
            place -= STEPS;
        }
    }

    /// Has requests answered, one after the other, the first of them no sooner than `at`: each is chosen among those whose
    /// data are there once the one before it was answered, and before `limit`. `answer` is given the time of the choice,
    /// the tag, and the limit; it returns when the next can be chosen, and the limit from then on. Returns when the next
    /// can be chosen.
    #[inline(always)]
    pub(super) fn answer_while(
        &mut self,
        mut at: Picoseconds,
        mut limit: Picoseconds,
        mut answer: impl FnMut(Picoseconds, u32, Picoseconds) -> (Picoseconds, Picoseconds),
    ) -> Picoseconds {
        let mut order = Order::new(self);
        let keys = &mut self.keys[..];
        let (mut first, mut looked, mut small_ones) = (self.first, self.looked, self.small_ones);
        while first < self.end {
            let now = at.max(self.base + Picoseconds(keys[first] >> REQUEST_BITS));
            if now >= limit {
                break;
            }
            let there = now.since(self.base).0.min(LATEST - 1) << REQUEST_BITS | REQUEST;
            for _ in 0..LOOKS {
                let come = keys[looked] <= there;
                small_ones += keys[looked] & u64::from(come);
                looked += usize::from(come);
            }
            while keys[looked] <= there {
                small_ones += keys[looked] & 1;
                looked += 1;
            }
            let nth = match self.rule {
                CompletionOrder::Fifo => 0,
                CompletionOrder::RandomSmall if small_ones == 0 => 0,
                CompletionOrder::Random | CompletionOrder::RandomSmall => {
                    self.drawn += 1;
                    self.draws.below(self.drawn, (looked - first) as u64)
                }
            };
            let chosen = order.take(keys, first, nth);
            small_ones -= chosen & 1;
            first += 1;
            (at, limit) = answer(now, (chosen >> 1) as u32, limit);
        }
        order.put_back(keys, first, self.end);
        (self.first, self.looked, self.small_ones) = (first, looked, small_ones);
        let now = at.min(limit);
        if first > self.gone_most || now.since(self.base) > BASE_AGE_MAX {
            self.clear_away(now);
        }
        at
    }

    /// Clears away the keys of requests that have gone, and lets times count from `now`. Data that were there before are there
    /// now, too: those requests stay in order, and new ones come later.
    fn clear_away(&mut self, now: Picoseconds) {
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

/// The order of the first requests, without their times, in one word, the first in its lowest bits: taking one out from
/// among the others is a matter of shifts.
#[derive(Clone, Copy, Debug)]
struct Order {
    word: u64,
    /// How many there are in the word.
    count: u32,
    bits: u32,
}

impl Order {
    #[inline(always)]
    fn new(ready: &Ready) -> Self {
        let bits = ready.packed_bits;
        let count = ready.packed_most.min((ready.end - ready.first) as u32);
        let first = &ready.keys[ready.first..ready.first + count as usize];
        let word = first.iter().rev().fold(0, |word: u64, key| word.wrapping_shl(bits) | key & REQUEST);
        Self { word, count, bits }
    }

    /// Takes out the n-th request that has not gone, of which the first is at place `first` of the keys.
    #[inline(always)]
    fn take(&mut self, keys: &mut [Key], first: usize, nth: u64) -> u64 {
        if nth >= u64::from(self.count) {
            return self.take_behind(keys, first, nth as usize);
        }
        let place = nth as u32 * self.bits;
        let from = self.word >> place;
        let below = (1u64 << place) - 1;
        self.word = self.word & below | from >> self.bits << place;
        // The next moves up behind the others. Where there is none, what moves up is never taken.
        let next = keys[first + self.count as usize] & ((1 << self.bits) - 1);
        self.word |= next << (self.bits * (self.count - 1));
        from & ((1 << self.bits) - 1)
    }

    /// The same, of one that is not in the word: those between move up by one.
    #[cold]
    fn take_behind(&mut self, keys: &mut [Key], first: usize, nth: usize) -> u64 {
        let chosen = keys[first + nth] & REQUEST;
        for place in (first + self.count as usize..first + nth).rev() {
            keys[place + 1] = keys[place + 1] & !REQUEST | keys[place] & REQUEST;
        }
        chosen
    }

    /// Brings the keys from place `first` on into this order.
    #[inline(always)]
    fn put_back(self, keys: &mut [Key], first: usize, end: usize) {
        let mut word = self.word;
        let places = first..end.min(first + self.count as usize);
        for key in &mut keys[places] {
            *key = *key & !REQUEST | word & ((1 << self.bits) - 1);
            word >>= self.bits;
        }
    }
}
