//! A table of slots for objects in flight.

/// A table whose slots are reused.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            return slot;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }

    pub(crate) fn free(&mut self, slot: u32) {
        debug_assert!((slot as usize) < self.values.len(), "slot {slot} was never used");
        debug_assert!(!self.free.contains(&slot), "slot {slot} is already free");
        self.free.push(slot);
    }
}
