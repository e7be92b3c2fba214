//! Compares the rows of a table with the answers that clients got for them. Pure, but for the
//! buckets that it is given.

use std::collections::BTreeMap;

use truetps_record::{AnsweredRow, RowAnswer, RowCounts, RowExample, RowFault, ServerKill};
use truetps_workload::RowIdentity;

use super::spool::{FoundRow, SpooledRow};

/// Examples of each fault that are kept: the first by their keys.
const EXAMPLES_MAX: usize = 10;

/// What is compared, and what was found so far.
pub(crate) struct RowComparer {
    identity: RowIdentity,
    /// The log has all rows that were sent. In an incomplete one, a row with the payload of its key
    /// was sent all the same: none but a client can know it.
    log_is_complete: bool,
    pub(crate) counts: RowCounts,
    /// When the lost rows were acknowledged: first and last.
    pub(crate) lost_ms: Option<(u64, u64)>,
    /// From there to the next kill, the longest.
    pub(crate) loss_window_ms: Option<u64>,
    /// In order.
    kills: Vec<ServerKill>,
    /// By fault, then by key.
    examples: BTreeMap<RowFault, BTreeMap<ExampleKey, RowExample>>,
    buffer: Vec<u8>,
}

/// Rows of clients come first, by their numbers; others by their text.
type ExampleKey = (u32, u64, String);

impl RowComparer {
    pub(crate) fn new(
        identity: RowIdentity,
        log_is_complete: bool,
        kills: Vec<ServerKill>,
    ) -> Self {
        Self {
            identity,
            log_is_complete,
            counts: RowCounts::default(),
            lost_ms: None,
            loss_window_ms: None,
            kills,
            examples: BTreeMap::new(),
            buffer: Vec::new(),
        }
    }

    /// A row of the table with a key that no client can have sent.
    pub(crate) fn foreign(&mut self, key: String) {
        self.counts.in_table += 1;
        self.counts.unexpected += 1;
        let example = RowExample {
            fault: RowFault::Unexpected,
            key,
            answer: None,
            answered_at_ms: None,
            attempts: 0,
            copies: 1,
        };
        let place = (u32::MAX, u64::MAX, example.key.clone());
        self.keep_example(place, example);
    }

    /// Compares the rows of one bucket; both are sorted by their keys.
    pub(crate) fn bucket(&mut self, answered: &[AnsweredRow], mut found: &[FoundRow]) {
        self.counts.in_table += found.len() as u64;
        for row in answered {
            let before = found.partition_point(|other| other.key() < row.key());
            let (unsent, rest) = found.split_at(before);
            self.unsent(unsent);
            let (copies, rest) =
                rest.split_at(rest.partition_point(|other| other.key() == row.key()));
            found = rest;
            self.answered(row, copies);
        }
        self.unsent(found);
    }

    fn answered(&mut self, row: &AnsweredRow, copies: &[FoundRow]) {
        self.counts.attempted += 1;
        self.counts.resent += u64::from(row.attempts > 1);
        match row.answer {
            RowAnswer::Acknowledged => {
                self.counts.acknowledged += 1;
                if copies.is_empty() {
                    self.lost(row);
                    self.fault(RowFault::Lost, row, copies);
                }
            }
            RowAnswer::Refused => {
                self.counts.refused += 1;
                if !copies.is_empty() {
                    self.counts.refused_present += 1;
                    self.fault(RowFault::RefusedPresent, row, copies);
                }
                return;
            }
            RowAnswer::Unknown => {
                self.counts.unknown += 1;
                let is_there = u64::from(!copies.is_empty());
                self.counts.unknown_present += is_there;
                self.counts.unknown_absent += 1 - is_there;
            }
        }
        if copies.iter().any(|copy| copy.digest != row.digest) {
            self.counts.changed += 1;
            self.fault(RowFault::Changed, row, copies);
        }
        if copies.len() > 1 {
            self.counts.doubled += copies.len() as u64 - 1;
            self.fault(RowFault::Doubled, row, copies);
        }
    }

