//! The original's report: a block of lines for a test, or a line of CSV.

use std::time::Duration;

/// The runs of one test, all with the same clients.
#[derive(Debug, Clone)]
pub(super) struct Test<'a> {
    pub(super) engine: Option<&'a str>,
    /// The load type in the CSV line.
    pub(super) load_type: &'a str,
    /// Duration of each run; never empty.
    pub(super) lengths: &'a [Duration],
    pub(super) clients: u32,
    /// Queries of a client, rounded down as in the original.
    pub(super) queries_each: u64,
}

/// Mean, shortest and longest, in whole milliseconds as in the original.
fn seconds(lengths: &[Duration]) -> [String; 3] {
    let lengths: Vec<u128> = lengths.iter().map(Duration::as_millis).collect();
    let mean = lengths.iter().sum::<u128>() / lengths.len().max(1) as u128;
    let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
    [mean, least.unwrap_or(0), most.unwrap_or(0)]
        .map(|ms| format!("{}.{:03}", ms / 1000, ms % 1000))
}

/// Lines with a tab before each, and an empty one at the end.
pub(super) fn benchmark(test: &Test) -> String {
    let [mean, least, most] = seconds(test.lengths);
    let engine =
        test.engine.map_or_else(String::new, |engine| format!("\tRunning for engine {engine}\n"));
    format!(
        "Benchmark\n{engine}\
         \tAverage number of seconds to run all queries: {mean} seconds\n\
         \tMinimum number of seconds to run all queries: {least} seconds\n\
         \tMaximum number of seconds to run all queries: {most} seconds\n\
         \tNumber of clients running queries: {}\n\
         \tAverage number of queries per client: {}\n\n",
        test.clients, test.queries_each
    )
}

/// `engine,load type,mean,least,most,clients,queries of each`, seconds.
pub(super) fn csv(test: &Test) -> String {
    let [mean, least, most] = seconds(test.lengths);
    let (engine, kind) = (test.engine.unwrap_or_default(), test.load_type);
    format!("{engine},{kind},{mean},{least},{most},{},{}\n", test.clients, test.queries_each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_the_letter() {
        let lengths = [622, 427, 918].map(Duration::from_millis);
        let test = Test {
            engine: Some("innodb"),
            load_type: "mixed",
            lengths: &lengths,
            clients: 100,
            queries_each: 100,
        };
        assert_eq!(
            benchmark(&test),
            "Benchmark\n\tRunning for engine innodb\n\
             \tAverage number of seconds to run all queries: 0.655 seconds\n\
             \tMinimum number of seconds to run all queries: 0.427 seconds\n\
             \tMaximum number of seconds to run all queries: 0.918 seconds\n\
             \tNumber of clients running queries: 100\n\tAverage number of queries per client: \
             100\n\n"
        );
        assert_eq!(csv(&test), "innodb,mixed,0.655,0.427,0.918,100,100\n");
        assert!(!benchmark(&Test { engine: None, ..test }).contains("engine"));
    }
}
