//! The parts of an experiment agree on each trial, through the server that they load. There is no
//! other controller: part 0 prepares the server and names each start, and the others follow.
//! Nothing is written while a trial is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use truetps_record::{CommonStart, Experiment, Part};

use super::clock::ServerClock;
use super::error::PartsError;
use super::invitation::{Invitation, Invited, OwnExperiment, wait_for_invitation};
use super::proof::{RunKey, digest_of, new_number, no_proof};
use super::row::{PARTS_TABLE, PartPhase, PartRow};
use super::secret::parts_secret;
use super::table::{PartsTable, UnprovenRow, lock_text};
use crate::error::LabError;
use crate::trial::server_provider::ExternalServer;

/// Part 0 may take this long to prepare the server for a trial.
const PREPARE_MAX: Duration = Duration::from_hours(1);
/// After the server is prepared, all clients of a part must be connected within this time. It is
/// more than the time limit of the connecting itself.
const CONNECT_MAX: Duration = Duration::from_mins(2);
/// After a load has ended in one part, it must end in the others within this time: the drain, and a
/// margin.
const END_MAX: Duration = Duration::from_secs(30);
/// A part that has ended is waited for, so that the schema can be dropped.
const LEAVE_MAX: Duration = Duration::from_secs(20);
/// From the naming of a start to the start: every part must have read it by then.
const LEAD: Duration = Duration::from_millis(600);
/// How often a part asks whether its session has the lock that it has taken: a proxy may choose a
/// session at random.
const SESSION_LOOKS: u32 = 8;
/// While all wait for a start, and while part 0 prepares.
const SHORT_PAUSE: Duration = Duration::from_millis(20);
const LONG_PAUSE: Duration = Duration::from_millis(200);

/// What part 0 tells the others before a trial.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    trial: String,
    /// The settings of the load's sessions that are not the server's, as such a session shows them.
    /// Each part sets its own, and compares: what it sends to the server comes from no row.
    settings: BTreeMap<String, String>,
}

/// One part's place among the others.
pub(crate) struct Meeting<'a> {
    part: Part,
    /// How long parts wait for each other before the first trial.
    wait: Duration,
    /// `None`: it has left.
    table: Option<PartsTable>,
    /// Set by the user: ends all waits.
    stop: &'a AtomicBool,
    key: RunKey,
    /// The run's number in part 0; in others the number that part 0 answers.
    number: String,
    /// The serial number of the row that was written last.
    serial: u64,
    /// The rows that were read last, by part: serial and number.
    seen: BTreeMap<u32, (u64, String)>,
    /// Part 0: the parts whose number it has answered.
    answered: BTreeSet<u32>,
    /// The digest of part 0's.
    invitation: String,
    round: u32,
    /// Part 0's settings of the load's sessions in this round.
    settings: BTreeMap<String, String>,
    /// Why this round will not start.
    cancelled: Option<String>,
    /// Whether this part has told the others that the round starts, or that it is ready.
    is_started: bool,
    start: Option<CommonStart>,
    /// The last round that part 0 has judged, and why it is no evidence.
    judged: (u32, String),
}

impl<'a> Meeting<'a> {
    fn at(
        external: &ExternalServer,
        mut table: PartsTable,
        (key, number): (RunKey, String),
        stop: &'a AtomicBool,
    ) -> Result<Self, LabError> {
        let ExternalServer { part, part_wait: wait, .. } = *external;
        if !table.take_lock(part.index)? {
            let lock = lock_text(table.client.dialect(), table.schema(), part.index);
            return Err(PartsError::apart(format!(
                "another process is part {part} already, or another account holds its lock, {lock}"
            ))
            .into());
        }
        let mut is_one_session = true;
        for _ in 0..SESSION_LOOKS {
            is_one_session &= table.has_lock(part.index)?;
        }
        if !is_one_session {
            let problem = "statements of one session run in several sessions of the server: the \
                           parts cannot meet behind such a proxy";
            return Err(PartsError::apart(problem).into());
        }
        Ok(Self {
            part,
            wait,
            table: Some(table),
            stop,
            key,
            number,
            serial: 0,
            seen: BTreeMap::new(),
            answered: BTreeSet::new(),
            invitation: String::new(),
            round: 0,
            settings: BTreeMap::new(),
            cancelled: None,
            is_started: false,
            start: None,
            judged: (0, String::new()),
        })
    }

