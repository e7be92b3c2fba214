//! The server of a part that has prepared nothing itself: part 0 has made the tables, and sets the settings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use truetps_driver::{Client, Target};
use truetps_record::{Configuration, Coupling, ExternalFacts};

use super::meeting::Meeting;
use crate::error::LabError;
use crate::event::Listener;
use crate::external::{CLIENT_TIMEOUT, control};
use crate::ready_server::{ReadyServer, TrialServer};
use crate::server_provider::ServerProvider;

pub(crate) struct JoinedServer<'a> {
    /// In the schema of the experiment, with the first statements of the load's sessions.
    pub(crate) inside: Target,
    pub(crate) client: Option<Client>,
    pub(crate) meeting: Rc<RefCell<Meeting<'a>>>,
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
        _configuration: &Configuration,
        _listener: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError> {
        let control = control(&Target { setup: Vec::new(), ..self.inside.clone() });
        self.inside.setup = self.meeting.borrow().setup().to_vec();
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(&control, CLIENT_TIMEOUT)?),
        };
        Ok(Box::new(TrialServer {
            client,
            log: None,
            target: &self.inside,
            control,
            server: None,
            pid: None,
            notes: Vec::new(),
            session: BTreeMap::new(),
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
