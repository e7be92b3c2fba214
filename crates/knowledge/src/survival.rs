//! Which of two servers loses more acknowledged commits in a crash.

use serde::Serialize;

use crate::{Durability, Loss, ReplicaFate};

/// What commits on B survive, compared with commits on A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Survival {
    Same,
    Less,
    More,
    /// Less in one kind of crash, more in another one.
    Mixed,
    /// The settings of a side are not known, or do not decide it.
    Unknown,
}

/// What commits on two servers survive; `None` for a server whose settings are not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DurabilityPair {
    pub a: Option<Durability>,
    pub b: Option<Durability>,
    pub b_survives: Survival,
}

impl DurabilityPair {
    pub fn of(a: Option<Durability>, b: Option<Durability>) -> Self {
        let b_survives =
            a.as_ref().zip(b.as_ref()).map_or(Survival::Unknown, |(a, b)| survival(a, b));
        Self { a, b, b_survives }
    }

    /// What a user has to know beside a verdict on speed: `a power failure can cost B up to about 1
    /// s of acknowledged transactions (A: nothing)`. `None` where the two lose the same, or it is
    /// not known what a side loses.
    pub fn risk(&self, name_a: &str, name_b: &str) -> Option<String> {
        let (a, b) = (self.a.as_ref()?, self.b.as_ref()?);
        let process = ("a crash of the server process", a.process_crash, b.process_crash);
        let power = ("a power failure", a.power_cut, b.power_cut);
        let either = ("a crash of the server process or a power failure", power.1, power.2);
        let is_same = (process.1, process.2) == (power.1, power.2);
        let crashes = if is_same { vec![either] } else { vec![process, power] };
        let mut clauses = Vec::new();
        for (crash, a, b) in crashes {
            if !matches!(change(a, b), Survival::Same | Survival::Unknown) {
                clauses.push(format!("{crash} {} ({name_a}: {})", cost(b, name_b), a.amount()));
            }
        }
        match replica_change(a.replica, b.replica) {
            Survival::Less => {
                clauses.push(format!(
                    "commits on {name_b} do not wait for a replica (on {name_a} they do)"
                ));
            }
            Survival::More => {
                clauses.push(format!(
                    "commits on {name_b} wait for a replica (on {name_a} they do not)"
                ));
            }
            _ => {}
        }
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }
}

fn cost(loss: Loss, name: &str) -> String {
    match loss {
        Loss::Nothing => format!("costs {name} nothing"),
        Loss::Damage => format!("can damage the data of {name} for good"),
        loss => format!("can cost {name} {}", loss.amount()),
    }
}

/// A side that loses more in one kind of crash survives less, even where another kind cannot be
/// judged.
fn survival(a: &Durability, b: &Durability) -> Survival {
    let parts = [
        change(a.process_crash, b.process_crash),
        change(a.power_cut, b.power_cut),
        replica_change(a.replica, b.replica),
    ];
    match (parts.contains(&Survival::Less), parts.contains(&Survival::More)) {
        (true, true) => Survival::Mixed,
        (true, false) => Survival::Less,
        _ if parts.contains(&Survival::Unknown) => Survival::Unknown,
        (false, true) => Survival::More,
        (false, false) => Survival::Same,
    }
}

fn change(a: Loss, b: Loss) -> Survival {
    match loss_rank(a).zip(loss_rank(b)) {
        None => Survival::Unknown,
        Some((a, b)) if b > a => Survival::Less,
        Some((a, b)) if b < a => Survival::More,
        Some(_) => Survival::Same,
    }
}

/// Larger for more that is lost. `None`: unknown.
fn loss_rank(loss: Loss) -> Option<(u8, f64)> {
    match loss {
        Loss::Nothing => Some((0, 0.0)),
        Loss::LastGroup => Some((1, 0.0)),
        Loss::Seconds { seconds } => Some((2, seconds)),
        Loss::Damage => Some((3, 0.0)),
        Loss::Unknown => None,
    }
}