    /// Part 0 opens it, in the schema that it has made.
    pub(crate) fn open(external: &ExternalServer, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let secret = parts_secret(external)?;
        let mut table = PartsTable::connect(&external.control_inside())?;
        table.create()?;
        let number = new_number();
        let key = RunKey::derive(secret, &number, table.schema()).expect("a new number is one");
        Self::at(external, table, (key, number), stop)
    }

    /// The others may come. `sessions`: the name of the load's sessions on PostgreSQL, by which
    /// part 0 finds those that remain.
    pub(crate) fn invite(
        &mut self,
        plan: &str,
        sessions: &str,
        experiment: &Experiment,
    ) -> Result<(), LabError> {
        let (plan, sessions) = (plan.to_owned(), sessions.to_owned());
        let invitation =
            Invitation { of: self.part.of, plan, sessions, experiment: experiment.clone() };
        let invitation = serde_json::to_string(&invitation).expect("an experiment has a JSON form");
        self.invitation = digest_of(&invitation);
        Ok(self.come(&PartRow::joined(0, self.number.clone()), &invitation)?)
    }

    /// Another part waits for the invitation, and comes. Returns what part 0 says of the
    /// experiment.
    pub(crate) fn join(
        external: &ExternalServer,
        own: &OwnExperiment<'_>,
        stop: &'a AtomicBool,
    ) -> Result<(Self, Invitation), LabError> {
        let part = external.part;
        let Invited { mut table, key, invitation, row } = wait_for_invitation(external, stop)?;
        let number = new_number();
        if let Err(problem) = invitation.check(part, own) {
            // The others learn it from the row, if this part has none yet.
            let row = PartRow {
                phase: PartPhase::Failed,
                note: problem.clone(),
                ..PartRow::joined(part.index, number)
            };
            if part.index < invitation.of {
                let _ = table.insert(&row, "", &key.proof(&row, ""));
            }
            return Err(PartsError::apart(problem).into());
        }
        let mut meeting = Self::at(external, table, (key, number.clone()), stop)?;
        meeting.invitation = row.invitation;
        meeting.seen.insert(0, (row.serial, row.number));
        meeting.come(&PartRow::joined(part.index, number), "")?;
        Ok((meeting, invitation))
    }

    fn come(&mut self, row: &PartRow, invitation: &str) -> Result<(), PartsError> {
        let proof = self.key.proof(row, self.invitation_of(row.part));
        Ok(self.table()?.insert(row, invitation, &proof)?)
    }

    /// The digest that the proof of this part's rows includes.
    fn invitation_of(&self, part: u32) -> &str {
        if part == 0 { &self.invitation } else { "" }
    }

    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// The common start of the round, once it is known.
    pub(crate) fn common_start(&self) -> Option<CommonStart> {
        self.start
    }

    /// A trial begins. Part 0 checks that the others are there; the others wait until the server is
    /// prepared.
    pub(crate) fn begin_round(&mut self, trial: &str) -> Result<(), LabError> {
        self.round += 1;
        self.cancelled = None;
        self.start = None;
        self.is_started = false;
        self.settings.clear();
        if let Some(problem) = self.table()?.distrust()? {
            return Err(PartsError::apart(problem).into());
        }
        if self.part.is_first() {
            // In the first round they may still be on their way.
            return if self.round == 1 { Ok(()) } else { Ok(self.check_others()?) };
        }
        let round = self.round;
        let first = self.wait_for_first(PREPARE_MAX, LONG_PAUSE, |row| match row.phase {
            PartPhase::Prepared | PartPhase::Started | PartPhase::Cancelled => row.round >= round,
            PartPhase::Over => true,
            _ => row.round > round || row.judged >= round,
        })?;
        match first.phase {
            PartPhase::Over => {
                return Err(
                    PartsError::apart("part 0 has ended the experiment before all trials").into()
                );
            }
            _ if first.round > round => {
                return Err(
                    PartsError::apart("part 0 has begun the experiment without this part").into()
                );
            }
            PartPhase::Cancelled => self.cancelled = Some(first.note),
            // It was cancelled a while ago.
            _ if first.judged == round => self.cancelled = Some(first.verdict),
            _ => {
                let named: Round = serde_json::from_str(&first.note).map_err(|error| {
                    PartsError::apart(format!("part 0 named a trial in other words: {error}"))
                })?;
                if named.trial != trial {
                    let problem =
                        format!("part 0 begins trial {}, and this part {trial}", named.trial);
                    return Err(PartsError::apart(problem).into());
                }
                self.settings = named.settings;
            }
        }
        Ok(())
    }

