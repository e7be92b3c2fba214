//! The parts of an experiment agree on each trial, through the server that they load. There is no other controller: part 0
//! prepares the server and names each start, and the others follow. Nothing is written while a trial is measured.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use truetps_driver::{DriverError, Target};
use truetps_record::{CommonStart, Experiment, Part};

use super::clock::ServerClock;
use super::table::{PartPhase, PartRow, PartsTable};
use crate::error::LabError;
use crate::server_provider::ExternalServer;
use crate::trial::StartGate;

/// Part 0 may take this long to prepare the server for a trial.
const PREPARE_MAX: Duration = Duration::from_hours(1);
/// After the server is prepared, all clients of a part must be connected within this time. It is more than the time limit
/// of the connecting itself.
const CONNECT_MAX: Duration = Duration::from_mins(2);
/// After a load has ended in one part, it must end in the others within this time: the drain, and a margin.
const END_MAX: Duration = Duration::from_secs(30);
/// A part that has ended is waited for, so that the schema can be dropped.
const LEAVE_MAX: Duration = Duration::from_secs(20);
/// From the naming of a start to the start: every part must have read it by then.
const LEAD: Duration = Duration::from_millis(600);
/// A part whose clock is known less exactly than this starts too far from the others: half of a bucket of an interval.
const UNCERTAINTY_MAX: Duration = Duration::from_millis(50);
/// How often a part asks whether its session has the lock that it has taken: a proxy may choose a session at random.
const SESSION_LOOKS: u32 = 8;
/// While all wait for a start; while part 0 prepares; and between the logins of a part that looks for part 0.
const SHORT_PAUSE: Duration = Duration::from_millis(20);
const LONG_PAUSE: Duration = Duration::from_millis(200);
const LOGIN_PAUSE: Duration = Duration::from_secs(1);

/// Why parts did not work together, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartsProblem(String);

impl PartsProblem {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for PartsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<DriverError> for PartsProblem {
    fn from(error: DriverError) -> Self {
        Self(format!("the table of the parts: {error}"))
    }
}

impl From<PartsProblem> for LabError {
    fn from(problem: PartsProblem) -> Self {
        Self::Parts { problem: problem.0 }
    }
}

/// What part 0 tells the others before the first trial.
#[derive(Debug, Serialize, Deserialize)]
struct Invitation {
    of: u32,
    /// The plan as it is run.
    plan: String,
    experiment: Experiment,
}

/// What part 0 tells the others before a trial.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    trial: String,
    /// The first statements of the load's sessions.
    setup: Vec<String>,
}

/// One part's place among the others.
pub(crate) struct Meeting<'a> {
    part: Part,
    /// How long parts wait for each other before the first trial.
    wait: Duration,
    /// `None`: it has left.
    table: Option<PartsTable>,
    /// Of the user: ends all waits.
    stop: &'a AtomicBool,
    round: u32,
    /// The first statements of the load's sessions in this round.
    setup: Vec<String>,
    /// Why this round will not start.
    cancelled: Option<String>,
    /// Whether this part has told the others that the round starts, or that it is ready.
    is_started: bool,
    start: Option<CommonStart>,
    /// Of part 0: the last round that was judged, and why it is no evidence.
    judged: (u32, String),
}

impl<'a> Meeting<'a> {
    fn at(external: &ExternalServer, mut table: PartsTable, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let ExternalServer { part, part_wait: wait, .. } = *external;
        if !table.take_lock(part.index)? {
            return Err(PartsProblem::new(format!("another process is part {part} already")).into());
        }
        let mut is_one_session = true;
        for _ in 0..SESSION_LOOKS {
            is_one_session &= table.has_lock(part.index)?;
        }
        if !is_one_session {
            let problem = "statements of one session run in several sessions of the server: the parts cannot meet behind \
                           such a proxy";
            return Err(PartsProblem::new(problem).into());
        }
        Ok(Self {
            part,
            wait,
            table: Some(table),
            stop,
            round: 0,
            setup: Vec::new(),
            cancelled: None,
            is_started: false,
            start: None,
            judged: (0, String::new()),
        })
    }

    /// Part 0 opens it, in the schema that it has made.
    pub(crate) fn open(external: &ExternalServer, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let mut table = PartsTable::connect(&external.control_inside())?;
        table.create()?;
        Self::at(external, table, stop)
    }

