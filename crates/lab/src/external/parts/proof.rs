//! The proof that a part of the same load wrote a row. Any account that may write to the schema can
//! write a row of any part: a row counts only with a code of its whole content by a key that the
//! parts know, and the server does not store.
//!
//! The key is derived from a secret that all parts have and a number that part 0 draws for the run,
//! so that rows of an earlier run prove nothing. Whether part 0 itself is of an earlier run, its
//! answer to a number of another part shows.

use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use truetps_driver::Password;

use super::error::{PARTS_SECRET, PartsError};
use super::hex::{bytes_of_hex, hex};
use super::row::{PARTS_TABLE, PartRow};

/// A number of a run or of a part that no other has.
pub(super) const NUMBER_BYTES: usize = 16;
/// Changes with the meaning of a row.
const ROW_DOMAIN: &str = "truetps parts: row, 1";
const ANSWER_DOMAIN: &str = "truetps parts: answer, 1";

/// As hexadecimal digits. Cannot be guessed.
pub(super) fn new_number() -> String {
    let mut number = [0; NUMBER_BYTES];
    SystemRandom::new().fill(&mut number).expect("the system has random numbers");
    hex(&number)
}

/// In place of the invitation, which has megabytes if there are many trials.
pub(super) fn digest_of(invitation: &str) -> String {
    hex(digest(&SHA256, invitation.as_bytes()).as_ref())
}

/// What proves that a part of this run wrote a row.
pub(super) struct RunKey {
    key: Key,
    schema: String,
}

impl RunKey {
    /// `number`: of part 0. `None`: it is none.
    pub(super) fn derive(secret: &Password, number: &str, schema: &str) -> Option<Self> {
        let salt = bytes_of_hex(number).filter(|salt| salt.len() == NUMBER_BYTES)?;
        Some(Self {
            key: Key::new(HMAC_SHA256, &secret.derive_key(&salt)),
            schema: schema.to_owned(),
        })
    }

    /// `invitation`: the digest of part 0's; empty for others.
    pub(super) fn proof(&self, row: &PartRow, invitation: &str) -> String {
        self.code(&self.row_content(row, invitation))
    }

    pub(super) fn proves(&self, proof: &str, row: &PartRow, invitation: &str) -> bool {
        self.is_code(proof, &self.row_content(row, invitation))
    }

    /// Part 0's answer to the number of another part.
    pub(super) fn answer(&self, part: u32, number: &str) -> String {
        self.code(&content(&(ANSWER_DOMAIN, &self.schema, part, number)))
    }

    pub(super) fn answers(&self, answer: &str, part: u32, number: &str) -> bool {
        self.is_code(answer, &content(&(ANSWER_DOMAIN, &self.schema, part, number)))
    }

    fn row_content(&self, row: &PartRow, invitation: &str) -> Vec<u8> {
        let PartRow { part, round, phase, start_us, note, judged, verdict, serial, number } = row;
        let place = (ROW_DOMAIN, &self.schema, part, number, serial);
        content(&(place, round, phase.word(), start_us, note, judged, verdict, invitation))
    }

    fn code(&self, content: &[u8]) -> String {
        hex(sign(&self.key, content).as_ref())
    }

    fn is_code(&self, code: &str, content: &[u8]) -> bool {
        bytes_of_hex(code).is_some_and(|code| verify(&self.key, content, &code).is_ok())
    }
}

/// No two contents have the same bytes: JSON shows where each text ends.
fn content(fields: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(fields).expect("texts and numbers have a JSON form")
}

pub(super) fn no_proof(part: u32) -> PartsError {
    PartsError::Apart(format!(
        "no part of this load wrote the row of part {part} in `{PARTS_TABLE}`: parts have \
         different secrets, or another account writes there; give all parts the same password of \
         the account, or the same {PARTS_SECRET}"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::row::PartPhase;
    use super::*;

    fn key(secret: &str, number: &str, schema: &str) -> RunKey {
        RunKey::derive(&Password::new(secret), number, schema).unwrap()
    }

    fn row() -> PartRow {
        PartRow { note: "n".to_owned(), serial: 5, ..PartRow::joined(1, "ab".repeat(NUMBER_BYTES)) }
    }

    #[test]
    fn a_proof_is_of_one_row_one_run_and_one_secret() {
        let run = new_number();
        let key = key("a secret", &run, "truetps");
        let proof = key.proof(&row(), "inv");
        assert!(key.proves(&proof, &row(), "inv"));
        let changed = [
            PartRow { part: 0, ..row() },
            PartRow { round: 1, ..row() },
            PartRow { phase: PartPhase::Done, ..row() },
            PartRow { start_us: 1, ..row() },
            PartRow { note: String::new(), verdict: "n".to_owned(), ..row() },
            PartRow { judged: 1, ..row() },
            PartRow { serial: 6, ..row() },
            PartRow { number: "cd".repeat(NUMBER_BYTES), ..row() },
        ];
        for row in changed {
            assert!(!key.proves(&proof, &row, "inv"), "{row:?}");
        }
        assert!(!key.proves(&proof, &row(), ""), "another invitation");
        for other in [
            super::tests::key("another secret", &run, "truetps"),
            super::tests::key("a secret", &new_number(), "truetps"),
            super::tests::key("a secret", &run, "other"),
        ] {
            assert!(!other.proves(&proof, &row(), "inv"));
        }
        assert!(!key.proves("", &row(), "inv") && !key.proves(&proof[2..], &row(), "inv"));
    }

    #[test]
    fn an_answer_is_to_one_number_of_one_part() {
        let (key, number) = (key("a secret", &new_number(), "truetps"), new_number());
        let answer = key.answer(3, &number);
        assert!(key.answers(&answer, 3, &number));
        assert!(!key.answers(&answer, 4, &number) && !key.answers(&answer, 3, &new_number()));
        assert!(!key.answers("", 3, &number));
    }

    #[test]
    fn the_number_of_a_run_has_one_form() {
        let secret = Password::new("a secret");
        for number in ["", "zz", &"ab".repeat(NUMBER_BYTES - 1), &"ab".repeat(NUMBER_BYTES + 1)] {
            assert!(RunKey::derive(&secret, number, "truetps").is_none(), "{number}");
        }
    }
}
