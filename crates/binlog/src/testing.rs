//! Binlog files for tests.

use crate::checksum::Crc32;

pub(crate) struct BinlogMaker {
    pub(crate) bytes: Vec<u8>,
    /// Where each event ends; the first one is the description.
    pub(crate) ends: Vec<usize>,
    has_sums: bool,
}

impl BinlogMaker {
    /// `algorithm`: the byte of the description; `None` for a server without it.
    pub(crate) fn new(server_version: &str, algorithm: Option<u8>) -> Self {
        let mut body = vec![4, 0];
        body.extend(server_version.as_bytes());
        body.resize(52, 0);
        body.extend([1, 2, 3, 4, 19]);
        body.extend([13; 40]);
        body.extend(algorithm);
        let mut maker =
            Self { bytes: b"\xfebin".to_vec(), ends: Vec::new(), has_sums: algorithm.is_some() };
        maker.add(15, &body);
        // The flag of a file in use is set after the checksum was computed.
        maker.bytes[4 + 17] |= 1;
        maker.has_sums = algorithm == Some(1);
        maker
    }

    pub(crate) fn event(mut self, kind: u8, body: &[u8]) -> Self {
        self.add(kind, body);
        self
    }

    pub(crate) fn add(&mut self, kind: u8, body: &[u8]) {
        let bytes = 19 + body.len() + if self.has_sums { 4 } else { 0 };
        let end = self.bytes.len() + bytes;
        let mut event = vec![5, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend((bytes as u32).to_le_bytes());
        event.extend((end as u32).to_le_bytes());
        event.extend([0, 0]);
        event.extend(body);
        if self.has_sums {
            let mut sum = Crc32::new();
            sum.update(&event);
            event.extend(sum.value().to_le_bytes());
        }
        self.bytes.extend(event);
        self.ends.push(end);
    }
}

/// Numbers from a seed: this crate has no dependencies.
pub(crate) struct SeededNumbers(pub(crate) u64);

impl SeededNumbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}