    fn lost(&mut self, row: &AnsweredRow) {
        self.counts.lost += 1;
        let (first, last) = self.lost_ms.unwrap_or((row.at_ms, row.at_ms));
        self.lost_ms = Some((first.min(row.at_ms), last.max(row.at_ms)));
        // What is answered before the server is back was answered by the dying one.
        let next = self.kills.partition_point(|kill| kill.back_ms() < row.at_ms);
        let window_ms = self.kills.get(next).map(|kill| kill.at_ms.saturating_sub(row.at_ms));
        self.loss_window_ms = self.loss_window_ms.max(window_ms);
    }

    /// Rows of the table whose keys are in no answer.
    fn unsent(&mut self, rows: &[FoundRow]) {
        for copies in rows.chunk_by(|a, b| a.key() == b.key()) {
            let FoundRow { client, seq, .. } = copies[0];
            let digest = self.identity.digest(client, seq, &mut self.buffer);
            let row = AnsweredRow {
                client,
                seq,
                digest,
                answer: RowAnswer::Unknown,
                code: 0,
                attempts: 1,
                at_ms: 0,
            };
            if !self.log_is_complete && copies.iter().all(|copy| copy.digest == digest) {
                self.answered(&row, copies);
            } else {
                self.counts.unexpected += copies.len() as u64;
                self.keep_example(
                    (client, seq, String::new()),
                    RowExample {
                        answer: None,
                        answered_at_ms: None,
                        attempts: 0,
                        ..example(RowFault::Unexpected, &row, copies)
                    },
                );
            }
        }
    }

    fn fault(&mut self, fault: RowFault, row: &AnsweredRow, copies: &[FoundRow]) {
        self.keep_example((row.client, row.seq, String::new()), example(fault, row, copies));
    }

    fn keep_example(&mut self, place: ExampleKey, example: RowExample) {
        let kept = self.examples.entry(example.fault).or_default();
        kept.insert(place, example);
        if kept.len() > EXAMPLES_MAX {
            kept.pop_last();
        }
    }

    pub(crate) fn take_examples(&mut self) -> Vec<RowExample> {
        std::mem::take(&mut self.examples).into_values().flat_map(BTreeMap::into_values).collect()
    }
}

