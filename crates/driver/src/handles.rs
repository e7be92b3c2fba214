//! Numbers for things that are opened individually. A number is used again when its thing is
//! closed.

use slab::Slab;

/// The value stored under each number. The number that became free last is given out next.
#[derive(Debug)]
pub struct Handles<T>(Slab<T>);

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self(Slab::new())
    }
}

impl<T> Handles<T> {
    /// The number that [`Handles::insert`] will give out.
    pub fn next(&self) -> u32 {
        self.0.vacant_key() as u32
    }

    pub fn insert(&mut self, value: T) -> u32 {
        self.0.insert(value) as u32
    }

    pub fn get(&self, handle: u32) -> Option<&T> {
        self.0.get(handle as usize)
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.0.get_mut(handle as usize)
    }

    pub fn remove(&mut self, handle: u32) -> Option<T> {
        self.0.try_remove(handle as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut handles = Handles::default();
        assert_eq!([handles.insert('a'), handles.insert('b'), handles.insert('c')], [0, 1, 2]);
        assert_eq!(
            (handles.remove(0), handles.remove(2), handles.remove(2), handles.remove(9)),
            (Some('a'), Some('c'), None, None)
        );
        assert_eq!((handles.get(0), handles.get(1), handles.get(3)), (None, Some(&'b'), None));
        for expect in [2, 0, 3, 4] {
            assert_eq!(handles.next(), expect);
            assert_eq!(handles.insert('d'), expect);
        }
    }
}
