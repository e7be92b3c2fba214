//! Sessions that create and set things on an external server.

use std::time::Duration;

use truetps_driver::Target;
use truetps_record::SqlDialect;

use super::committing;
use crate::trial::server_provider::ExternalServer;

/// Time limit of each read and write of such a session.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);

/// First statements of such a session, after [`committing::set_up`].
///
/// String literals are written with backslash escapes, which NO_BACKSLASH_ESCAPES turns off; and
/// the session is idle during each trial while it holds a lock.
const CONTROL_SETUP: [&str; 2] = [
    "SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '')",
    "SET SESSION wait_timeout = 604800",
];

/// The target of such a session at the server of another target.
pub(crate) fn control(target: &Target) -> Target {
    if target.dialect == SqlDialect::Postgres {
        return target.clone();
    }
    let mut control = Target { setup: Vec::new(), ..target.clone() };
    committing::set_up(&mut control);
    control.setup.extend(CONTROL_SETUP.map(str::to_owned));
    control
}

impl ExternalServer {
    /// Where sessions that control something are in the schema of the run.
    pub(crate) fn control_inside(&self) -> Target {
        let mut inside = self.target.clone();
        inside.login.database = Some(self.schema.clone());
        control(&inside)
    }
}

/// The first statements on a server of the MySQL family.
pub(crate) fn control_setup() -> impl Iterator<Item = &'static str> {
    committing::setup_sql(SqlDialect::Mysql).iter().copied().chain(CONTROL_SETUP)
}