fn example(fault: RowFault, row: &AnsweredRow, copies: &[FoundRow]) -> RowExample {
    RowExample {
        fault,
        key: format!("client {}, row {}", row.client, row.seq),
        answer: Some(row.answer),
        answered_at_ms: Some(row.at_ms),
        attempts: row.attempts,
        copies: copies.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use truetps_workload::RandomStream;

    use super::*;

    const KILLS: [ServerKill; 2] = [
        ServerKill { at_ms: 10_500, recovery_ms: 400 },
        ServerKill { at_ms: 100_000, recovery_ms: 400 },
    ];
    const CLIENTS: u32 = 20;
    const ROWS: u64 = 50;

    fn identity(seed: u64) -> RowIdentity {
        RowIdentity { seed, payload_bytes: 40 }
    }

    /// A load with all kinds of answers, and the table that a faultless service leaves.
    fn load(seed: u64) -> (Vec<AnsweredRow>, Vec<FoundRow>) {
        let mut random = RandomStream::new(seed, 1);
        let (mut answered, mut found) = (Vec::new(), Vec::new());
        for client in 0..CLIENTS {
            for seq in 0..ROWS {
                let digest = identity(seed).digest(client, seq, &mut Vec::new());
                let (answer, is_there) = match random.below(20) {
                    0 => (RowAnswer::Refused, false),
                    1 => (RowAnswer::Unknown, false),
                    2 => (RowAnswer::Unknown, true),
                    _ => (RowAnswer::Acknowledged, true),
                };
                let attempts = 1 + random.below(2) as u32;
                answered.push(AnsweredRow {
                    client,
                    seq,
                    digest,
                    answer,
                    code: 0,
                    attempts,
                    at_ms: seq * 1000,
                });
                if is_there {
                    found.push(FoundRow { client, seq, digest });
                }
            }
        }
        (answered, found)
    }

    /// In buckets, as in a run.
    fn compare(
        seed: u64,
        is_complete: bool,
        answered: &[AnsweredRow],
        found: &[FoundRow],
    ) -> RowComparer {
        let mut comparer = RowComparer::new(identity(seed), is_complete, KILLS.to_vec());
        let bucket = |client: u32, seq: u64| (u64::from(client) + seq) % 3;
        for number in 0..3 {
            let mut answered: Vec<_> = answered
                .iter()
                .filter(|row| bucket(row.client, row.seq) == number)
                .copied()
                .collect();
            let mut found: Vec<_> =
                found.iter().filter(|row| bucket(row.client, row.seq) == number).copied().collect();
            answered.sort_by_key(SpooledRow::key);
            found.sort_by_key(SpooledRow::key);
            comparer.bucket(&answered, &found);
        }
        let RowCounts {
            attempted,
            acknowledged,
            refused,
            unknown,
            unknown_present,
            unknown_absent,
            ..
        } = comparer.counts;
        assert_eq!(attempted, acknowledged + refused + unknown);
        assert_eq!(unknown, unknown_present + unknown_absent);
        comparer
    }

    /// The place of a row with this answer, chosen by the seed.
    fn any(seed: u64, answered: &[AnsweredRow], answer: RowAnswer) -> AnsweredRow {
        let of_answer: Vec<_> = answered.iter().filter(|row| row.answer == answer).collect();
        *of_answer[RandomStream::new(seed, 2).below(of_answer.len() as u64) as usize]
    }

    fn only(
        seed: u64,
        fault: RowFault,
        change: impl Fn(&mut Vec<AnsweredRow>, &mut Vec<FoundRow>) -> (u32, u64),
    ) {
        let (mut answered, mut found) = load(seed);
        let (client, seq) = change(&mut answered, &mut found);
        let mut comparer = compare(seed, true, &answered, &found);
        for other in RowFault::ALL {
            assert_eq!(
                comparer.counts.count(other),
                u64::from(other == fault),
                "{seed}: {other:?} for {fault:?}"
            );
        }
        let examples = comparer.take_examples();
        assert_eq!(examples.len(), 1, "{examples:?}");
        assert_eq!(
            (examples[0].fault, &examples[0].key),
            (fault, &format!("client {client}, row {seq}"))
        );
    }

    #[test]
    fn a_hundred_clean_runs_are_accused_of_nothing() {
        for seed in 0..100 {
            let (answered, found) = load(seed);
            let mut comparer = compare(seed, true, &answered, &found);
            assert!(!comparer.counts.has_fault() && comparer.take_examples().is_empty(), "{seed}");
            assert_eq!(comparer.counts.in_table, found.len() as u64);
            assert!(comparer.counts.unknown_present > 0 && comparer.counts.unknown_absent > 0);
        }
    }

    #[test]
    fn each_planted_fault_is_found_in_a_hundred_of_a_hundred_runs() {
        for seed in 0..100 {
            only(seed, RowFault::Lost, |answered, found| {
                let row = any(seed, answered, RowAnswer::Acknowledged);
                found.retain(|other| other.key() != row.key());
                row.key()
            });
            only(seed, RowFault::Doubled, |answered, found| {
                let row = any(seed, answered, RowAnswer::Acknowledged);
                found.push(FoundRow { client: row.client, seq: row.seq, digest: row.digest });
                row.key()
            });
            only(seed, RowFault::Changed, |answered, found| {
                let row = any(seed, answered, RowAnswer::Acknowledged);
                let mut payload = Vec::new();
                identity(seed).put_payload(row.client, row.seq, &mut payload);
                let at = RandomStream::new(seed, 3).below(payload.len() as u64) as usize;
                payload[at] ^= 1 << RandomStream::new(seed, 4).below(7);
                let row = found.iter_mut().find(|other| other.key() == row.key()).unwrap();
                row.digest = truetps_record::fnv1a(&payload);
                row.key()
            });
            only(seed, RowFault::Unexpected, |_, found| {
                let client = RandomStream::new(seed, 5).below(CLIENTS.into()) as u32;
                let digest = identity(seed).digest(client, ROWS + seed, &mut Vec::new());
                found.push(FoundRow { client, seq: ROWS + seed, digest });
                (client, ROWS + seed)
            });
            // An answer for a row that was rolled back: acknowledged, and never there.
            only(seed, RowFault::Lost, |answered, _| {
                let row = answered
                    .iter_mut()
                    .filter(|row| row.answer == RowAnswer::Refused)
                    .nth(seed as usize % 5);
                let row = row.unwrap();
                row.answer = RowAnswer::Acknowledged;
                row.key()
            });
            only(seed, RowFault::RefusedPresent, |answered, found| {
                let row = any(seed, answered, RowAnswer::Refused);
                found.push(FoundRow { client: row.client, seq: row.seq, digest: row.digest });
                row.key()
            });
        }
    }

    #[test]
    fn rows_behind_the_end_of_a_log_are_unknown_if_a_client_has_sent_them() {
        let (answered, found) = load(7);
        // The log was cut off: a third of its rows is missing.
        let cut: Vec<_> = answered.iter().filter(|row| row.seq < 30).copied().collect();
        let comparer = compare(7, false, &cut, &found);
        assert!(!comparer.counts.has_fault());
        let behind = found.iter().filter(|row| row.seq >= 30).count() as u64;
        let known = compare(7, true, &cut, &found[..0]).counts.unknown;
        assert_eq!(comparer.counts.unknown, known + behind);
        assert_eq!(compare(7, true, &cut, &found).counts.unexpected, behind, "the log is complete");
        let mut foreign = found;
        foreign.push(FoundRow { client: 3, seq: 99, digest: 5 });
        assert_eq!(
            compare(7, false, &cut, &foreign).counts.unexpected,
            1,
            "no client knows that payload"
        );
    }

    fn window_ms(lost_at_ms: &[u64]) -> Option<u64> {
        let mut comparer = RowComparer::new(identity(3), true, KILLS.to_vec());
        let (answered, _) = load(3);
        for at_ms in lost_at_ms {
            comparer.lost(&AnsweredRow { at_ms: *at_ms, ..answered[0] });
        }
        comparer.loss_window_ms
    }

    /// A dying server's answer, noted 1 ms after the kill, is not one before the next kill.
    #[test]
    fn answers_of_a_dying_server_belong_to_its_kill() {
        assert_eq!(window_ms(&[10_000, 10_501]), Some(500));
        assert_eq!(window_ms(&[10_900, 99_000]), Some(1000));
        assert_eq!(window_ms(&[10_901]), Some(100_000 - 10_901));
        assert_eq!(window_ms(&[100_024]), Some(0));
        assert_eq!(window_ms(&[100_401]), None, "no kill follows");
    }

    #[test]
    fn the_first_examples_by_key_are_kept_and_losses_have_their_time() {
        let (answered, _) = load(3);
        let mut comparer = compare(3, true, &answered, &[]);
        comparer.foreign("'none'".to_owned());
        let lost =
            answered.iter().filter(|row| row.answer == RowAnswer::Acknowledged).count() as u64;
        assert_eq!(
            (comparer.counts.lost, comparer.counts.unexpected, comparer.counts.in_table),
            (lost, 1, 1)
        );
        assert_eq!(comparer.lost_ms, Some((0, (ROWS - 1) * 1000)));
        assert_eq!(
            comparer.loss_window_ms,
            Some(100_000 - 11_000),
            "the first row after the first kill"
        );
        let examples = comparer.take_examples();
        let first =
            answered.iter().filter(|row| row.answer == RowAnswer::Acknowledged).take(EXAMPLES_MAX);
        let keys: Vec<_> =
            first.map(|row| format!("client {}, row {}", row.client, row.seq)).collect();
        let lost: Vec<_> =
            examples[..EXAMPLES_MAX].iter().map(|example| example.key.clone()).collect();
        assert_eq!(lost, keys);
        assert_eq!(
            (examples[EXAMPLES_MAX].key.as_str(), examples.len()),
            ("'none'", EXAMPLES_MAX + 1)
        );
    }
}