    /// The server is ready for the trial, with these settings of the load's sessions. Part 0 tells
    /// it; another part compares.
    pub(crate) fn server_is_prepared(
        &mut self,
        trial: &str,
        settings: &BTreeMap<String, String>,
    ) -> Result<(), LabError> {
        if self.part.is_first() {
            let round = Round { trial: trial.to_owned(), settings: settings.clone() };
            let note = serde_json::to_string(&round).expect("texts have a JSON form");
            return Ok(self.tell(PartPhase::Prepared, 0, note)?);
        }
        if self.cancelled.is_none() {
            self.cancelled = first_other_setting(&self.settings, settings).map(|difference| {
                format!("part {} has another setting than part 0: {difference}", self.part)
            });
        }
        Ok(())
    }

    /// All clients of this part have connected: waits for the others, and returns the moment of the
    /// common start.
    pub(crate) fn start(&mut self) -> Result<Instant, PartsError> {
        let started = if self.part.is_first() { self.name_start() } else { self.follow_start() };
        if let (Err(problem), true) = (&started, self.part.is_first()) {
            self.cancel(&problem.to_string());
        }
        started
    }

    fn name_start(&mut self) -> Result<Instant, PartsError> {
        self.wait_for_others(CONNECT_MAX, "ready to start", PartPhase::Ready)?;
        let clock = self.compare_clocks()?;
        let start_us = clock.now_us() + LEAD.as_micros() as i64;
        let at = clock.moment(start_us).expect("the start is ahead");
        self.tell(PartPhase::Started, start_us, String::new())?;
        self.is_started = true;
        self.start = Some(clock.start(start_us));
        Ok(at)
    }

    fn follow_start(&mut self) -> Result<Instant, PartsError> {
        if let Some(reason) = self.cancelled.clone() {
            return Err(PartsError::Apart(reason));
        }
        // Before the start is named: then there is time for the round trips.
        self.compare_clocks()?;
        self.tell(PartPhase::Ready, 0, String::new())?;
        self.is_started = true;
        let round = self.round;
        let over = [PartPhase::Started, PartPhase::Cancelled, PartPhase::Over];
        let patience = self.wait + 2 * CONNECT_MAX;
        let first = self.wait_for_first(patience, SHORT_PAUSE, |row| {
            row.round >= round && (over.contains(&row.phase) || row.judged >= round)
        })?;
        if first.phase != PartPhase::Started || first.round != round {
            let reason = [first.note, first.verdict].into_iter().find(|reason| !reason.is_empty());
            return Err(PartsError::Apart(
                reason.unwrap_or_else(|| "part 0 did not start".to_owned()),
            ));
        }
        self.check_answer()?;
        let clock = self.compare_clocks()?;
        let part = self.part;
        let at = clock.moment(first.start_us).filter(|at| *at > Instant::now());
        let at = at.ok_or_else(|| {
            let late_ms = (clock.now_us() - first.start_us) as f64 / 1e3;
            PartsError::Apart(format!("part {part} learned of the start {late_ms:.0} ms after it"))
        })?;
        if at > Instant::now() + LEAD + 2 * CommonStart::UNCERTAINTY_MAX {
            return Err(PartsError::Apart(format!(
                "the server's clock was set back before the start of part {part}"
            )));
        }
        self.start = Some(clock.start(first.start_us));
        Ok(at)
    }

    /// Rows of an earlier run have proofs, too: only a part 0 that runs now has answered this
    /// part's number.
    fn check_answer(&mut self) -> Result<(), PartsError> {
        let part = self.part.index;
        let answer = self.table()?.answer(part)?;
        if self.key.answers(&answer, part, &self.number) {
            return Ok(());
        }
        Err(PartsError::Apart(format!(
            "`{PARTS_TABLE}` has no answer of part 0 to part {}: its rows are of another run",
            self.part
        )))
    }

    fn compare_clocks(&mut self) -> Result<ServerClock, PartsError> {
        let part = self.part;
        let clock = ServerClock::compare(self.table()?)?;
        if clock.uncertainty() > CommonStart::UNCERTAINTY_MAX {
            return Err(PartsError::Apart(format!(
                "part {part} knows the server's clock only within {:.0} ms (half a round trip; the \
                 limit is {} ms)",
                clock.uncertainty().as_secs_f64() * 1e3,
                CommonStart::UNCERTAINTY_MAX.as_millis()
            )));
        }
        Ok(clock)
    }

    /// The load has ended in this part, well or not. Returns why the trial is no evidence for
    /// another part's sake.
    pub(crate) fn end_round(&mut self, problem: Option<&str>) -> Option<PartsError> {
        let ended = if self.part.is_first() { self.judge(problem) } else { self.report(problem) };
        ended.err()
    }