    /// The others may come.
    pub(crate) fn invite(&mut self, plan: &str, experiment: &Experiment) -> Result<(), LabError> {
        let invitation = Invitation { of: self.part.of, plan: plan.to_owned(), experiment: experiment.clone() };
        let invitation = serde_json::to_string(&invitation).expect("an experiment has a JSON form");
        let row = PartRow::joined(0);
        Ok(self.table()?.insert(&row, &invitation).map_err(PartsProblem::from)?)
    }

    /// Another part waits for the invitation, and comes. Returns part 0's experiment.
    pub(crate) fn join(
        external: &ExternalServer,
        plan: &str,
        tool_version: &str,
        stop: &'a AtomicBool,
    ) -> Result<(Self, Experiment), LabError> {
        let part = external.part;
        let (mut table, invitation) = wait_for_invitation(external, stop)?;
        let Invitation { of, plan: plan_of_first, experiment } = invitation;
        let problem = if of != part.of {
            Some(format!("part {part} meets part 0/{of}: the number of parts differs"))
        } else if experiment.tool_version != tool_version {
            let first = &experiment.tool_version;
            Some(format!("part {part} is truetps {tool_version}, and part 0 is {first}"))
        } else if plan_of_first != plan {
            Some(format!("part {part} has another plan than part 0: {}", first_difference(&plan_of_first, plan)))
        } else {
            None
        };
        if let Some(problem) = problem {
            // The others learn it from the row, if this part has none yet.
            let row = PartRow { phase: PartPhase::Failed, note: problem.clone(), ..PartRow::joined(part.index) };
            if part.index < of {
                let _ = table.insert(&row, "");
            }
            return Err(PartsProblem::new(problem).into());
        }
        let mut meeting = Self::at(external, table, stop)?;
        meeting.table()?.insert(&PartRow::joined(part.index), "").map_err(PartsProblem::from)?;
        Ok((meeting, experiment))
    }

    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// The first statements of the load's sessions, as part 0 has named them for this round.
    pub(crate) fn setup(&self) -> &[String] {
        &self.setup
    }

    /// The common start of the round, once it is known.
    pub(crate) fn common_start(&self) -> Option<CommonStart> {
        self.start
    }

