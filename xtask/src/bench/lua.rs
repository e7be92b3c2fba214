//! `bench lua`: sysbench and `truetps sysbench` on the same unmodified scripts, in alternating runs.

mod goals;
mod options;
mod report;
mod run;
mod setup;

pub(crate) use goals::{at_least, at_most};

use std::path::Path;

pub(crate) use crate::bench::lua::options::LuaBenchOptions;
use crate::bench::lua::options::Script;
use crate::bench::lua::report::{LuaBenchReport, LuaRow};
use crate::bench::lua::run::{settle, take};
use crate::bench::lua::setup::{LuaPrograms, check_memory, prepare, server_load};
use crate::bench::private_server::PrivateServer;
use crate::bench::report::{Side, host_line, result_folder, write_result};
use truetps_probe::clock;

pub(crate) fn run(root: &Path, options: &LuaBenchOptions) -> anyhow::Result<()> {
    if options.is_dry {
        print!("{}", setup::plan(root, options));
        return Ok(());
    }
    let load = server_load(options)?;
    check_memory(options.most_clients())?;
    let programs = LuaPrograms::find(root, options)?;
    let mut server = PrivateServer::start_bare(load, &options.settings())?;
    prepare(options, &mut server)?;
    let about = about(options, &programs, &server);
    println!("{about}");
    let mut report = LuaBenchReport::new(about, options.against.clone());
    // A run takes an hour: results are stored at the end of each cell.
    let folder = if options.no_result { None } else { Some(result_folder(root, "lua")?) };
    for script in &options.scripts {
        for clients in &options.clients {
            cell(options, &programs, *script, *clients, &mut server, &mut report)?;
            if let Some(folder) = &folder {
                write_result(folder, &report.text(), &report.csv())?;
            }
        }
    }
    println!("\n{}", report.tables());
    if let Some(folder) = &folder {
        println!("kept in {}", folder.display());
    }
    Ok(())
}

fn about(options: &LuaBenchOptions, programs: &LuaPrograms, server: &PrivateServer) -> String {
    format!(
        "# truetps sysbench beside {}: the same Lua scripts, on a private server\n\n{}{}{}{}- {}\n",
        options.against.name(),
        programs.describe(),
        server.describe(&options.settings()),
        host_line(),
        options.describe(),
        clock::now_rfc3339(),
    )
}

fn cell(
    options: &LuaBenchOptions,
    programs: &LuaPrograms,
    script: Script,
    clients: u32,
    server: &mut PrivateServer,
    report: &mut LuaBenchReport,
) -> anyhow::Result<()> {
    server.count_by(script.counter());
    let mut gave_up = Vec::new();
    for pair in 0..options.pairs.count {
        let order = if pair.is_multiple_of(2) { [Side::Ours, Side::Theirs] } else { [Side::Theirs, Side::Ours] };
        for side in order {
            if gave_up.contains(&side) {
                continue;
            }
            setup::same_start(options, script, server)?;
            settle(server);
            let command = programs.command(side, options, script, clients, server);
            let taken = match take(command, clients, options.window, server) {
                Ok(taken) => Ok(taken),
                Err(error) => {
                    // Without a server nothing more can be measured. A program that cannot start is not tried again for
                    // this cell: that may have taken minutes.
                    server.value("Threads_connected")?;
                    gave_up.push(side);
                    Err(format!("{error:#}"))
                }
            };
            println!("{}", report.add(LuaRow { script, clients, pair, side, taken }));
        }
    }
    Ok(())
}
