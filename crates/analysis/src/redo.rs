//! Age of the last checkpoint: a server of the MySQL family must write pages before the redo since
//! then fills the log.

/// Age of the last checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedoAge {
    pub bytes: f64,
    /// What the log has room for; `None` where the server does not say.
    pub room_bytes: Option<f64>,
}

impl RedoAge {
    /// From values of the probe that were read together. `None` where the server shows no
    /// checkpoint: MySQL does from 8.0.30 on, older ones in metrics that are off by default.
    pub fn of(value: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        if let Some(bytes) = value("status.Innodb_checkpoint_age") {
            return Some(Self { bytes, room_bytes: value("status.Innodb_checkpoint_max_age") });
        }
        let [current, checkpoint] = ["current", "checkpoint"]
            .map(|name| value(&format!("status.Innodb_redo_log_{name}_lsn")));
        let age =
            current.zip(checkpoint).map(|(current, checkpoint)| (current - checkpoint).max(0.0));
        let bytes = age.or_else(|| value("metric.log_lsn_checkpoint_age"))?;
        Some(Self { bytes, room_bytes: value("status.Innodb_redo_log_capacity_resized") })
    }

    /// The share of the room, 0 to 1.
    pub fn share(&self) -> Option<f64> {
        self.room_bytes.filter(|room| *room > 0.0).map(|room| self.bytes / room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_in_its_own_words() {
        let check = |values: &[(&str, f64)], expect: Option<(f64, Option<f64>)>| {
            let value =
                |name: &str| values.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
            let age = RedoAge::of(value);
            assert_eq!(age.map(|age| (age.bytes, age.share())), expect, "{values:?}");
        };
        let (age, max) = ("status.Innodb_checkpoint_age", "status.Innodb_checkpoint_max_age");
        check(&[(age, 61.0), (max, 100.0)], Some((61.0, Some(0.61))));
        check(&[(age, 61.0), (max, 0.0)], Some((61.0, None)));
        let (current, checkpoint) =
            ("status.Innodb_redo_log_current_lsn", "status.Innodb_redo_log_checkpoint_lsn");
        let capacity = ("status.Innodb_redo_log_capacity_resized", 200.0);
        check(&[(current, 1050.0), (checkpoint, 1000.0), capacity], Some((50.0, Some(0.25))));
        check(&[("metric.log_lsn_checkpoint_age", 7.0)], Some((7.0, None)));
        check(&[(current, 1050.0)], None);
    }
}
