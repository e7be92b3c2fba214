//! The server of a part that has prepared nothing itself: part 0 has made the tables, and sets the
//! settings.

use truetps_driver::{Client, Target};
use truetps_plan::Plan;
use truetps_record::{Configuration, Coupling, ExternalFacts};

use crate::error::LabError;
use crate::event::Listener;
use crate::external::{CLIENT_TIMEOUT, Scopes, control, try_out};
use crate::trial::ready_server::{ReadyServer, TrialServer};
use crate::trial::server_provider::ServerProvider;

pub(crate) struct JoinedServer<'a> {
    pub(crate) plan: &'a Plan,
    /// Scopes of the plan's settings, as this part's account sees them.
    pub(crate) scopes: Scopes,
    /// In the schema of the experiment.
    pub(crate) inside: Target,
    /// Where the load connects to: `inside`, with the first statements of the load's sessions.
    pub(crate) load: Target,
    pub(crate) client: Option<Client>,
    /// As part 0 has found them.
    pub(crate) facts: Option<ExternalFacts>,
    pub(crate) couplings: Vec<Coupling>,
}

impl ServerProvider for JoinedServer<'_> {
    fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    fn external_facts(&self) -> Option<&ExternalFacts> {
        self.facts.as_ref()
    }

    fn ready<'s>(
        &'s mut self,
        configuration: &Configuration,
        _listener: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError> {
        let control = control(&self.inside);
        let own = try_out(&self.inside, &self.scopes, self.plan, configuration)?;
        self.load.setup = [&self.inside.setup[..], &own.setup].concat();
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(&control, CLIENT_TIMEOUT)?),
        };
        Ok(Box::new(TrialServer {
            client,
            log: None,
            target: &self.load,
            control,
            server: None,
            pid: None,
            notes: Vec::new(),
            session: own.found,
        }))
    }

    fn discard(&mut self) {
        self.client = None;
    }

    fn leave(&mut self, _listener: &mut dyn Listener) -> Option<LabError> {
        self.client = None;
        None
    }
}
