//! Calls the fuzz targets with random bytes for so many seconds: what can be done without a nightly
//! toolchain.
//!
//! Half of the packets are made of pieces that mean something, or nothing would come far.

use std::time::{Duration, Instant};

const PIECES: [&[u8]; 17] = [
    &[0, 1, 0, 2, 0, 0, 0],
    &[0xfe, 0, 0, 2, 0],
    &[0xfe, 0, 0, 0x0a, 0],
    &[1],
    b"\0\0\0\0\x01a",
    b"\x011",
    b"\xff\xbd\x04#40001Deadlock",
    b"\xfb/etc/passwd",
    &[1, 4],
    &[1, 3],
    b"\xfeclient_ed25519\x0001234567890123456789012345678901",
    b"\xfeparsec\x0001234567890123456789012345678901",
    b"P\0eighteen bytes salt",
    b"\x01P\x15eighteen bytes salt",
    b"\xfesha256_password\x0001234567890123456789\0",
    b"\x01-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n",
    &[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
];

const MESSAGES: [&[u8]; 14] = [
    b"R\0\0\0\0",
    b"R\0\0\0\x03",
    b"R\0\0\0\x05salt",
    b"R\0\0\0\x0aSCRAM-SHA-256\0\0",
    b"ZI",
    b"ZE",
    b"1",
    b"2",
    b"CINSERT 0 3\0",
    b"D\0\x01\0\0\0\x01a",
    b"T\0\x01name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0",
    b"EVERROR\0C40P01\0Mdeadlock\0\0",
    b"EVFATAL\0C57P01\0Mbye\0\0",
    b"G\0\0\0",
];

/// `head` random bytes, then messages with a byte of length each.
fn random_messages(random: &mut impl FnMut() -> u64, head: usize, pieces: &[&[u8]]) -> Vec<u8> {
    let mut data = random().to_le_bytes()[..head].to_vec();
    for _ in 0..random() % 6 {
        let bytes = random().to_le_bytes();
        let piece =
            if random() % 8 == 0 { &bytes[..] } else { pieces[random() as usize % pieces.len()] };
        data.push(piece.len() as u8);
        data.extend_from_slice(piece);
    }
    data
}

/// A session of this kind, and records with up to five messages each.
fn random_records(random: &mut impl FnMut() -> u64, kind: u8, pieces: &[&[u8]]) -> Vec<u8> {
    let mut data = vec![kind, random() as u8];
    for _ in 0..random() % 4 {
        let flags = if random() % 8 == 0 { random() as u8 & 0x70 } else { random() as u8 & 0x20 };
        data.push(flags | 5);
        data.extend_from_slice(&random_messages(random, 0, pieces));
    }
    data
}

/// What replaces a number of a file, or a part of it.
const NUMBERS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"0.5",
    b"1e308",
    b"-1e-308",
    b"4294967295",
    b"9007199254740993",
    b"18446744073709551615",
    b"null",
    b"true",
    b"\"\"",
    b"[]",
];

/// One or two files of a run folder, each edited in a few places.
fn edited(random: &mut impl FnMut() -> u64) -> Vec<u8> {
    let mut data = Vec::new();
    for (letter, whole) in truetps_fuzz::whole_files() {
        if random() % 4 != 0 {
            continue;
        }
        data.push(letter);
        let mut content = whole.to_vec();
        for _ in 0..random() % 4 {
            let at = random() as usize % content.len().max(1);
            let digits = content.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
            let number = NUMBERS[random() as usize % NUMBERS.len()];
            match random() % 8 {
                0 => content.truncate(at),
                1 => content
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|byte| *byte ^= 1 << (random() % 8)),
                _ if digits > 0 => drop(content.splice(at..at + digits, number.iter().copied())),
                _ => {}
            }
        }
        data.extend(content);
        data.push(0x1e);
    }
    data
}

fn main() {
    let (seconds, mut state) = (argument(1).unwrap_or(10), argument(2).unwrap_or(1));
    let ends = Instant::now() + Duration::from_secs(seconds);
    let mut random = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut runs = 0_u64;
    while Instant::now() < ends {
        let mut data = random().to_le_bytes()[..3].to_vec();
        for _ in 0..random() % 8 {
            let bytes = random().to_le_bytes();
            let piece = if random() % 4 == 0 {
                &bytes[..]
            } else {
                PIECES[random() as usize % PIECES.len()]
            };
            let in_between = if random() % 4 == 0 { 0x40 } else { 0 };
            data.extend_from_slice(&[piece.len() as u8, in_between]);
            data.extend_from_slice(piece);
        }
        if random() % 3 == 0 {
            let at = random() as usize % data.len();
            data[at] = random() as u8;
        }
        truetps_fuzz::run_folder(&edited(&mut random));
        truetps_fuzz::mysql_session(&data);
        truetps_fuzz::postgres_session(&random_messages(&mut random, 3, &MESSAGES));
        // A handshake takes as long as thousands of the others.
        if runs % 64 == 0 {
            let pieces: &[&[u8]] = if data[0] % 2 == 0 { &PIECES } else { &MESSAGES };
            truetps_fuzz::tls_sealing(&random_records(&mut random, data[0], pieces));
        }
        truetps_fuzz::binlog(&data);
        truetps_fuzz::binlog(&[b"\xfebin", &data[..]].concat());
        truetps_fuzz::dsn(&[b"mysql://", &data[..]].concat());
        runs += 1;
    }
    println!("{runs} streams, nothing found");
}

fn argument(n: usize) -> Option<u64> {
    std::env::args().nth(n)?.parse().ok()
}
