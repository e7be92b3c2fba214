//! Lines of series, as text, to what they say.

use std::path::Path;

use truetps_record::{Interval, ProbeSeries, SCHEMA_VERSION};

use crate::error::FolderError;
use crate::line_reader::LineReader;

/// The probe's series, from the text of a file with at least one complete line.
pub(crate) fn probe_series(path: &Path, text: &str) -> Result<ProbeSeries, FolderError> {
    let header: serde_json::Value =
        serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default();
    let found = header.get("schema_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found > u64::from(SCHEMA_VERSION) {
        return Err(FolderError::Newer { path: path.to_owned(), found, writer: None });
    }
    ProbeSeries::parse(text)
        .ok_or_else(|| FolderError::content(path, "its first line is not the header of a probe"))
}

/// The interval of the next line; `None` at the end.
pub(crate) fn next_interval(lines: &mut LineReader) -> Result<Option<Interval>, FolderError> {
    let Some((number, line)) = lines.next_line()? else { return Ok(None) };
    // A line that was edited may have any bytes.
    let read = serde_json::from_str::<Interval>(&String::from_utf8_lossy(line))
        .map_err(|error| error.to_string());
    let checked = read.and_then(|interval| interval.check().map(|()| interval));
    checked
        .map(Some)
        .map_err(|problem| FolderError::content(lines.path(), format!("line {number}: {problem}")))
}
