use super::*;
use crate::testing::{BinlogMaker, SeededNumbers};
use crate::walk::walk;

const VERSION: &str = "10.11.14-MariaDB-log";

fn decided(bytes: &[u8]) -> TailDecision {
    let Ok(decision) = decide(&mut &*bytes, bytes.len() as u64, BinlogAge::Newest);
    decision
}

fn stop(bytes: &[u8]) -> (WalkStop, u64) {
    let Ok(found) = walk(&mut &*bytes, bytes.len() as u64);
    (found.stop, found.good_end)
}

fn with_zeros(bytes: &[u8], count: usize) -> Vec<u8> {
    [bytes, &vec![0; count]].concat()
}

#[test]
fn each_end_of_a_file_has_its_decision() {
    let file = BinlogMaker::new(VERSION, Some(1)).event(2, b"one").event(2, &[7; 3000]).bytes;
    let end = file.len() as u64;
    assert_eq!((stop(&file), decided(&file)), ((WalkStop::EndOfFile, end), TailDecision::Sound));
    for zeros in [1, 18, 19, 20, 512, 1 << 20] {
        let padded = with_zeros(&file, zeros);
        assert_eq!(
            (stop(&padded), decided(&padded)),
            ((WalkStop::Zeros, end), TailDecision::CutZeros { at: end })
        );
    }
    let mut torn = with_zeros(&file, 4000);
    torn[2000..2048].fill(0);
    let at = end - 3000 - 23;
    assert_eq!(stop(&torn), (WalkStop::BadChecksum, at));
    assert_eq!(decided(&torn), TailDecision::CutAndKeep { at, keep_to: end });
    let short = &file[..file.len() - 100];
    assert_eq!(stop(short), (WalkStop::BadLength, at));
    assert_eq!(decided(short), TailDecision::CutAndKeep { at, keep_to: end - 100 });
}

#[test]
fn bad_headers_stop_the_walk() {
    let file = with_zeros(
        &BinlogMaker::new(VERSION, Some(1)).event(2, b"one").event(2, b"two").bytes,
        512,
    );
    let second = BinlogMaker::new(VERSION, Some(1)).event(2, b"one").bytes.len();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[second + at..][..bytes.len()].copy_from_slice(bytes);
        stop(&file)
    };
    assert_eq!(changed(9, &[22, 0]), (WalkStop::BadLength, second as u64));
    assert_eq!(changed(9, &u32::MAX.to_le_bytes()), (WalkStop::BadLength, second as u64));
    assert_eq!(changed(13, &[1]), (WalkStop::BadEndPosition, second as u64));
    // Some events of MariaDB do not have it. The checksum holds it, so that here it is wrong.
    assert_eq!(changed(13, &[0; 4]), (WalkStop::BadChecksum, second as u64));
    assert_eq!(changed(20, &[1]), (WalkStop::BadChecksum, second as u64));
}

#[test]
fn damage_that_no_lost_sector_explains_is_left_alone() {
    let mut file = with_zeros(
        &BinlogMaker::new(VERSION, Some(1)).event(2, &[7; 3000]).event(2, b"later").bytes,
        600,
    );
    file[1000] ^= 1;
    let at = BinlogMaker::new(VERSION, Some(1)).bytes.len() as u64;
    assert_eq!(decided(&file), TailDecision::LeaveAlone(Untrimmable::Damaged { at }));
}

/// One flipped bit makes the length of an event larger than the file, or a lost sector breaks a
/// checksum. In a file that was closed before the crash neither is explained by the crash: the
/// events behind were committed. Zeros are no events.
#[test]
fn a_closed_file_is_never_cut_within_its_events() {
    let whole =
        BinlogMaker::new(VERSION, Some(1)).event(2, &[7; 3000]).event(2, b"committed later").bytes;
    let at = BinlogMaker::new(VERSION, Some(1)).bytes.len() as u64;
    let decided_as = |file: &[u8], age| {
        let Ok(decision) = decide(&mut &*file, file.len() as u64, age);
        decision
    };
    let (damaged, cut) = (
        TailDecision::LeaveAlone(Untrimmable::Damaged { at }),
        TailDecision::CutAndKeep { at, keep_to: whole.len() as u64 },
    );
    let mut long = whole.clone();
    long[at as usize + 9 + 3] ^= 0x40;
    let ages = [BinlogAge::Newest, BinlogAge::Open, BinlogAge::Closed];
    assert_eq!(ages.map(|age| decided_as(&long, age)), [cut, damaged, damaged]);
    let mut torn = whole.clone();
    torn[1024..1536].fill(0);
    assert_eq!(ages.map(|age| decided_as(&torn, age)), [cut, cut, damaged]);
    let zeros = TailDecision::CutZeros { at: whole.len() as u64 };
    assert_eq!(ages.map(|age| decided_as(&with_zeros(&whole, 100), age)), [zeros; 3]);
}

