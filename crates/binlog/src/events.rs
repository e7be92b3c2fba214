//! The events of a file that is in memory, for readers of their contents.

use crate::event::{CHECKSUM_BYTES, EventHeader, HEADER_BYTES, MAGIC_BYTES};
use crate::walk::BinlogWalk;
use crate::{BinlogChecksum, walk};

/// Walks through a whole file, and returns what it found and the good events: the type of each, and
/// what is between its header and its checksum.
pub fn events(file: &[u8]) -> (BinlogWalk, impl Iterator<Item = (u8, &[u8])>) {
    let Ok(found) = walk(&mut &*file, file.len() as u64);
    let good =
        usize::try_from(found.good_end).ok().and_then(|end| file.get(MAGIC_BYTES as usize..end));
    let tail =
        if found.checksum == Some(BinlogChecksum::Crc32) { CHECKSUM_BYTES as usize } else { 0 };
    let mut rest = good.unwrap_or_default();
    let each = std::iter::from_fn(move || {
        let header = EventHeader::parse(rest)?;
        let (event, behind) = rest.split_at_checked(header.bytes as usize)?;
        rest = behind;
        Some((
            header.kind,
            event.get(HEADER_BYTES as usize..event.len().saturating_sub(tail)).unwrap_or_default(),
        ))
    });
    (found, each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WalkStop;
    use crate::testing::BinlogMaker;

    #[test]
    fn contents_are_without_header_and_checksum() {
        for algorithm in [0, 1] {
            let mut file = BinlogMaker::new("10.11.6-MariaDB", Some(algorithm))
                .event(2, b"one")
                .event(16, b"")
                .bytes;
            let whole = file.len();
            file.extend([0; 100]);
            let (found, each) = events(&file);
            assert_eq!((found.good_end, found.stop), (whole as u64, WalkStop::Zeros));
            let all: Vec<_> = each.skip(1).collect();
            assert_eq!(all, [(2, &b"one"[..]), (16, &b""[..])]);
            assert_eq!(
                events(&file[..whole - 1]).1.skip(1).collect::<Vec<_>>(),
                [(2, &b"one"[..])]
            );
        }
        assert_eq!(events(b"").1.count(), 0);
        assert_eq!(events(b"\xfdbin no lengths").1.count(), 0);
    }
}
