//! What part 0 tells the others before the first trial, and how they find it. Each of them has a
//! plan of its own: what it does follows from that, and is compared with what part 0 says.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use truetps_driver::{DriverError, Target};
use truetps_record::{Experiment, Part, ScheduledTrial};

use super::error::PartsError;
use super::proof::{RunKey, digest_of, no_proof};
use super::row::PartPhase;
use super::secret::parts_secret;
use super::table::PartsTable;
use crate::error::{LabError, unless_stopped};
use crate::trial::server_provider::ExternalServer;

/// Between the logins of a part that looks for part 0.
const LOGIN_PAUSE: Duration = Duration::from_secs(1);
/// Characters of the name of sessions.
const SESSIONS_CHARS_MAX: usize = 80;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Invitation {
    pub(super) of: u32,
    /// The plan as it is run.
    pub(super) plan: String,
    /// The name of the load's sessions on PostgreSQL; empty: they have none.
    pub(crate) sessions: String,
    pub(crate) experiment: Experiment,
}

/// What a part that joins knows itself.
pub(crate) struct OwnExperiment<'p> {
    pub(crate) plan: &'p str,
    pub(crate) tool_version: &'p str,
    pub(crate) schedule: &'p [ScheduledTrial],
}

impl Invitation {
    /// Why this part cannot take part; nothing of the invitation is used before.
    pub(super) fn check(&self, part: Part, own: &OwnExperiment<'_>) -> Result<(), String> {
        let OwnExperiment { plan, tool_version, schedule } = own;
        let (of, first) = (self.of, &self.experiment.tool_version);
        if of != part.of {
            return Err(format!("part {part} meets part 0/{of}: the number of parts differs"));
        }
        if first != tool_version {
            return Err(format!("part {part} is truetps {tool_version}, and part 0 is {first}"));
        }
        if self.plan != *plan {
            let difference = first_difference(&self.plan, plan);
            return Err(format!("part {part} has another plan than part 0: {difference}"));
        }
        let record = self
            .experiment
            .check()
            .map_err(|problem| format!("part 0 invites to no experiment: {problem}"));
        record.and_then(|()| self.check_names()).and_then(|()| self.check_schedule(part, schedule))
    }

    fn check_names(&self) -> Result<(), String> {
        let is_odd =
            self.sessions.contains(|c: char| !c.is_ascii_alphanumeric() && !" :.-".contains(c));
        if self.sessions.len() > SESSIONS_CHARS_MAX || is_odd {
            return Err(format!(
                "part 0 invites with an odd name of sessions: `{}`",
                self.sessions.escape_debug()
            ));
        }
        Ok(())
    }

    /// Both follow from the plan.
    fn check_schedule(&self, part: Part, own: &[ScheduledTrial]) -> Result<(), String> {
        // As it is after it was written and read: numbers with a point may differ in the last
        // digit.
        let own = serde_json::to_string(own)
            .and_then(|text| serde_json::from_str::<Vec<ScheduledTrial>>(&text));
        let own = own.expect("a schedule has a JSON form");
        let first = &self.experiment.schedule;
        let mut entries = 0..first.len().max(own.len());
        let Some(n) = entries.find(|n| first.get(*n) != own.get(*n)) else { return Ok(()) };
        let [theirs, ours] =
            [first, &own].map(|of| of.get(n).map_or("nothing", |scheduled| &scheduled.name));
        Err(format!(
            "part {part} has another schedule than part 0: entry {} is {theirs} there, {ours} here",
            n + 1
        ))
    }
}

/// An invitation with its proof.
pub(super) struct Invited {
    pub(super) table: PartsTable,
    pub(super) key: RunKey,
    pub(super) invitation: Invitation,
    pub(super) row: InvitedRow,
}

/// Part 0's row, as it was read first.
pub(super) struct InvitedRow {
    pub(super) serial: u64,
    pub(super) number: String,
    /// The digest of the invitation.
    pub(super) invitation: String,
}

