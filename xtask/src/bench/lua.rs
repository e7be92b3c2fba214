//! `bench lua`: sysbench and `truetps sysbench` on the same unmodified scripts, in alternating
//! runs.

mod comparison;
mod options;
mod run;
mod setup;

use std::path::Path;

use crate::bench::comparison::RunTable;
pub(crate) use crate::bench::lua::options::LuaBenchOptions;
use crate::bench::lua::run::{measure_run, settle};
use crate::bench::lua::setup::{LuaPrograms, check_memory, prepare, server_load};
use crate::bench::private_server::PrivateServer;

pub(crate) fn run(root: &Path, options: &LuaBenchOptions) -> anyhow::Result<()> {
    if options.is_dry {
        print!("{}", setup::plan(root, options));
        return Ok(());
    }
    let load = server_load(options)?;
    check_memory(options.most_clients())?;
    let programs = LuaPrograms::find(root, options)?;
    let mut server = PrivateServer::start_bare(None, load, &options.settings())?;
    prepare(options, &mut server)?;
    let title = format!(
        "truetps sysbench beside {}: the same Lua scripts, on a private server",
        options.against.name()
    );
    let about =
        format!("{}{}{}", programs.about, server.describe(&options.settings()), options.describe());
    let mut table =
        RunTable::new(options.against.clone(), &title, &about, options.kept.folder(root, "lua"));
    for script in options.scripts.iter().copied() {
        server.counter = script.counter;
        for clients in options.clients.iter().copied() {
            table.measure((script, clients), 0..options.pairs.count, |program| {
                setup::same_start(options, script, &mut server)?;
                settle(&mut server);
                let command = programs.command(program == 0, options, script, clients, &server);
                let taken = measure_run(command, clients, options.window, &mut server);
                if taken.is_err() {
                    // Without a server nothing more can be measured.
                    server.value("Threads_connected")?;
                }
                Ok(taken)
            })?;
        }
    }
    table.end();
    Ok(())
}
