//! Before the first trial: checks everything that can be checked, and prepares the servers.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use truetps_driver::Client;
use truetps_folder::ExperimentFolder;
use truetps_plan::{DatadirState, Plan};
use truetps_probe::{host_facts, probe_flush};
use truetps_record::{Experiment, HostFacts, ServerFacts, SqlDialect};
use truetps_sandbox::{
    Catalogue, Cleaning, Home, HostLimits, Needs, ServerLoad, Settings, chosen_settings, clean,
    raise_open_files, with_waits,
};
use truetps_trial::make_room_for_clients;
use truetps_workload::Workload;

use crate::check_settings::check_settings;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::ExperimentRequest;
use crate::external::parts::{Invitation, JoinedServer, Meeting, OwnExperiment, parts_secret};
use crate::external::{CLIENT_TIMEOUT, ExternalSession, inside_of_load, setting_scopes};
use crate::private::preallocation;
use crate::private::private_servers::{PrivateHost, PrivateServers, ServerUnderTest};
use crate::private::sized_tables::SizedTables;
use crate::schedule::schedule;
use crate::trial::planned_disks::PlannedDisks;
use crate::trial::server_provider::{ExternalServer, ServerProgram, ServerProvider, ServerSource};

/// The servers of an experiment, prepared.
pub(crate) struct PreparedServers<'a> {
    pub(crate) provider: Box<dyn ServerProvider + 'a>,
    pub(crate) host: HostFacts,
    /// At least one; more if the server is a factor.
    pub(crate) servers: Vec<ServerFacts>,
    /// `None`: this process makes the whole load.
    pub(crate) parts: Option<PreparedParts<'a>>,
}

/// The other parts of the load.
pub(crate) struct PreparedParts<'a> {
    pub(crate) meeting: Rc<RefCell<Meeting<'a>>>,
    /// The experiment of part 0, if this is another one.
    pub(crate) experiment: Option<Experiment>,
    /// The name of the load's sessions on PostgreSQL.
    pub(crate) sessions: String,
}

/// Prepares private servers; records go below `records`. After an error nothing has been measured.
pub(crate) fn private<'a>(
    request: &ExperimentRequest<'a>,
    home: &'a Home,
    programs: &'a [ServerProgram],
    disks: &'a PlannedDisks,
    records: &Path,
    load: ServerLoad,
    listener: &mut dyn Listener,
) -> Result<PreparedServers<'a>, LabError> {
    let plan = request.plan;
    preallocation::check(plan, programs)?;
    let catalogues = check_settings(plan, programs, home.user())?;
    ExperimentFolder::check_writable(records).map_err(LabError::NoRecords)?;
    warn_of_leftovers(home, listener)?;
    let flush = probe_flush(home.path())?;
    let host = host_facts(home.path(), Some(flush));
    let mut facts = Vec::new();
    let mut kinds = Vec::new();
    for (program, catalogue) in programs.iter().zip(&catalogues) {
        let (server, fixed) = server_settings(plan, program, catalogue, host.memory_bytes, load);
        check_room(plan, &fixed)?;
        facts.push(server);
        let dialect = program.binary.family().dialect();
        let refills = plan.design.datadir == DatadirState::Refill;
        kinds.push(ServerUnderTest::new(
            program,
            fixed,
            SizedTables::build(plan, dialect, refills)?,
        ));
    }
    let private_host = PrivateHost { home, disks, cores: &request.pin.server };
    let mut stands = PrivateServers::new(plan, private_host, kinds, request.stop);
    stands.prepare(listener)?;
    Ok(PreparedServers { provider: Box::new(stands), host, servers: facts, parts: None })
}

/// The facts of a private server, and the settings that it has in all trials.
pub(crate) fn server_settings(
    plan: &Plan,
    ServerProgram { name, binary, base }: &ServerProgram,
    catalogue: &Catalogue,
    memory_bytes: u64,
    load: ServerLoad,
) -> (ServerFacts, Settings) {
    let chosen = chosen_settings(memory_bytes, load, binary.flavour, binary.version);
    let chosen = if plan.probe.waits { with_waits(chosen, binary.flavour) } else { chosen };
    let chosen = over_base(catalogue.keep_known(chosen), base);
    let planned = plan.server.settings.iter().map(|(name, value)| (name.as_str(), value));
    let fixed = Settings::new(binary.family(), &chosen).with(planned);
    let facts = ServerFacts {
        name: name.clone(),
        flavour: binary.flavour,
        version: binary.version.to_string(),
        version_text: binary.version_text.clone(),
        chosen_settings: chosen,
        of_option_file: base.iter().map(|(name, _)| name.clone()).collect(),
    };
    (facts, fixed)
}

/// The settings of an option file in place of settings that truetps chooses.
fn over_base(
    mut chosen: Vec<(String, String)>,
    base: &[(String, String)],
) -> Vec<(String, String)> {
    chosen.retain(|(name, _)| base.iter().all(|(other, _)| other != name));
    chosen.extend(base.iter().cloned());
    chosen
}