/// The schema may not exist yet, or be left by a part 0 that was killed.
pub(super) fn wait_for_invitation(
    external: &ExternalServer,
    stop: &AtomicBool,
) -> Result<Invited, LabError> {
    let ExternalServer { target, schema, part, part_wait, .. } = external;
    let inside = external.control_inside();
    let deadline = Instant::now() + *part_wait;
    loop {
        match find_invitation(external, &inside) {
            Ok(Some(invited)) => return Ok(invited),
            Ok(None) => {}
            // No such schema or table, as yet.
            Err(LabError::ExternalLogin(error)) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
        unless_stopped(stop)?;
        if Instant::now() >= deadline {
            let seconds = part_wait.as_secs();
            let problem = format!(
                "part {part} did not find part 0 within {seconds} s, in the schema `{schema}` of \
                 {target}"
            );
            return Err(PartsError::apart(problem).into());
        }
        thread::sleep(LOGIN_PAUSE.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// `None`: part 0 is not there, or has not invited yet.
fn find_invitation(
    external: &ExternalServer,
    inside: &Target,
) -> Result<Option<Invited>, LabError> {
    let secret = parts_secret(external)?;
    let mut table = PartsTable::connect(inside).map_err(LabError::ExternalLogin)?;
    if let Some(problem) = table.distrust().map_err(LabError::ExternalLogin)? {
        return Err(PartsError::apart(problem).into());
    }
    let Some(row) = table.row(0).map_err(LabError::ExternalLogin)? else { return Ok(None) };
    // A row that a killed part 0 has left.
    if !table.is_alive(0).map_err(LabError::ExternalLogin)? {
        return Ok(None);
    }
    let text = table.invitation().map_err(LabError::ExternalLogin)?;
    let key = RunKey::derive(secret, row.number(), table.schema()).ok_or_else(|| no_proof(0))?;
    let digest = digest_of(&text);
    let row = row.proven(&key, &digest).ok_or_else(|| no_proof(0))?;
    if row.phase == PartPhase::Over {
        return Ok(None);
    }
    let invitation = serde_json::from_str(&text);
    let invitation = invitation
        .map_err(|error| PartsError::apart(format!("part 0 invites in other words: {error}")))?;
    let row = InvitedRow { serial: row.serial, number: row.number, invitation: digest };
    Ok(Some(Invited { table, key, invitation, row }))
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
        assert_eq!(
            first_difference("a = 1\nb = 2\n", "a = 1\nb = 3\n"),
            "`b = 2` in part 0, `b = 3` here"
        );
        assert_eq!(first_difference("a = 1\n", "a = 1\nb = 3\n"), "`b = 3` here");
        assert_eq!(
            first_difference("a = 1\nb = 2\n", "a = 1\n"),
            "`b = 2` in part 0, `nothing` here"
        );
    }

    fn check(change: impl FnOnce(&mut Invitation), expect: &str) {
        let text = include_str!("../../../../report/testdata/before-probe/experiment.json");
        let experiment: Experiment = serde_json::from_str(text).unwrap();
        let own = experiment.clone();
        let mut invitation = Invitation {
            of: 2,
            plan: "a = 1\n".to_owned(),
            sessions: "truetps 2026-11-28 7".to_owned(),
            experiment,
        };
        change(&mut invitation);
        let known = OwnExperiment {
            plan: "a = 1\n",
            tool_version: &own.tool_version,
            schedule: &own.schedule,
        };
        let checked = invitation.check(Part { index: 1, of: 2 }, &known);
        let problem = checked.err().unwrap_or_default();
        assert!(
            problem.starts_with(expect) && problem.is_empty() == expect.is_empty(),
            "{problem}"
        );
    }

    /// Even part 0 with the right secret decides no path, no number of threads and no statement of
    /// another part.
    #[test]
    fn an_invitation_is_compared_with_what_a_part_knows() {
        check(|_| {}, "");
        check(|one| one.of = 3, "part 1/2 meets part 0/3");
        check(|one| one.plan.push('b'), "part 1/2 has another plan than part 0");
        check(|one| one.experiment.tool_version = "9.9.9".to_owned(), "part 1/2 is truetps ");
        check(|one| one.experiment.workers = u32::MAX, "part 0 invites to no experiment: workers");
        check(
            |one| one.experiment.schedule[0].name = "/etc".to_owned(),
            "part 0 invites to no experiment: schedule.name",
        );
        check(
            |one| one.experiment.schedule[0].name = "trial-0007".to_owned(),
            "part 1/2 has another schedule",
        );
        check(
            |one| one.experiment.schedule.clear(),
            "part 1/2 has another schedule than part 0: entry 1 is nothing there",
        );
        check(
            |one| one.sessions = "x'; DROP".to_owned(),
            "part 0 invites with an odd name of sessions",
        );
    }
}
