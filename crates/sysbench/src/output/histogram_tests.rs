use super::*;

fn filled(size: usize, min: f64, max: f64, values: impl IntoIterator<Item = f64>) -> LogHistogram {
    let mut histogram = LogHistogram::new(size, min, max);
    values.into_iter().for_each(|value| histogram.add(value, 1));
    histogram
}

#[test]
fn text_is_as_in_sysbench() {
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
fn senseless_arguments_do_no_harm() {
    let header = "       value  ------------- distribution ------------- count\n";
    let stars = "*".repeat(40);
    assert_eq!(filled(10, 100.0, 1.0, [3.0]).text(), format!("{header}       2.783 |{stars} 1\n"));
    assert_eq!(
        filled(3, 0.001, 12_345_678_901.0, [1e99]).text(),
        format!("{header}12345678901.000 |{stars} 1\n")
    );
    assert_eq!(filled(1, 1.0, 100.0, [3.0]).text(), format!("{header}       1.000 |{stars} 1\n"));
    for one in [filled(0, 1.0, 100.0, [f64::NAN]), filled(1, 1.0, 100.0, [1.0])] {
        assert_eq!(one.rows().map(|(_, count)| count).sum::<u64>(), 1);
    }
    assert!(!filled(10, -1.0, 0.0, [1.0]).text().is_empty());
}

#[test]
fn the_block_of_a_run_ends_in_a_line_with_a_space() {
    assert_eq!(
        LogHistogram::of_latency().report(),
        "Latency histogram (values are in milliseconds)\n "
    );
    let mut histogram = LogHistogram::of_latency();
    (0..27).for_each(|_| histogram.add(100.1, 1));
    (0..6).for_each(|_| histogram.add(100.3, 1));
    let expected = "Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
      99.327 |**************************************** 27
     101.132 |*********                                6
 ";
    assert_eq!(histogram.report(), expected);
    assert!(LogHistogram::of_latency().text().is_empty());
}
