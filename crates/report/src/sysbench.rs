//! The block of lines that many scripts read, for each trial: the labels that `truetps sysbench`
//! prints at the end of a run.

use truetps_analysis::{LoadedTrial, TrialLatency};
use truetps_record::{Measured, ScriptFairness, ScriptRun, Trial};

use crate::{ReportInput, printable};

/// Lines of all trials with figures, in the order of the schedule. A line whose figure is not known
/// is left out: only the runs of scripts record what their statements were (reads, writes) and how
/// evenly their clients were served.
pub(crate) fn sysbench(input: &ReportInput<'_>) -> String {
    let mut trials: Vec<_> = input.run.trials.iter().collect();
    trials.sort_by_key(|one| (one.trial.block, one.trial.position));
    let blocks: Vec<_> = trials.into_iter().map(block).collect();
    let unread =
        input.run.all_unread().map(|unread| format!("# not read: {}\n", printable(&unread.what)));
    unread.chain([blocks.join("\n")]).collect()
}

fn block(loaded: &LoadedTrial) -> String {
    let trial = &loaded.trial;
    let reason =
        trial.validity.reason().map_or(String::new(), |reason| format!(", no evidence: {reason}"));
    let mut lines = vec![format!("# {}: {}{reason}", trial.name, trial.configuration)];
    if let Some(measured) = &trial.measured {
        lines.extend(figures(measured, trial));
        lines.extend(times(measured, loaded.latency.as_ref()));
        lines.extend(
            trial.script.iter().filter_map(|script| script.fairness.as_ref()).flat_map(fairness),
        );
    }
    // A name or a reason has no line of its own to begin.
    lines.iter().map(|line| printable(line) + "\n").collect()
}

/// Statements by what they were.
fn performed(script: &ScriptRun) -> Vec<String> {
    let ScriptRun { reads, writes, other, .. } = script;
    let rows = [
        ("read:", *reads),
        ("write:", *writes),
        ("other:", *other),
        ("total:", reads + writes + other),
    ];
    let rows = rows.into_iter().map(|(label, count)| format!("        {label:<33}{count}"));
    ["    queries performed:".to_owned()].into_iter().chain(rows).collect()
}

fn fairness(fairness: &ScriptFairness) -> [String; 4] {
    let ScriptFairness { events_mean, events_deviation, time_s_mean, time_s_deviation } = fairness;
    [
        String::new(),
        "Threads fairness:".to_owned(),
        format!("    events (avg/stddev):           {events_mean:.4}/{events_deviation:.2}"),
        format!("    execution time (avg/stddev):   {time_s_mean:.4}/{time_s_deviation:.2}"),
    ]
}

fn figures(measured: &Measured, trial: &Trial) -> Vec<String> {
    let seconds = measured.length_ms / 1e3;
    let counts = &measured.counts;
    let mut lines = vec!["SQL statistics:".to_owned()];
    lines.extend(trial.script.iter().flat_map(performed));
    let reconnects = trial.engine.as_ref().map(|engine| ("reconnects:", engine.reconnects));
    let counted = [
        ("transactions:", counts.ok),
        ("queries:", counts.statements),
        ("ignored errors:", counts.ignored + counts.retried),
    ];
    lines.extend(counted.into_iter().chain(reconnects).map(|(label, count)| {
        format!("    {label:<37}{count:<6} ({:.2} per sec.)", count as f64 / seconds.max(1e-3))
    }));
    lines.push(String::new());
    lines.push("General statistics:".to_owned());
    lines.push(format!("    {:<37}{seconds:.4}s", "total time:"));
    lines.push(format!("    {:<37}{}", "total number of events:", counts.ok));
    lines
}

/// Milliseconds.
fn times(measured: &Measured, latency: Option<&TrialLatency>) -> Vec<String> {
    let response = &measured.response;
    let sum = response.response_us_mean.map(|us| us * measured.counts.ok as f64);
    let rows = [
        ("min", latency.and_then(TrialLatency::fastest_us)),
        ("avg", response.response_us_mean),
        ("max", response.response_us_max),
        ("95th percentile", response.response_us_p95),
        ("sum", sum),
    ];
    // Labels and figures end in the same columns as in `truetps sysbench`.
    let lines = rows.into_iter().filter_map(|(label, us)| {
        let end = if label.len() > 3 { 25 } else { 13 };
        Some(format!("{:>end$} {:>width$.2}", format!("{label}:"), us? / 1e3, width = 52 - end))
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    [String::new(), "Latency (ms):".to_owned()].into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn each_trial_has_its_block() {
        let fixture = Fixture::connections_only();
        let text = sysbench(&fixture.input());
        assert_eq!(text.matches("SQL statistics:").count(), 2);
        let expect = "    transactions:                        2058   (205.80 per sec.)\n    \
                      queries:                             2058";
        assert!(text.contains(expect), "{text}");
        assert!(text.contains("         95th percentile:"), "{text}");
        assert!(!text.contains("min:") && !text.contains("fairness"), "not known here: {text}");
    }

    #[test]
    fn the_run_of_a_script_knows_what_its_statements_were() {
        let fairness = ScriptFairness {
            events_mean: 20.5,
            events_deviation: 0.5,
            time_s_mean: 1.0,
            time_s_deviation: 0.25,
        };
        let script = ScriptRun {
            reads: 140,
            writes: 40,
            other: 20,
            fairness: Some(fairness),
            ..ScriptRun::default()
        };
        let fixture =
            Fixture::script_without_server().with(|trials| trials[0].script = Some(script));
        let text = sysbench(&fixture.input());
        let read = "    queries performed:\n        read:                            140\n        \
                    write:      ";
        let fair = "Threads fairness:\n    events (avg/stddev):           20.5000/0.50\n    \
                    execution time (avg/stddev):   1.0000/0.25\n";
        for part in [read, "        total:                           200\n    transactions:", fair]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_trial_without_figures_is_one_line() {
        let text = sysbench(&Fixture::troubled().input());
        assert!(
            text.contains("connections=8, no evidence: the server died: signal 9\n\n#"),
            "{text}"
        );
    }
}