/// Creates a schema in an external server and fills it.
pub(crate) fn prepare_external_server<'a>(
    request: &ExperimentRequest<'a>,
    external: &ExternalServer,
    records: &Path,
    load: ServerLoad,
    workload: &dyn Workload,
    listener: &mut dyn Listener,
) -> Result<PreparedServers<'a>, LabError> {
    ExperimentFolder::check_writable(records).map_err(LabError::NoRecords)?;
    // Of the parts of a load, each has its clients only.
    let clients = external.part.largest_share(load.connections_max);
    make_room_for_clients(clients, &external.target.endpoints, &external.target.sources)?;
    if !external.part.is_whole() {
        parts_secret(external)?;
    }
    if !external.part.is_first() {
        return join_parts(request, external, records, listener);
    }
    if request.plan.probe.waits {
        let text = "probe.waits has an effect on private servers only: the instrumentation of this \
                    one is left unchanged";
        listener.warn(text.to_owned());
    }
    listener.event(&ExperimentEvent::Preparing(format!("logging in to {}", external.target)));
    let ExperimentRequest { plan, stop, tool_version, .. } = *request;
    let (mut session, server) =
        ExternalSession::enter(plan, stop, tool_version, external, workload, listener)?;
    if let Err(error) = session.prepare(listener) {
        return Err(error.and_not_left(session.leave(listener)));
    }
    let parts = match open_meeting(request, external, session.sessions_name()) {
        Ok(parts) => parts,
        Err(error) => return Err(error.and_not_left(session.leave(listener))),
    };
    let host = host_facts(records, None);
    Ok(PreparedServers { provider: Box::new(session), host, servers: vec![server], parts })
}

/// Part 0 opens the meeting.
fn open_meeting<'a>(
    request: &ExperimentRequest<'a>,
    external: &ExternalServer,
    sessions: String,
) -> Result<Option<PreparedParts<'a>>, LabError> {
    if external.part.is_whole() {
        return Ok(None);
    }
    let meeting = Meeting::open(external, request.stop)?;
    Ok(Some(PreparedParts { meeting: Rc::new(RefCell::new(meeting)), experiment: None, sessions }))
}

/// Another part than 0 takes what part 0 has prepared.
fn join_parts<'a>(
    request: &ExperimentRequest<'a>,
    external: &ExternalServer,
    records: &Path,
    listener: &mut dyn Listener,
) -> Result<PreparedServers<'a>, LabError> {
    let preparing = format!("waiting for part 0 at {}", external.target);
    listener.event(&ExperimentEvent::Preparing(preparing));
    let ExperimentRequest { plan, tool_version, stop, .. } = *request;
    let own = OwnExperiment { plan: &plan.to_toml(), tool_version, schedule: &schedule(plan) };
    let (meeting, Invitation { experiment, sessions, .. }) = Meeting::join(external, &own, stop)?;
    let servers = if experiment.servers.is_empty() {
        experiment.server.as_slice()
    } else {
        &experiment.servers
    };
    let (servers, meeting) = (servers.to_vec(), Rc::new(RefCell::new(meeting)));
    let mut client = Client::connect(&external.control_inside(), CLIENT_TIMEOUT)?;
    let scopes = setting_scopes(&mut client, plan)?;
    let inside = inside_of_load(external, &sessions);
    let joined = JoinedServer {
        plan,
        scopes,
        load: inside.clone(),
        inside,
        client: None,
        facts: experiment.external.clone(),
        couplings: experiment.couplings.clone(),
    };
    let parts = Some(PreparedParts { meeting, experiment: Some(experiment), sessions });
    Ok(PreparedServers {
        provider: Box::new(joined),
        host: host_facts(records, None),
        servers,
        parts,
    })
}

/// Whether this host has enough memory for each configuration: a factor may decide how much is
/// used.
fn check_room(plan: &Plan, fixed: &Settings) -> Result<(), LabError> {
    let host = HostLimits::read();
    for configuration in plan.configurations() {
        let needs = Needs::of(&fixed.clone().with(configuration.settings()));
        truetps_sandbox::check_limits(&needs, &host)?;
        raise_open_files(&needs)?;
    }
    Ok(())
}

/// Removes leftovers of killed runs, and reports them.
pub(crate) fn warn_of_leftovers(home: &Home, listener: &mut dyn Listener) -> Result<(), LabError> {
    let Cleaning { removed, kept, unmounted } = clean(home)?;
    for kept in kept {
        let (path, pid) = (kept.path.display(), kept.server_pid);
        listener.warn(format!(
            "kept leftovers of a killed run in {path}: process {pid} runs a server there"
        ));
    }
    for cleaned in removed {
        let killed = if cleaned.servers_killed > 0 { ", and ended its server" } else { "" };
        let path = cleaned.entry.path.display();
        listener.warn(format!("removed leftovers of a killed run in {path}{killed}"));
    }
    for path in unmounted {
        listener.warn(format!("unmounted the disk of {}: its process was killed", path.display()));
    }
    Ok(())
}

impl ServerSource<'_> {
    /// The server with this name; the first one if a plan names none.
    pub(crate) fn dialect(&self, server: Option<&str>) -> SqlDialect {
        match self {
            Self::Private { programs, .. } => {
                let named = programs
                    .iter()
                    .find(|program| server.is_some() && program.name.as_deref() == server);
                named
                    .or(programs.first())
                    .map_or(SqlDialect::Mysql, |program| program.binary.family().dialect())
            }
            Self::Given(external) => external.target.dialect,
        }
    }
}
