//! What differs between the two, as their servers show it, and how each difference can be changed.

use std::collections::HashSet;

use indexmap::IndexMap;
use truetps_folder::ExperimentFolder;
use truetps_knowledge::is_same_list;
use truetps_probe::{host_facts, probe_flush};
use truetps_record::{
    ExplainedFactor, FactorChange, LeftOut, ServerFacts, SettingValue, same_setting,
};
use truetps_sandbox::{
    Catalogue, Home, HostLimits, Needs, ServerLoad, Settings, check_limits, raise_open_files,
};

use crate::error::{LabError, unless_stopped};
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::ExperimentRequest;
use crate::experiment::setup::{PreparedServers, server_settings, warn_of_leftovers};
use crate::explain::ExplainSide;
use crate::explain::differences::{Candidate, DifferingSide, candidates};
use crate::explain::factors::{load_factors, ordered_factors, suspects};
use crate::explain::own_values::{self, leave_to_server};
use crate::private::coupling::ShownVariables;
use crate::private::private_mixtures::SideServer;
use crate::private::private_servers::{PrivateHost, PrivateServers, ServerUnderTest};
use crate::private::sized_tables::SizedTables;
use crate::trial::planned_disks::PlannedDisks;
use crate::trial::server_provider::ServerProgram;

/// What is measured, and what is not.
pub(crate) struct Examined {
    pub(crate) factors: Vec<ExplainedFactor>,
    pub(crate) suspects: Vec<usize>,
    pub(crate) left_out: Vec<LeftOut>,
    /// What each side has in place of a default.
    pub(crate) notes: [Vec<String>; 2],
}

/// Starts both sides once, compares them, and prepares private servers for their mixtures. Nothing
/// has been measured after an error.
pub(crate) fn prepare_mixtures<'a>(
    request: &ExperimentRequest<'a>,
    home: &'a Home,
    programs: &'a [ServerProgram],
    disks: &'a PlannedDisks,
    load: ServerLoad,
    sides: &[ExplainSide; 2],
    listener: &mut dyn Listener,
) -> Result<(PreparedServers<'a>, Examined), LabError> {
    let catalogues = catalogues(programs, sides, home)?;
    ExperimentFolder::check_writable(request.runs).map_err(LabError::NoRecords)?;
    warn_of_leftovers(home, listener)?;
    let host = host_facts(home.path(), Some(probe_flush(home.path())?));
    let (mut facts, mut under_test) = (Vec::new(), Vec::new());
    for (program, catalogue) in programs.iter().zip(&catalogues) {
        // What a program's own option file sets is in the settings of the sides that it is for.
        let bare = ServerProgram { base: Vec::new(), ..program.clone() };
        let (mut server, mut fixed) =
            server_settings(request.plan, &bare, catalogue, host.memory_bytes, load);
        check_sides(sides, facts.len(), &fixed)?;
        leave_to_server(sides, &mut server, &mut fixed);
        facts.push(server);
        let dialect = program.binary.family().dialect();
        under_test.push(ServerUnderTest::new(
            program,
            fixed,
            SizedTables::build(request.plan, dialect, true)?,
        ));
    }
    let private_host = PrivateHost { home, disks, cores: &request.pin.server };
    let mut servers =
        PrivateServers::new(request.plan, private_host, under_test, request.stop).for_mixtures();
    let examined = examine(request, &mut servers, &facts, &catalogues, sides, listener)?;
    Ok((
        PreparedServers { provider: Box::new(servers), host, servers: facts, parts: None },
        examined,
    ))
}

/// Whether each program knows the settings of its side.
fn catalogues(
    programs: &[ServerProgram],
    sides: &[ExplainSide; 2],
    home: &Home,
) -> Result<Vec<Catalogue>, LabError> {
    let catalogues: Vec<_> = programs
        .iter()
        .map(|program| Catalogue::ask(&program.binary, home.user()))
        .collect::<Result<_, _>>()?;
    for side in sides {
        for (name, value) in &side.settings {
            let known = catalogues[side.program].check(name, value);
            known.map_err(|source| LabError::UnknownSettingOf {
                server: side.name.clone(),
                source,
            })?;
        }
    }
    Ok(catalogues)
}

