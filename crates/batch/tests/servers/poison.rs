//! Rows that the server refuses: each costs its own client only.

use truetps_batch::{CommitAnswer, FaultClass};

use crate::SOON;
use crate::clients::{NEW, row, send, send_all};
use crate::tables::{TestGateway, TestServer};

/// Keeps the connection busy, so that the rows that follow are one batch.
fn occupy(gateway: &TestGateway, client: usize) {
    send(&gateway.queue, &row(client, 0), SOON);
}

/// Values that only the server refuses.
const BAD_ROWS: [&str; 2] = [r#""text":"a","n":99999999999"#, r#""text":"a","n":-99999999999"#];

#[test]
fn a_bad_row_is_refused_wherever_it_is() {
    for server in TestServer::of_each_kind("poison rows") {
        let gateway = server.gateway();
        let mut seq = 1;
        for bad in BAD_ROWS {
            for places in [&[0][..], &[10], &[19], &[0, 19], &[3, 4, 5, 6, 7]] {
                occupy(&gateway, 1000);
                let json = |place: usize| {
                    if places.contains(&place) {
                        format!(r#"{{"client":{place},"seq":{seq},{bad}}}"#)
                    } else {
                        row(place, seq)
                    }
                };
                let answers = send_all(&gateway.queue, &(0..20).map(json).collect::<Vec<_>>());
                for (place, answer) in answers.iter().enumerate() {
                    match answer {
                        CommitAnswer::Refused(error) if places.contains(&place) => {
                            assert_eq!(FaultClass::of(error), FaultClass::BadRow, "{error}");
                        }
                        answer => assert_eq!(
                            (answer, places.contains(&place)),
                            (&NEW, false),
                            "{bad} at {place}"
                        ),
                    }
                }
                assert_eq!(server.count(&format!("seq = {seq}")), 20 - places.len() as u64);
                seq += 1;
            }
        }
        // All of a batch.
        let all: Vec<_> = (0..9)
            .map(|n| format!(r#"{{"client":{n},"seq":{seq},"text":"a","n":99999999999}}"#))
            .collect();
        let answers = send_all(&gateway.queue, &all);
        assert!(
            answers.iter().all(|answer| matches!(answer, CommitAnswer::Refused(_))),
            "{answers:?}"
        );
        assert_eq!(server.count(&format!("seq = {seq}")), 0);
    }
}

#[test]
fn a_server_that_is_not_strict_changes_no_value() {
    let Some(server) = TestServer::mariadb("a server that is not strict") else { return };
    server.run("SET GLOBAL sql_mode = ''");
    let gateway = server.gateway();
    let answer = send(&gateway.queue, r#"{"client":1,"seq":1,"text":"a","n":99999999999}"#, SOON);
    assert!(matches!(answer, Some(CommitAnswer::Refused(_))), "{answer:?}");
    assert_eq!(server.count("TRUE"), 0);
}
