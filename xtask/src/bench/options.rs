//! The arguments of `bench engine`, `bench null` and `bench lateness`.

use std::time::Duration;

use anyhow::{Context, bail};
use truetps_record::{DriveMode, Protocol};

use crate::bench::programs::{DriveChoice, Program};

/// What `bench engine` and `bench null` share.
pub(crate) struct BenchOptions {
    pub(crate) pairs: u32,
    pub(crate) window: Duration,
    pub(crate) connections: Vec<u32>,
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) ours: Program,
    /// `None`: only the engine of truetps.
    pub(crate) theirs: Option<Program>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) keep: bool,
}

impl BenchOptions {
    pub(crate) fn new(connections: &[u32], protocols: &[Protocol], theirs: Program) -> Self {
        Self {
            pairs: 5,
            window: Duration::from_secs(3),
            connections: connections.to_vec(),
            protocols: protocols.to_vec(),
            ours: Program::Truetps(DriveChoice::default()),
            theirs: Some(theirs),
            settings: Vec::new(),
            keep: true,
        }
    }

    /// Applies `args`.
    pub(crate) fn parse(mut self, args: &[&str]) -> anyhow::Result<Self> {
        let mut drive = DriveChoice::default();
        let mut words = Words::new(args);
        while let Some(word) = words.next() {
            match word {
                "--pairs" | "--runs" => self.pairs = words.number()?,
                "--seconds" => self.window = words.seconds()?,
                "--connections" => self.connections = words.list(|text| text.parse().ok())?,
                "--protocol" => self.protocols = words.list(protocol)?,
                "--mode" => drive.mode = mode(words.value()?)?,
                "--workers" => drive.workers = Some(words.number()?),
                "--against" => self.theirs = Program::parse(words.value()?)?,
                "--set" => self.settings.push(words.setting()?),
                "--dry" => self.keep = false,
                other => bail!("unknown option {other}"),
            }
        }
        self.ours = Program::Truetps(drive);
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.pairs == 0 || self.connections.contains(&0) || self.window.is_zero() {
            bail!("--pairs, --connections and --seconds are at least 1");
        }
        if self.theirs == Some(Program::Mysqlslap) && self.protocols.contains(&Protocol::Prepared) {
            bail!("mysqlslap has no prepared statements: --protocol text");
        }
        Ok(())
    }

    pub(crate) fn most_connections(&self) -> u32 {
        self.connections.iter().copied().max().unwrap_or(1)
    }
}

/// The words of a command line, and errors that name the option.
pub(crate) struct Words<'a> {
    rest: std::slice::Iter<'a, &'a str>,
    option: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn new(args: &'a [&'a str]) -> Self {
        Self { rest: args.iter(), option: "" }
    }

    /// The next option.
    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.option = self.rest.next()?;
        Some(self.option)
    }

    /// The value of the option that was taken last.
    pub(crate) fn value(&mut self) -> anyhow::Result<&'a str> {
        self.rest.next().copied().with_context(|| format!("{} needs a value", self.option))
    }

    pub(crate) fn number(&mut self) -> anyhow::Result<u32> {
        let option = self.option;
        self.value()?.parse().with_context(|| format!("{option} needs a whole number"))
    }

    pub(crate) fn seconds(&mut self) -> anyhow::Result<Duration> {
        let option = self.option;
        let seconds = self.value()?.parse().with_context(|| format!("{option} needs a number"))?;
        Duration::try_from_secs_f64(seconds).with_context(|| option.to_owned())
    }

    pub(crate) fn list<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> anyhow::Result<Vec<T>> {
        let option = self.option;
        let parts = self.value()?.split(',');
        parts.map(|part| parse(part).with_context(|| format!("{option}: `{part}` is none of its values"))).collect()
    }

    pub(crate) fn setting(&mut self) -> anyhow::Result<(String, String)> {
        let (name, level) = self.value()?.split_once('=').context("--set NAME=VALUE")?;
        Ok((name.to_owned(), level.to_owned()))
    }
}

pub(crate) fn protocol(text: &str) -> Option<Protocol> {
    [Protocol::Text, Protocol::Prepared].into_iter().find(|protocol| protocol_word(*protocol) == text)
}

pub(crate) fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Text => "text",
        Protocol::Prepared => "prepared",
    }
}

pub(crate) fn mode(text: &str) -> anyhow::Result<DriveMode> {
    let modes = [DriveMode::Auto, DriveMode::Blocking, DriveMode::Multiplexed];
    let found = modes.into_iter().find(|mode| mode_word(*mode) == text);
    found.with_context(|| format!("`{text}` is no drive mode: auto, blocking or multiplexed"))
}

pub(crate) fn mode_word(mode: DriveMode) -> &'static str {
    match mode {
        DriveMode::Auto => "auto",
        DriveMode::Blocking => "blocking",
        DriveMode::Multiplexed => "multiplexed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> anyhow::Result<BenchOptions> {
        BenchOptions::new(&[8], &[Protocol::Text], Program::Sysbench).parse(args)
    }

    #[test]
    fn options_say_what_runs() {
        let args = ["--connections", "1,64", "--mode", "blocking", "--against", "self:multiplexed:2", "--set", "a=b"];
        let options = parse(&args).unwrap();
        assert_eq!(options.connections, [1, 64]);
        assert_eq!(options.ours, Program::Truetps(DriveChoice { mode: DriveMode::Blocking, workers: None }));
        let theirs = DriveChoice { mode: DriveMode::Multiplexed, workers: Some(2) };
        assert_eq!(options.theirs, Some(Program::Truetps(theirs)));
        assert_eq!(options.settings, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(parse(&["--against", "none"]).unwrap().theirs, None);
        assert_eq!(parse(&[]).unwrap().theirs, Some(Program::Sysbench));
    }

    #[test]
    fn wrong_words_are_named() {
        let cases: [(&[&str], &str); 6] = [
            (&["--connections", "1,x"], "`x`"),
            (&["--connections", "0"], "at least 1"),
            (&["--pairs"], "--pairs needs a value"),
            (&["--against", "wrk"], "wrk"),
            (&["--fast"], "--fast"),
            (&["--against", "mysqlslap", "--protocol", "prepared"], "no prepared"),
        ];
        for (args, message) in cases {
            let error = format!("{:#}", parse(args).err().unwrap());
            assert!(error.contains(message), "{error} should contain {message}");
        }
    }
}