/// Whether this host has the memory for the sides of a program, with what truetps would choose for
/// it.
fn check_sides(
    sides: &[ExplainSide; 2],
    program: usize,
    chosen: &Settings,
) -> Result<(), LabError> {
    let host = HostLimits::read();
    for side in sides.iter().filter(|side| side.program == program) {
        let settings = side.settings.iter().map(|(name, value)| (name.as_str(), value));
        let needs = Needs::of(&chosen.clone().with(settings));
        check_limits(&needs, &host)?;
        raise_open_files(&needs)?;
    }
    Ok(())
}

fn examine(
    request: &ExperimentRequest<'_>,
    servers: &mut PrivateServers<'_>,
    facts: &[ServerFacts],
    catalogues: &[Catalogue],
    sides: &[ExplainSide; 2],
    listener: &mut dyn Listener,
) -> Result<Examined, LabError> {
    listener.event(&ExperimentEvent::Preparing(
        "starting A and B once, to see what differs".to_owned(),
    ));
    let mut live = Vec::new();
    for side in sides {
        unless_stopped(request.stop)?;
        let started = servers.start_side(side.program, &side.settings);
        live.push(started.map_err(|source| LabError::Side {
            side: side.name.clone(),
            source: Box::new(source),
        })?);
    }
    let [a, b] = [0, 1].map(|index: usize| DifferingSide {
        side: &sides[index],
        facts: &facts[sides[index].program],
        variables: &live[index].variables,
        catalogue: &catalogues[sides[index].program],
    });
    let (candidates, mut left_out) = candidates(&a, &b);
    listener.event(&ExperimentEvent::Preparing(format!(
        "trying {} settings that differ",
        candidates.len()
    )));
    let candidates = classify(servers, &mut live, sides, candidates, &mut left_out)?;
    for side in live {
        side.end()?;
    }
    let is_one_program = sides[0].program == sides[1].program;
    let candidates = if is_one_program {
        candidates
    } else {
        crossed(servers, catalogues, sides, candidates, &mut left_out)
    };
    let at_start: Vec<_> = candidates
        .iter()
        .filter(|one| one.change != FactorChange::Dynamic)
        .map(|one| one.name.clone())
        .collect();
    servers.set_at_start(&at_start);
    unless_stopped(request.stop)?;
    // All mixtures on a side's program have its settings that are not factors.
    for side in sides {
        for (name, value) in &side.settings {
            if candidates.iter().all(|one| one.name != *name) {
                servers.fix(side.program, name, value);
            }
        }
    }
    let mut factors = load_factors(request.plan, sides);
    factors.extend(ordered_factors(candidates));
    let suspects = suspects(&factors);
    let notes = [(0, 1), (1, 0)].map(|(index, other)| {
        let program = sides[index].program;
        own_values::notes(&sides[index], &sides[other], &facts[program], &catalogues[program])
    });
    Ok(Examined { factors, suspects, left_out, notes })
}

/// Those whose values both programs take: each program is started with the values of the other
/// side. A value that one version alone takes is part of the version.
fn crossed(
    servers: &PrivateServers<'_>,
    catalogues: &[Catalogue],
    sides: &[ExplainSide; 2],
    candidates: Vec<Candidate>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Candidate> {
    let mut kept = candidates;
    for (index, side) in sides.iter().enumerate() {
        let crossing = Crossing { servers, side, other_is_b: index == 0 };
        let catalogue = &catalogues[side.program];
        kept = keep(kept, left_out, |one| catalogue.check(&one.name, crossing.value(one)).is_ok());
        if let Ok(server) = crossing.start(&kept) {
            kept = keep(kept, left_out, |one| crossing.is_taken(one, &server.variables));
            // A server that cannot be removed is reported when the home is cleaned.
            let _ = server.end();
            continue;
        }
        // One of them is the cause: each is tried alone.
        kept = keep(kept, left_out, |one| {
            one.change == FactorChange::Dynamic || crossing.starts_with(one)
        });
    }
    kept
}

/// Those that this is true of; the others are left out.
fn keep(
    candidates: Vec<Candidate>,
    left_out: &mut Vec<LeftOut>,
    is_right: impl Fn(&Candidate) -> bool,
) -> Vec<Candidate> {
    let (right, wrong): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_right);
    for one in wrong {
        let (a, b) = (one.a.option_text(), one.b.option_text());
        let reason = "only one of the two versions takes both values: it is part of the version";
        left_out.push(super::left_out(&one.name, Some(&a), Some(&b), reason));
    }
    right
}

