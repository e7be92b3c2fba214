//! Reads a file of any size through a buffer of a fixed size.

/// The bytes of a file, from the caller.
pub trait ReadAt {
    type Error;
    /// Reads from `offset` on, at least one byte where the file has one; 0 is its end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;
}

impl ReadAt for &[u8] {
    type Error = std::convert::Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let rest =
            usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

const WINDOW_BYTES: usize = 256 << 10;

/// The part of a file that is in memory.
pub(crate) struct FileWindow<'a, R> {
    reader: &'a mut R,
    /// Where the file ends: no byte behind it is read.
    pub(crate) length: u64,
    buffer: Vec<u8>,
    /// Where the buffer's first byte is in the file, and how many of its bytes are valid.
    start: u64,
    filled: usize,
}

impl<'a, R: ReadAt> FileWindow<'a, R> {
    pub(crate) fn new(reader: &'a mut R, length: u64) -> Self {
        Self {
            reader,
            length,
            buffer: vec![0; length.min(WINDOW_BYTES as u64) as usize],
            start: 0,
            filled: 0,
        }
    }

    /// The bytes from `offset` on: as many as the buffer has, at most `count`, and none only at the
    /// end of the file.
    pub(crate) fn some(&mut self, offset: u64, count: u64) -> Result<&[u8], R::Error> {
        let count = count.min(self.length.saturating_sub(offset)).min(WINDOW_BYTES as u64) as usize;
        if self.known(offset).is_none_or(|(_, bytes)| bytes.min(count) < count.min(MOVE_BELOW)) {
            self.load(offset)?;
        }
        let (at, bytes) = self.known(offset).unwrap_or((0, 0));
        Ok(self.buffer.get(at..at.saturating_add(bytes.min(count))).unwrap_or_default())
    }

    /// Where `offset` is in the buffer, and how many bytes are there from it on.
    fn known(&self, offset: u64) -> Option<(usize, usize)> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        Some((at, self.filled.checked_sub(at).filter(|bytes| *bytes > 0)?))
    }

    fn load(&mut self, offset: u64) -> Result<(), R::Error> {
        (self.start, self.filled) = (offset, 0);
        let wanted = self.length.saturating_sub(offset).min(WINDOW_BYTES as u64) as usize;
        while self.filled < wanted {
            let at = self.start.saturating_add(self.filled as u64);
            let Some(space) = self.buffer.get_mut(self.filled..wanted) else { break };
            match self.reader.read_at(at, space)? {
                0 => break,
                count => self.filled = self.filled.saturating_add(count).min(wanted),
            }
        }
        Ok(())
    }

    /// Whether all bytes in this range are zeros.
    pub(crate) fn is_zero(&mut self, mut from: u64, to: u64) -> Result<bool, R::Error> {
        while from < to {
            let bytes = self.some(from, to.saturating_sub(from))?;
            if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
                return Ok(bytes.is_empty());
            }
            from = from.saturating_add(bytes.len() as u64);
        }
        Ok(true)
    }

    /// The end of the last byte of the range that is not zero; `from` if there is none.
    pub(crate) fn end_of_content(&mut self, from: u64) -> Result<u64, R::Error> {
        let mut to = self.length;
        while from < to {
            let start = to.saturating_sub(WINDOW_BYTES as u64).max(from);
            self.load(start)?;
            let bytes = self.some(start, to.saturating_sub(start))?;
            if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
                return Ok(start.saturating_add(last as u64).saturating_add(1));
            }
            to = start;
        }
        Ok(from)
    }
}

/// A header never needs more of the buffer than this: with less behind an offset, the window moves
/// there.
const MOVE_BELOW: usize = 4096;
