//! What requests cost on the disks of profiles, on a fake clock.

use super::*;
use crate::profile::DiskProfile;

const PAGE: u64 = 4096;
const TURN_7200_MS: f64 = 60_000.0 / 7200.0;
/// What the host adds to each request.
const HOST_NS: u64 = 40_000;

/// One client that sends each request when the one before is done.
struct Client {
    model: DeviceModel,
    now_ns: u64,
}

impl Client {
    fn new(profile: &str) -> Self {
        Self { model: DeviceModel::new(&DiskProfile::find(profile).unwrap(), 1), now_ns: 0 }
    }

    fn ask(&mut self, request: DiskRequest) {
        self.now_ns = self.model.done_ns(self.now_ns + HOST_NS, request);
    }

    fn write(&mut self, offset: u64) {
        self.ask(DiskRequest::Write(DiskRange { offset, length: PAGE }));
    }

    /// Mean duration of an operation in ms.
    fn mean_ms(&mut self, times: u64, mut operation: impl FnMut(&mut Self, u64)) -> f64 {
        let began_ns = self.now_ns;
        for number in 0..times {
            operation(self, number);
        }
        (self.now_ns - began_ns) as f64 / 1e6 / times as f64
    }
}

fn check(found_ms: f64, expect_ms: f64, share: f64) {
    assert!((found_ms / expect_ms - 1.0).abs() < share, "{found_ms} ms should be {expect_ms} ms");
}

#[test]
fn a_page_that_is_written_in_place_takes_one_revolution() {
    for (profile, rpm) in [("hdd7200", 7200.0), ("hdd5400", 5400.0)] {
        let found = Client::new(profile).mean_ms(50, |client, _| {
            client.write(1 << 30);
            client.ask(DiskRequest::Flush);
        });
        check(found, 60_000.0 / rpm, 0.02);
    }
}

/// With a random angle in place of one that follows from the time, this would take half a
/// revolution.
#[test]
fn a_log_that_grows_takes_one_revolution_for_each_flush() {
    let found = Client::new("hdd7200").mean_ms(200, |client, number| {
        client.write((1 << 30) + number * PAGE);
        client.ask(DiskRequest::Flush);
    });
    check(found, TURN_7200_MS, 0.03);
}

/// As ext4 does for a file that grows: its data and the journal, a flush, the commit record, a
/// flush.
#[test]
fn a_journal_costs_two_revolutions_more() {
    let found = Client::new("hdd7200").mean_ms(200, |client, number| {
        client.write((1 << 30) + number * PAGE);
        let journal = (2 << 30) + number * 3 * PAGE;
        client.ask(DiskRequest::Write(DiskRange { offset: journal, length: 2 * PAGE }));
        client.ask(DiskRequest::Flush);
        client.write(journal + 2 * PAGE);
        client.ask(DiskRequest::Flush);
    });
    check(found, 3.0 * TURN_7200_MS, 0.1);
}

#[test]
fn scattered_pages_are_written_in_the_order_of_the_platter() {
    let mut client = Client::new("hdd7200");
    let scattered = |number: u64| ((number * 7919 % 1000) << 20) + (number * 101 % 255) * PAGE;
    let each = client.mean_ms(64, |client, number| {
        client.write(scattered(number));
        client.ask(DiskRequest::Flush);
    });
    let together = client.mean_ms(1, |client, _| {
        (0..64).for_each(|number| client.write(scattered(number) + PAGE));
        client.ask(DiskRequest::Flush);
    });
    assert!(together / 64.0 < each / 2.0, "{together} {each}");
}

#[test]
fn what_was_written_in_the_background_costs_no_flush() {
    let mut client = Client::new("hdd7200");
    client.write(1 << 30);
    client.now_ns += 100_000_000;
    let flush = client.mean_ms(1, |client, _| client.ask(DiskRequest::Flush));
    assert!(flush < 0.1, "{flush} ms");
}

#[test]
fn a_full_cache_writes_as_fast_as_the_platter() {
    let mut client = Client::new("hdd7200");
    let mut write = |number: u64| {
        client.mean_ms(1, |client, _| {
            let range = DiskRange { offset: number << 20, length: 1 << 20 };
            client.ask(DiskRequest::Write(range));
        })
    };
    let first = write(0);
    let all: Vec<_> = (1..400).map(&mut write).collect();
    assert!(first < 0.2, "{first} ms");
    let last = all[300..].iter().sum::<f64>() / 99.0;
    check(last, TURN_7200_MS, 0.01);
}

#[test]
fn a_range_that_is_written_again_is_written_once() {
    let mut client = Client::new("hdd7200");
    let flush = client.mean_ms(1, |client, _| {
        (0..1000).for_each(|number| client.write((1 << 30) + number % 3 * 2048));
        client.ask(DiskRequest::Flush);
    });
    // The writes themselves take 100 µs each, in which the disk writes in the background.
    check(flush, 100.0 + TURN_7200_MS, 0.1);
}

#[test]
fn latencies_limits_and_queues_of_a_flash_disk_are_the_profile_s() {
    let mut client = Client::new("sata-ssd");
    let flush = client.mean_ms(500, |client, number| {
        client.write(number * PAGE);
        client.ask(DiskRequest::Flush);
    });
    check(flush, 1.6 + 0.06 + 0.08, 0.1);
    // 3,000 requests a second, asked for at once.
    let mut model = DeviceModel::new(&DiskProfile::find("gp3").unwrap(), 1);
    let last = (0..3000)
        .map(|n| model.done_ns(0, DiskRequest::Write(DiskRange { offset: n * PAGE, length: PAGE })))
        .max();
    check(last.unwrap() as f64 / 1e6, 1000.0, 0.05);
    let last = (0..100)
        .map(|n| {
            model.done_ns(
                10_000_000_000,
                DiskRequest::Read(DiskRange { offset: n, length: 1 << 20 }),
            )
        })
        .max();
    check(last.unwrap() as f64 / 1e6 - 10_000.0, 100.0 * 1.048_576 / 0.125, 0.05);
}

#[test]
fn a_disk_that_lies_flushes_at_once_and_the_same_seed_gives_the_same_times() {
    let mut lying = Client::new("lying");
    lying.write(0);
    assert_eq!(lying.model.done_ns(lying.now_ns, DiskRequest::Flush), lying.now_ns);
    let times = |seed| {
        let mut model = DeviceModel::new(&DiskProfile::find("nvme").unwrap(), seed);
        (0..9).map(|n| model.done_ns(n * 1_000_000, DiskRequest::Flush)).collect::<Vec<_>>()
    };
    assert_eq!(times(7), times(7));
    assert_ne!(times(7), times(8));
}