/// The program of one side, with values of the other side.
struct Crossing<'a> {
    servers: &'a PrivateServers<'a>,
    side: &'a ExplainSide,
    other_is_b: bool,
}

impl Crossing<'_> {
    fn value<'c>(&self, one: &'c Candidate) -> &'c SettingValue {
        if self.other_is_b { &one.b } else { &one.a }
    }

    fn start(&self, candidates: &[Candidate]) -> Result<SideServer, LabError> {
        let mut settings = self.side.settings.clone();
        settings.extend(candidates.iter().map(|one| (one.name.clone(), self.value(one).clone())));
        self.servers.start_side(self.side.program, &settings)
    }

    /// Whether a server shows the value that it was started with.
    fn is_taken(&self, one: &Candidate, variables: &ShownVariables) -> bool {
        let found = variables.get(&one.name).map(String::as_str).unwrap_or_default();
        let wanted = self.value(one).option_text();
        same_setting(&wanted, found) || is_same_list(&one.name, &wanted, found)
    }

    fn starts_with(&self, one: &Candidate) -> bool {
        let Ok(server) = self.start(std::slice::from_ref(one)) else { return false };
        let is_taken = self.is_taken(one, &server.variables);
        let _ = server.end();
        is_taken
    }
}

/// Finds out how each candidate can be changed, on a server of each program. Followers of dynamic
/// settings join them; what a server refuses is left out.
fn classify(
    servers: &mut PrivateServers<'_>,
    live: &mut [SideServer],
    sides: &[ExplainSide; 2],
    candidates: Vec<Candidate>,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Candidate>, LabError> {
    let (mut kept, mut followers) = (Vec::new(), Vec::new());
    for mut candidate in candidates {
        candidate.change = live
            .iter_mut()
            .map(|side| side.change_of(&candidate.name, &candidate.a, &candidate.b))
            .max()
            .expect("there are two sides");
        if candidate.is_follower { followers.push(candidate) } else { kept.push(candidate) }
    }
    if !followers.is_empty() {
        join_followers(servers, live, sides, &mut kept, &followers, left_out)?;
    }
    Ok(kept)
}

/// A variable that no user has set, and that differs all the same, follows from one that a user has
/// set. Where the latter is changed on the running server, the former has to be changed with it;
/// where that is not possible, both need a start, and the server derives one from the other as it
/// does for the user.
fn join_followers(
    servers: &mut PrivateServers<'_>,
    live: &[SideServer],
    sides: &[ExplainSide; 2],
    kept: &mut Vec<Candidate>,
    followers: &[Candidate],
    left_out: &mut Vec<LeftOut>,
) -> Result<(), LabError> {
    let mut leader_of: IndexMap<String, String> = IndexMap::new();
    for candidate in kept.iter().filter(|one| one.change == FactorChange::Dynamic) {
        let mut settings = sides[0].settings.clone();
        settings.insert(candidate.name.clone(), candidate.b.clone());
        let Ok(with_it) = servers.start_side(sides[0].program, &settings) else { continue };
        for follower in followers {
            let [changed, a, b] =
                [&with_it, &live[0], &live[1]].map(|server| server.variables.get(&follower.name));
            if changed != a && changed == b {
                leader_of.entry(follower.name.clone()).or_insert_with(|| candidate.name.clone());
            }
        }
        with_it.end()?;
    }
    // Leaders whose followers need a start.
    let at_start: HashSet<&str> = followers
        .iter()
        .filter(|one| one.change != FactorChange::Dynamic)
        .filter_map(|one| leader_of.get(&one.name).map(String::as_str))
        .collect();
    for candidate in kept.iter_mut().filter(|one| at_start.contains(one.name.as_str())) {
        candidate.change = FactorChange::Restart;
    }
    for follower in followers {
        let reason = match leader_of.get(&follower.name) {
            Some(leader) if at_start.contains(leader.as_str()) => {
                format!("the server derives it from {leader} when it starts")
            }
            Some(leader) => {
                kept.push(Candidate { leader: Some(leader.clone()), ..follower.clone() });
                format!("the server sets it with {leader}, and it is changed with that")
            }
            None => "no side sets it: the server derives it from other settings when it starts"
                .to_owned(),
        };
        let (a, b) = (follower.a.option_text(), follower.b.option_text());
        left_out.push(super::left_out(&follower.name, Some(&a), Some(&b), reason));
    }
    Ok(())
}
