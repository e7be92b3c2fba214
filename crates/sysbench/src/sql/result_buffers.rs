//! The buffers for results of one thread, for reuse. Of thousands of statements in flight, only the
//! replies being read have one with memory.

use truetps_driver::{Link, ResultSets};

/// Number of buffers that are kept, and the size in bytes of the largest.
const POOL_MAX: usize = 64;
const POOL_BYTES_MAX: usize = 1 << 20;

#[derive(Default)]
pub(super) struct ResultBuffers {
    #[expect(clippy::vec_box, reason = "the boxes go to sessions and come back")]
    pool: Vec<Box<ResultSets>>,
    /// Buffers without memory.
    #[expect(clippy::vec_box, reason = "the boxes go to sessions and come back")]
    tokens: Vec<Box<ResultSets>>,
}

impl ResultBuffers {
    /// A buffer without memory, for a statement that is sent: see [`Self::lend`].
    #[expect(clippy::unnecessary_box_returns, reason = "sessions take boxes")]
    pub(super) fn token(&mut self) -> Box<ResultSets> {
        self.tokens.pop().unwrap_or_default()
    }

    /// Lends a buffer with memory to a statement whose reply begins to arrive, and takes back its
    /// token.
    pub(super) fn lend(&mut self, link: &mut Link) {
        let buffer = self.pool.pop().unwrap_or_default();
        self.tokens.extend(link.collect(buffer));
    }

    /// Keeps a buffer that is no longer needed, unless there are enough, or it is too large.
    pub(super) fn keep(&mut self, sets: Option<Box<ResultSets>>) {
        if let Some(sets) = sets
            && self.pool.len() < POOL_MAX
            && sets.capacity() <= POOL_BYTES_MAX
        {
            self.pool.push(sets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_number_of_buffers_is_kept() {
        let mut buffers = ResultBuffers::default();
        buffers.keep(None);
        (0..POOL_MAX + 9).for_each(|_| buffers.keep(Some(Box::default())));
        assert_eq!((buffers.pool.len(), buffers.tokens.len()), (POOL_MAX, 0));
        assert_eq!(buffers.token().capacity(), 0);
    }
}
