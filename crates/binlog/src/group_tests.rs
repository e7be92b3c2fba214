use crate::testing::BinlogMaker;
use crate::{BinlogAge, TailDecision, decide};

const VERSION: &str = "10.11.14-MariaDB-log";
const GTID: u8 = 162;
const TRANSACTIONAL: u8 = 4;

fn gtid(flags: u8) -> Vec<u8> {
    let mut body = vec![7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, flags];
    body.resize(19, 0);
    body
}

fn query(text: &str) -> Vec<u8> {
    [&[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, b't', 0][..], text.as_bytes()].concat()
}

/// A name, the flags of the group, and the type and content of each event behind the GTID event.
type Group = (&'static str, u8, Vec<(u8, Vec<u8>)>);

/// What MariaDB 10.11 writes for the statement, as its SHOW BINLOG EVENTS names it.
fn groups() -> Vec<Group> {
    let rows = [(160, b"insert".to_vec()), (19, vec![1; 20]), (23, vec![2; 20])];
    let with = |events: &[(u8, Vec<u8>)], last: (u8, Vec<u8>)| [events, &[last]].concat();
    vec![
        ("a definition", 1, vec![(2, query("create table a(id int)"))]),
        (
            "a definition with a value before it",
            1,
            vec![(14, vec![1; 9]), (2, query("create table a select @x"))],
        ),
        (
            "a statement",
            TRANSACTIONAL,
            vec![(5, vec![2; 9]), (2, query("insert")), (16, vec![8; 8])],
        ),
        ("rows", TRANSACTIONAL, with(&rows, (16, vec![8; 8]))),
        ("rows without transactions", 0, with(&rows, (2, query("COMMIT")))),
        ("rolled back", TRANSACTIONAL, vec![(2, query("insert")), (2, query("ROLLBACK"))]),
        (
            "savepoints",
            TRANSACTIONAL,
            vec![(2, query("SAVEPOINT `s`")), (2, query("ROLLBACK TO `s`")), (16, vec![8; 8])],
        ),
        (
            "a prepared transaction",
            64,
            [&rows[..], &[(2, query("XA END X'71',X'',1")), (38, vec![1; 18])]].concat(),
        ),
        ("the end of a prepared one", 128, vec![(2, query("XA COMMIT X'71',X'',1"))]),
        (
            "a file that was loaded",
            TRANSACTIONAL,
            vec![(17, vec![1; 9]), (18, query("LOAD")), (16, vec![8; 8])],
        ),
    ]
}

/// Cut at each event of its last group, a file is cut to the group's begin; whole, it stays.
#[test]
fn a_group_that_is_not_at_its_end_is_cut() {
    for sums in [0, 1] {
        for (what, flags, events) in groups() {
            let mut maker = BinlogMaker::new(VERSION, Some(sums)).event(163, &[0; 4]);
            maker.add(GTID, &gtid(TRANSACTIONAL));
            maker.add(2, &query("insert"));
            maker.add(16, &[9; 8]);
            let start = maker.bytes.len() as u64;
            maker.add(GTID, &gtid(flags));
            for (kind, body) in &events {
                maker.add(*kind, body);
            }
            let whole = maker.bytes;
            let ends = &maker.ends[maker.ends.len() - events.len() - 1..];
            let decided = |length: usize, zeros: usize, age| {
                let bytes = [&whole[..length], &vec![0; zeros]].concat();
                let Ok(decision) = decide(&mut &bytes[..], bytes.len() as u64, age);
                decision
            };
            let (last, open) = ends.split_last().unwrap();
            for end in open {
                for zeros in [0, 700] {
                    let cut = TailDecision::CutAndKeep { at: start, keep_to: *end as u64 };
                    assert_eq!(
                        decided(*end, zeros, BinlogAge::Newest),
                        cut,
                        "{what}, {end} of {last}, sums {sums}"
                    );
                }
                assert_eq!(
                    decided(*end, 0, BinlogAge::Closed),
                    TailDecision::Sound,
                    "a later file follows it"
                );
                if sums == 1 {
                    let torn = TailDecision::CutAndKeep { at: start, keep_to: *end as u64 + 15 };
                    assert_eq!(
                        decided(*end + 15, 0, BinlogAge::Newest),
                        torn,
                        "{what}, torn behind {end}"
                    );
                }
            }
            assert_eq!(decided(*last, 0, BinlogAge::Newest), TailDecision::Sound, "{what}");
            let at = *last as u64;
            assert_eq!(
                decided(*last, 700, BinlogAge::Newest),
                TailDecision::CutZeros { at },
                "{what}"
            );
        }
    }
}

/// MySQL cuts its own, which have other events.
#[test]
fn events_without_a_group_of_mariadb_stay() {
    let maker = BinlogMaker::new("8.0.43", Some(1)).event(33, &[1; 42]).event(2, &query("BEGIN"));
    let Ok(decision) = decide(&mut &maker.bytes[..], maker.bytes.len() as u64, BinlogAge::Newest);
    assert_eq!(decision, TailDecision::Sound);
}
