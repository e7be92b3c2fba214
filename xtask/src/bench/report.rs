//! The table of a benchmark, and where it is kept.

use std::fs;
use std::path::{Path, PathBuf};

use truetps_probe::{clock, host_facts};

use crate::bench::engine::Options;
use crate::bench::sample::Sample;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ours: Sample,
    pub(crate) theirs: Sample,
}

pub(crate) struct Report {
    head: String,
    rows: Vec<(u32, Pair)>,
}

impl Report {
    pub(crate) fn new(server: &str, threading: &str, sysbench: &str, options: &Options) -> Self {
        let host = host_facts(Path::new("."), None);
        let settings: Vec<_> = options.settings.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let head = format!(
            "The engine beside {sysbench} (`oltp_insert`, text protocol, one table of {} rows before it was emptied)\n\n\
             - server: {server}\n- threading: {threading}; innodb_flush_log_at_trx_commit=0, no binlog{}\n\
             - host: {} cores ({}), {}\n- {} pairs for each number of connections, who comes first changes; windows of \
             {} s, seen from outside (/proc, Com_insert)\n- {}\n",
            crate::bench::client::TABLE_ROWS,
            settings.concat(),
            host.cores,
            host.cpu_model,
            host.kernel,
            options.pairs,
            options.window.as_secs_f64(),
            clock::now_rfc3339(),
        );
        Self { head, rows: Vec::new() }
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Keeps a pair; returns it as a line.
    pub(crate) fn add(&mut self, connections: u32, pair: Pair) -> String {
        self.rows.push((connections, pair));
        let show = |s: &Sample| {
            let rss = s.client_rss_bytes as f64 / 1e6;
            let (tps, client, server, elsewhere) = (s.tps, s.client_us, s.server_us, s.cores_elsewhere);
            format!("{tps:.0} tps, client {client:.1} µs, server {server:.1} µs, {rss:.1} MB, elsewhere {elsewhere:.2}")
        };
        format!("{connections}: truetps {} | sysbench {}", show(&pair.ours), show(&pair.theirs))
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::from(
            "| connections | tps, truetps / sysbench | ratio median [min..max] | client CPU µs a statement | ratio median \
             [min..max] | client memory MB | cores elsewhere |\n|---|---|---|---|---|---|---|\n",
        );
        let mut levels: Vec<u32> = self.rows.iter().map(|(connections, _)| *connections).collect();
        levels.dedup();
        for level in levels {
            let pairs: Vec<_> =
                self.rows.iter().filter(|(connections, _)| *connections == level).map(|(_, p)| p).collect();
            let of = |figure: fn(&Sample) -> f64| {
                let values = |side: fn(&Pair) -> &Sample| pairs.iter().map(|p| figure(side(p))).collect::<Vec<_>>();
                (median(values(|p| &p.ours)), median(values(|p| &p.theirs)))
            };
            let ratio = |figure: fn(&Sample) -> f64| {
                spread(pairs.iter().map(|p| figure(&p.ours) / figure(&p.theirs)).collect())
            };
            let (tps, cpu, rss) = (of(|s| s.tps), of(|s| s.client_us), of(|s| s.client_rss_bytes as f64 / 1e6));
            let elsewhere = of(|s| s.cores_elsewhere);
            let line = format!(
                "| {level} | {:.0} / {:.0} | {} | {:.1} / {:.1} | {} | {:.1} / {:.1} | {:.2} / {:.2} |\n",
                tps.0,
                tps.1,
                ratio(|s| s.tps),
                cpu.0,
                cpu.1,
                ratio(|s| s.client_us),
                rss.0,
                rss.1,
                elsewhere.0,
                elsewhere.1
            );
            text.push_str(&line);
        }
        text
    }

    /// Writes the table and the raw figures to a dated folder.
    pub(crate) fn keep(&self, root: &Path) -> anyhow::Result<PathBuf> {
        let folder = root.join("bench/runs").join(format!("{}-engine", clock::folder_stamp()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("README.md"), format!("# {}\n{}", self.head, self.table()))?;
        let mut csv = String::from("connections,program,tps,client_us,server_us,cores_elsewhere,client_rss_bytes\n");
        for (connections, pair) in &self.rows {
            for (program, s) in [("truetps", &pair.ours), ("sysbench", &pair.theirs)] {
                let line = format!(
                    "{connections},{program},{:.1},{:.3},{:.3},{:.3},{}\n",
                    s.tps, s.client_us, s.server_us, s.cores_elsewhere, s.client_rss_bytes
                );
                csv.push_str(&line);
            }
        }
        fs::write(folder.join("raw.csv"), csv)?;
        Ok(folder)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

fn spread(values: Vec<f64>) -> String {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    format!("**{:.2}** [{low:.2}..{high:.2}]", median(values))
}
