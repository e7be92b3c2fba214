//! Events: their header, and what the first one of a file says about all others.

/// Begins each file; MySQL and MariaDB alike.
pub(crate) const MAGIC: [u8; 4] = *b"\xfebin";
/// Begins a file that MySQL encrypts: the lengths of its events cannot be read.
pub(crate) const MAGIC_ENCRYPTED: [u8; 4] = *b"\xfdbin";
pub(crate) const MAGIC_BYTES: u64 = 4;
pub(crate) const HEADER_BYTES: u64 = 19;
pub(crate) const CHECKSUM_BYTES: u64 = 4;
/// Says the version of the server, and how events are checked.
const FORMAT_DESCRIPTION: u8 = 15;
/// MariaDB: all events behind it are encrypted.
pub(crate) const START_ENCRYPTION: u8 = 164;
/// Bit of the first event's flags while a file is in use. It is cleared in place, so that no
/// checksum includes it.
pub(crate) const IN_USE: u8 = 1;
/// Where an event has its flags.
pub(crate) const FLAGS_AT: u64 = 17;
/// Format version, server version, time, length of headers.
const DESCRIPTION_BYTES: u64 = 2 + VERSION_BYTES as u64 + 4 + 1;
const VERSION_BYTES: usize = 50;
/// Algorithm, and checksum: in each description since MySQL 5.6.1 and MariaDB 5.3, also where
/// checksums are off.
const DESCRIPTION_END_BYTES: u64 = 1 + CHECKSUM_BYTES;
/// The largest description of any server has 200 bytes.
const DESCRIPTION_BYTES_MAX: u64 = 2048;
/// What [`head`] needs of a file at most.
pub const HEAD_BYTES: usize = 4096;

/// How the events of a file are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinlogChecksum {
    /// `binlog_checksum=NONE`, or a server without checksums.
    None,
    Crc32,
    /// An algorithm of a later server.
    Unknown(u8),
}

/// The common header of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventHeader {
    pub(crate) kind: u8,
    /// Length of the whole event, with header and checksum.
    pub(crate) bytes: u32,
    /// Modulo 2^32 in files of more than 4 GiB. 0: not known when it was written.
    pub(crate) end: u32,
}

impl EventHeader {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.get(..HEADER_BYTES as usize)?;
        Some(Self { kind: *bytes.get(4)?, bytes: u32_at(bytes, 9)?, end: u32_at(bytes, 13)? })
    }

    pub(crate) fn is_description(self) -> bool {
        self.kind == FORMAT_DESCRIPTION
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

/// The first event of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatDescription {
    pub(crate) server_version: String,
    pub(crate) checksum: BinlogChecksum,
}

impl FormatDescription {
    /// `event`: all of it, with its header.
    pub(crate) fn parse(event: &[u8]) -> Option<Self> {
        let version_at = HEADER_BYTES.checked_add(2)? as usize;
        let version = event.get(version_at..version_at.checked_add(VERSION_BYTES)?)?;
        let version = version.split(|byte| *byte == 0).next()?;
        let server_version = String::from_utf8_lossy(version).into_owned();
        let least =
            HEADER_BYTES.checked_add(DESCRIPTION_BYTES)?.checked_add(DESCRIPTION_END_BYTES)?;
        let has_algorithm = has_checksums(&server_version) && event.len() as u64 >= least;
        // The description has a checksum of its own also where checksums are off: five zeros were
        // never written.
        if has_algorithm && event.ends_with(&[0; DESCRIPTION_END_BYTES as usize]) {
            return None;
        }
        let algorithm_at = (event.len() as u64).checked_sub(DESCRIPTION_END_BYTES);
        let checksum =
            match algorithm_at.filter(|_| has_algorithm).and_then(|at| event.get(at as usize)) {
                None | Some(0) => BinlogChecksum::None,
                Some(1) => BinlogChecksum::Crc32,
                Some(other) => BinlogChecksum::Unknown(*other),
            };
        Some(Self { server_version, checksum })
    }

