//! Alternating runs of two programs; their order changes from pair to pair.

use std::path::Path;

use truetps_record::Protocol;

use crate::bench::options::BenchOptions;
use crate::bench::pin::pinned;
use crate::bench::programs::{BenchLoad, Program};
use crate::bench::report::{BenchReport, BenchRow, Side};
use crate::bench::sample::take;
use crate::bench::server::Server;

pub(crate) struct Pairs<'a> {
    pub(crate) root: &'a Path,
    pub(crate) options: &'a BenchOptions,
    pub(crate) server: &'a mut dyn Server,
    /// The core that the programs are bound to.
    pub(crate) core: Option<u32>,
}

impl Pairs<'_> {
    /// All cells of the table; each line is shown when it is there.
    pub(crate) fn run(&mut self, report: &mut BenchReport) -> anyhow::Result<()> {
        let files = tempfile::tempdir()?;
        for protocol in &self.options.protocols {
            for connections in &self.options.connections {
                self.cell(*protocol, *connections, files.path(), report)?;
            }
        }
        Ok(())
    }

    fn cell(
        &mut self,
        protocol: Protocol,
        connections: u32,
        files: &Path,
        report: &mut BenchReport,
    ) -> anyhow::Result<()> {
        let mut gave_up = Vec::new();
        for pair in 0..self.options.pairs.count {
            let order = if pair.is_multiple_of(2) { [Side::Ours, Side::Theirs] } else { [Side::Theirs, Side::Ours] };
            for side in order {
                let Some(program) = self.program(side).filter(|_| !gave_up.contains(&side)) else { continue };
                let load = BenchLoad { socket: self.server.socket(), connections, protocol, files };
                let command = program.command(self.root, &load)?;
                let command = pinned(command, self.core)?;
                let taken = take(command, connections + program.extra_sessions(), self.options.window, self.server);
                let sample = match taken {
                    Ok(sample) => Ok(sample),
                    Err(error) => {
                        // If the server is gone there is nothing more to measure. A program that cannot start is not
                        // tried again: that may have taken minutes.
                        self.server.sessions()?;
                        gave_up.push(side);
                        Err(format!("{error:#}"))
                    }
                };
                println!("{}", report.add(BenchRow { protocol, connections, pair, side, sample }));
            }
        }
        Ok(())
    }

    fn program(&self, side: Side) -> Option<Program> {
        match side {
            Side::Ours => Some(self.options.ours()),
            Side::Theirs => self.options.theirs().cloned(),
        }
    }
}
