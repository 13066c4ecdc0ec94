//! A table whose places are used again: what is in flight, by number.

/// A table whose places are used again.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = value;
            return place;
        }
        self.places.push(value);
        (self.places.len() - 1) as u32
    }

    pub(crate) fn get(&self, place: u32) -> &T {
        &self.places[place as usize]
    }

    pub(crate) fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }

    /// What was put there is done with: its place is used again.
    pub(crate) fn take(&mut self, place: u32) {
        debug_assert!((place as usize) < self.places.len(), "place {place} was never given out");
        debug_assert!(!self.free.contains(&place), "place {place} is free already");
        self.free.push(place);
    }
}