/// A replica that has each acknowledged commit keeps it when the whole machine is lost; no other
/// replica does for certain.
fn replica_change(a: ReplicaFate, b: ReplicaFate) -> Survival {
    match (a, b) {
        (ReplicaFate::HasIt, ReplicaFate::HasIt) => Survival::Same,
        (ReplicaFate::HasIt, ReplicaFate::Unknown) | (ReplicaFate::Unknown, ReplicaFate::HasIt) => {
            Survival::Unknown
        }
        (ReplicaFate::HasIt, _) => Survival::Less,
        (_, ReplicaFate::HasIt) => Survival::More,
        _ => Survival::Same,
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::Flavour;

    use super::*;
    use crate::judge_text;

    fn judged(flavour: Flavour, version: &str, settings: &[(&str, &str)]) -> Option<Durability> {
        judge_text(flavour, version, settings.iter().map(|(name, value)| (*name, *value, None)))
    }

    fn check(a: Option<Durability>, b: Option<Durability>, expect: Survival, risk: Option<&str>) {
        let pair = DurabilityPair::of(a, b);
        assert_eq!((pair.b_survives, pair.risk("A", "B").as_deref()), (expect, risk), "{pair:#?}");
    }

    #[test]
    fn levels_of_one_server() {
        const FLUSH: &str = "innodb_flush_log_at_trx_commit";
        let mariadb = |settings: &[(&str, &str)]| judged(Flavour::Mariadb, "10.11.6", settings);
        check(mariadb(&[]), mariadb(&[]), Survival::Same, None);
        check(
            mariadb(&[(FLUSH, "1")]),
            mariadb(&[(FLUSH, "2")]),
            Survival::Less,
            Some(
                "a power failure can cost B up to about 1 s of acknowledged transactions (A: \
                 nothing)",
            ),
        );
        check(
            mariadb(&[(FLUSH, "2")]),
            mariadb(&[(FLUSH, "0")]),
            Survival::Less,
            Some(
                "a crash of the server process can cost B up to about 1 s of acknowledged \
                 transactions (A: nothing)",
            ),
        );
        check(
            mariadb(&[(FLUSH, "0")]),
            mariadb(&[(FLUSH, "1")]),
            Survival::More,
            Some(
                "a crash of the server process or a power failure costs B nothing (A: up to about \
                 1 s of acknowledged transactions)",
            ),
        );
        check(
            mariadb(&[("log_bin", "ON"), ("sync_binlog", "1")]),
            mariadb(&[("log_bin", "ON"), ("sync_binlog", "0")]),
            Survival::Less,
            Some(
                "a power failure can cost B the last group of acknowledged transactions (A: \
                 nothing)",
            ),
        );
        check(
            mariadb(&[("innodb_flush_log_at_trx_commit", "0")]),
            mariadb(&[("innodb_doublewrite", "OFF")]),
            Survival::Mixed,
            Some(
                "a crash of the server process costs B nothing (A: up to about 1 s of acknowledged \
                 transactions); a power failure can damage the data of B for good (A: up to about \
                 1 s of acknowledged transactions)",
            ),
        );
    }

    #[test]
    fn servers_of_two_families_and_replicas() {
        let postgres = |settings: &[(&str, &str)]| judged(Flavour::Postgresql, "15.6", settings);
        check(judged(Flavour::Mysql, "8.0.36", &[]), postgres(&[]), Survival::Same, None);
        check(
            postgres(&[]),
            postgres(&[("synchronous_commit", "off")]),
            Survival::Less,
            Some(
                "a crash of the server process or a power failure can cost B up to about 600 ms of \
                 acknowledged transactions (A: nothing)",
            ),
        );
        check(
            postgres(&[("full_page_writes", "on")]),
            postgres(&[("fsync", "off")]),
            Survival::Less,
            Some("a power failure can damage the data of B for good (A: nothing)"),
        );
        let standby = ("synchronous_standby_names", "s1");
        check(
            postgres(&[standby]),
            postgres(&[standby, ("synchronous_commit", "local")]),
            Survival::Less,
            Some("commits on B do not wait for a replica (on A they do)"),
        );
    }

    #[test]
    fn what_is_not_known_is_neither_same_nor_less() {
        let mysql = judged(Flavour::Mysql, "8.0.36", &[]);
        check(None, mysql.clone(), Survival::Unknown, None);
        check(None, None, Survival::Unknown, None);
        let half = Durability { power_cut: Loss::Unknown, ..mysql.clone().unwrap() };
        check(mysql.clone(), Some(half.clone()), Survival::Unknown, None);
        let worse = Durability { process_crash: Loss::LastGroup, ..half };
        assert_eq!(DurabilityPair::of(mysql, Some(worse)).b_survives, Survival::Less);
    }
}
