use super::*;

fn filled(size: usize, min: f64, max: f64, values: impl IntoIterator<Item = f64>) -> LogHistogram {
    let mut histogram = LogHistogram::new(size, min, max);
    values.into_iter().for_each(|value| histogram.update(value));
    histogram
}

#[test]
fn text_is_that_of_sysbench() {
    let ends = [0.0001, 0.001, 0.00101, 0.0011, 99_999.0, 100_000.0, 1e9, -1.0, 0.0];
    let expected = "       value  ------------- distribution ------------- count
       0.001 |**************************************** 4
       0.001 |**********                               1
       0.001 |**********                               1
  100000.000 |******************************           3
";
    assert_eq!(filled(1024, 0.001, 100_000.0, ends).text(), expected);
    let expected = "       value  ------------- distribution ------------- count
       0.100 |                                         1
       0.207 |                                         1
       0.298 |                                         1
       0.428 |                                         2
       0.616 |                                         2
       0.886 |                                         3
       1.274 |*                                        5
       1.833 |*                                        6
       2.637 |**                                       10
       3.793 |**                                       14
       5.456 |***                                      20
       7.848 |*****                                    29
      11.288 |******                                   41
      16.238 |*********                                59
      23.357 |**************                           86
      33.598 |*******************                      122
      48.329 |****************************             177
      69.519 |**************************************** 254
     100.000 |**************************               167
";
    assert_eq!(filled(20, 0.1, 100.0, (1..=1_000).map(|n| f64::from(n) / 10.0)).text(), expected);
}

#[test]
fn half_a_star_is_a_star() {
    for (few, stars) in [(1, 1), (3, 2), (5, 3), (7, 4)] {
        let values = [1.0; 80].into_iter().chain(vec![50.0; few]);
        let row = format!("      59.948 |{:<40} {few}", "*".repeat(stars));
        assert_eq!(filled(10, 1.0, 100.0, values).text().lines().nth(2), Some(row.as_str()));
    }
}

#[test]
fn what_nobody_should_ask_for_does_no_harm() {
    let header = "       value  ------------- distribution ------------- count\n";
    let stars = "*".repeat(40);
    assert_eq!(filled(10, 100.0, 1.0, [3.0]).text(), format!("{header}       2.783 |{stars} 1\n"));
    assert_eq!(filled(3, 0.001, 12_345_678_901.0, [1e99]).text(), format!("{header}12345678901.000 |{stars} 1\n"));
    assert_eq!(filled(1, 1.0, 100.0, [3.0]).text(), format!("{header}       1.000 |{stars} 1\n"));
    assert_eq!(filled(0, 1.0, 100.0, [f64::NAN]).total(), 1);
    assert_eq!(filled(1, 1.0, 100.0, [1.0]).total(), 1);
    assert!(!filled(10, -1.0, 0.0, [1.0]).text().is_empty());
}

#[test]
fn the_block_of_a_run_ends_in_a_line_with_a_space() {
    assert_eq!(LogHistogram::of_latency().report(), "Latency histogram (values are in milliseconds)\n ");
    let mut histogram = LogHistogram::of_latency();
    (0..27).for_each(|_| histogram.update(100.1));
    (0..6).for_each(|_| histogram.update(100.3));
    let expected = "Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
      99.327 |**************************************** 27
     101.132 |*********                                6
 ";
    assert_eq!(histogram.report(), expected);
    assert!(LogHistogram::of_latency().text().is_empty());
}

#[test]
fn a_percentile_is_the_nearest_rank() {
    let histogram = filled(1024, 0.001, 100_000.0, (1..=100).map(f64::from));
    for percent in [1.0, 25.0, 50.0, 95.0, 99.0, 100.0] {
        let value = histogram.percentile_ms(percent);
        // Half a bucket is 0.9 % of the value.
        assert!((value / percent - 1.0).abs() < 0.0091, "{percent}: {value}");
    }
    assert!(histogram.percentile_ms(0.0) < 1.01);
}

#[test]
fn a_percentile_lies_within_what_was_seen() {
    // The bucket of 100.14 stands for 99.33, and everything from 100 s on is in the last one.
    assert!((filled(1024, 0.001, 100_000.0, [100.14; 30]).percentile_ms(95.0) - 100.14).abs() < 1e-9);
    assert!((filled(1024, 0.001, 100_000.0, [250_000.0]).percentile_ms(95.0) - 250_000.0).abs() < 1e-9);
    assert!(LogHistogram::of_latency().percentile_ms(95.0).abs() < f64::EPSILON);
}

#[test]
fn parts_add_up_to_the_whole() {
    let values = || (1..=1_000).map(|n| f64::from(n) / 7.0);
    let whole = filled(1024, 0.001, 100_000.0, values());
    let mut sum = filled(1024, 0.001, 100_000.0, values().step_by(2));
    sum.merge(&filled(1024, 0.001, 100_000.0, values().skip(1).step_by(2)));
    assert_eq!(sum, whole);
    assert_eq!(sum.rows().map(|(_, count)| count).sum::<u64>(), 1_000);
    sum.clear();
    assert_eq!(sum, LogHistogram::of_latency());
}
