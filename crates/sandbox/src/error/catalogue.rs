//! Errors of settings that a server does not take.

use std::path::PathBuf;

use thiserror::Error;
use truetps_record::did_you_mean;

#[derive(Debug, Error)]
pub enum CatalogueError {
    #[error("`{name}` cannot be set here: {reason}")]
    Reserved { name: String, reason: &'static str },
    #[error("{server} has no setting `{name}`{}", did_you_mean(near))]
    Unknown { name: String, server: String, near: Vec<String> },
    /// A setting that only the other family has.
    #[error("{server} has no setting `{name}`: it is one of {whose}")]
    OtherFamily { name: String, server: String, whose: &'static str, hint: &'static str },
    #[error("`{name}` of {server} has no matching variable, so its value cannot be verified")]
    NoVariable { name: String, server: String },
    #[error("`{name} = {value}`: {problem}")]
    Value { name: String, value: String, problem: String, description: Option<String> },
    /// Each is accepted without the others.
    #[error("{} are not accepted together: {problem}", quoted(names))]
    NotTogether { names: Vec<String>, problem: String },
    #[error("cannot read the settings of {}: {problem}", binary.display())]
    Ask { binary: PathBuf, problem: String },
}

impl CatalogueError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Reserved { name, .. } | Self::NoVariable { name, .. } => {
                Some(format!("leave `{name}` out"))
            }
            Self::Unknown { name, near, .. } if near.is_empty() => Some(format!(
                "check the spelling of `{name}`, or whether this version of the server has it"
            )),
            Self::OtherFamily { hint, .. } => Some((*hint).to_owned()),
            Self::Value { name, description: Some(description), .. } => {
                Some(format!("the server's description of `{name}`: {description}"))
            }
            Self::Unknown { .. }
            | Self::Value { .. }
            | Self::NotTogether { .. }
            | Self::Ask { .. } => None,
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_carry_the_server_s_own_words() {
        let error = CatalogueError::Value {
            name: "innodb_flush_log_at_trx_commit".to_owned(),
            value: "7".to_owned(),
            problem: "the server would use 3 instead".to_owned(),
            description: Some("Controls the durability.".to_owned()),
        };
        assert_eq!(
            error.to_string(),
            "`innodb_flush_log_at_trx_commit = 7`: the server would use 3 instead"
        );
        assert!(error.hint().unwrap().ends_with("Controls the durability."));
        let near = vec!["sync_binlog".to_owned()];
        let unknown = CatalogueError::Unknown {
            name: "sync_binlo".into(),
            server: "mariadb 10.11.19".into(),
            near,
        };
        assert_eq!(
            unknown.to_string(),
            "mariadb 10.11.19 has no setting `sync_binlo` (did you mean `sync_binlog`?)"
        );
    }
}