    pub(crate) fn is_length_possible(bytes: u64) -> bool {
        bytes >= HEADER_BYTES.saturating_add(DESCRIPTION_BYTES) && bytes <= DESCRIPTION_BYTES_MAX
    }
}

/// MySQL since 5.6.1. MariaDB since 5.3, of which only 10 and later are of interest.
fn has_checksums(server_version: &str) -> bool {
    let mut numbers = server_version.split('.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part.get(..end).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(0)
    });
    let version = [(); 3].map(|()| numbers.next().unwrap_or(0));
    version >= [5, 6, 1]
}

/// What the first two events of a file say. The second one shows whether MariaDB encrypts the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinlogHead {
    pub server_version: String,
    pub checksum: BinlogChecksum,
    pub is_encrypted: bool,
}

/// Reads the first `HEAD_BYTES` of a file, or all of a shorter one. `Ok(None)`: it ends before the
/// second event's header. `Err`: it is no binlog.
pub fn head(bytes: &[u8]) -> Result<Option<BinlogHead>, NotABinlog> {
    let Some((magic, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    if *magic == MAGIC_ENCRYPTED {
        let checksum = BinlogChecksum::None;
        return Ok(Some(BinlogHead {
            server_version: String::new(),
            checksum,
            is_encrypted: true,
        }));
    }
    if *magic != MAGIC {
        return Err(NotABinlog);
    }
    let Some(header) = EventHeader::parse(rest) else { return Ok(None) };
    if !header.is_description() || !FormatDescription::is_length_possible(header.bytes.into()) {
        return Err(NotABinlog);
    }
    let Some((first, behind)) = rest.split_at_checked(header.bytes as usize) else {
        return Ok(None);
    };
    let Some(second) = EventHeader::parse(behind) else { return Ok(None) };
    let FormatDescription { server_version, checksum } =
        FormatDescription::parse(first).ok_or(NotABinlog)?;
    Ok(Some(BinlogHead { server_version, checksum, is_encrypted: second.kind == START_ENCRYPTION }))
}

/// A file that does not begin as binlogs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotABinlog;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BinlogMaker;

    #[test]
    fn the_head_needs_two_events() {
        let file = BinlogMaker::new("10.11.6-MariaDB-log", Some(1)).event(163, &[1, 2, 3]).bytes;
        let known = head(&file).unwrap().unwrap();
        assert_eq!(
            (known.server_version.as_str(), known.checksum),
            ("10.11.6-MariaDB-log", BinlogChecksum::Crc32)
        );
        assert!(!known.is_encrypted);
        let needed =
            (0..file.len()).find(|length| head(&file[..*length]).unwrap().is_some()).unwrap();
        assert_eq!(needed, file.len() - 4 - 3, "the second header");
    }

    #[test]
    fn what_cannot_be_checked_is_seen() {
        let of = |version: &str, algorithm| {
            head(&BinlogMaker::new(version, algorithm).event(2, &[0; 9]).bytes).unwrap().unwrap()
        };
        assert_eq!(of("8.0.43", Some(0)).checksum, BinlogChecksum::None);
        assert_eq!(of("8.0.43", Some(7)).checksum, BinlogChecksum::Unknown(7));
        assert_eq!(of("5.5.62-log", None).checksum, BinlogChecksum::None);
        assert_eq!(of("5.6.0", None).checksum, BinlogChecksum::None);
        assert_eq!(of("5.6.1", Some(1)).checksum, BinlogChecksum::Crc32);
        let encrypted =
            BinlogMaker::new("11.8.3-MariaDB", Some(1)).event(START_ENCRYPTION, &[1; 17]).bytes;
        assert!(head(&encrypted).unwrap().unwrap().is_encrypted);
        assert!(head(b"\xfdbin").unwrap().unwrap().is_encrypted);
        assert_eq!(head(&[0; 100]), Err(NotABinlog));
        assert_eq!(head(b"\xfebin"), Ok(None));
    }
}
