//! Tests of the text form.

use super::*;
use crate::ReportAnswer;

#[test]
fn a_table_that_is_far_too_wide_goes_on_below() {
    let check = |widths: &[usize], words_last, expect: &[&[usize]]| {
        assert_eq!(column_groups(widths, words_last, TextScreen::PLAIN), expect, "{widths:?}");
    };
    check(&[20, 30, 30, 30], false, &[&[0, 1, 2, 3]]);
    check(&[20, 40, 40, 40], false, &[&[0, 1], &[0, 2], &[0, 3]]);
    check(&[20, 36, 36, 36], false, &[&[0, 1, 2], &[0, 3]]);
    // Words are broken: what they want does not count.
    check(&[20, 30, 30, 200], true, &[&[0, 1, 2, 3]]);
    check(&[20, 36, 36, 36, 200], true, &[&[0, 1, 2], &[0, 3, 4]]);
    // No column is left out for being wider than a line.
    check(&[20, 150, 10], false, &[&[0, 1], &[0, 2]]);
}
use crate::fixture::Fixture;

/// Every line of `expect` must be in the report, in this order.
fn check(fixture: &Fixture, expect: &str) {
    let got = fixture.input().text(TextScreen::PLAIN);
    let mut lines = got.lines();
    for line in expect.lines() {
        assert!(lines.any(|found| found == line), "{got}\nshould contain, in its place:\n{line}");
    }
}

#[test]
fn verdict_table_noise_knee_and_meaning_in_this_order() {
    check(
        &Fixture::durability(),
        "\
durability: What does each durability setting cost?

Verdict   innodb_flush_log_at_trx_commit=2: faster than =1 at 1, 8 and 50 connections (×2.26 to
          ×28.8).
Trials    30 of 30 valid; 3 blocks in random order, seed 42
Server    mariadb 10.11.19, log_bin=OFF
Settings  innodb_buffer_pool_size=512M (chosen by truetps: the plan does not set them)
Load      insert, prepared statements; 1 table of 200 000 rows; 1 s of warm-up, 10 s measured
Host      2 cores (Made-up CPU), 4.0 GiB of memory, ext4 on vda, kvm, one flush 310 µs (p50),
          2.10 ms (p99)

Throughput (tps, 95 % interval) by innodb_flush_log_at_trx_commit

connections            =1            =2            =0
          1  210.0 ±5.1 %  6 040 ±3.9 %  5 980 ±3.9 %
          8  811.3 ±1.3 %  9 029 ±3.8 %  8 939 ±3.9 %
         50  2 652 ±3.9 %  5 999 ±5.1 %  6 040 ±3.9 %

innodb_flush_log_at_trx_commit=1 (baseline)
connections  trials      p50      p95      p99     max  failed  client CPU  server CPU
          1       3  4.29 ms  8.57 ms  14.3 ms  194 ms       0     11.5 µs     84.0 µs

Against innodb_flush_log_at_trx_commit=1

innodb_flush_log_at_trx_commit=2
connections           tps ratio        detectable  verdict
         50  ×2.26 [2.16, 2.37]   +10 % or −9.1 %  faster

connections                    p99 ratio  ratio of server CPU a transaction
         50  ×0.442 [0.422, 0.463] lower   ×1.000 [1.000, 1.000] equivalent

Noise

          load  one trial scatters by  detectable
 connections=8                  1.4 %  +11 % or −9.7 %

Identical runs differed by +0.67 % [-6.3 %, +8.2 %] (3 pairs).

Where more connections stop helping

innodb_flush_log_at_trx_commit  knee  knee to best         best at  last to best
                            =1    50   is the best  50 (2 652 tps)  is the best, may rise further
                            =2     8   is the best   8 (9 029 tps)  ×0.664 [0.619, 0.714]

What it means
",
    );
}

