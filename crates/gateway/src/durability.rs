//! What a commit of the server survives, in one word: the header `X-Durability`.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError, server_settings};
use truetps_knowledge::{Durability, Loss, judge_text};
use truetps_record::{Flavour, SqlDialect};

/// The word of the header, and the whole sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DurabilityVerdict {
    pub(crate) word: &'static str,
    pub(crate) sentence: String,
}

impl DurabilityVerdict {
    fn of(durability: Option<Durability>) -> Self {
        let Some(Durability { process_crash, power_cut, sentence, .. }) = durability else {
            return Self::unknown("the server's version is not known".to_owned());
        };
        let word = match (process_crash, power_cut) {
            (Loss::Nothing, Loss::Nothing) => "commit-fsync",
            (Loss::Nothing, Loss::Unknown) | (Loss::Unknown, _) => "unknown",
            (Loss::Nothing, _) => "commit-os",
            _ => "none",
        };
        Self { word, sentence }
    }

    pub(crate) fn unknown(sentence: String) -> Self {
        Self { word: "unknown", sentence }
    }
}

/// Reads the settings that decide.
pub(crate) fn read_durability(client: &mut Client) -> Result<DurabilityVerdict, DriverError> {
    let version_sql = match client.dialect() {
        SqlDialect::Mysql => "SELECT CONCAT(@@version, ' ', @@version_comment)",
        SqlDialect::Postgres => {
            "SELECT 'PostgreSQL ' || pg_catalog.current_setting('server_version')"
        }
    };
    let version = client.query_value(version_sql)?.unwrap_or_default();
    let flavour = Flavour::from_version_text(&version);
    let settings: BTreeMap<String, String> = server_settings(client)?;
    let number = version.trim_start_matches("PostgreSQL ");
    let all = settings.iter().map(|(name, value)| (name.as_str(), value.as_str(), None));
    Ok(DurabilityVerdict::of(judge_text(flavour, number, all)))
}
