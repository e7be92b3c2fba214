#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test program uses a part of it, and may panic"
)]
//! One link for ad-hoc statements, waited for one by one.

use std::time::{Duration, Instant};

use truetps_driver::{
    Connector, DriverError, Link, ParamType, Params, Prepared, Reply, ResultSets, Scratch,
    SessionEvent, Target,
};

const SOON: Duration = Duration::from_mins(1);

pub(crate) struct AdHoc {
    pub(crate) link: Link,
    pub(crate) scratch: Scratch,
    /// What is lent and comes back.
    sets: Option<Box<ResultSets>>,
}

/// A result as a test wants to see it: affected rows, columns, rows of texts.
pub(crate) type Seen = (u64, u32, Vec<Vec<Option<Vec<u8>>>>);

impl AdHoc {
    pub(crate) fn connect(target: &Target) -> Self {
        let mut scratch = Scratch::default();
        let connector = Connector::ad_hoc(target.clone()).unwrap();
        let link = connector.connect(0, &mut scratch, Some(Instant::now() + SOON)).unwrap();
        Self { link, scratch, sets: Some(Box::default()) }
    }

    fn event(&mut self) -> Result<SessionEvent, DriverError> {
        self.link.wait(&mut self.scratch, Some(Instant::now() + SOON))
    }

    /// The reply, with what was collected.
    pub(crate) fn reply(&mut self) -> (Reply, Vec<Seen>) {
        let SessionEvent::Reply(mut reply) = self.event().unwrap() else { panic!("not a reply") };
        let sets = reply.sets.take().expect("it was lent");
        let seen = sets.iter().map(|set| {
            let values: Vec<_> = set.values().map(|value| value.map(<[u8]>::to_vec)).collect();
            assert_eq!(values.len() as u64, set.rows * u64::from(set.columns));
            let rows = values.chunks(set.columns.max(1) as usize).map(<[_]>::to_vec).collect();
            (set.affected_rows, set.columns, rows)
        });
        let seen = seen.collect();
        self.sets = Some(sets);
        (reply, seen)
    }

    pub(crate) fn lend(&mut self) {
        if let Some(sets) = self.sets.take() {
            self.link.collect(sets);
        }
    }

    pub(crate) fn run(&mut self, sql: impl AsRef<[u8]>) -> (Reply, Vec<Seen>) {
        self.lend();
        self.link.send_bytes(sql.as_ref(), &mut self.scratch).unwrap();
        self.reply()
    }

    /// The results of what must not fail.
    pub(crate) fn sets(&mut self, sql: impl AsRef<[u8]>) -> Vec<Seen> {
        let (reply, sets) = self.run(sql);
        assert_eq!(reply.error, None);
        sets
    }

    pub(crate) fn try_prepare(
        &mut self,
        sql: &str,
        types: &[ParamType],
    ) -> Result<Prepared, Reply> {
        self.link.prepare(sql.as_bytes(), types, &mut self.scratch).unwrap();
        match self.event().unwrap() {
            SessionEvent::Prepared(prepared) => Ok(prepared),
            SessionEvent::Reply(reply) => Err(reply),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Prepared {
        self.try_prepare(sql, &[]).unwrap()
    }

    pub(crate) fn execute(
        &mut self,
        handle: u32,
        fill: impl FnOnce(&mut Params),
    ) -> (Reply, Vec<Seen>) {
        self.lend();
        self.scratch.params.clear();
        fill(&mut self.scratch.params);
        self.link.execute(handle, &mut self.scratch).unwrap();
        self.reply()
    }

    /// The error of a handle that is not open, or of values that do not suit it.
    pub(crate) fn misuse(&mut self, handle: u32, fill: impl FnOnce(&mut Params)) -> String {
        self.scratch.params.clear();
        fill(&mut self.scratch.params);
        let error = self.link.execute(handle, &mut self.scratch).unwrap_err();
        assert!(matches!(error, DriverError::Misuse(_)), "{error}");
        error.to_string()
    }

    pub(crate) fn close(&mut self, handle: u32) {
        self.link.close_statement(handle, &mut self.scratch).unwrap();
    }

    /// Prepares, executes once without values, closes.
    pub(crate) fn prepared_sets(&mut self, sql: &str) -> Vec<Seen> {
        let prepared = self.prepare(sql);
        let (reply, sets) = self.execute(prepared.handle, |_| {});
        assert_eq!(reply.error, None, "{sql}");
        self.close(prepared.handle);
        sets
    }
}

/// A row of one result whose values are texts.
pub(crate) fn texts(values: &[&str]) -> Vec<Option<Vec<u8>>> {
    values.iter().map(|value| Some(value.as_bytes().to_vec())).collect()
}
