//! What a crash lost, from what clients sent and what was there afterwards. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

/// A row that a client has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentRow {
    pub(crate) key: u64,
    pub(crate) sent: Duration,
    /// When the server's answer was read, on the same clock. `None`: there was none.
    pub(crate) acknowledged: Option<Duration>,
}

/// Counts of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LossCount {
    pub(crate) attempted: u64,
    pub(crate) acknowledged: u64,
    pub(crate) unknown: u64,
    pub(crate) lost: u64,
    pub(crate) loss_window: Option<Duration>,
    pub(crate) recovered: u64,
    pub(crate) unexpected: u64,
    pub(crate) holes: u64,
}

/// `crashed`: when the crash began, on the clock of the rows. The server may answer until it is
/// dead, a moment later.
pub(crate) fn count_loss(sent: &[SentRow], present: &[u64], crashed: Duration) -> LossCount {
    let present: BTreeSet<u64> = present.iter().copied().collect();
    let attempted: BTreeSet<u64> = sent.iter().map(|row| row.key).collect();
    let mut acknowledged: Vec<(Duration, &SentRow)> =
        sent.iter().filter_map(|row| Some((row.acknowledged?, row))).collect();
    acknowledged.sort_by_key(|(at, _)| *at);
    let first_lost = acknowledged.iter().position(|(_, row)| !present.contains(&row.key));
    let behind = first_lost.map_or(&[][..], |first| &acknowledged[first..]);
    let crashed = acknowledged.last().map_or(crashed, |(last, _)| crashed.max(*last));
    let unknown = sent.iter().filter(|row| row.acknowledged.is_none());
    LossCount {
        attempted: sent.len() as u64,
        acknowledged: acknowledged.len() as u64,
        unknown: unknown.clone().count() as u64,
        lost: behind.iter().filter(|(_, row)| !present.contains(&row.key)).count() as u64,
        loss_window: first_lost.map(|first| crashed.saturating_sub(acknowledged[first].0)),
        recovered: unknown.filter(|row| present.contains(&row.key)).count() as u64,
        unexpected: present.difference(&attempted).count() as u64,
        holes: behind.iter().filter(|(_, row)| present.contains(&row.key)).count() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn row(key: u64, acknowledged_ms: Option<u64>) -> SentRow {
        SentRow { key, sent: ms(0), acknowledged: acknowledged_ms.map(ms) }
    }

    #[test]
    fn acknowledged_and_gone_is_lost_and_the_window_begins_at_the_first() {
        let sent =
            [row(1, Some(100)), row(2, Some(300)), row(3, Some(400)), row(4, None), row(5, None)];
        let found = count_loss(&sent, &[1, 4], ms(1000));
        let expect = LossCount {
            attempted: 5,
            acknowledged: 3,
            unknown: 2,
            lost: 2,
            loss_window: Some(ms(700)),
            recovered: 1,
            unexpected: 0,
            holes: 0,
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn nothing_lost_has_no_window_and_a_survivor_behind_a_loss_is_a_hole() {
        let sent = [row(1, Some(100)), row(2, Some(200)), row(3, Some(300))];
        let kept = count_loss(&sent, &[1, 2, 3, 9], ms(1000));
        assert_eq!((kept.lost, kept.loss_window, kept.unexpected, kept.holes), (0, None, 1, 0));
        let holed = count_loss(&sent, &[1, 3], ms(1000));
        assert_eq!((holed.lost, holed.holes, holed.loss_window), (1, 1, Some(ms(800))));
        assert_eq!(count_loss(&[], &[], ms(0)), LossCount::default());
    }

    #[test]
    fn answers_of_a_dying_server_belong_to_the_window() {
        let sent = [row(1, Some(1010)), row(2, Some(1040))];
        assert_eq!(count_loss(&sent, &[], ms(1000)).loss_window, Some(ms(30)));
    }
}
