//! The parts of a load that the lab does not drive: a script makes it. They meet in the same way,
//! in a schema that part 0 creates for nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use truetps_driver::Statement;
use truetps_plan::Plan;
use truetps_record::{CommonStart, Experiment, PartOfExperiment};
use truetps_workload::{ClientStream, Table, Workload};

use super::invitation::OwnExperiment;
use super::meeting::Meeting;
use super::secret::parts_secret;
use crate::error::LabError;
use crate::event::Listener;
use crate::external::{ExternalSession, unique_id};
use crate::trial::server_provider::{ExternalServer, ServerProvider};

/// One part's place among the others, for one trial.
pub struct ScriptMeeting<'a> {
    meeting: Meeting<'a>,
    /// Part 0's session, which holds the schema.
    session: Option<ExternalSession<'a>>,
    name: String,
    /// Whether the others wait to hear how this part has ended.
    is_open: bool,
}

impl<'a> ScriptMeeting<'a> {
    /// Part 0 creates the schema and lets the others come; the others wait for it. `alike`: what
    /// must be the same in all parts, by lines.
    pub fn enter(
        external: &ExternalServer,
        plan: &'a Plan,
        experiment: &Experiment,
        alike: &str,
        stop: &'a AtomicBool,
        listener: &mut dyn Listener,
    ) -> Result<Self, LabError> {
        let part = external.part;
        let [scheduled] = &experiment.schedule[..] else {
            unreachable!("a script's run is one trial")
        };
        parts_secret(external)?;
        let mut entered = if part.is_first() {
            let tool_version = &experiment.tool_version;
            let (mut session, _) =
                ExternalSession::enter(plan, stop, tool_version, external, &NoTables, listener)?;
            let meeting = match Meeting::open(external, stop) {
                Ok(meeting) => meeting,
                Err(error) => return Err(error.and_not_left(session.leave(listener))),
            };
            Self { meeting, session: Some(session), name: unique_id(), is_open: true }
        } else {
            let Experiment { tool_version, schedule, .. } = experiment;
            let (meeting, invitation) = Meeting::join(
                external,
                &OwnExperiment { plan: alike, tool_version, schedule },
                stop,
            )?;
            let name = invitation.experiment.part.map(|part| part.meeting).unwrap_or_default();
            Self { meeting, session: None, name, is_open: true }
        };
        match entered.begin(&scheduled.name, experiment, alike) {
            Ok(()) => Ok(entered),
            Err(error) => Err(error.and_not_left(entered.leave(listener))),
        }
    }

    fn begin(&mut self, trial: &str, experiment: &Experiment, alike: &str) -> Result<(), LabError> {
        let part = self.meeting.part();
        if part.is_first() {
            let of = PartOfExperiment { part, pid: std::process::id(), meeting: self.name.clone() };
            self.meeting.invite(alike, "", &Experiment { part: Some(of), ..experiment.clone() })?;
        }
        self.meeting.begin_round(trial)?;
        self.meeting.server_is_prepared(trial, &BTreeMap::new())
    }

    /// A text that all parts of this load have, and no other.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All clients of this part are ready: waits for the others. Returns the moment of the common
    /// start, or why there is none.
    pub fn start(&mut self) -> Result<(Instant, CommonStart), String> {
        let at = self.meeting.start().map_err(|problem| problem.to_string())?;
        Ok((at, self.meeting.common_start().expect("a start has its moment")))
    }

    /// The load has ended in this part, well or not. Returns why the whole load is no evidence for
    /// another part's sake.
    pub fn end(&mut self, problem: Option<&str>) -> Option<String> {
        self.is_open = false;
        self.meeting.end_round(problem).map(|problem| problem.to_string())
    }

    /// This part leaves; part 0 drops the schema when the others have left. Returns why it could
    /// not.
    pub fn leave(&mut self, listener: &mut dyn Listener) -> Option<LabError> {
        if self.is_open {
            self.end(Some("ended before the load did"));
        }
        self.meeting.leave();
        self.session.as_mut().and_then(|session| session.leave(listener))
    }
}

/// What a script's load has in the schema of the meeting.
struct NoTables;

impl Workload for NoTables {
    fn name(&self) -> &'static str {
        truetps_plan::SCRIPT_WORKLOAD
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::new([])
    }

    fn client(&self, _: u32) -> Box<dyn ClientStream> {
        unreachable!("a script makes its own load")
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}
