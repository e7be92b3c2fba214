//! What a benchmark needs of a server, whichever it is.

use std::path::Path;

pub(crate) trait Server {
    fn socket(&self) -> &Path;

    fn pid(&self) -> u32;

    /// The same start for each program: an empty table.
    fn empty(&mut self) -> anyhow::Result<()>;

    /// Sessions beside the observer's own.
    fn sessions(&mut self) -> anyhow::Result<u64>;

    /// Transactions of the load since the server started: INSERTs, where nothing else was said.
    fn statements(&mut self) -> anyhow::Result<u64>;
}
