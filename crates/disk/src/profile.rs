//! Disk profiles: what a disk costs, as a user writes it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::built_in;
use crate::built_in::BUILT_IN;
use crate::error::DiskError;

/// A minute: longer than any disk takes for a request.
const LATENCY_MAX_US: u32 = 60_000_000;

/// What a disk costs. Latencies are the disk's own, without the time that this host adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskProfile {
    /// Letters, digits and `-`.
    pub name: String,
    /// One sentence: which disk it stands for.
    pub about: String,
    /// Written data that a power cut loses until the next flush; 0: all that is acknowledged is
    /// durable.
    pub volatile_cache_mb: u32,
    /// Flushes are acknowledged at once, and nothing becomes durable by them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush_lies: bool,
    #[serde(default)]
    pub read_us: u32,
    /// Latency of a write: into the cache, where there is one.
    #[serde(default)]
    pub write_us: u32,
    /// Beside what the cache has to write.
    #[serde(default)]
    pub flush_us: u32,
    /// Standard deviation of the logarithm of a latency.
    #[serde(default)]
    pub jitter: f64,
    /// Requests that are served at the same time; 0: no limit.
    #[serde(default)]
    pub queue_depth: u32,
    /// Requests a second; 0: no limit.
    #[serde(default)]
    pub iops: u32,
    /// 10^6 bytes a second; 0: no limit.
    #[serde(default)]
    pub bandwidth_mb_s: u32,
    /// The geometry of a spinning disk. Without it, the position of data costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotating: Option<Geometry>,
}

/// Where data lies on a spinning disk, and how fast its head gets there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    pub rpm: u32,
    /// Bytes of a track in KiB: what passes the head in one revolution.
    pub track_kb: u32,
    /// To a track nearby, until the head has settled there.
    pub seek_near_us: u32,
    /// Over the whole disk.
    pub seek_full_us: u32,
    /// Capacity of the whole disk in 10^9 bytes. The emulated part is at its beginning.
    pub full_stroke_gb: u32,
}

/// The time in a name such as `flush-10ms` or `flush-100us`.
fn flush_us_of(name: &str) -> Option<u32> {
    let time = name.strip_prefix("flush-")?;
    let (digits, unit_us) = match time.strip_suffix("us") {
        Some(digits) => (digits, 1),
        None => (time.strip_suffix("ms")?, 1_000),
    };
    digits.parse::<u32>().ok()?.checked_mul(unit_us)
}

impl DiskProfile {
    /// Names of the profiles that come with truetps.
    pub fn names() -> impl Iterator<Item = &'static str> {
        built_in::names()
    }

    /// The text of a profile that comes with truetps, for users to copy.
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// A profile by its name, from a file that ends in `.toml`, or `flush-TIME`.
    pub fn find(name: &str) -> Result<Self, DiskError> {
        if let Some(text) = Self::built_in_text(name) {
            return Self::parse(text);
        }
        if let Some(flush_us) = flush_us_of(name) {
            let profile = Self::of_flush(name, flush_us);
            return profile.checked();
        }
        if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
            return Err(DiskError::UnknownProfile { name: name.to_owned() });
        }
        let text = std::fs::read_to_string(name).map_err(|error| DiskError::Profile {
            name: name.to_owned(),
            problem: error.to_string(),
        })?;
        Self::parse(&text).map_err(|error| match error {
            DiskError::Profile { problem, .. } => {
                DiskError::Profile { name: name.to_owned(), problem }
            }
            other => other,
        })
    }

    /// A disk on which nothing but a flush takes time.
    fn of_flush(name: &str, flush_us: u32) -> Self {
        Self {
            name: name.to_owned(),
            about: format!(
                "Each flush takes {:?} ms, and nothing else takes any time.",
                f64::from(flush_us) / 1e3
            ),
            volatile_cache_mb: 256,
            flush_lies: false,
            read_us: 0,
            write_us: 0,
            flush_us,
            jitter: 0.0,
            queue_depth: 0,
            iops: 0,
            bandwidth_mb_s: 0,
            rotating: None,
        }
    }

    pub fn parse(text: &str) -> Result<Self, DiskError> {
        let profile: Self = toml::from_str(text).map_err(|error| DiskError::Profile {
            name: "profile".to_owned(),
            problem: toml_problem(text, &error),
        })?;
        profile.checked()
    }

    fn checked(self) -> Result<Self, DiskError> {
        match self.check() {
            Ok(()) => Ok(self),
            Err(problem) => Err(DiskError::Profile { name: self.name, problem }),
        }
    }

    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile has only numbers and texts")
    }

    fn check(&self) -> Result<(), String> {
        let mut bytes = self.name.bytes();
        if !(1..=40).contains(&self.name.len())
            || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(format!("`name = {:?}`: give 1 to 40 letters, digits or `-`", self.name));
        }
        let latencies =
            [("read_us", self.read_us), ("write_us", self.write_us), ("flush_us", self.flush_us)];
        if let Some((key, value)) = latencies.into_iter().find(|(_, value)| *value > LATENCY_MAX_US)
        {
            return Err(format!("`{key} = {value}`: at most {LATENCY_MAX_US}, a minute"));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(format!("`jitter = {:?}`: give a number from 0 to 1", self.jitter));
        }
        self.rotating.map_or(Ok(()), Geometry::check)
    }

    pub(crate) fn cache_bytes(&self) -> u64 {
        u64::from(self.volatile_cache_mb) << 20
    }
}

