//! The lines during a run, and the report at its end.

use std::fmt::Write as _;

use super::figures::{ClientFigures, Fairness, FigureStyle, Figures};
use crate::options::SysbenchRelease;

/// The line of one report interval, and with a rate a second one about the queue.
pub(crate) fn intermediate(figures: &Figures, style: &FigureStyle) -> String {
    let stamp = stamp(figures.time_total_s, style);
    let latency = format!("lat (ms,{}%): {:4.2}", style.percentile, figures.latency_pct_s * 1e3);
    let running = figures.threads_running;
    let mut text = if style.is_sql {
        format!(
            "{stamp} thds: {running} tps: {:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) \
             {latency} err/s: {:4.2} reconn/s: {:4.2}",
            figures.per_second(figures.events),
            figures.per_second(figures.queries()),
            figures.per_second(figures.reads),
            figures.per_second(figures.writes),
            figures.per_second(figures.other),
            figures.per_second(figures.errors),
            figures.per_second(figures.reconnects),
        )
    } else {
        format!("{stamp} thds: {running} eps: {:4.2} {latency}", figures.per_second(figures.events))
    };
    if style.has_rate {
        // The comma is in the line of SQL scripts only.
        let comma = if style.is_sql { "," } else { "" };
        let (queue, concurrency) = (figures.queue_length, figures.concurrency);
        _ = write!(text, "\n{stamp} queue length: {queue}{comma} concurrency: {concurrency}");
    }
    text
}

/// The report of a run, an empty line at its end. `unfinished` counts the transactions that the run
/// did not wait for, if it ended before them.
pub(crate) fn cumulative(
    figures: &Figures,
    fairness: &Fairness,
    style: &FigureStyle,
    unfinished: Option<u64>,
) -> String {
    let forced = unfinished
        .map(|count| format!("\nNumber of unfinished transactions on forced shutdown: {count}\n"))
        .unwrap_or_default();
    let statements = match style {
        FigureStyle { is_sql: true, .. } => statements(figures),
        FigureStyle { is_cpu: true, .. } => {
            format!(
                "CPU speed:\n    events per second: {:8.2}\n",
                figures.per_second(figures.events)
            )
        }
        _ => String::new(),
    };
    let (general, latency) = (general(figures, style.compat), latency(figures, style.percentile));
    let Fairness { events_avg, events_stddev, seconds_avg, seconds_stddev } = fairness;
    format!(
        "{statements}{forced}
{general}

{latency}

Threads fairness:
    events (avg/stddev):           {events_avg:.4}/{events_stddev:3.2}
    execution time (avg/stddev):   {seconds_avg:.4}/{seconds_stddev:3.2}
"
    )
}

/// The line before a report of `--report-checkpoints`, which is about the time since the checkpoint
/// before.
pub(crate) fn checkpoint(figures: &Figures, style: &FigureStyle) -> String {
    format!("{} Checkpoint report:", stamp(figures.time_total_s, style))
}

/// What `--debug` adds to a report, with the prefixes of its level in place; an empty line at its
/// end.
pub(crate) fn per_client(clients: &[ClientFigures]) -> String {
    let mut text = String::from("DEBUG: Verbose per-thread statistics:\n\n");
    for (number, client) in clients.iter().enumerate() {
        let ClientFigures { events, busy_s, latency_min_s: min, latency_max_s: max } = client;
        let avg = client.latency_avg_s();
        _ = writeln!(
            text,
            "DEBUG:     thread #{number:3}: min: {min:.4}s  avg: {avg:.4}s  max: {max:.4}s  \
             events: {events}\n\
             DEBUG:                  total time taken by event execution: {busy_s:.4}s"
        );
    }
    text
}

/// `[ 10s ]`. Halves are rounded to even, as C does it.
fn stamp(time_s: f64, style: &FigureStyle) -> String {
    format!("[ {time_s:.*}s ]", style.stamp_decimals)
}

fn statements(figures: &Figures) -> String {
    let Figures { reads, writes, other, events, errors, reconnects, .. } = *figures;
    let total = figures.queries();
    let [events, queries, errors, reconnects] = [events, total, errors, reconnects]
        .map(|count| format!("{count:<6} ({:.2} per sec.)", figures.per_second(count)));
    format!(
        "\
SQL statistics:
    queries performed:
        read:                            {reads}
        write:                           {writes}
        other:                           {other}
        total:                           {total}
    transactions:                        {events}
    queries:                             {queries}
    ignored errors:                      {errors}
    reconnects:                          {reconnects}
"
    )
}

fn general(figures: &Figures, compat: SysbenchRelease) -> String {
    let Figures { time_total_s, events, .. } = *figures;
    match compat {
        SysbenchRelease::V1_0 => format!(
            "\
General statistics:
    total time:                          {time_total_s:.4}s
    total number of events:              {events}"
        ),
        SysbenchRelease::V1_1 => format!(
            "\
Throughput:
    events/s (eps):                      {:.4}
    time elapsed:                        {time_total_s:.4}s
    total number of events:              {events}",
            figures.per_second(events)
        ),
    }
}

fn latency(figures: &Figures, percentile: u32) -> String {
    let Figures { latency_min_s, latency_avg_s, latency_max_s, latency_sum_s, .. } = *figures;
    let [min, avg, max, sum] = [latency_min_s, latency_avg_s, latency_max_s, latency_sum_s]
        .map(|seconds| format!("{:39.2}", seconds * 1e3));
    let percentile = match percentile {
        0 => String::from("         percentile stats:               disabled"),
        _ => format!("        {percentile:3}th percentile: {:27.2}", figures.latency_pct_s * 1e3),
    };
    format!(
        "\
Latency (ms):
         min: {min}
         avg: {avg}
         max: {max}
{percentile}
         sum: {sum}"
    )
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
