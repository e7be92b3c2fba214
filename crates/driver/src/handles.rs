//! Numbers for statements that are prepared individually. A number is used again when its statement is closed.

/// The value stored under each number.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    slots: Vec<HandleSlot<T>>,
    /// The number that is given out next; one after the last if none was returned.
    free: u32,
}

#[derive(Debug)]
enum HandleSlot<T> {
    Used(T),
    /// `next` is the number that is free after this one.
    Free {
        next: u32,
    },
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: 0 }
    }
}

impl<T> Handles<T> {
    /// The number that [`Handles::insert`] will give out.
    pub(crate) fn next(&self) -> u32 {
        self.free
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let handle = self.free;
        if let Some(slot) = self.slots.get_mut(handle as usize) {
            if let HandleSlot::Free { next } = *slot {
                self.free = next;
            }
            *slot = HandleSlot::Used(value);
        } else {
            self.slots.push(HandleSlot::Used(value));
            self.free += 1;
        }
        handle
    }

    pub(crate) fn get(&self, handle: u32) -> Option<&T> {
        match self.slots.get(handle as usize)? {
            HandleSlot::Used(value) => Some(value),
            HandleSlot::Free { .. } => None,
        }
    }

    pub(crate) fn remove(&mut self, handle: u32) -> Option<T> {
        self.get(handle)?;
        let slot = std::mem::replace(&mut self.slots[handle as usize], HandleSlot::Free { next: self.free });
        self.free = handle;
        match slot {
            HandleSlot::Used(value) => Some(value),
            HandleSlot::Free { .. } => None,
        }
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
