//! `verify`: each transaction saves one row, whose key and payload follow from the seed, the client
//! and the row's number. So a row in a table shows whether a client has sent it, and whether it is
//! unchanged.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_random::mix;
use truetps_record::fnv1a;

use crate::{ClientStream, NextStatement, RowMark, Table, Workload};

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowField {
    /// Number of the client, from 0.
    Client,
    /// Number of the row among the client's, from 0.
    Seq,
    /// Both as one text: `17-4`.
    Key,
    /// Both as a UUID, of version 8.
    Uuid,
    Payload,
}

/// Names of the fields in templates, in the order of [`RowField::ALL`].
pub const ROW_FIELDS: &[&str] = &["client", "seq", "key", "uuid", "payload"];

impl RowField {
    pub const ALL: [Self; 5] = [Self::Client, Self::Seq, Self::Key, Self::Uuid, Self::Payload];

    pub fn name(self) -> &'static str {
        ROW_FIELDS[self as usize]
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// The key and the payload of every row of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowIdentity {
    pub seed: u64,
    pub payload_bytes: u32,
}

/// Bits of a UUID that are the client's number and the row's: the last 80. Of the first 48, all but
/// version and variant are of the seed.
const SEQ_BITS: u32 = 40;
const KEY_BITS: u32 = 32 + SEQ_BITS;
/// Where version and variant are, and their values: RFC 9562.
const UUID_FIXED: u128 = (0xf << 76) | (0b11 << 62);
const UUID_VERSION: u128 = (0x8 << 76) | (0b10 << 62);

impl RowIdentity {
    /// Appends the payload: letters and digits, which need no escapes in JSON, URLs or SQL.
    pub fn put_payload(self, client: u32, seq: u64, out: &mut Vec<u8>) {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";
        const OF_ONE_NUMBER: usize = 12;
        let mut state = mix(self.seed ^ mix(u64::from(client) << SEQ_BITS ^ seq));
        let mut left = self.payload_bytes as usize;
        while left > 0 {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut number = mix(state);
            for _ in 0..left.min(OF_ONE_NUMBER) {
                out.push(LETTERS[(number & 31) as usize]);
                number >>= 5;
            }
            left = left.saturating_sub(OF_ONE_NUMBER);
        }
    }

    /// The digest of the payload; `buffer` is overwritten.
    pub fn digest(self, client: u32, seq: u64, buffer: &mut Vec<u8>) -> u64 {
        buffer.clear();
        self.put_payload(client, seq, buffer);
        fnv1a(buffer)
    }

    /// The 128 bits of a row's UUID: what is left beside version, variant, client and row is a mark
    /// of the seed.
    pub fn uuid(self, client: u32, seq: u64) -> u128 {
        let key = u128::from(client) << SEQ_BITS | u128::from(seq & ((1 << SEQ_BITS) - 1));
        spread_over_free_bits(self.uuid_mark() << KEY_BITS | key)
    }

    /// The row of a UUID; `None`: it is of another load.
    pub fn row_of_uuid(self, uuid: u128) -> Option<(u32, u64)> {
        let free = gather_free_bits(uuid)?;
        let (client, seq) = ((free >> SEQ_BITS) as u32, (free as u64) & ((1 << SEQ_BITS) - 1));
        (free >> KEY_BITS == self.uuid_mark()).then_some((client, seq))
    }

    /// 50 bits.
    fn uuid_mark(self) -> u128 {
        u128::from(mix(self.seed ^ 0x7575_6964) >> 14)
    }
}

/// Puts 122 bits into the places of a UUID that are neither version nor variant.
fn spread_over_free_bits(bits: u128) -> u128 {
    let low = bits & ((1 << 62) - 1);
    let middle = (bits >> 62) & ((1 << 12) - 1);
    let high = bits >> 74;
    high << 80 | middle << 64 | low | UUID_VERSION
}

fn gather_free_bits(uuid: u128) -> Option<u128> {
    let (high, middle, low) = (uuid >> 80, (uuid >> 64) & 0xfff, uuid & ((1 << 62) - 1));
    (uuid & UUID_FIXED == UUID_VERSION).then_some(high << 74 | middle << 62 | low)
}

