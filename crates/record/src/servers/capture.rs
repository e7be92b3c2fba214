//! A server's settings, hardware and software at one moment: a document that can be kept and
//! compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{HostFacts, ServerFacts};

/// Identifies the document, so that another JSON file is not mistaken for a capture.
pub const CAPTURE_KIND: &str = "truetps-capture";
pub const CAPTURE_SCHEMA_VERSION: u32 = 1;

/// One server. Fields added by a newer truetps are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    pub schema_version: u32,
    pub kind: String,
    pub tool_version: String,
    /// RFC 3339, UTC.
    pub captured_at: String,
    pub server: ServerFacts,
    pub variables: BTreeMap<String, CapturedVariable>,
    /// Status variables that change what settings mean: those about the redo log, and about commits
    /// that wait for a replica.
    #[serde(default)]
    pub status: BTreeMap<String, String>,
    #[serde(default)]
    pub plugins: Vec<CapturedPlugin>,
    #[serde(default)]
    pub schemas: Vec<SchemaShape>,
    /// `None` if the server is on another host, or its host is unknown.
    #[serde(default)]
    pub host: Option<HostFacts>,
    /// What a commit on this server survives, in one line, as judged by the truetps that captured
    /// it. For readers: a comparison judges the variables itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// What could not be read, and why.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedVariable {
    pub value: String,
    /// The source as the server names it: COMPILED, CONFIG, `configuration file`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// File that it was set in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What the server calls the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The unit in which PostgreSQL reports value and default: `8kB`, `ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedPlugin {
    pub name: String,
    pub kind: String,
    #[serde(default)]
    pub version: Option<String>,
}

/// A summary of the tables: no table names and no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaShape {
    pub name: String,
    pub tables: u64,
    /// The server's estimate.
    pub rows: u64,
    pub data_bytes: u64,
    pub index_bytes: u64,
    pub indexes: u64,
    /// Engine, and how many tables it has.
    #[serde(default)]
    pub engines: BTreeMap<String, u64>,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum CaptureError {
    #[error("is not a capture: {0}")]
    Other(String),
    #[error(
        "written by a newer truetps (schema version {found}; this one reads up to \
         {CAPTURE_SCHEMA_VERSION})"
    )]
    Newer { found: u64 },
    #[error("is cut off or was changed by hand: {0}")]
    Broken(String),
}

impl CaptureError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "read it with the truetps that wrote it, or a newer one",
            Self::Other(_) | Self::Broken(_) => {
                "make a capture with `truetps server capture DSN -o FILE`"
            }
        }
    }
}

impl Capture {
    /// Reads the document.
    pub fn from_json(text: &str) -> Result<Self, CaptureError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| CaptureError::Broken(error.to_string()))?;
        if value.get("kind").and_then(serde_json::Value::as_str) != Some(CAPTURE_KIND) {
            return Err(CaptureError::Other(format!("it has no \"kind\": \"{CAPTURE_KIND}\"")));
        }
        match value.get("schema_version").and_then(serde_json::Value::as_u64) {
            None => return Err(CaptureError::Broken("it has no schema_version".to_owned())),
            Some(found) if found > u64::from(CAPTURE_SCHEMA_VERSION) => {
                return Err(CaptureError::Newer { found });
            }
            Some(_) => {}
        }
        serde_json::from_value(value).map_err(|error| CaptureError::Broken(error.to_string()))
    }

    /// The document, with an end of line.
    pub fn to_json(&self) -> String {
        crate::printable_json(
            &serde_json::to_string_pretty(self).expect("a capture has a JSON form"),
        ) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flavour;

    fn capture() -> Capture {
        let value = CapturedVariable { value: "1".to_owned(), ..CapturedVariable::default() };
        Capture {
            schema_version: CAPTURE_SCHEMA_VERSION,
            kind: CAPTURE_KIND.to_owned(),
            tool_version: "0".to_owned(),
            captured_at: "2026-01-01T00:00:00Z".to_owned(),
            server: ServerFacts {
                name: None,
                flavour: Flavour::Mysql,
                version: "9.7.4".to_owned(),
                version_text: "9.7.4".to_owned(),
                chosen_settings: Vec::new(),
                of_option_file: Vec::new(),
            },
            variables: [("sync_binlog".to_owned(), value)].into(),
            status: BTreeMap::new(),
            plugins: Vec::new(),
            schemas: Vec::new(),
            host: None,
            durability: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn there_and_back() {
        let text = capture().to_json();
        assert_eq!(Capture::from_json(&text), Ok(capture()));
        let more = text.replacen('{', "{\"of_later\": [1],", 1);
        assert_eq!(Capture::from_json(&more), Ok(capture()));
    }

    #[test]
    fn what_is_no_capture() {
        let text = capture().to_json();
        let newer = text.replacen("\"schema_version\": 1", "\"schema_version\": 7", 1);
        assert_eq!(Capture::from_json(&newer), Err(CaptureError::Newer { found: 7 }));
        assert!(matches!(
            Capture::from_json(&text[..text.len() / 2]),
            Err(CaptureError::Broken(_))
        ));
        assert!(matches!(
            Capture::from_json(&text.replace("\"server\"", "\"sever\"")),
            Err(CaptureError::Broken(_))
        ));
        assert!(matches!(
            Capture::from_json("{\"schema_version\": 1}"),
            Err(CaptureError::Other(_))
        ));
        assert!(matches!(Capture::from_json("[]"), Err(CaptureError::Other(_))));
    }
}
