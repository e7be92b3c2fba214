//! `bench null`: the client's cost of a statement if the server costs nothing. Server and client
//! have a core each.

use std::path::Path;

use anyhow::bail;
use truetps_sandbox::{Needs, raise_open_files};

use crate::bench::engine::{EnginePairs, describe};
use crate::bench::null_server::NullServer;
use crate::bench::options::BenchOptions;
use crate::bench::private_server::with_hint;

pub(crate) const CLIENT_CORE: u32 = 0;
pub(crate) const SERVER_CORE: u32 = 1;

pub(crate) fn run(root: &Path, options: &BenchOptions) -> anyhow::Result<()> {
    options.check()?;
    if !options.kept.settings.is_empty() {
        bail!("the null server has no settings: --set is for `bench engine`");
    }
    let mut server = start(options.most_connections())?;
    let about = format!(
        "{}- server: a null server, which answers OK to everything, on core {SERVER_CORE}; clients \
         on core {CLIENT_CORE}\n- threading: one epoll thread\n- statements/s a core of the client \
         are 1,000,000 / client CPU µs; where `client cores` is below 1, the server or other \
         programs were the limit\n",
        describe(root, options)?
    );
    let pairs =
        EnginePairs { name: "null", what: "a server that does nothing", core: Some(CLIENT_CORE) };
    pairs.run(root, options, &about, &mut server)
}

/// On its core, with room for so many sessions.
pub(crate) fn start(connections: u32) -> anyhow::Result<NullServer> {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        bail!("the null server and its client need a core each");
    }
    let needs = Needs { other_files: 1024, ..Needs::of_clients(connections) };
    raise_open_files(&needs).map_err(with_hint)?;
    NullServer::start(SERVER_CORE)
}
