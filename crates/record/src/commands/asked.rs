//! What an experiment was asked: a command that goes on with it reads this.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::SettingValue;

/// The load and the server as the user named them. What is absent was not named.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// A and B of an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<[String; 2]>,
    /// A plan, its file, or a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// `NAME=VALUE`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_rows: Option<u64>,
    /// The generator's cores, as typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    pub server: AskedServer,
    /// `plan.toml` as it was before the first trial: the file in the folder can be edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_text: Option<String>,
    /// Settings that both sides of an explanation have.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub common: IndexMap<String, SettingValue>,
    /// What else decides about the trials and the answer: objectives, option files as they were
    /// read. It is compared, and not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Value>,
    /// What a later version has recorded.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Asked {
    /// The names of what this version does not know. Who goes on without it would measure something
    /// else.
    pub fn unknown_names(&self) -> impl Iterator<Item = &str> {
        self.unknown.keys().chain(self.server.unknown.keys()).map(String::as_str)
    }
}

/// The server, and how to log in. A password is never recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskedServer {
    /// An external one's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basedir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_dir: Option<String>,
    /// Its own option file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub my_cnf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Whether the schema is the user's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub schema_is_theirs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaults_file: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks_password: bool,
    /// What a later version has recorded.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}
