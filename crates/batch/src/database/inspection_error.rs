//! Why a table cannot keep the promise of the gateway.

use thiserror::Error;
use truetps_driver::DriverError;

#[derive(Debug, Error)]
pub enum InspectionError {
    #[error("there is no table `{0}` that this account can see")]
    NoTable(String),
    #[error("table `{table}` has the engine {engine}, whose statements are not atomic")]
    Engine { table: String, engine: String },
    #[error("`{table}` {kind}")]
    Kind { table: String, kind: String },
    #[error(
        "table `{table}` has no unique key that identifies the rows of clients: a retry would \
         store a row twice{}",
        listed(others)
    )]
    NoKey { table: String, others: Vec<String> },
    #[error("table `{table}` has several unique keys ({}): which one identifies a row?", keys.join("; "))]
    SeveralKeys { table: String, keys: Vec<String> },
    #[error("table `{table}` has no unique key of the columns {} that identifies rows; its unique \
             keys: {}{}", key.join(", "), keys.join("; "), listed(others))]
    OtherKey { table: String, key: Vec<String>, keys: Vec<String>, others: Vec<String> },
    #[error("table `{table}`: {problem}")]
    Privilege { table: String, problem: String, grant: String },
    #[error(transparent)]
    Driver(#[from] DriverError),
}

fn listed(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) }
}

impl InspectionError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoTable(_) => {
                "check the table's name, the schema in the address, and GRANT SELECT, INSERT"
                    .to_owned()
            }
            Self::Engine { table, .. } => format!("ALTER TABLE {table} ENGINE=InnoDB"),
            Self::Kind { .. } => {
                "name a table whose rows are stored in it and survive a crash".to_owned()
            }
            Self::NoKey { .. } => {
                "make the clients number their rows: PRIMARY KEY (client_id, seq)".to_owned()
            }
            Self::SeveralKeys { .. } => {
                "name its columns in the configuration: key = [\"client_id\", \"seq\"]".to_owned()
            }
            Self::OtherKey { .. } => {
                "name the columns of a unique key, or leave `key` out".to_owned()
            }
            Self::Privilege { grant, .. } => grant.clone(),
            Self::Driver(error) => return error.hint(),
        })
    }
}