    /// Part 0 collects how the others ended, and tells it to all.
    fn judge(&mut self, problem: Option<&str>) -> Result<(), PartsError> {
        if !self.is_started {
            self.cancel(problem.unwrap_or("part 0 did not start"));
        }
        let others = self.wait_for_others(END_MAX, "done", PartPhase::Done);
        let verdict = match (problem, &others) {
            (Some(own), _) => format!("part {}: {own}", self.part),
            (None, Err(theirs)) => theirs.to_string(),
            (None, Ok(())) => String::new(),
        };
        self.judged = (self.round, verdict);
        self.tell(PartPhase::Done, 0, String::new())?;
        others
    }

    /// Another part tells how it ended, and reads part 0's verdict.
    fn report(&mut self, problem: Option<&str>) -> Result<(), PartsError> {
        match problem {
            None => self.tell(PartPhase::Done, 0, String::new())?,
            Some(problem) => self.tell(PartPhase::Failed, 0, problem.to_owned())?,
        }
        let round = self.round;
        // Part 0 may wait as long for others.
        let patience = 2 * END_MAX + CONNECT_MAX;
        let first = self.wait_for_first(patience, SHORT_PAUSE, |row| {
            row.judged >= round || row.round > round || row.phase == PartPhase::Over
        })?;
        match first.verdict {
            _ if first.judged != round => {
                Err(PartsError::Apart("part 0 went on without this part".to_owned()))
            }
            verdict if verdict.is_empty() => Ok(()),
            verdict => Err(PartsError::Apart(verdict)),
        }
    }

    /// Tells the others that the round will not start.
    fn cancel(&mut self, reason: &str) {
        // If the server is gone, they find out by themselves.
        let _ = self.tell(PartPhase::Cancelled, 0, reason.to_owned());
        self.is_started = true;
    }

    /// No round follows in this part. Part 0 waits until the others have gone: the schema will be
    /// dropped.
    pub(crate) fn leave(&mut self) {
        if self.part.is_first() && self.table.is_some() {
            let _ = self.tell(PartPhase::Over, 0, String::new());
            let deadline = Instant::now() + LEAVE_MAX;
            while Instant::now() < deadline && self.any_other_is_alive() {
                thread::sleep(SHORT_PAUSE);
            }
        }
        self.table = None;
    }

    fn any_other_is_alive(&mut self) -> bool {
        let of = self.part.of;
        let Ok(table) = self.table() else { return false };
        let Ok(rows) = table.rows(of) else { return false };
        rows.iter().any(|row| table.is_alive(row.part).unwrap_or(false))
    }

    fn table(&mut self) -> Result<&mut PartsTable, PartsError> {
        self.table.as_mut().ok_or_else(|| PartsError::Apart("this part has left".to_owned()))
    }

    fn tell(&mut self, phase: PartPhase, start_us: i64, note: String) -> Result<(), PartsError> {
        let (judged, verdict) = self.judged.clone();
        self.serial += 1;
        let own = PartRow::joined(self.part.index, self.number.clone());
        let row = PartRow {
            round: self.round,
            phase,
            start_us,
            note,
            judged,
            verdict,
            serial: self.serial,
            ..own
        };
        let proof = self.key.proof(&row, self.invitation_of(row.part));
        Ok(self.table()?.update(&row, &proof)?)
    }

    /// The row, if a part of this load wrote it, and not before one that was read.
    fn proven(&mut self, row: UnprovenRow) -> Result<PartRow, PartsError> {
        let part = row.part;
        let row = row.proven(&self.key, self.invitation_of(part)).ok_or_else(|| no_proof(part))?;
        let content = (row.serial, row.number.clone());
        let before = self.seen.insert(part, content);
        if before.is_some_and(|(serial, number)| serial > row.serial || number != row.number) {
            return Err(PartsError::Apart(format!(
                "the row of part {part} in `{PARTS_TABLE}` has an earlier content again"
            )));
        }
        Ok(row)
    }

    /// The others that have come, each of which gets its answer.
    fn rows_of_others(&mut self) -> Result<Vec<PartRow>, PartsError> {
        let of = self.part.of;
        let rows = self.table()?.rows(of)?;
        let rows = rows.into_iter().map(|row| self.proven(row)).collect::<Result<Vec<_>, _>>()?;
        for row in &rows {
            if !self.answered.contains(&row.part) {
                let answer = self.key.answer(row.part, &row.number);
                self.table()?.write_answer(row.part, &answer)?;
                self.answered.insert(row.part);
            }
        }
        Ok(rows)
    }

