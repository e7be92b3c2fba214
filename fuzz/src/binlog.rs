//! Files that may be binlogs.

use truetps_binlog::{BinlogAge, HEAD_BYTES, TailDecision, WalkStop, decide, events, head, walk};

/// Whatever the bytes are, the walk ends within the file, and a cut is where it ended, or where the
/// group of events begins that is open there; zeros behind the bytes change no cut.
pub fn binlog(data: &[u8]) {
    let length = data.len() as u64;
    let Ok(found) = walk(&mut &*data, length);
    assert!(found.good_end <= length);
    for age in [BinlogAge::Newest, BinlogAge::Open, BinlogAge::Closed] {
        let Ok(decision) = decide(&mut &*data, length, age);
        match decision {
            TailDecision::Sound => assert_eq!(found.stop, WalkStop::EndOfFile),
            TailDecision::CutZeros { at } => assert_eq!(at, found.good_end),
            TailDecision::CutAndKeep { at, keep_to } => {
                assert_eq!(at, found.open_group.unwrap_or(found.good_end));
                assert!(at <= keep_to && keep_to <= length && age != BinlogAge::Closed);
            }
            TailDecision::LeaveAlone(_) => {}
        }
    }
    let (again, each) = events(data);
    assert_eq!(again, found);
    let (count, bytes) =
        each.fold((0, 0), |(count, bytes), (_, body)| (count + 1, bytes + body.len() as u64));
    assert!(count == found.events && bytes <= found.good_end);
    let _ = head(&data[..data.len().min(HEAD_BYTES)]);
}
