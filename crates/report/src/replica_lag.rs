//! How far a replica of the MySQL family is behind its source, by its own account: in whole
//! seconds, and unknown while replication does not run.

/// Each channel has this number, whether or not it replicates.
const OF_ALL: &str = ".Last_Errno";
/// The lag by its name in each version: the second name is of MySQL 8.0.22 and later.
const LAGS: [&str; 2] = [".Seconds_Behind_Master", ".Seconds_Behind_Source"];

/// Channels of a replica among the names of a probe's signals, each with its lag. The first part is
/// empty for the only channel, else ` (channel NAME)`.
pub fn replica_lags<'n, T>(
    names: impl Iterator<Item = &'n str>,
    lag: impl Fn(&str) -> Option<T>,
) -> Vec<(String, Option<T>)> {
    let prefixes = names.filter_map(|name| name.strip_suffix(OF_ALL));
    let channels = prefixes.filter(|prefix| prefix.starts_with("replica")).map(|prefix| {
        let channel = prefix
            .strip_prefix("replica.")
            .map_or(String::new(), |channel| format!(" (channel {channel})"));
        (channel, LAGS.iter().find_map(|name| lag(&format!("{prefix}{name}"))))
    });
    channels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_with_and_without_a_lag() {
        let check = |signals: &[(&str, f64)], expect: &[(&str, Option<f64>)]| {
            let value = |name: &str| {
                signals.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
            };
            let got = replica_lags(signals.iter().map(|(name, _)| *name), value);
            let got: Vec<_> = got.iter().map(|(channel, lag)| (channel.as_str(), *lag)).collect();
            assert_eq!(got, expect, "{signals:?}");
        };
        check(&[("status.Questions", 4.0)], &[]);
        check(
            &[("replica.Last_Errno", 0.0), ("replica.Seconds_Behind_Master", 3.0)],
            &[("", Some(3.0))],
        );
        check(&[("replica.Last_Errno", 1062.0)], &[("", None)]);
        check(
            &[
                ("replica.a.Last_Errno", 0.0),
                ("replica.b.Last_Errno", 0.0),
                ("replica.b.Seconds_Behind_Source", 2.0),
            ],
            &[(" (channel a)", None), (" (channel b)", Some(2.0))],
        );
    }
}