    /// Refuses to go on without a part that was there.
    fn check_others(&mut self) -> Result<(), PartsError> {
        (1..self.part.of).try_for_each(|part| self.check_alive(part))
    }

    fn check_alive(&mut self, part: u32) -> Result<(), PartsError> {
        if self.table()?.is_alive(part)? {
            return Ok(());
        }
        Err(PartsError::Apart(format!("part {part}/{} has ended", self.part.of)))
    }

    /// Part 0 waits until all others are in this phase of the round; for those that have not come,
    /// as long as was asked.
    fn wait_for_others(
        &mut self,
        patience: Duration,
        what: &str,
        phase: PartPhase,
    ) -> Result<(), PartsError> {
        let (round, of) = (self.round, self.part.of);
        // Before the first start they may still be on their way: then all of them have longer.
        let began = Instant::now();
        let may_come = round == 1 && phase == PartPhase::Ready;
        let arrival = if may_come { self.wait } else { Duration::ZERO };
        loop {
            let rows = self.rows_of_others()?;
            let failed = rows.iter().find(|row| {
                row.phase == PartPhase::Failed && (row.round == round || row.round == 0)
            });
            if let Some(row) = failed {
                let name = format!("part {}/{of}", row.part);
                let named = if row.note.contains(&name) {
                    row.note.clone()
                } else {
                    format!("{name}: {}", row.note)
                };
                return Err(PartsError::Apart(named));
            }
            let there: BTreeSet<_> = rows.iter().map(|row| row.part).collect();
            let arrived = rows.iter().filter(|row| row.round == round && row.phase == phase);
            let arrived: BTreeSet<_> = arrived.map(|row| row.part).collect();
            let waited_for: Vec<_> = (1..of).filter(|part| !arrived.contains(part)).collect();
            let Some(one) = waited_for.first() else { return Ok(()) };
            for part in waited_for.iter().filter(|part| there.contains(part)) {
                self.check_alive(*part)?;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(PartsError::Apart("interrupted".to_owned()));
            }
            let waited = began.elapsed();
            if let Some(absent) =
                waited_for.iter().find(|part| !there.contains(part)).filter(|_| waited >= arrival)
            {
                let seconds = arrival.as_secs();
                return Err(PartsError::Apart(format!(
                    "part {absent}/{of} did not come within {seconds} s"
                )));
            }
            if waited >= arrival + patience {
                let seconds = (arrival + patience).as_secs();
                return Err(PartsError::Apart(format!(
                    "part {one}/{of} was not {what} within {seconds} s"
                )));
            }
            thread::sleep(SHORT_PAUSE);
        }
    }

    /// Another part waits for part 0.
    fn wait_for_first(
        &mut self,
        patience: Duration,
        pause: Duration,
        is_it: impl Fn(&PartRow) -> bool,
    ) -> Result<PartRow, PartsError> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(row) = self.table()?.row(0)? {
                let row = self.proven(row)?;
                if is_it(&row) {
                    return Ok(row);
                }
            }
            self.check_alive(0)?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(PartsError::Apart("interrupted".to_owned()));
            }
            if Instant::now() >= deadline {
                let problem = format!(
                    "part 0/{} did not go on within {} s",
                    self.part.of,
                    patience.as_secs()
                );
                return Err(PartsError::Apart(problem));
            }
            thread::sleep(pause);
        }
    }
}

/// The first setting that differs, as both have it.
fn first_other_setting(
    first: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> Option<String> {
    let names: BTreeSet<_> = first.keys().chain(own.keys()).collect();
    let name = names.into_iter().find(|name| first.get(*name) != own.get(*name))?;
    let [first, own] = [first, own]
        .map(|of| of.get(name).map_or("not set".to_owned(), |value| format!("`{value}`")));
    Some(format!("`{name}` is {first} in part 0, {own} here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_compared_by_name() {
        let settings = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let own = settings(&[("a", "1"), ("b", "2")]);
        assert_eq!(first_other_setting(&own, &own), None);
        for (first, expected) in [
            (&[("a", "1"), ("b", "3")][..], "`b` is `3` in part 0, `2` here"),
            (&[("a", "1")], "`b` is not set in part 0, `2` here"),
            (
                &[("0; DROP", "x"), ("a", "1"), ("b", "2")],
                "`0; DROP` is `x` in part 0, not set here",
            ),
        ] {
            assert_eq!(first_other_setting(&settings(first), &own).as_deref(), Some(expected));
        }
    }
}