/// The line, and what is wrong with it: types of this program mean nothing to its users.
fn toml_problem(text: &str, error: &toml::de::Error) -> String {
    const TYPES: [(&str, &str); 4] = [
        ("expected u32", "give a whole number from 0 to 4294967295"),
        ("expected f64", "give a number"),
        ("expected a boolean", "give true or false"),
        ("expected struct", "give a table, as `truetps disk show hdd7200` has it"),
    ];
    let known = TYPES.iter().find(|(words, _)| error.message().contains(words));
    let message = known.map_or(error.message(), |(_, message)| *message);
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return message.to_owned();
    };
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default().trim();
    format!("line {}, `{line}`: {message}", number + 1)
}

impl Geometry {
    fn check(self) -> Result<(), String> {
        let ranges = [
            ("rpm", self.rpm, 60, 100_000),
            ("track_kb", self.track_kb, 16, 1 << 20),
            ("seek_near_us", self.seek_near_us, 1, 1_000_000),
            ("seek_full_us", self.seek_full_us, 1, 1_000_000),
            ("full_stroke_gb", self.full_stroke_gb, 1, 1_000_000),
        ];
        for (key, value, from, to) in ranges {
            if !(from..=to).contains(&value) {
                return Err(format!(
                    "`rotating.{key} = {value}`: give a number from {from} to {to}"
                ));
            }
        }
        if self.seek_full_us < self.seek_near_us {
            return Err(
                "`rotating.seek_full_us` is shorter than `rotating.seek_near_us`".to_owned()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_truetps_are_valid_and_named_as_their_files() {
        for name in DiskProfile::names() {
            let profile = DiskProfile::find(name).unwrap();
            assert_eq!(profile.name, name);
            assert_eq!(DiskProfile::parse(&profile.to_toml()).unwrap(), profile);
        }
    }

    #[test]
    fn a_profile_says_what_a_flush_takes() {
        let check = |name: &str, from: f64, to: f64| {
            let found = DiskProfile::find(name).unwrap().overwrite_us();
            assert!((from..to).contains(&found), "{name}: {found}");
        };
        check("hdd7200", 8_300.0, 8_400.0);
        check("hdd5400", 11_000.0, 11_200.0);
        check("sata-ssd", 1_500.0, 1_800.0);
        check("native", 0.0, 1.0);
        check("flush-10ms", 10_000.0, 10_001.0);
        check("flush-100us", 100.0, 101.0);
    }

    #[test]
    fn a_disk_is_named_by_its_flush_alone() {
        let disk = DiskProfile::find("flush-10ms").unwrap();
        assert_eq!((disk.name.as_str(), disk.flush_us, disk.write_us), ("flush-10ms", 10_000, 0));
        assert_eq!(DiskProfile::parse(&disk.to_toml()).unwrap(), disk);
        for wrong in
            ["flush-", "flush-ms", "flush-10", "flush-10s", "flush--1ms", "flush-99999999ms"]
        {
            assert!(DiskProfile::find(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nonsense_is_refused_by_key() {
        let check = |change: (&str, &str), expect: &str| {
            let text =
                DiskProfile::built_in_text("hdd7200").unwrap().replacen(change.0, change.1, 1);
            let error = DiskProfile::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expect), "{error} should contain {expect}");
        };
        check(("rpm = 7200", "rpm = 0"), "`rotating.rpm = 0`");
        check(("write_us = 60", "write_us = -1"), "write_us");
        let whole = "line 4, `write_us = 1e300`: give a whole number from 0";
        check(("write_us = 60", "write_us = 1e300"), whole);
        for wrong in ["nan", "1.5", "\"fast\"", "-1", "99999999999", "[]"] {
            let line = format!("write_us = {wrong}");
            check(("write_us = 60", &line), &format!("`{line}`: give a whole number"));
        }
        check(("write_us = 60", "jitter = 1e300"), "`jitter = 1e300`: give a number from 0 to 1");
        check(("write_us = 60", "jitter = -inf"), "`jitter = -inf`: give a number from 0 to 1");
        check(("write_us = 60", "jitter = \"x\""), "`jitter = \"x\"`: give a number");
        check(("write_us = 60", "flush_lies = 1"), "`flush_lies = 1`: give true or false");
        check(("[rotating]", "rotating = 7\n[x]"), "`rotating = 7`: give a table");
        check(("write_us = 60", "write_us = 4000000000"), "`write_us = 4000000000`: at most");
        check(("write_us = 60", "wrote_us = 60"), "unknown field `wrote_us`");
        check(("write_us = 60", "jitter = nan"), "`jitter = NaN`");
        check(("\"hdd7200\"", "\"../x\""), "give 1 to 40 letters");
        check(("seek_full_us = 16000", "seek_full_us = 1"), "is shorter than");
    }

    #[test]
    fn an_unknown_name_lists_those_that_are_known() {
        let error = DiskProfile::find("hdd720").unwrap_err();
        assert!(error.to_string().contains("hdd720"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("hdd7200")));
        assert!(
            DiskProfile::find("/nowhere/x.toml")
                .unwrap_err()
                .to_string()
                .contains("/nowhere/x.toml")
        );
    }
}