#[test]
fn what_went_wrong_is_reported() {
    check(
        &Fixture::troubled(),
        "\
Trials    27 of 30 valid, 1 invalid, 1 partial, 1 not run; 3 blocks in random order, seed 42
connections  trials      p50      p95      p99     max  failed  client CPU  server CPU  mark
          8       4  8.87 ms  17.7 ms  29.6 ms  402 ms       0     11.5 µs     84.0 µs  1 not used
         50       3  17.0 ms  33.9 ms  56.6 ms  764 ms       6     11.5 µs     84.0 µs  †
† generator-limited: \"What it means\" has the reason.
         50  ×2.26 [2.16, 2.37]  +12 % or −10 %  faster, generator-limited
Invalid trials, errors and notes

- trial-0002 (innodb_flush_log_at_trx_commit=1 connections=8) invalid: the server died: signal 9
- trial-0005 (innodb_flush_log_at_trx_commit=2 connections=8) partial: interrupted
   error  number  failed  retried   policy  first message
deadlock    1213      18        0  retried  Deadlock found when trying to get lock; try <again> &
                                            again (at innodb_flush_log_at_trx_commit=1
- trial-0007 (innodb_flush_log_at_trx_commit=0 connections=1): 3 of 1 client failed
- note on trial-0008: the clock jumped by 2 s
",
    );
}

#[test]
fn a_run_with_a_rate_reads_like_an_answer() {
    check(
        &Fixture::open_run(8000),
        "\
Verdict   Sustained: no: 2 400 of 80 000 starts were still waiting at the end (3.0 %). 7 760 tps of
          a target rate of 8 000 tps with 8 connections; response time p50 90.0 ms, p99 310 ms (one
          trial, so without an interval).
Load      insert, prepared statements; 1 table of 200 000 rows; 1 s of warm-up, 10 s measured; open
          loop: 8 000 tps, starts at equal intervals
Generator 1 worker, blocking, on cores of the server too, busiest worker: 30 % CPU; waited for a CPU
          up to 4.0 % of the time

Open loop: did the server keep up with the rate?

connections  target rate  started/s              tps  skipped  queue at end  sustained
          8    8 000 tps      7 760  7 760 (1 trial)        0         2 400  no: 2 400 of 80 000
                                                                             starts were still
                                                                             waiting at the end
                                                                             (3.0 %)

                   p50     p95      p99    p99.9      max
response time  90.0 ms  250 ms   310 ms   320 ms   330 ms
 service time   290 µs  800 µs  2.00 ms  3.00 ms  8.80 ms
          lag  89.0 ms       –   309 ms        –   329 ms
         late  11.0 µs       –  60.0 µs        –   900 µs

Response time counts from the scheduled start of a transaction, so it includes waits for a free
",
    );
}

#[test]
fn rates_are_rows_and_limited_figures_are_marked() {
    check(
        &Fixture::rates(),
        "\
Throughput (tps, 95 % interval) by innodb_flush_log_at_trx_commit

 rate               =1             =2
4 000  3 880 ±0.00 % †  4 000 ±0.00 %

† generator-limited: \"What it means\" has the reason.
 rate  started/s              tps  skipped  queue at end  sustained
4 000      3 880  3 880 ±0.00 % †        0         1 200  no: 1 200 of 40 000 starts were still
                                                          waiting at the end (3.0 %)
 rate  response p50     p95      p99    p99.9      max  mark
4 000       90.0 ms  250 ms   310 ms   320 ms   330 ms  †
 rate  service p50     p95      p99      max  lag p50     p99      max  late p99  mark
4 000       290 µs  800 µs  2.00 ms  8.80 ms  89.0 ms  309 ms   329 ms   60.0 µs  †
4 000  ×1.031 [1.031, 1.031]  +0.01 % or −0.01 %  faster, generator-limited
- generator-limited: the load generator was the bottleneck; the server may be faster.
  innodb_flush_log_at_trx_commit=1 rate=4000 connections=8: (3 of 3 trials) its own starts were
  late: p99 2.5 ms. Give the generator more workers (--workers), cores of its own (--pin), or
",
    );
}

/// Retried attempts, what the policy makes of a class, and a message that would move the cursor.
#[test]
fn errors_have_their_policy_and_no_control_characters() {
    let fixture = Fixture::rates().with(|trials| {
        let error = |class: &str, code, count, retried, message: &str| truetps_record::ErrorCount {
            class: class.parse().unwrap(),
            code,
            count,
            retried,
            first_message: message.to_owned(),
        };
        let measured = trials[0].measured.as_mut().unwrap();
        measured.errors = vec![
            error("deadlock", 1213, 0, 1234, "try again\u{1b}[2J"),
            error("duplicate_key", 1062, 7, 0, "Duplicate entry"),
            error("connection_lost", 0, 1, 0, "gone"),
        ];
        (measured.counts.retried, measured.counts.ignored) = (1234, 7);
    });
    check(
        &fixture,
        "\
Failed transactions, CPU a transaction

innodb_flush_log_at_trx_commit=1 (baseline)
 rate  trials  failed  retried  client CPU  server CPU  mark
          error  number  failed  retried   policy  first message
  duplicate_key    1062       7        0  ignored  Duplicate entry (at
connection_lost       –       1        0        –  gone (at innodb_flush_log_at_trx_commit=1
       deadlock    1213       0    1 234  retried  try again [2J (at
",
    );
}

#[test]
fn what_the_baseline_takes_comes_first() {
    check(
        &Fixture::durability(),
        "\
Answer    With innodb_flush_log_at_trx_commit=1 (baseline): 2 652 tps, best at 50 connections (95 %
          interval [2 553, 2 755] tps).
",
    );
    assert!(!Fixture::rates().input().text(TextScreen::PLAIN).contains("Answer"));
}

#[test]
fn a_stall_has_its_line_and_a_transaction_its_cost() {
    check(
        &Fixture::watched(),
        "\
Stalls    1.8 of 60.0 s measured (3.0 %) in 1 of 2 trials, longest 1.8 s (trial-0002, 20.3 s after
          its first transaction; waiting for redo flush)
Ledger    a transaction: server CPU 84.0 µs → 84.0 µs, redo log syncs 1.020 → 1.085, redo log 512 B
          → 545 B
Stalls and dips
stalls  stalled  longest  dips  longest gap  configuration
     0    0.0 %        –     0     < 100 ms  innodb_flush_log_at_trx_commit=1 connections=8
     1    6.0 %    1.8 s     0       1.80 s  innodb_flush_log_at_trx_commit=2 connections=8
     trial          start  length  depth  usual tps  at the same time
trial-0002  stall  20.3 s   1.8 s  100 %      1 000  redo flush
",
    );
}

#[test]
fn a_script_is_not_said_to_have_what_it_may_not_have() {
    let fixture = Fixture::script_without_server();
    check(
        &fixture,
        "\
Server    none: the script had connected to no server
Load      cpu, a script of sysbench; no warm-up; 10 000 transactions
",
    );
    let text = fixture.input().text(TextScreen::PLAIN);
    assert!(
        !text.contains("mysql") && !text.contains("prepared") && !text.contains(" of 0 rows"),
        "{text}"
    );
}

#[test]
fn one_block_is_called_one_trial() {
    check(
        &Fixture::connections_only(),
        "          8  819.5 (1 trial)       1  8.79 ms  17.6 ms  29.3 ms  390 ms       0     11.5 \
         µs     84.0 µs\n",
    );
}

/// Six combinations of settings do not fit beside each other: one table each, with throughput.
#[test]
fn many_settings_have_a_table_each() {
    let fixture = Fixture::of_plan(
        "name = \"both\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[design]\nblocks = \
             2\n[factors]\n\
             innodb_flush_log_at_trx_commit = [1, 2, 0]\nsync_binlog = [0, 1]\nconnections = [1, \
             8]\n",
    );
    check(
        &fixture,
        "\
Throughput (tps, 95 % interval), response times, failed transactions, CPU a transaction
innodb_flush_log_at_trx_commit=1 sync_binlog=0 (baseline)
innodb_flush_log_at_trx_commit=2 sync_binlog=1
Against innodb_flush_log_at_trx_commit=1
innodb_flush_log_at_trx_commit=0 sync_binlog=1
innodb_flush_log_at_trx_commit / sync_binlog  knee  knee to best        best at  last to best
",
    );
}

#[test]
fn colour_adds_nothing_that_the_words_do_not_say() {
    for fixture in [Fixture::durability(), Fixture::troubled()] {
        let coloured = fixture.input().text(TextScreen::new(true, None));
        let mut plain = String::new();
        for (index, part) in coloured.split('\u{1b}').enumerate() {
            plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(plain, fixture.input().text(TextScreen::PLAIN));
        assert!(coloured.contains("\u{1b}[32mfaster\u{1b}[0m"));
    }
}

#[test]
fn lines_fit_a_terminal() {
    for fixture in [
        Fixture::durability(),
        Fixture::troubled(),
        Fixture::rates(),
        Fixture::open_run(8000),
        Fixture::durability().with(Vec::clear),
    ] {
        let text = fixture.input().text(TextScreen::PLAIN);
        let wide: Vec<_> = text.lines().filter(|line| display_width(line) > TEXT_WIDTH).collect();
        assert!(wide.is_empty(), "{wide:?}");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

#[test]
fn a_narrow_terminal_breaks_no_number() {
    for fixture in
        [Fixture::durability(), Fixture::troubled(), Fixture::rates(), Fixture::watched()]
    {
        for width in [40, 60, 80] {
            let text = fixture.input().text(TextScreen::new(false, Some(width)));
            let wide: Vec<_> = text.lines().filter(|line| display_width(line) > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:#?}");
        }
    }
    assert!(
        Fixture::durability()
            .input()
            .text(TextScreen::new(false, Some(20)))
            .lines()
            .any(|line| display_width(line) > 30)
    );
}

#[test]
fn lists_are_as_wide_as_the_terminal() {
    let screen = TextScreen::new(false, Some(40));
    let text = "a question that is longer than forty columns are, and is asked in full";
    assert!(screen.listed("name", 8, text).lines().all(|line| display_width(line) <= 40));
    assert!(screen.listed("name", 8, text).starts_with("name     a question"));
    assert_eq!(screen.cut("short"), "short");
    assert_eq!(display_width(&screen.cut(text)), 40);
    assert!(screen.cut(text).ends_with('…'));
}

#[test]
fn numbers_are_not_broken() {
    assert_eq!(
        unbreakable("of 200 000 rows, 4.2 % in 2.10 ms; 1 194/s"),
        ["of ", "200 000 ", "rows, ", "4.2 % ", "in ", "2.10 ms; ", "1 194/s "]
    );
}

#[test]
fn chinese_text_takes_two_columns_a_character() {
    let entry = |text: &str| TableEntry::from(text.to_owned());
    let table = DocumentTable {
        caption: None,
        header: vec!["code".to_owned(), "first message".to_owned()],
        rows: vec![
            vec![entry("表已满"), entry(&"数据库表已满，无法写入。".repeat(8))],
            vec![entry("1062"), entry("Duplicate entry")],
        ],
        words_last: true,
        forest: None,
    };
    let mut out = String::new();
    push_table(&mut out, &table, TextScreen::new(false, Some(60)));
    let lines: Vec<_> = out.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().all(|line| display_width(line) <= 60) && lines.len() > 4, "{out}");
    assert!(lines.iter().all(|line| !line.trim_start().starts_with(['，', '。'])), "{out}");
    assert_eq!(lines[0], "  code  first message");
    assert_eq!(lines.last(), Some(&"  1062  Duplicate entry"));
    assert!(lines[1].starts_with("表已满  数据库"), "{out}");
}
