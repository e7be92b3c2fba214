//! `script.json`: the texts that a script's run executed, and the statements that they sent.

use serde::{Deserialize, Serialize};

/// Written when the run begins, and again with the statements when it ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptRecord {
    pub schema_version: u32,
    pub script: ScriptText,
    /// Files that the script loaded, in order: by `require`, `dofile` or `loadfile`.
    pub modules: Vec<ScriptText>,
    /// Number of modules beyond those kept.
    #[serde(default)]
    pub modules_left_out: u64,
    /// Statements of the measured time, most frequent first. `None` if the run did not finish.
    #[serde(default)]
    pub statements: Option<SentStatements>,
}

/// A text in Lua, or a library, as it was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptText {
    /// As the script, or the user, named it.
    pub name: String,
    /// `None`: the standard input, or a built-in text.
    pub path: Option<String>,
    /// SHA-256 of all bytes, in hexadecimal. `None` if they could not be read.
    pub sha256: Option<String>,
    pub bytes: u64,
    /// `None` if it is not text: byte code, a library. Bytes that are not UTF-8 are U+FFFD.
    pub text: Option<String>,
    /// Whether `text` is truncated.
    #[serde(default)]
    pub is_cut: bool,
}

/// Statements by shape: the text with its literals replaced by `?`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SentStatements {
    pub shapes: Vec<SentShape>,
    /// Statements of all further shapes together: `sql` is empty.
    pub left_out: Option<SentShape>,
}

/// Statements of one shape that were answered. `count` is the sum of the four numbers behind it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SentShape {
    pub sql: String,
    pub count: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: u64,
    /// From sending to the end of the reply, summed over all.
    pub time_ms: f64,
    pub time_ms_max: f64,
}

/// Facts of a script's run besides the figures of every trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptRun {
    /// SHA-256 of the script's text; `script.json` has the text.
    pub sha256: Option<String>,
    /// Statements of the measured time by their outcome.
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    /// How evenly the clients were served; `None` if the run did not finish.
    pub fairness: Option<ScriptFairness>,
    /// `None` where each client had a thread of its own, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_ready: Option<AnswersReady>,
}

/// For how long the answers of an event lay ready while other clients of the thread had their
/// turns, on average. It is part of the event's response time. A thread sees an answer only between
/// two turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswersReady {
    pub us_least: f64,
    pub us_most: f64,
}

/// Means and standard deviations over the clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptFairness {
    pub events_mean: f64,
    pub events_deviation: f64,
    /// Time inside of events.
    pub time_s_mean: f64,
    pub time_s_deviation: f64,
}
