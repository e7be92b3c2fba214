//! A container by number that reuses numbers.

/// Items by handle. The handle of a removed item may be reused.
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// The handle of the next item.
    pub(crate) fn next_handle(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.places.len() as u32)
    }

    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        let handle = self.next_handle();
        if self.free.pop().is_some() {
            self.places[handle as usize] = Some(thing);
        } else {
            self.places.push(Some(thing));
        }
        handle
    }

    pub(crate) fn get(&self, handle: u32) -> Option<&T> {
        self.places.get(handle as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.places.get_mut(handle as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, handle: u32) -> Option<T> {
        let thing = self.places.get_mut(handle as usize)?.take()?;
        self.free.push(handle);
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_used_again() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert("a"), slab.insert("b"));
        assert_eq!(slab.remove(a), Some("a"));
        assert_eq!((slab.remove(a), slab.get(a)), (None, None));
        assert_eq!(slab.next_handle(), a);
        assert_eq!(slab.insert("c"), a);
        assert_eq!((slab.get(a), slab.get(b)), (Some(&"c"), Some(&"b")));
    }
}
