//! What all workloads of this crate have in common: their parts, and clients whose transactions can
//! be sent again.

use std::sync::Arc;

use truetps_driver::{Params, Statement};

use crate::client_random::ClientRandom;
use crate::write::Write;
use crate::{ClientStream, NextStatement, Table, Workload};

/// How a client makes its transactions. Each client has a copy of its own.
pub(crate) trait ClientScript: Clone + Send + Sync + 'static {
    /// A transaction begins that was not sent before.
    fn begin(&mut self, _client: &ClientRandom) {}

    /// Statement number `at` of the transaction, from 0; its values go into `params`, which is
    /// empty.
    fn next(&mut self, at: usize, client: &mut ClientRandom, params: &mut Params) -> NextStatement;
}

/// A workload whose clients all have one script.
pub struct ScriptedWorkload<S> {
    pub(crate) name: &'static str,
    pub(crate) statements: Arc<[Statement]>,
    pub(crate) tables: Vec<Table>,
    pub(crate) writes: Option<Vec<Option<Write>>>,
    pub(crate) seed: u64,
    pub(crate) script: S,
}

impl<S: ClientScript> Workload for ScriptedWorkload<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        let random = ClientRandom::new(self.seed, client);
        Box::new(ScriptedClient { random, at: 0, script: self.script.clone() })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.clone()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        self.writes.clone()
    }
}

struct ScriptedClient<S> {
    random: ClientRandom,
    /// Statements of the transaction so far.
    at: usize,
    script: S,
}

impl<S: ClientScript> ClientStream for ScriptedClient<S> {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
        self.at = 0;
        self.script.begin(&self.random);
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let at = self.at;
        self.at += 1;
        self.script.next(at, &mut self.random, params)
    }

    fn rewind(&mut self) {
        self.random.rewind();
        self.at = 0;
    }
}