/// Appends the usual form of a UUID.
fn put_uuid(uuid: u128, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for digit in 0..32 {
        if matches!(digit, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        out.push(DIGITS[(uuid >> (124 - 4 * digit)) as usize & 15]);
    }
}

/// The workload: every client saves its rows, one after the other.
#[derive(Debug, Clone)]
pub struct RowLoad {
    identity: RowIdentity,
    statements: Arc<[Statement]>,
    /// The values of a row, in the order in which a request or a statement has them; `None` is not
    /// used.
    fields: Arc<[Option<RowField>]>,
}

impl RowLoad {
    /// Rows for a service, with a value for each of [`ROW_FIELDS`], or nothing if its requests do
    /// not use the field.
    pub fn for_service(identity: RowIdentity, used: &[RowField]) -> Self {
        let fields = RowField::ALL.map(|field| used.contains(&field).then_some(field));
        Self { identity, statements: Arc::new([]), fields: fields.into() }
    }

    /// Rows that a statement saves, with a parameter for each of the fields.
    pub fn for_statement(identity: RowIdentity, insert: Statement, fields: &[RowField]) -> Self {
        Self {
            identity,
            statements: Arc::new([insert]),
            fields: fields.iter().copied().map(Some).collect(),
        }
    }
}

impl Workload for RowLoad {
    fn name(&self) -> &'static str {
        "verify"
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        Box::new(RowStream {
            client,
            next_seq: 0,
            digest: 0,
            identity: self.identity,
            fields: Arc::clone(&self.fields),
        })
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}

struct RowStream {
    client: u32,
    next_seq: u64,
    /// The mark of the current row.
    digest: u64,
    identity: RowIdentity,
    fields: Arc<[Option<RowField>]>,
}

impl RowStream {
    fn seq(&self) -> u64 {
        self.next_seq.saturating_sub(1)
    }
}

impl ClientStream for RowStream {
    fn next_transaction(&mut self) {
        self.next_seq += 1;
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let (client, seq, identity) = (self.client, self.seq(), self.identity);
        for field in &*self.fields {
            let Some(field) = field else {
                params.push_null();
                continue;
            };
            match field {
                RowField::Client => params.push_int(client.into()),
                RowField::Seq => params.push_int(seq as i64),
                RowField::Key => params
                    .push_text(|out| out.extend_from_slice(format!("{client}-{seq}").as_bytes())),
                RowField::Uuid => params.push_text(|out| put_uuid(identity.uuid(client, seq), out)),
                RowField::Payload => params.push_text(|out| {
                    let start = out.len();
                    identity.put_payload(client, seq, out);
                    self.digest = fnv1a(&out[start..]);
                }),
            }
        }
        NextStatement { statement: 0, is_last: true }
    }

    fn rewind(&mut self) {}

    fn row(&self) -> Option<RowMark> {
        Some(RowMark { seq: self.seq(), digest: self.digest })
    }
}

#[cfg(test)]
mod tests {
    use truetps_driver::Value;

    use super::*;

    const IDENTITY: RowIdentity = RowIdentity { seed: 7, payload_bytes: 100 };

    fn payload(identity: RowIdentity, client: u32, seq: u64) -> String {
        let mut out = Vec::new();
        identity.put_payload(client, seq, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn payloads_have_their_length_and_differ() {
        for bytes in [1, 12, 13, 100, 4000] {
            let identity = RowIdentity { payload_bytes: bytes, ..IDENTITY };
            assert_eq!(payload(identity, 1, 2).len(), bytes as usize);
        }
        let mut all: Vec<_> =
            (0..50).flat_map(|c| (0..50).map(move |s| payload(IDENTITY, c, s))).collect();
        all.push(payload(RowIdentity { seed: 8, ..IDENTITY }, 0, 0));
        let rows = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), rows);
        assert!(all.iter().all(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    }

    #[test]
    fn a_uuid_has_its_row_and_is_of_one_seed() {
        for (client, seq) in [(0, 0), (1, 2), (999, 3_600_000), (u32::MAX, (1 << 40) - 1)] {
            let uuid = IDENTITY.uuid(client, seq);
            assert_eq!(IDENTITY.row_of_uuid(uuid), Some((client, seq)));
            assert_eq!(RowIdentity { seed: 8, ..IDENTITY }.row_of_uuid(uuid), None);
            let mut text = Vec::new();
            put_uuid(uuid, &mut text);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(u128::from_str_radix(&text.replace('-', ""), 16), Ok(uuid));
            assert!(
                text.len() == 36 && &text[14..15] == "8" && "89ab".contains(&text[19..20]),
                "{text}"
            );
        }
        assert_eq!(IDENTITY.row_of_uuid(0), None);
    }

    #[test]
    fn a_stream_saves_the_rows_of_its_client_and_sends_a_row_again_unchanged() {
        let load = RowLoad::for_service(IDENTITY, &RowField::ALL);
        let mut stream = load.client(3);
        let values = |stream: &mut Box<dyn ClientStream>| {
            let mut params = Params::default();
            assert!(stream.next_statement(&mut params).is_last);
            params
                .values()
                .iter()
                .map(|value| match value {
                    Value::Int(number) => number.to_string(),
                    Value::Text { start, end } => {
                        String::from_utf8(params.text(*start, *end).to_vec()).unwrap()
                    }
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        for seq in 0..3 {
            stream.next_transaction();
            let first = values(&mut stream);
            assert_eq!(first[..3], ["3".to_owned(), seq.to_string(), format!("3-{seq}")]);
            assert_eq!(first[4], payload(IDENTITY, 3, seq));
            let digest = IDENTITY.digest(3, seq, &mut Vec::new());
            assert_eq!(stream.row(), Some(RowMark { seq, digest }));
            stream.rewind();
            assert_eq!(values(&mut stream), first);
        }
        assert_eq!(RowField::of_name("uuid"), Some(RowField::Uuid));
        assert_eq!(RowField::of_name("row"), None);
    }
}
