use super::*;
use truetps_record::NoEvidence;

fn figures(events: u64, length_s: f64) -> Figures {
    Figures {
        threads_running: 2,
        time_interval_s: length_s,
        time_total_s: 10.0,
        latency_pct_s: 0.002,
        latency_min_s: 0.000_123_4,
        latency_max_s: 0.25,
        latency_avg_s: 0.001,
        latency_sum_s: 1.5,
        events,
        reads: 14 * events,
        writes: 4 * events,
        other: 2 * events,
        errors: 1,
        reconnects: 0,
        queue_length: 3,
        concurrency: 4,
    }
}

/// A run with a bit of everything, parsed again.
fn document(style: FigureStyle, latest: &Figures) -> Value {
    let mut histogram = LogHistogram::of_latency();
    for ms in [0.5, 0.5, 7.0] {
        histogram.add(ms, 1);
    }
    let mut options = Map::new();
    options.insert("threads".to_owned(), json!(2));
    options.insert("mysql-password".to_owned(), json!("secret"));
    options.insert("dsn".to_owned(), json!("mysql://me:secret@here"));
    options.insert("mysql-host".to_owned(), json!(["one", "two"]));
    options.insert("pgsql_db".to_owned(), json!("host=there user=me password='sec ret'"));
    options.insert("broker".to_owned(), json!(["redis://me:secret@here", "redis://there"]));
    let percentiles =
        [(95.0, 0.002), (99.9, 0.2)].map(|(percent, latency_s)| Percentile { percent, latency_s });
    let errors = [ScriptErrorCount {
        class: truetps_record::ErrorClass::Deadlock,
        code: "1213".to_owned(),
        count: 1,
        first_message: "Deadlock found \"here\"\n".to_owned(),
    }];
    let statements = [StatementLatency {
        kind: "insert".to_owned(),
        count: 4,
        avg_s: 0.001,
        max_s: 0.1,
        percentiles: percentiles.to_vec(),
    }];
    let client =
        |events| ClientFigures { events, busy_s: 5.0, latency_min_s: 0.001, latency_max_s: 0.1 };
    let run = FinishedRun {
        tool_version: "0.1.0",
        script: "oltp_read_write",
        started_at: "2026-01-01T00:00:00Z",
        validity: &Validity::partial(NoEvidence::Interrupted),
        notes: &["odd".to_owned()],
        generator_limited: Some("full".to_owned()),
        options: &options,
        seed: None,
        style,
        intervals: &[figures(10, 0.5), latest.clone()],
        checkpoints: &[figures(20, 1.0)],
        totals: &figures(100, 10.0),
        percentiles: &percentiles,
        histogram: &histogram,
        errors: &errors,
        statements: &statements,
        clients: &[client(40), client(60)],
    };
    Value::Object(json(&run))
}

const STYLE: FigureStyle = FigureStyle {
    is_sql: true,
    is_cpu: false,
    compat: crate::options::SysbenchRelease::V1_0,
    percentile: 95,
    has_rate: false,
    stamp_decimals: 0,
};

#[test]
fn one_document_has_the_whole_run() {
    let document = document(STYLE, &figures(0, 0.5));
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["validity"], json!({ "state": "partial", "reason": "interrupted" }));
    assert_eq!(
        document["options"],
        json!({
            "threads": 2,
            "mysql-host": ["one", "two"],
            "pgsql_db": "host=there user=me password=***",
            "broker": ["redis://me:***@here", "redis://there"],
        })
    );
    assert_eq!(document["seed"], Value::Null);
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["errors"][0]["class"], "deadlock");
    assert_eq!(document["errors"][0]["code"], "1213");
    let kind = &document["statements_by_kind"][0];
    assert_eq!(kind["service_us_p95"], 2_000.0);
    assert_eq!(kind["service_us_p999"], 200_000.0);
    let fairness = json!({ "transactions_avg": 50.0, "transactions_stddev": 10.0, "busy_s_avg": 5.0, "busy_s_stddev": 0.0 });
    assert_eq!(document["fairness"], fairness);
    assert_eq!(document["clients"][1]["transactions"], 60);
    assert_eq!(document["clients"][0]["response_us_avg"], 125_000.0);
}

#[test]
fn totals_are_rates_and_microseconds() {
    let totals = &document(STYLE, &figures(0, 0.5))["totals"];
    assert_eq!(totals["transactions"], 100);
    assert_eq!(totals["tps"], 10.0);
    assert_eq!(totals["statements"], 2_000);
    assert_eq!(totals["qps"], 200.0);
    assert_eq!(totals["errors_per_s"], 0.1);
    assert_eq!(totals["response_us_min"], 123.4);
    assert_eq!(totals["response_us_max"], 250_000.0);
    assert_eq!(totals["response_us_p95"], 2_000.0);
    assert_eq!(totals["response_us_p999"], 200_000.0);
}

#[test]
fn a_percentile_below_the_tenth_keeps_its_point() {
    let mut fields = Map::new();
    let percentile = |percent| Percentile { percent, latency_s: 0.001 };
    insert_percentiles(
        &mut fields,
        "response",
        &[percentile(9.5), percentile(95.0), percentile(99.99)],
    );
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["response_us_p95", "response_us_p9999", "response_us_p9_5"]);
}

#[test]
fn intervals_have_their_percentile_and_with_a_rate_the_queue() {
    let document_of = |style| document(style, &figures(0, 0.5));
    let plain = &document_of(STYLE)["intervals"][0];
    assert_eq!((&plain["tps"], &plain["response_us_p95"]), (&json!(20.0), &json!(2_000.0)));
    assert_eq!(plain["clients_running"], 2);
    assert_eq!(plain.get("queue_length"), None);
    let with_rate = &document_of(FigureStyle { has_rate: true, ..STYLE })["intervals"][0];
    assert_eq!((&with_rate["queue_length"], &with_rate["concurrency"]), (&json!(3), &json!(4)));
    let no_percentile = &document_of(FigureStyle { percentile: 0, ..STYLE })["intervals"][0];
    assert!(no_percentile.as_object().unwrap().keys().all(|name| !name.starts_with("response_us")));
}

#[test]
fn the_histogram_counts_every_transaction_once() {
    let document = document(STYLE, &figures(0, 0.5));
    let counts: Vec<_> =
        document["histogram"].as_array().unwrap().iter().map(|row| row["count"].clone()).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn what_is_no_number_is_null() {
    let odd = Figures { latency_pct_s: f64::NAN, ..figures(0, 0.0) };
    let document = document(STYLE, &odd);
    assert_eq!(document["intervals"][1]["response_us_p95"], Value::Null);
    assert_eq!(document["intervals"][1]["tps"], 0.0);
}