    /// A trial begins. Part 0 checks that the others are there; the others wait until the server is prepared.
    pub(crate) fn begin_round(&mut self, trial: &str) -> Result<(), LabError> {
        self.round += 1;
        self.cancelled = None;
        self.start = None;
        self.is_started = false;
        self.setup.clear();
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
                return Err(PartsProblem::new("part 0 has ended the experiment before all trials").into());
            }
            _ if first.round > round => {
                return Err(PartsProblem::new("part 0 has begun the experiment without this part").into());
            }
            PartPhase::Cancelled => self.cancelled = Some(first.note),
            // It was cancelled a while ago.
            _ if first.judged == round => self.cancelled = Some(first.verdict),
            _ => {
                let named: Round = serde_json::from_str(&first.note)
                    .map_err(|error| PartsProblem::new(format!("part 0 named a trial in other words: {error}")))?;
                if named.trial != trial {
                    let problem = format!("part 0 begins trial {}, and this part {trial}", named.trial);
                    return Err(PartsProblem::new(problem).into());
                }
                self.setup = named.setup;
            }
        }
        Ok(())
    }

    /// Part 0: the server is ready for the trial.
    pub(crate) fn server_is_prepared(&mut self, trial: &str, setup: &[String]) -> Result<(), LabError> {
        if !self.part.is_first() {
            return Ok(());
        }
        let round = Round { trial: trial.to_owned(), setup: setup.to_vec() };
        let note = serde_json::to_string(&round).expect("texts have a JSON form");
        Ok(self.tell(PartPhase::Prepared, 0, note)?)
    }

    /// All clients of this part have connected: waits for the others, and returns the moment of the common start.
    pub(super) fn start(&mut self) -> Result<Instant, PartsProblem> {
        let started = if self.part.is_first() { self.name_start() } else { self.follow_start() };
        if let (Err(problem), true) = (&started, self.part.is_first()) {
            self.cancel(&problem.to_string());
        }
        started
    }

    fn name_start(&mut self) -> Result<Instant, PartsProblem> {
        self.wait_for_others(CONNECT_MAX, "ready to start", PartPhase::Ready)?;
        let clock = self.compare_clocks()?;
        let start_us = clock.now_us() + LEAD.as_micros() as i64;
        let at = clock.moment(start_us).expect("the start is ahead");
        self.tell(PartPhase::Started, start_us, String::new())?;
        self.is_started = true;
        self.start = Some(clock.start(start_us));
        Ok(at)
    }

    fn follow_start(&mut self) -> Result<Instant, PartsProblem> {
        if let Some(reason) = self.cancelled.clone() {
            return Err(PartsProblem(reason));
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
            return Err(PartsProblem(reason.unwrap_or_else(|| "part 0 did not start".to_owned())));
        }
        let clock = self.compare_clocks()?;
        let part = self.part;
        let at = clock.moment(first.start_us).filter(|at| *at > Instant::now());
        let at = at.ok_or_else(|| {
            let late_ms = (clock.now_us() - first.start_us) as f64 / 1e3;
            PartsProblem(format!("part {part} learned of the start {late_ms:.0} ms after it"))
        })?;
        if at > Instant::now() + LEAD + 2 * UNCERTAINTY_MAX {
            return Err(PartsProblem(format!("the server's clock was set back before the start of part {part}")));
        }
        self.start = Some(clock.start(first.start_us));
        Ok(at)
    }

    fn compare_clocks(&mut self) -> Result<ServerClock, PartsProblem> {
        let part = self.part;
        let clock = ServerClock::compare(self.table()?)?;
        if clock.uncertainty() > UNCERTAINTY_MAX {
            return Err(PartsProblem(format!(
                "part {part} knows the server's clock only within {:.0} ms (half a round trip; the limit is {} ms)",
                clock.uncertainty().as_secs_f64() * 1e3,
                UNCERTAINTY_MAX.as_millis()
            )));
        }
        Ok(clock)
    }

    /// The load has ended in this part, well or not. Returns why the trial is no evidence for another part's sake.
    pub(crate) fn end_round(&mut self, problem: Option<&str>) -> Option<PartsProblem> {
        let ended = if self.part.is_first() { self.judge(problem) } else { self.report(problem) };
        ended.err()
    }

    /// Part 0 collects how the others ended, and tells it to all.
    fn judge(&mut self, problem: Option<&str>) -> Result<(), PartsProblem> {
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
    fn report(&mut self, problem: Option<&str>) -> Result<(), PartsProblem> {
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
            _ if first.judged != round => Err(PartsProblem("part 0 went on without this part".to_owned())),
            verdict if verdict.is_empty() => Ok(()),
            verdict => Err(PartsProblem(verdict)),
        }
    }

    /// Tells the others that the round will not start.
    fn cancel(&mut self, reason: &str) {
        // If the server is gone, they find out by themselves.
        let _ = self.tell(PartPhase::Cancelled, 0, reason.to_owned());
        self.is_started = true;
    }

    /// No round follows in this part. Part 0 waits until the others have gone: the schema will be dropped.
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
        let Ok(table) = self.table() else { return false };
        let Ok(rows) = table.rows() else { return false };
        rows.iter().any(|row| table.is_alive(row.part).unwrap_or(false))
    }

    fn table(&mut self) -> Result<&mut PartsTable, PartsProblem> {
        self.table.as_mut().ok_or_else(|| PartsProblem("this part has left".to_owned()))
    }

    fn tell(&mut self, phase: PartPhase, start_us: i64, note: String) -> Result<(), PartsProblem> {
        let (judged, verdict) = self.judged.clone();
        let row = PartRow { part: self.part.index, round: self.round, phase, start_us, note, judged, verdict };
        Ok(self.table()?.update(&row)?)
    }

    /// Refuses to go on without a part that was there.
    fn check_others(&mut self) -> Result<(), PartsProblem> {
        (1..self.part.of).try_for_each(|part| self.check_alive(part))
    }

    fn check_alive(&mut self, part: u32) -> Result<(), PartsProblem> {
        if self.table()?.is_alive(part)? {
            return Ok(());
        }
        Err(PartsProblem(format!("part {part}/{} has ended", self.part.of)))
    }

    /// Part 0 waits until all others are in this phase of the round; for those that have not come, as long as was asked.
    fn wait_for_others(&mut self, patience: Duration, what: &str, phase: PartPhase) -> Result<(), PartsProblem> {
        let (round, of) = (self.round, self.part.of);
        // Before the first start they may still be on their way: then all of them have longer.
        let began = Instant::now();
        let may_come = round == 1 && phase == PartPhase::Ready;
        let arrival = if may_come { self.wait } else { Duration::ZERO };
        loop {
            let rows = self.table()?.rows()?;
            let failed =
                rows.iter().find(|row| row.phase == PartPhase::Failed && (row.round == round || row.round == 0));
            if let Some(row) = failed {
                let name = format!("part {}/{of}", row.part);
                let named = if row.note.contains(&name) { row.note.clone() } else { format!("{name}: {}", row.note) };
                return Err(PartsProblem(named));
            }
            let is_there = |part: &u32| rows.iter().any(|row| row.part == *part);
            let is_waited_for =
                |part: &u32| !rows.iter().any(|row| row.part == *part && row.round == round && row.phase == phase);
            let waited_for: Vec<_> = (1..of).filter(is_waited_for).collect();
            let Some(one) = waited_for.first() else { return Ok(()) };
            for part in waited_for.iter().filter(|part| is_there(part)) {
                self.check_alive(*part)?;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(PartsProblem("interrupted".to_owned()));
            }
            let waited = began.elapsed();
            if let Some(absent) = waited_for.iter().find(|part| !is_there(part)).filter(|_| waited >= arrival) {
                let seconds = arrival.as_secs();
                return Err(PartsProblem(format!("part {absent}/{of} did not come within {seconds} s")));
            }
            if waited >= arrival + patience {
                let seconds = (arrival + patience).as_secs();
                return Err(PartsProblem(format!("part {one}/{of} was not {what} within {seconds} s")));
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
    ) -> Result<PartRow, PartsProblem> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(row) = self.table()?.row(0)?.filter(|row| is_it(row)) {
                return Ok(row);
            }
            self.check_alive(0)?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(PartsProblem("interrupted".to_owned()));
            }
            if Instant::now() >= deadline {
                let problem = format!("part 0/{} did not go on within {} s", self.part.of, patience.as_secs());
                return Err(PartsProblem(problem));
            }
            thread::sleep(pause);
        }
    }
}

