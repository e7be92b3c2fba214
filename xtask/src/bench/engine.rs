//! `bench engine`: the engine of truetps beside another program on a private server.

use std::path::Path;

use truetps_record::Protocol;

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::figures::spread;
use crate::bench::options::{BenchOptions, word};
use crate::bench::pin::pinned;
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{BenchLoad, Program};
use crate::bench::sample::{ResourceSample, Server, measure_program};

pub(crate) fn run(root: &Path, options: &BenchOptions) -> anyhow::Result<()> {
    options.check()?;
    let programs = describe(root, options)?;
    let mut server = PrivateServer::start(options.most_connections(), &options.kept.settings)?;
    let about = format!("{programs}{}", server.describe(&options.kept.settings));
    let pairs = EnginePairs {
        name: "engine",
        what: "one INSERT a transaction, on a private server",
        core: None,
    };
    pairs.run(root, options, &about, &mut server)
}

/// Each program on a line.
pub(crate) fn describe(root: &Path, options: &BenchOptions) -> anyhow::Result<String> {
    options
        .programs()
        .iter()
        .map(|program| Ok(format!("- {}\n", program.describe(root)?)))
        .collect()
}

pub(crate) struct EnginePairs {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// The core that the programs are bound to.
    pub(crate) core: Option<u32>,
}

impl EnginePairs {
    pub(crate) fn run(
        &self,
        root: &Path,
        options: &BenchOptions,
        about: &str,
        server: &mut dyn Server,
    ) -> anyhow::Result<()> {
        let names = EnginePrograms::of(options);
        let title = format!("{}: {}", names.0.join(" beside "), self.what);
        let about = format!(
            "{about}- {} rounds for each cell, in changing order; windows of {} s, observed from \
             outside (/proc and the server's count of statements)\n",
            options.pairs.count,
            options.window.as_secs_f64(),
        );
        let folder = format!("{}-{}", self.name, names.file_word());
        let mut table = RunTable::new(names, &title, &about, options.kept.folder(root, &folder));
        let (programs, files) = (options.programs(), tempfile::tempdir()?);
        for protocol in options.protocols.iter().copied() {
            for connections in options.connections.iter().copied() {
                table.measure((connections, protocol), 0..options.pairs.count, |program| {
                    let program = &programs[program];
                    let load = BenchLoad {
                        socket: server.socket(),
                        connections,
                        protocol,
                        files: files.path(),
                    };
                    let command = pinned(program.command(root, &load)?, self.core)?;
                    measure_program(
                        command,
                        connections + program.extra_sessions(),
                        options.window,
                        server,
                    )
                })?;
            }
        }
        table.end();
        Ok(())
    }
}

/// The names of the programs.
struct EnginePrograms(Vec<String>);

impl EnginePrograms {
    fn of(options: &BenchOptions) -> Self {
        let mut names: Vec<String> = options.programs().iter().map(Program::name).collect();
        // The same program twice shows the noise: the two need names.
        if let [ours, theirs] = &mut names[..]
            && ours == theirs
        {
            theirs.push_str(" again");
        }
        Self(names)
    }

    /// The other program as part of a folder's name.
    fn file_word(&self) -> String {
        let name = self.0.get(1).map_or("alone", String::as_str);
        name.chars()
            .filter(|c| !matches!(c, ',' | '×'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    }
}

impl BenchComparison for EnginePrograms {
    type Cell = (u32, Protocol);
    type Run = ResourceSample;
    const CELL: &'static [&'static str] = &["connections", "protocol"];

    fn cell_words(&self, (connections, protocol): Self::Cell) -> Vec<String> {
        vec![connections.to_string(), word(protocol)]
    }

    fn programs(&self, _: Self::Cell) -> Vec<String> {
        self.0.clone()
    }

    fn columns(&self) -> Vec<FigureColumn<ResourceSample>> {
        resource_columns()
    }

    fn ratio_title(&self) -> String {
        format!("{}, as ratios of neighbours, medians [min..max]", self.0.join(" / "))
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        spread(ratios, decimals)
    }
}

pub(crate) fn resource_columns() -> Vec<FigureColumn<ResourceSample>> {
    vec![
        FigureColumn::compared("tps", "tps", [0, 2], |s| s.tps),
        FigureColumn::compared("client_us", "client CPU µs a statement", [2, 2], |s| s.client_us),
        FigureColumn::shown("client_cores", "client cores", 2, |s| s.client_cores),
        FigureColumn::compared("server_us", "server CPU µs a statement", [2, 2], |s| s.server_us),
        FigureColumn::shown("server_cores", "server cores", 2, |s| s.server_cores),
        FigureColumn::compared("client_rss_mb", "client memory MB", [1, 2], |s| {
            s.client_rss_bytes as f64 / 1e6
        }),
        FigureColumn::shown("cores_elsewhere", "cores elsewhere", 2, |s| s.cores_elsewhere),
        FigureColumn::shown("cores_idle", "cores idle", 2, |s| s.cores_idle),
        FigureColumn::raw("look_ms", |s| s.look_ms),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn sample(tps: f64) -> ResourceSample {
        ResourceSample {
            tps,
            client_us: 5.0,
            client_rss_bytes: 4_000_000,
            ..ResourceSample::default()
        }
    }

    #[test]
    fn ratios_are_medians_of_neighbours() {
        let names = EnginePrograms::of(&BenchOptions::try_parse_from(["engine"]).unwrap());
        let cell = (8, Protocol::Text);
        let runs = [(0, 0, 200.0), (0, 1, 100.0), (1, 1, 50.0), (1, 0, 50.0)];
        let table =
            RunTable::of_runs(names, runs.map(|(round, n, tps)| (cell, round, n, Ok(sample(tps)))));
        let text = table.tables();
        assert!(text.contains("| 8 | text | truetps | **1.50** [1.00..2.00] |"), "{text}");
        assert!(text.contains("| 8 | text | sysbench | **75** [50..100] |"), "{text}");
    }

    #[test]
    fn the_same_program_twice_has_two_names() {
        let options = BenchOptions::try_parse_from(["engine", "--against", "self:auto"]).unwrap();
        let names = EnginePrograms::of(&options);
        assert_eq!(names.0, ["truetps", "truetps again"]);
        assert_eq!(names.file_word(), "truetps-again");
    }
}
