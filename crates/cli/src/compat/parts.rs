//! `truetps sysbench --part`: how the parts meet in the server that they load.

use std::time::Instant;

use truetps_driver::Target;
use truetps_lab::{ExternalServer, LabError, PARTS_SECRET, ScriptMeeting};
use truetps_record::{CommonStart, SqlDialect};
use truetps_recording::default_runs;
use truetps_sysbench::{PartsMeeting, PartsRequest};

use super::hidden::secret;
use crate::login::parts_secret_of;
use crate::progress::Progress;
use crate::settings;
use crate::site::{SCHEMA, journals};
use crate::terminal::print_line;

struct ProgramMeeting<'a>(ScriptMeeting<'a>);

/// Lets a part meet the others; the error is a message for the user.
pub(super) fn meet<'a>(request: PartsRequest<'a>) -> Result<Box<dyn PartsMeeting + 'a>, String> {
    let PartsRequest { target, part, wait, plan, experiment, alike, stop } = request;
    let set = secret(PARTS_SECRET)
        .or_else(|| settings::variable(PARTS_SECRET))
        .and_then(|secret| secret.into_string().ok());
    let external = ExternalServer {
        target: outside(target),
        schema: SCHEMA.to_owned(),
        schema_is_theirs: false,
        journals: journals(&default_runs(&settings::variable)),
        part,
        part_wait: wait,
        parts_secret: parts_secret_of(set).map_err(|failure| failure.text())?,
    };
    let meeting =
        ScriptMeeting::enter(&external, plan, experiment, alike, stop, &mut Progress::new());
    Ok(Box::new(ProgramMeeting(meeting.map_err(|error| text(&error))?)))
}

/// The server, and not the script's own schema in it.
fn outside(mut target: Target) -> Target {
    if target.dialect == SqlDialect::Mysql {
        target.login.database = None;
    }
    target
}

fn text(error: &LabError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

impl PartsMeeting for ProgramMeeting<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn start(&mut self) -> Result<(Instant, CommonStart), String> {
        self.0.start()
    }

    fn end(&mut self, problem: Option<&str>) -> Option<String> {
        self.0.end(problem)
    }
}

impl Drop for ProgramMeeting<'_> {
    fn drop(&mut self) {
        if let Some(error) = self.0.leave(&mut Progress::new()) {
            print_line(&format!("truetps: {}", text(&error)));
        }
    }
}