impl StartGate for RefCell<Meeting<'_>> {
    fn start(&self) -> Result<Instant, String> {
        self.borrow_mut().start().map_err(|problem| problem.to_string())
    }
}

/// The schema may not exist yet, or be left by a part 0 that was killed.
fn wait_for_invitation(external: &ExternalServer, stop: &AtomicBool) -> Result<(PartsTable, Invitation), LabError> {
    let ExternalServer { target, schema, part, part_wait, .. } = external;
    let inside = external.control_inside();
    let deadline = Instant::now() + *part_wait;
    loop {
        let seen = invitation(&inside);
        match seen {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // No such schema or table, as yet.
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(LabError::ExternalLogin(error)),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        if Instant::now() >= deadline {
            let seconds = part_wait.as_secs();
            let problem =
                format!("part {part} did not find part 0 within {seconds} s, in the schema `{schema}` of {target}");
            return Err(PartsProblem::new(problem).into());
        }
        thread::sleep(LOGIN_PAUSE.min(deadline.saturating_duration_since(Instant::now())));
    }
}

fn invitation(inside: &Target) -> Result<Option<(PartsTable, Invitation)>, DriverError> {
    let mut table = PartsTable::connect(inside)?;
    let is_open = table.row(0)?.is_some_and(|row| row.phase != PartPhase::Over);
    if !is_open || !table.is_alive(0)? {
        return Ok(None);
    }
    let invitation = table.invitation()?.and_then(|text| serde_json::from_str(&text).ok());
    Ok(invitation.map(|invitation| (table, invitation)))
}

/// Whether the server says that there is no such schema or table.
fn is_absent(error: &DriverError) -> bool {
    const NUMBERS: [u16; 3] = [1044, 1049, 1146];
    const STATES: [&str; 3] = ["3D000", "42P01", "55000"];
    match error {
        DriverError::Server(error) if error.code == 0 => STATES.contains(&error.sqlstate.as_str()),
        DriverError::Server(error) => NUMBERS.contains(&error.code),
        _ => false,
    }
}

/// The first line that differs, as both have it.
fn first_difference(first: &str, own: &str) -> String {
    let mut own_lines = own.lines();
    for line in first.lines() {
        let own_line = own_lines.next().unwrap_or("nothing");
        if line != own_line {
            return format!("`{line}` in part 0, `{own_line}` here");
        }
    }
    format!("`{}` here", own_lines.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_compared_by_line() {
        assert_eq!(first_difference("a = 1\nb = 2\n", "a = 1\nb = 3\n"), "`b = 2` in part 0, `b = 3` here");
        assert_eq!(first_difference("a = 1\n", "a = 1\nb = 3\n"), "`b = 3` here");
        assert_eq!(first_difference("a = 1\nb = 2\n", "a = 1\n"), "`b = 2` in part 0, `nothing` here");
    }
}
