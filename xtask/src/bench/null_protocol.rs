//! The server's side of the protocol, as far as load generators need it: every command is answered
//! with OK, without any effect.

const HEADER_BYTES: usize = 4;
/// OK, one row affected, autocommit; the answer to a command.
const OK: [u8; 11] = [7, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0];
const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE_STATEMENT: u8 = 0x19;

/// LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS,
/// SECURE_CONNECTION; then MULTI_STATEMENTS, MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH. Not
/// DEPRECATE_EOF: lists end with an EOF packet.
const CAPABILITIES: [u16; 2] = [0xa20f, 0x000f];

/// Numbers for the observer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NullCounters {
    /// Answered statements, without the observer's own.
    pub(crate) statements: u64,
    pub(crate) sessions: u64,
    /// Where the server listens besides its unix socket.
    pub(crate) tcp_port: u16,
}

#[derive(Debug, Default)]
pub(crate) struct NullSession {
    is_logged_in: bool,
    /// The beginning of an incomplete packet.
    partial: Vec<u8>,
}

impl NullSession {
    /// Answers all complete packets; `false`: the client has disconnected.
    pub(crate) fn on_bytes(
        &mut self,
        bytes: &[u8],
        counters: &mut NullCounters,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.partial.is_empty() {
            return self.take_packets(bytes, counters, out);
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        self.take_packets(&whole, counters, out)
    }

    fn take_packets(
        &mut self,
        mut bytes: &[u8],
        counters: &mut NullCounters,
        out: &mut Vec<u8>,
    ) -> bool {
        while bytes.len() >= HEADER_BYTES {
            let length =
                usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16;
            let Some(payload) = bytes.get(HEADER_BYTES..HEADER_BYTES + length) else { break };
            let sequence = bytes[3];
            bytes = &bytes[HEADER_BYTES + length..];
            if !self.is_logged_in {
                self.is_logged_in = true;
                put_packet(out, sequence.wrapping_add(1), &OK[HEADER_BYTES..]);
            } else if !answer(payload, counters, out) {
                return false;
            }
        }
        self.partial.extend_from_slice(bytes);
        true
    }
}

fn answer(payload: &[u8], counters: &mut NullCounters, out: &mut Vec<u8>) -> bool {
    match payload {
        [EXECUTE, ..] => counters.statements += 1,
        [QUERY, sql @ ..] => {
            if sql.starts_with(b"SELECT") {
                put_select(&String::from_utf8_lossy(sql), *counters, out);
                return true;
            }
            counters.statements += 1;
        }
        [PREPARE, sql @ ..] => {
            put_prepared(sql, out);
            return true;
        }
        [CLOSE_STATEMENT, ..] => return true,
        [QUIT, ..] | [] => return false,
        _ => {}
    }
    out.extend_from_slice(&OK);
    true
}

/// One row: the number named in the text, or a number suitable for a driver that reads variables at
/// login.
fn put_select(sql: &str, counters: NullCounters, out: &mut Vec<u8>) {
    let value = match sql {
        "SELECT statements" => counters.statements,
        "SELECT sessions" => counters.sessions,
        "SELECT tcp_port" => counters.tcp_port.into(),
        _ => 1 << 26,
    };
    let columns = sql.matches(',').count() as u8 + 1;
    let mut sequence = 1;
    let mut put = |payload: &[u8]| {
        put_packet(out, sequence, payload);
        sequence = sequence.wrapping_add(1);
    };
    put(&[columns]);
    for _ in 0..columns {
        put(&column());
    }
    put(&EOF);
    let text = value.to_string();
    let cell: Vec<u8> = std::iter::once(text.len() as u8).chain(text.bytes()).collect();
    put(&cell.repeat(columns.into()));
    put(&EOF);
}

/// Statement 1, with as many parameters as the text has question marks.
fn put_prepared(sql: &[u8], out: &mut Vec<u8>) {
    let params = String::from_utf8_lossy(sql).matches('?').count() as u8;
    put_packet(out, 1, &[0, 1, 0, 0, 0, 0, 0, params, 0, 0, 0, 0]);
    for n in 0..params {
        put_packet(out, 2 + n, &column());
    }
    if params > 0 {
        put_packet(out, 2 + params, &EOF);
    }
}

/// The description of a text column or parameter without a name.
fn column() -> Vec<u8> {
    let mut bytes = b"\x03def\0\0\0\x01?\0\x0c".to_vec();
    // Character set, length, type VAR_STRING, flags, decimals, filler.
    bytes.extend_from_slice(&[45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
    bytes
}

/// The first packet of a session.
pub(crate) fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a8.0.0-null\0\x01\0\0\0".to_vec();
    payload.extend_from_slice(b"12345678\0");
    payload.extend_from_slice(&CAPABILITIES[0].to_le_bytes());
    payload.extend_from_slice(&[45, 2, 0]);
    payload.extend_from_slice(&CAPABILITIES[1].to_le_bytes());
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"123456789012\0mysql_native_password\0");
    let mut out = Vec::new();
    put_packet(&mut out, 0, &payload);
    out
}

fn put_packet(out: &mut Vec<u8>, sequence: u8, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    out.push(sequence);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_packet(&mut out, sequence, payload);
        out
    }

    #[test]
    fn statements_are_counted_however_they_are_cut() {
        let mut bytes = packet(1, b"a login");
        bytes.extend(packet(0, b"\x03INSERT INTO t VALUES (1)"));
        bytes.extend(packet(0, b"\x17\x01\0\0\0"));
        for cut in 0..bytes.len() {
            let (mut session, mut counters, mut out) =
                (NullSession::default(), NullCounters::default(), Vec::new());
            assert!(session.on_bytes(&bytes[..cut], &mut counters, &mut out));
            assert!(session.on_bytes(&bytes[cut..], &mut counters, &mut out));
            assert_eq!(counters.statements, 2, "cut at {cut}");
            assert_eq!(out.len(), 3 * OK.len());
        }
    }

    #[test]
    fn a_goodbye_ends_the_session() {
        let mut session = NullSession { is_logged_in: true, partial: Vec::new() };
        assert!(!session.on_bytes(
            &packet(0, &[QUIT]),
            &mut NullCounters::default(),
            &mut Vec::new()
        ));
    }
}
