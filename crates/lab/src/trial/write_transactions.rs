//! The server's own count of transactions that write: where it is smaller than the number of
//! commits that the clients had an answer for, they were no commits.

use truetps_driver::{Client, Target};
use truetps_record::{NoEvidence, SqlDialect, Trial, Validity};

/// A count before the load; `None`: the server has none, or the account may not read it.
pub(crate) struct WriteCount(Option<u64>);

impl WriteCount {
    /// `target`: of the load. Several servers have counts of their own.
    pub(crate) fn before(client: &mut Client, target: &Target) -> Self {
        Self(if target.endpoints.len() == 1 { read(client) } else { None })
    }

    /// Makes a valid trial invalid whose server began fewer writing transactions than its clients
    /// committed. Others may write, too, so that more of them say nothing.
    pub(crate) fn judge(&self, client: &mut Client, trial: &mut Trial) {
        let writes_always = trial
            .profile
            .and_then(|profile| profile.writes_per_tx)
            .is_some_and(|writes| writes >= 1.0);
        let commits = trial.measured.as_ref().map_or(0, |measured| measured.counts.ok);
        if !writes_always || !trial.validity.is_valid() {
            return;
        }
        let (Some(before), Some(after)) = (self.0, read(client)) else { return };
        // A server that was restarted may count from another start.
        let Some(counted) = after.checked_sub(before) else { return };
        if counted < commits {
            trial.validity = Validity::invalid(NoEvidence::FewerCommits { counted, commits });
        }
    }
}

/// The next ID of a transaction: each transaction that writes takes at least one.
fn read(client: &mut Client) -> Option<u64> {
    match client.dialect() {
        SqlDialect::Postgres => {
            let sql = "SELECT pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())::pg_catalog.text";
            client.query_value(sql).ok().flatten()?.parse().ok()
        }
        SqlDialect::Mysql => {
            let rows = client.query("SHOW ENGINE INNODB STATUS").ok()?.rows;
            rows.first()?.iter().flatten().find_map(|text| next_id(text))
        }
    }
}

/// The next ID in InnoDB's report.
fn next_id(report: &str) -> Option<u64> {
    let rest = report.split_once("Trx id counter ")?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_in_the_report() {
        let report =
            "TRANSACTIONS\n------------\nTrx id counter 2819\nPurge done for trx's n:o < 2818";
        assert_eq!(next_id(report), Some(2819));
        assert_eq!(next_id("Trx id counter x"), None);
        assert_eq!(next_id("no transactions"), None);
    }
}
