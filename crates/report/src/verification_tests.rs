//! What a verification says, on one screen and in JSON.

use serde_json::Value;
use truetps_archive::VerifiedRun;
use truetps_record::{
    AnswerLogState, KeyColumn, RowAnswer, RowComparison, RowCounts, RowExample, RowFault,
    ServerKill, Verification, VerifiedTable, VerifyLoad,
};

use crate::fixture::Fixture;
use crate::schema_check::violations;
use crate::summary::{check_screen, verification_summary};
use crate::verification::verification_json;
use crate::{ReportAnswer, TextScreen};

const SCHEMA: &str = include_str!("../../../docs/reference/verification.schema.json");

fn clean() -> RowCounts {
    RowCounts {
        attempted: 10_000,
        acknowledged: 9_950,
        refused: 10,
        unknown: 40,
        unknown_present: 15,
        unknown_absent: 25,
        in_table: 9_965,
        ..RowCounts::default()
    }
}

fn verification(rows: Option<RowCounts>) -> Verification {
    let example = |fault| RowExample {
        fault,
        key: "client 3, row 17".to_owned(),
        answer: Some(RowAnswer::Acknowledged),
        answered_at_ms: Some(17_250),
        attempts: 2,
        copies: 2,
    };
    let comparison = rows.map(|rows| RowComparison {
        compared_at: "2026-11-27T04:00:00Z".to_owned(),
        took_s: 1.5,
        rows,
        examples: RowFault::ALL
            .into_iter()
            .filter(|fault| rows.count(*fault) > 0)
            .map(example)
            .collect(),
        lost_ms: (rows.lost > 0).then_some((17_250, 19_000)),
        loss_window_ms: (rows.lost > 0).then_some(850),
        log: AnswerLogState { bytes: 320_016, is_complete: true, torn_bytes: 0, damaged: 0 },
    });
    let key = |name: &str| KeyColumn { column: name.to_owned(), field: name.to_owned() };
    Verification {
        schema_version: 2,
        tool_version: "0.1.0".to_owned(),
        created_at: "2026-11-27T03:59:00Z".to_owned(),
        seed: 1,
        load: VerifyLoad {
            service: Some("POST http://127.0.0.1:8080/rows".to_owned()),
            clients: 1000,
            rate_per_client: Some(1.0),
            length_s: 60.0,
            payload_bytes: 100,
            retries: 3,
            answer_timeout_s: 30.0,
        },
        table: VerifiedTable {
            server: "mysql://me@db/shop".to_owned(),
            schema: Some("shop".to_owned()),
            table: "events".to_owned(),
            key: vec![key("client"), key("seq")],
            payload: "payload".to_owned(),
            key_is_unique: true,
        },
        is_private: false,
        kills: vec![ServerKill { at_ms: 18_100, recovery_ms: 2_300 }],
        comparison,
    }
}

/// All cases, each with a load that has ended.
fn check(rows: Option<RowCounts>, test: impl Fn(&VerifiedRun)) {
    let fixture = Fixture::slap();
    let input = fixture.input();
    let run = VerifiedRun {
        path: input.run.path.clone(),
        experiment: input.run.experiment.clone(),
        verification: verification(rows),
        trial: input.trials().next().cloned(),
    };
    test(&run);
    test(&VerifiedRun { trial: None, ..run });
}

fn faulty() -> RowCounts {
    RowCounts {
        lost: 7,
        doubled: 2,
        changed: 1,
        refused_present: 3,
        unexpected: 1,
        resent: 4,
        ..clean()
    }
}

#[test]
fn the_answer_is_one_sentence() {
    let answers = |rows, expect: &str| {
        check(rows, |input| {
            let text = verification_summary(input, TextScreen::new(false, Some(160)));
            assert!(text.contains(&format!("Answer    {expect}\n")), "{text}");
        });
    };
    answers(Some(clean()), "all 9 950 acknowledged rows are there, once and unchanged.");
    answers(Some(RowCounts::default()), "no row was acknowledged: nothing is shown.");
    let lost = RowCounts { lost: 7, ..clean() };
    answers(Some(lost), "LOST 7 of 9 950 acknowledged rows.");
    check(Some(faulty()), |input| {
        let text = verification_summary(input, TextScreen::new(false, Some(160)));
        assert!(
            text.contains("LOST 7, DOUBLED 2, CHANGED 1, 3 rows there that were refused"),
            "{text}"
        );
        assert!(text.contains("at most 850 ms before a kill"), "{text}");
    });
    check(None, |input| {
        let text = verification_summary(input, TextScreen::PLAIN);
        assert!(text.contains("not compared"), "{text}");
    });
}

#[test]
fn every_screen_fits() {
    for rows in [Some(clean()), Some(faulty()), Some(RowCounts::default()), None] {
        check(rows, |input| {
            check_screen(|screen| verification_summary(input, screen));
            assert!(input.text(TextScreen::PLAIN).contains("POST http://127.0.0.1:8080/rows"));
            assert!(
                input.markdown().starts_with("# verify: 1 000 clients"),
                "{}",
                input.markdown()
            );
        });
    }
}

#[test]
fn the_document_is_as_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for rows in [Some(clean()), Some(faulty()), None] {
        check(rows, |input| {
            let document: Value = serde_json::from_str(&verification_json(input)).unwrap();
            assert_eq!(violations(&schema, &document), Vec::<String>::new());
            let kept = rows.map(|rows| !rows.has_fault());
            assert_eq!(document["all_acknowledged_rows_kept"].as_bool(), kept);
        });
    }
}

/// The review's M18: "0 of these sent more than once" beside "22 tried again".
#[test]
fn connections_that_are_made_again_are_no_rows_that_are_sent_again() {
    let mut trial = Fixture::durability().input().trials().next().unwrap().clone();
    let measured = trial.measured.as_mut().unwrap();
    measured.errors = vec![truetps_record::ErrorCount {
        class: truetps_record::ErrorClass::ConnectionLost,
        code: 0,
        count: 38,
        retried: 22,
        first_message: "the connection was closed".to_owned(),
    }];
    measured.counts.retried = 0;
    let said = |trial: &truetps_record::Trial| crate::verification::error_texts(trial).concat();
    let expect = "38, 22 reconnects without a row × connection_lost: the connection was closed";
    assert_eq!(said(&trial), expect);
    trial.measured.as_mut().unwrap().counts.retried = 5;
    assert!(said(&trial).contains("22 rows sent again or reconnects"), "{}", said(&trial));
}
