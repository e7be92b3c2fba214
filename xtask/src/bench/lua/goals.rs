//! Goals of `truetps sysbench` beside sysbench, for each number of clients.

use crate::bench::lua::options::LuaRival;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LuaGoal {
    /// 0: any number.
    clients: u32,
    /// Ratio of transactions a second, at least.
    pub(crate) tps: f64,
    /// Ratio of client CPU a transaction, at most.
    pub(crate) cpu: f64,
    /// Peak memory of truetps in MB, at most.
    pub(crate) memory: Option<f64>,
}

const GOALS: [LuaGoal; 4] = [
    LuaGoal { clients: 8, tps: 1.0, cpu: 0.9, memory: None },
    LuaGoal { clients: 64, tps: 1.05, cpu: 0.7, memory: None },
    LuaGoal { clients: 1000, tps: 1.3, cpu: 0.4, memory: Some(50.0) },
    LuaGoal { clients: 5000, tps: 1.3, cpu: 0.5, memory: Some(150.0) },
];

/// A change of truetps costs next to nothing.
const CHANGE: LuaGoal = LuaGoal { clients: 0, tps: 0.98, cpu: 1.03, memory: None };

/// `None`: there is no goal for that number of clients.
pub(crate) fn goal(rival: &LuaRival, clients: u32) -> Option<LuaGoal> {
    match rival {
        LuaRival::Sysbench => GOALS.into_iter().find(|goal| goal.clients == clients),
        LuaRival::Build(_) => Some(CHANGE),
    }
}

pub(crate) fn at_least(goal: f64, found: f64) -> String {
    format!("≥ {goal}: {}", verdict(goal, found))
}

pub(crate) fn at_most(goal: f64, found: f64) -> String {
    format!("≤ {goal}: {}", verdict(found, goal))
}

fn verdict(small: f64, large: f64) -> &'static str {
    if small.is_nan() || large.is_nan() {
        return "no figure";
    }
    // A mean goes through logarithms: equal values may differ in the last digit.
    if small <= large + 1e-9 { "met" } else { "**missed**" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_from_their_figure_on() {
        let few = goal(&LuaRival::Sysbench, 8).unwrap();
        assert_eq!(at_least(few.tps, 1.0), "≥ 1: met");
        assert_eq!(at_least(few.tps, 0.99), "≥ 1: **missed**");
        assert_eq!(at_most(few.cpu, 0.9), "≤ 0.9: met");
        assert_eq!(at_most(few.cpu, f64::midpoint(0.9, 0.91)), "≤ 0.9: **missed**");
        assert_eq!(at_most(few.cpu, f64::NAN), "≤ 0.9: no figure");
        assert_eq!(goal(&LuaRival::Sysbench, 1000).unwrap().memory, Some(50.0));
        assert_eq!(goal(&LuaRival::Sysbench, 16), None);
        assert_eq!(goal(&LuaRival::Build("old".into()), 16), Some(CHANGE));
    }
}
