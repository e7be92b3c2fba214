//! CRC-32/IEEE, which both servers use, eight bytes at a time: the trimmer reads whole files before
//! a server may start.

const POLYNOMIAL: u32 = 0xEDB8_8320;
const TABLES: [[u32; 256]; 8] = tables();

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "computed by the compiler"
)]
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// A checksum that grows with the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Crc32(u32);

impl Crc32 {
    pub const fn new() -> Self {
        Self(!0)
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a byte is smaller than the 256 entries of a table"
    )]
    pub fn update(&mut self, bytes: &[u8]) {
        let mut sum = self.0;
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let mut mixed = *eight;
            mixed.iter_mut().zip(sum.to_le_bytes()).for_each(|(byte, of_sum)| *byte ^= of_sum);
            let entries =
                TABLES.iter().rev().zip(mixed).map(|(table, byte)| table[usize::from(byte)]);
            sum = entries.fold(0, |sum, entry| sum ^ entry);
        }
        for byte in rest {
            let [low, ..] = sum.to_le_bytes();
            sum = (sum >> 8) ^ TABLES[0][usize::from(low ^ byte)];
        }
        self.0 = sum;
    }

    pub const fn value(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> u32 {
        let mut sum = Crc32::new();
        for part in parts {
            sum.update(part);
        }
        sum.value()
    }

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(of(&[b"123456789"]), 0xCBF4_3926);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn pieces_of_any_length_add_up() {
        let bytes: Vec<u8> = (0..200_u8).map(|n| n.wrapping_mul(37)).collect();
        let bit_by_bit = |bytes: &[u8]| {
            !bytes.iter().fold(!0_u32, |sum, byte| {
                (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (POLYNOMIAL * (sum & 1)))
            })
        };
        for cut in 0..bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(of(&[a, b]), bit_by_bit(&bytes), "{cut}");
        }
    }
}
