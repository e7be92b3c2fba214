//! What `truetps probe` writes: a folder that names the watched server, with a `probe.jsonl` in the
//! format of a trial's.
//!
//! ```text
//! runs/probe-<time>/           probe.json  probe.jsonl
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use truetps_record::{ProbeHeader, ProbeRun, ProbeSeries, ProbeSummary};

use crate::error::FolderError;
use crate::file_names::PROBE;
use crate::run_file::create_unused;
use crate::run_file::{LINES_MAX, open_below, read_bytes, read_json, write_json};
use crate::series_text::probe_series;
use crate::trial_writer::ProbeWriter;

const ABOUT: &str = "probe.json";

/// The folder of one `truetps probe`.
#[derive(Debug, Clone)]
pub struct ProbeFolder {
    path: PathBuf,
}

impl ProbeFolder {
    /// Makes `runs/<name>`, or `runs/<name>-2`, … where that exists.
    pub fn create(runs: &Path, name: &str, run: &ProbeRun) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let folder = Self { path: create_unused(runs, name)? };
        folder.write(run)?;
        Ok(folder)
    }

    /// Opens an existing folder; `None` if it is not a probe's.
    pub fn open(path: &Path) -> Option<Self> {
        path.join(ABOUT).is_file().then(|| Self { path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self) -> Result<ProbeRun, FolderError> {
        read_json(&self.path, &self.path.join(ABOUT))
    }

    pub fn write(&self, run: &ProbeRun) -> Result<(), FolderError> {
        write_json(&self.path.join(ABOUT), run)
    }

    pub fn begin(&self, header: &ProbeHeader) -> Result<ProbeWriter, FolderError> {
        ProbeWriter::create(&self.path.join(PROBE), header)
    }

    /// The samples. A last line that was cut off is ignored.
    pub fn series(&self) -> Result<ProbeSeries, FolderError> {
        let path = self.path.join(PROBE);
        let bytes = read_bytes(&self.path, &path, LINES_MAX)?;
        probe_series(&path, &String::from_utf8_lossy(&bytes))
    }

    /// The samples as rates and values, from the first reading to the last one.
    pub fn summary(&self) -> Result<ProbeSummary, FolderError> {
        Ok(ProbeSummary::of(self.run()?, &self.series()?, self.kept_bytes()?))
    }

    /// Length of `probe.jsonl`.
    pub fn kept_bytes(&self) -> Result<u64, FolderError> {
        let path = self.path.join(PROBE);
        Ok(open_below(&self.path, &path)?.metadata().map_err(FolderError::io(&path))?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truetps_record::{ProbeSample, ProbeSource, SCHEMA_VERSION, ServerFacts, TimeSpan};

    fn run() -> ProbeRun {
        ProbeRun {
            schema_version: SCHEMA_VERSION,
            tool_version: "1".to_owned(),
            target: "mysql://root@?socket=/s".to_owned(),
            server: ServerFacts::from_version_text("8.0.36"),
            platform: None,
            hostname: "h".to_owned(),
            started_at: "2026-11-21T20:34:38Z".to_owned(),
            ended_at: None,
            kept_bytes: None,
            suspensions: Vec::new(),
        }
    }

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    #[test]
    fn a_server_that_did_not_answer_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProbeFolder::create(dir.path(), "probe-x", &run()).unwrap();
        let header = ProbeHeader::of_version_1(1e3, None);
        let mut writer = folder.begin(&header).unwrap();
        for second in [0, 1, 5] {
            writer.append(&sample(f64::from(second) * 1e3, &[("status.a", 1.0)])).unwrap();
        }
        for second in 0..=6 {
            let source = ProbeSource::Host;
            writer.append(&ProbeSample { source, ..sample(f64::from(second) * 1e3, &[]) }).unwrap();
        }
        let summary = folder.summary().unwrap();
        assert_eq!((summary.samples, summary.length_ms), (3, 6000.5));
        assert_eq!(summary.outages, [TimeSpan { from_ms: 2000.0, to_ms: 5000.5 }]);
        assert_eq!(
            (summary.no_answer_ms, summary.answers_at_end),
            (3000.5, true),
            "it was killed: no query at 6 s"
        );
        let kept_bytes = Some(folder.kept_bytes().unwrap());
        folder.write(&ProbeRun { ended_at: Some("now".to_owned()), kept_bytes, ..run() }).unwrap();
        let summary = folder.summary().unwrap();
        assert_eq!((summary.answers_at_end, summary.damage), (false, None));
        // The contents of a truncated file's missing end are unknown.
        let path = folder.path().join(PROBE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        let summary = folder.summary().unwrap();
        let lost = format!("has {} of {} bytes: the rest is missing", text.len() - 3, text.len());
        assert_eq!((summary.answers_at_end, summary.damage), (true, Some(lost)));
        fs::write(&path, text.replacen("\"server\",\"at_ms\"", "\"sever\",\"at_ms\"", 1)).unwrap();
        assert_eq!(
            folder.summary().unwrap().damage.as_deref(),
            Some("line 2 cannot be understood")
        );
        fs::write(&path, text.replacen("\"schema_version\":1", "\"schema_version\":99", 1))
            .unwrap();
        assert!(matches!(folder.summary(), Err(FolderError::Newer { found: 99, .. })));
    }

    #[test]
    fn a_folder_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProbeFolder::create(dir.path(), "probe-x", &run()).unwrap();
        let header = ProbeHeader::of_version_1(1e3, None);
        folder.begin(&header).unwrap().append(&sample(5.0, &[("host.x", 1.0)])).unwrap();
        let again = ProbeFolder::open(folder.path()).unwrap();
        assert_eq!(
            (again.run().unwrap(), again.series().unwrap().times(ProbeSource::Server)),
            (run(), &[5.0][..])
        );
        assert!(ProbeFolder::open(dir.path()).is_none());
    }
}
