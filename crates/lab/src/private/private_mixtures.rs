//! Private servers for mixtures of two configurations: any combination of levels may come, and most
//! of them share their data.

use indexmap::IndexMap;
use truetps_driver::Client;
use truetps_record::{FactorChange, SettingValue};
use truetps_sandbox::{RunningServer, Sandbox, StartOptions, binds_data, effective_variables};

use crate::error::LabError;
use crate::private::coupling::ShownVariables;
use crate::private::private_servers::{CLIENT_TIMEOUT, PrivateServers, StartLevels};
use crate::private::private_setting;
use crate::trial::setting::Changeable;

/// Settings that a running server accepts at once, and follows later: it resizes its buffer pool
/// while transactions run.
const FOLLOWED_LATER: [&str; 1] = ["innodb_buffer_pool_size"];

/// A server that was started with the settings of one side.
pub(crate) struct SideServer {
    pub(crate) variables: ShownVariables,
    client: Client,
    server: RunningServer,
    sandbox: Sandbox,
}

impl SideServer {
    /// How this server takes both levels: in both directions, because mixtures come in any order.
    pub(crate) fn change_of(
        &mut self,
        name: &str,
        a: &SettingValue,
        b: &SettingValue,
    ) -> FactorChange {
        if binds_data(name) {
            return FactorChange::NewData;
        }
        let mut levels = [b, a, b].into_iter();
        let is_dynamic = !FOLLOWED_LATER.contains(&name)
            && levels.all(|level| {
                matches!(
                    private_setting::set(&mut self.client, name, level),
                    Ok(Changeable::Dynamic)
                )
            });
        if is_dynamic { FactorChange::Dynamic } else { FactorChange::Restart }
    }

    pub(crate) fn end(self) -> Result<(), LabError> {
        drop(self.client);
        self.server.kill()?;
        self.sandbox.remove()?;
        Ok(())
    }
}

impl PrivateServers<'_> {
    /// Servers are prepared when a trial needs them, and share their data unless a setting binds
    /// it.
    #[must_use]
    pub(crate) fn for_mixtures(mut self) -> Self {
        self.is_of_mixtures = true;
        self
    }

    /// Starts a server with these settings. It has the values that the server makes of them.
    pub(crate) fn start_side(
        &self,
        server_index: usize,
        settings: &IndexMap<String, SettingValue>,
    ) -> Result<SideServer, LabError> {
        let levels = StartLevels { settings: settings.clone(), ..StartLevels::default() };
        let sandbox = self.create_sandbox(server_index, &levels)?;
        let options = StartOptions::new(self.servers[server_index].settings_with(&levels));
        let server = sandbox.start(&options)?;
        let mut client = server.connect(CLIENT_TIMEOUT)?;
        Ok(SideServer { variables: effective_variables(&mut client)?, client, server, sandbox })
    }

    /// Names of the settings that need a start.
    pub(crate) fn set_at_start(&mut self, names: &[String]) {
        self.servers.iter_mut().for_each(|server| names.clone_into(&mut server.at_start));
    }

    /// All trials on a server's program have this setting.
    pub(crate) fn fix(&mut self, server_index: usize, name: &str, value: &SettingValue) {
        self.servers[server_index].fixed.set(name, value.clone());
    }

    /// The levels that the data of a prepared server depends on.
    pub(crate) fn data_levels(&self, levels: &StartLevels) -> StartLevels {
        if !self.is_of_mixtures {
            return levels.clone();
        }
        let bound = levels.settings.iter().filter(|(name, _)| binds_data(name));
        StartLevels {
            settings: bound.map(|(name, level)| (name.clone(), level.clone())).collect(),
            disk: levels.disk.clone(),
            table_rows: levels.table_rows.clone(),
            prealloc: levels.prealloc,
        }
    }
}
