//! The tables of a comparison, and where they are kept.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use truetps_probe::{clock, host_facts};
use truetps_record::Protocol;

use crate::bench::figures::spread;
use crate::bench::options::{BenchOptions, protocol_word};
use crate::bench::sample::ResourceSample;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// One run.
pub(crate) struct BenchRow {
    pub(crate) protocol: Protocol,
    pub(crate) connections: u32,
    /// Rows of the same cell and number are neighbours in time.
    pub(crate) pair: u32,
    pub(crate) side: Side,
    /// Or why there is none.
    pub(crate) sample: Result<ResourceSample, String>,
}

pub(crate) struct BenchReport {
    head: String,
    ours: String,
    theirs: Option<String>,
    rows: Vec<BenchRow>,
}

impl BenchReport {
    /// `about`: the lines of the head that say what was measured, and on which server.
    pub(crate) fn new(title: &str, about: &str, options: &BenchOptions) -> Self {
        let head = format!(
            "{title}\n\n{about}{}- {} pairs for each cell, in changing order; windows of {} s, observed from outside \
             (/proc and the server's count of statements)\n- figures are medians [min..max]\n- {}\n",
            host_line(),
            options.pairs.count,
            options.window.as_secs_f64(),
            clock::now_rfc3339(),
        );
        let ours = options.ours().name();
        // The same against itself shows the noise: the two need names.
        let distinct = |name: String| if name == ours { format!("{name} again") } else { name };
        let theirs = options.theirs().map(|program| distinct(program.name()));
        Self { head, ours, theirs, rows: Vec::new() }
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Keeps a run; returns it as a line.
    pub(crate) fn add(&mut self, row: BenchRow) -> String {
        let what = format!(
            "{} {}, pair {}: {}",
            row.connections,
            protocol_word(row.protocol),
            row.pair + 1,
            self.name(row.side)
        );
        let line = match &row.sample {
            Ok(s) => format!(
                "{what}: {:.0} tps, client {:.2} µs, server {:.1} µs, {:.1} MB, elsewhere {:.2}, idle {:.2}",
                s.tps,
                s.client_us,
                s.server_us,
                s.client_rss_bytes as f64 / 1e6,
                s.cores_elsewhere,
                s.cores_idle
            ),
            Err(reason) => format!("{what}: no figure: {reason}"),
        };
        self.rows.push(row);
        line
    }

    fn name(&self, side: Side) -> &str {
        match side {
            Side::Ours => &self.ours,
            Side::Theirs => self.theirs.as_deref().unwrap_or_default(),
        }
    }

    pub(crate) fn tables(&self) -> String {
        let mut text = String::new();
        if let Some(theirs) = &self.theirs {
            let _ = writeln!(text, "{} / {theirs}, as ratios of neighbours:\n", self.ours);
            text.push_str(&self.ratios());
            text.push('\n');
        }
        text.push_str(&self.figures());
        text
    }

    fn ratios(&self) -> String {
        let mut text = String::from(
            "| connections | protocol | tps | client CPU a statement | server CPU a statement | client memory | pairs \
             |\n|---|---|---|---|---|---|---|\n",
        );
        for (protocol, connections) in self.cells() {
            let pairs = self.pairs(protocol, connections);
            let ratio = |figure: fn(&ResourceSample) -> f64| {
                spread(&pairs.iter().map(|(ours, theirs)| figure(ours) / figure(theirs)).collect::<Vec<_>>(), 2)
            };
            let _ = writeln!(
                text,
                "| {connections} | {} | {} | {} | {} | {} | {} |",
                protocol_word(protocol),
                ratio(|s| s.tps),
                ratio(|s| s.client_us),
                ratio(|s| s.server_us),
                ratio(|s| s.client_rss_bytes as f64),
                pairs.len()
            );
        }
        text
    }

    fn figures(&self) -> String {
        let mut text = String::from(
            "| connections | protocol | program | tps | client CPU µs a statement | client cores | server CPU µs a \
             statement | server cores | client memory MB | cores elsewhere | cores idle |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (protocol, connections) in self.cells() {
            for side in [Side::Ours, Side::Theirs] {
                if side == Side::Theirs && self.theirs.is_none() {
                    continue;
                }
                let cell = format!("| {connections} | {} | {} |", protocol_word(protocol), self.name(side));
                let _ = writeln!(text, "{cell} {}", self.figures_of(protocol, connections, side));
            }
        }
        text
    }

    /// The rest of a line of the table.
    fn figures_of(&self, protocol: Protocol, connections: u32, side: Side) -> String {
        let rows = || self.cell(protocol, connections).filter(|row| row.side == side);
        let samples: Vec<&ResourceSample> = rows().filter_map(|row| row.sample.as_ref().ok()).collect();
        let reason = rows().find_map(|row| row.sample.as_ref().err());
        if let (true, Some(reason)) = (samples.is_empty(), reason) {
            return format!("no figure: {} | | | | | | | |", reason.replace('|', "/").replace('\n', " "));
        }
        let of = |figure: fn(&ResourceSample) -> f64, decimals| {
            spread(&samples.iter().map(|sample| figure(sample)).collect::<Vec<_>>(), decimals)
        };
        let mut line = [
            of(|s| s.tps, 0),
            of(|s| s.client_us, 2),
            of(|s| s.client_cores, 2),
            of(|s| s.server_us, 2),
            of(|s| s.server_cores, 2),
            of(|s| s.client_rss_bytes as f64 / 1e6, 1),
            of(|s| s.cores_elsewhere, 2),
            of(|s| s.cores_idle, 2),
        ]
        .join(" | ");
        line.push_str(if reason.is_some() { " (one run failed: see raw.csv) |" } else { " |" });
        line
    }

    /// In the order in which they were measured.
    fn cells(&self) -> Vec<(Protocol, u32)> {
        let mut cells: Vec<_> = self.rows.iter().map(|row| (row.protocol, row.connections)).collect();
        cells.dedup();
        cells
    }

    fn cell(&self, protocol: Protocol, connections: u32) -> impl Iterator<Item = &BenchRow> {
        self.rows.iter().filter(move |row| row.protocol == protocol && row.connections == connections)
    }

    /// Figures of both programs, if both have one.
    fn pairs(&self, protocol: Protocol, connections: u32) -> Vec<(ResourceSample, ResourceSample)> {
        let find = |pair: u32, side: Side| {
            let mut rows = self.cell(protocol, connections);
            rows.find(|row| row.pair == pair && row.side == side)?.sample.as_ref().ok().copied()
        };
        let numbers = self.cell(protocol, connections).filter(|row| row.side == Side::Ours).map(|row| row.pair);
        numbers.filter_map(|pair| find(pair, Side::Ours).zip(find(pair, Side::Theirs))).collect()
    }

    fn csv(&self) -> String {
        let mut csv = String::from(
            "connections,protocol,pair,program,tps,client_us,server_us,client_cores,server_cores,cores_elsewhere,\
             cores_idle,client_rss_bytes,look_ms,failure\n",
        );
        for row in &self.rows {
            let (connections, protocol, pair) = (row.connections, protocol_word(row.protocol), row.pair + 1);
            let program = self.name(row.side).replace(',', "");
            let figures = match &row.sample {
                Ok(s) => format!(
                    "{:.1},{:.3},{:.3},{:.3},{:.3},{:.3},{:.3},{},{:.2},",
                    s.tps,
                    s.client_us,
                    s.server_us,
                    s.client_cores,
                    s.server_cores,
                    s.cores_elsewhere,
                    s.cores_idle,
                    s.client_rss_bytes,
                    s.look_ms
                ),
                Err(reason) => format!(",,,,,,,,,\"{}\"", reason.replace('"', "'").replace('\n', " ")),
            };
            let _ = writeln!(csv, "{connections},{protocol},{pair},{program},{figures}");
        }
        csv
    }

    /// Shows the tables, and keeps them unless this is a dry run.
    pub(crate) fn end(&self, root: &Path, name: &str, is_kept: bool) -> anyhow::Result<()> {
        println!("\n{}", self.tables());
        if is_kept {
            let text = format!("# {}\n{}", self.head, self.tables());
            println!("kept in {}", keep(root, name, &text, &self.csv())?.display());
        }
        Ok(())
    }
}

/// The host, as a line of a head.
pub(crate) fn host_line() -> String {
    let host = host_facts(Path::new("."), None);
    format!("- host: {} cores ({}), {}\n", host.cores, host.cpu_model, host.kernel)
}

/// Writes a table and its raw figures to a dated folder.
pub(crate) fn keep(root: &Path, name: &str, readme: &str, csv: &str) -> anyhow::Result<PathBuf> {
    let folder = result_folder(root, name)?;
    write_result(&folder, readme, csv)?;
    Ok(folder)
}

pub(crate) fn result_folder(root: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = root.join("bench/runs").join(format!("{}-{name}", clock::folder_stamp()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

pub(crate) fn write_result(folder: &Path, readme: &str, csv: &str) -> anyhow::Result<()> {
    fs::write(folder.join("README.md"), readme)?;
    fs::write(folder.join("raw.csv"), csv)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn sample(tps: f64) -> ResourceSample {
        ResourceSample {
            tps,
            client_us: 5.0,
            server_us: 20.0,
            client_cores: 0.5,
            server_cores: 1.5,
            cores_elsewhere: 0.0,
            cores_idle: 0.0,
            client_rss_bytes: 4_000_000,
            look_ms: 0.1,
        }
    }

    fn report(rows: Vec<(u32, Side, Result<ResourceSample, String>)>) -> BenchReport {
        let options = BenchOptions::try_parse_from(["engine"]).unwrap();
        let mut report = BenchReport::new("title", "", &options);
        for (pair, side, sample) in rows {
            report.add(BenchRow { protocol: Protocol::Text, connections: 8, pair, side, sample });
        }
        report
    }

    #[test]
    fn a_result_is_a_folder_with_a_table_and_raw_figures() {
        let root = tempfile::tempdir().unwrap();
        let folder = keep(root.path(), "engine-sysbench", "# head\n", "a,b\n").unwrap();
        assert!(folder.to_string_lossy().ends_with("-engine-sysbench"));
        assert_eq!(fs::read_to_string(folder.join("README.md")).unwrap(), "# head\n");
        assert_eq!(fs::read_to_string(folder.join("raw.csv")).unwrap(), "a,b\n");
    }

    #[test]
    fn ratios_are_those_of_neighbours() {
        let report = report(vec![
            (0, Side::Ours, Ok(sample(200.0))),
            (0, Side::Theirs, Ok(sample(100.0))),
            (1, Side::Theirs, Ok(sample(50.0))),
            (1, Side::Ours, Ok(sample(50.0))),
        ]);
        assert!(report.ratios().contains("| 8 | text | **1.50** [1.00..2.00] |"), "{}", report.ratios());
    }

    #[test]
    fn a_program_that_cannot_start_is_named_and_the_other_keeps_its_figures() {
        let report = report(vec![
            (0, Side::Ours, Ok(sample(200.0))),
            (0, Side::Theirs, Err("no memory".to_owned())),
            (1, Side::Ours, Ok(sample(300.0))),
        ]);
        let tables = report.tables();
        assert!(tables.contains("| 8 | text | sysbench | no figure: no memory |"), "{tables}");
        assert!(tables.contains("| 8 | text | truetps | **250** [200..300] |"), "{tables}");
        let columns = |line: &str| line.matches('|').count();
        let figures = report.figures();
        assert!(figures.lines().all(|line| columns(line) == columns(figures.lines().next().unwrap())), "{figures}");
        let fields: Vec<_> = report.csv().lines().map(|line| line.matches(',').count()).collect();
        assert!(fields.iter().all(|n| *n == fields[0]), "{}", report.csv());
    }
}