#[test]
fn the_age_of_a_file_follows_from_the_marker() {
    let ages = |marker| [1, 2, 3].map(|number| BinlogAge::of(number, 3, marker));
    assert_eq!(ages(None), [BinlogAge::Closed, BinlogAge::Closed, BinlogAge::Newest]);
    assert_eq!(ages(Some(2)), [BinlogAge::Closed, BinlogAge::Open, BinlogAge::Newest]);
    assert_eq!(ages(Some(u64::MAX)), ages(None), "a page that is not true cuts nothing more");
}

#[test]
fn what_cannot_be_checked_is_left_alone() {
    let plain = BinlogMaker::new("8.0.43", Some(0)).event(2, b"one");
    let end = plain.bytes.len() as u64;
    assert_eq!(decided(&plain.bytes), TailDecision::Sound);
    assert_eq!(decided(&with_zeros(&plain.bytes, 100)), TailDecision::CutZeros { at: end });
    let torn = [with_zeros(&plain.bytes, 100), vec![1, 0]].concat();
    assert_eq!(decided(&torn), TailDecision::LeaveAlone(Untrimmable::NoChecksums));
    let encrypted = BinlogMaker::new(VERSION, Some(1)).event(164, &[1; 17]).bytes;
    assert_eq!(
        decided(&with_zeros(&encrypted, 9)),
        TailDecision::LeaveAlone(Untrimmable::Encrypted)
    );
    assert_eq!(decided(b"\xfdbin\x01\x02"), TailDecision::LeaveAlone(Untrimmable::Encrypted));
    assert_eq!(decided(b"some text"), TailDecision::LeaveAlone(Untrimmable::NotABinlog));
}

#[test]
fn files_of_zeros_are_cut_to_nothing() {
    assert_eq!(decided(&[]), TailDecision::Sound);
    assert_eq!(decided(&[0; 5000]), TailDecision::CutZeros { at: 0 });
    assert_eq!(decided(&with_zeros(b"\xfebin", 5000)), TailDecision::CutZeros { at: 0 });
    let torn = [&BinlogMaker::new(VERSION, Some(1)).bytes[..40], &[0; 600]].concat();
    assert_eq!(decided(&torn), TailDecision::CutAndKeep { at: 0, keep_to: 40 });
}

#[test]
fn an_event_larger_than_the_window_is_checked() {
    let body: Vec<u8> = (0..900_000_u32).map(|n| n.to_le_bytes()[1] | 1).collect();
    let file = with_zeros(
        &BinlogMaker::new(VERSION, Some(1)).event(2, b"a").event(2, &body).bytes,
        70_000,
    );
    let end = (file.len() - 70_000) as u64;
    assert_eq!(decided(&file), TailDecision::CutZeros { at: end });
    let mut torn = file;
    torn[700_000..700_416].fill(0);
    assert_eq!(stop(&torn).0, WalkStop::BadChecksum);
    assert!(matches!(decided(&torn), TailDecision::CutAndKeep { keep_to, .. } if keep_to == end));
}

/// A file that was synced up to a point, a last group of events that was not, and a power cut: each
/// sector of the group has its new or its old content, which is zeros behind the synced part.
#[test]
fn after_a_power_cut_a_file_is_cut_behind_its_last_whole_event() {
    let mut numbers = SeededNumbers(21);
    let mut kinds = [0; 3];
    for _ in 0..4000 {
        let mut maker = BinlogMaker::new(VERSION, Some(1));
        for _ in 0..numbers.below(6) {
            add_random_event(&mut maker, &mut numbers);
        }
        let synced = maker.bytes.len();
        for _ in 0..=numbers.below(5) {
            add_random_event(&mut maker, &mut numbers);
        }
        let whole = with_zeros(&maker.bytes, 1 + numbers.below(5000));
        let survives = numbers.below(101);
        let mut image = whole.clone();
        let sectors = (synced / 512)..whole.len().div_ceil(512);
        for sector in sectors.filter(|_| numbers.below(100) >= survives) {
            let (from, to) = ((sector * 512).max(synced), (sector * 512 + 512).min(whole.len()));
            image[from..to].fill(0);
        }
        let is_there = |end: &&usize| image[..**end] == whole[..**end];
        let expect = *maker.ends.iter().take_while(is_there).last().unwrap();
        assert!(expect >= synced);
        let content_end = image.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        match decided(&image) {
            TailDecision::CutZeros { at } => {
                assert_eq!((at as usize, content_end <= expect), (expect, true));
                kinds[0] += 1;
            }
            TailDecision::CutAndKeep { at, keep_to } => {
                assert_eq!((at as usize, keep_to as usize), (expect, content_end));
                kinds[1] += 1;
            }
            // The image ends with the last event: nothing but zeros of the event itself were behind
            // it.
            TailDecision::Sound => kinds[2] += 1,
            TailDecision::LeaveAlone(why) => panic!("{why:?}"),
        }
    }
    assert!(kinds[0] > 500 && kinds[1] > 500, "{kinds:?}");
}

fn add_random_event(maker: &mut BinlogMaker, numbers: &mut SeededNumbers) {
    let length = [0, 31, 300, 1500, 9000][numbers.below(5)];
    let body: Vec<u8> = (0..length + numbers.below(40)).map(|_| numbers.next() as u8 % 5).collect();
    maker.add([2, 16, 30, 33][numbers.below(4)], &body);
}

/// The walker must end within the file for all bytes, and never panic: it runs inside the server.
#[test]
fn hostile_files_neither_panic_nor_loop() {
    let mut numbers = SeededNumbers(5);
    let mut stops = std::collections::BTreeMap::new();
    for round in 0..120_000 {
        let mut bytes = if round % 4 == 0 {
            (0..numbers.below(300)).map(|_| numbers.next() as u8).collect()
        } else {
            let algorithm = [None, Some(0), Some(1), Some(1), Some(1), Some(9)][numbers.below(6)];
            let mut maker =
                BinlogMaker::new(["8.0.43", VERSION, "5.1.73", ""][numbers.below(4)], algorithm);
            for _ in 0..numbers.below(4) {
                maker.add(numbers.next() as u8, &vec![numbers.next() as u8; numbers.below(200)]);
            }
            maker.bytes
        };
        for _ in 0..numbers.below(4) {
            let at = numbers.below(bytes.len().max(1));
            match numbers.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.resize(bytes.len() + at, 0),
                2 => bytes
                    .splice(at.min(bytes.len())..at.min(bytes.len()), [numbers.next() as u8; 3])
                    .for_each(drop),
                _ => bytes.get_mut(at).into_iter().for_each(|byte| *byte = numbers.next() as u8),
            }
        }
        // The length may be wrong, too: a file can shrink while it is read.
        let length = (bytes.len() as u64 + [0, 0, 0, 7][numbers.below(4)]).min(1 << 20);
        let Ok(found) = walk(&mut &bytes[..], length);
        assert!(found.good_end <= length);
        let Ok(decision) = decide(
            &mut &bytes[..],
            length,
            [BinlogAge::Newest, BinlogAge::Open, BinlogAge::Closed][round % 3],
        );
        match decision {
            TailDecision::CutZeros { at } => assert_eq!(at, found.good_end),
            TailDecision::CutAndKeep { at, .. } => {
                assert_eq!(at, found.open_group.unwrap_or(found.good_end));
            }
            TailDecision::Sound | TailDecision::LeaveAlone(_) => {}
        }
        let _ = crate::event::head(&bytes);
        *stops.entry(format!("{:?}", found.stop)).or_insert(0) += 1;
    }
    assert_eq!(stops.len(), 7, "each stop was seen: {stops:?}");
}
