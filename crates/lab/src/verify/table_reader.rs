//! Reads the rows of a table in pages, as far as the comparison needs them.

use std::time::{Duration, Instant};

use truetps_driver::{
    Connector, DriverError, Link, ParamType, Params, Reply, ResultSets, Scratch, SessionEvent,
    Target,
};
use truetps_record::fnv1a;
use truetps_workload::{RowField, RowIdentity};

use super::error::VerifyError;
use super::spool::FoundRow;
use super::table::{ColumnKind, PageColumn, SurveyedTable};
use crate::error::LabError;

/// Longest wait for a page.
const PAGE_TIMEOUT: Duration = Duration::from_mins(10);

/// A row of the table.
pub(crate) enum TableRow {
    Of(FoundRow),
    /// Its key is of no client; the key's text.
    Foreign(String),
}

pub(crate) struct TableReader<'a> {
    table: &'a SurveyedTable,
    identity: RowIdentity,
    clients: u32,
    fields: Vec<RowField>,
    link: Link,
    scratch: Scratch,
    sets: Option<Box<ResultSets>>,
    /// The order's columns of the last row.
    last: Vec<Vec<u8>>,
}

impl<'a> TableReader<'a> {
    pub(crate) fn open(
        target: &Target,
        table: &'a SurveyedTable,
        identity: RowIdentity,
        clients: u32,
    ) -> Result<Self, LabError> {
        let mut scratch = Scratch::default();
        let connect = Connector::ad_hoc(target.clone()).and_then(|connector| {
            connector.connect(0, &mut scratch, Some(Instant::now() + PAGE_TIMEOUT))
        });
        let link = connect.map_err(VerifyError::Read)?;
        let sets = Some(Box::default());
        Ok(Self {
            table,
            identity,
            clients,
            fields: table.fields(),
            link,
            scratch,
            sets,
            last: Vec::new(),
        })
    }

    /// Passes every row to `on_row`.
    pub(crate) fn read(
        &mut self,
        on_row: &mut dyn FnMut(TableRow) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut handle = self.prepare(true)?;
        let mut is_first = true;
        loop {
            let sets = self.page(handle, is_first).map_err(VerifyError::Read)?;
            let rows = self.pass_on(&sets, on_row)?;
            self.sets = Some(sets);
            if rows == 0 {
                return Ok(());
            }
            if std::mem::take(&mut is_first) {
                handle = self.prepare(false)?;
            }
        }
    }

    fn prepare(&mut self, is_first: bool) -> Result<u32, LabError> {
        let sql = self.table.page(is_first);
        let types: &[ParamType] = &[];
        let event = self
            .link
            .prepare(sql.as_bytes(), types, &mut self.scratch)
            .and_then(|()| self.link.wait(&mut self.scratch, Some(Instant::now() + PAGE_TIMEOUT)));
        match event.map_err(VerifyError::Read)? {
            SessionEvent::Prepared(prepared) => Ok(prepared.handle),
            SessionEvent::Reply(Reply { error: Some(error), .. }) => {
                Err(VerifyError::Read(error.into()).into())
            }
            _ => Err(VerifyError::Read(DriverError::Protocol("an unexpected reply")).into()),
        }
    }

    fn page(&mut self, handle: u32, is_first: bool) -> Result<Box<ResultSets>, DriverError> {
        if let Some(sets) = self.sets.take() {
            self.link.collect(sets);
        }
        self.scratch.params.clear();
        if !is_first {
            for column in self.table.page_params() {
                push_value(&self.table.pages[column], &self.last[column], &mut self.scratch.params);
            }
        }
        self.link.execute(handle, &mut self.scratch)?;
        match self.link.wait(&mut self.scratch, Some(Instant::now() + PAGE_TIMEOUT))? {
            SessionEvent::Reply(Reply { error: Some(error), .. }) => Err(error.into()),
            SessionEvent::Reply(Reply { sets: Some(sets), .. }) => Ok(sets),
            _ => Err(DriverError::Protocol("an unexpected reply")),
        }
    }

    /// Passes the rows of a page on; returns their number.
    fn pass_on(
        &mut self,
        sets: &ResultSets,
        on_row: &mut dyn FnMut(TableRow) -> Result<(), LabError>,
    ) -> Result<u64, LabError> {
        let Some(page) = sets.get(0) else { return Ok(0) };
        let columns = self.table.pages.len();
        let mut values = page.values();
        for _ in 0..page.rows {
            self.last.resize(columns, Vec::new());
            for last in &mut self.last {
                last.clear();
                last.extend_from_slice(values.next().flatten().unwrap_or_default());
            }
            let key: Vec<_> =
                (0..self.table.table.key.len()).map(|_| values.next().flatten()).collect();
            let payload = values.next().flatten();
            on_row(self.row(&key, payload))?;
        }
        Ok(page.rows)
    }

    fn row(&self, key: &[Option<&[u8]>], payload: Option<&[u8]>) -> TableRow {
        let Some((client, seq)) = self.row_of_key(key).filter(|(client, _)| *client < self.clients)
        else {
            let texts: Vec<_> =
                key.iter().map(|value| value.map_or("NULL".into(), text_of)).collect();
            return TableRow::Foreign(texts.join(", "));
        };
        let payload = payload
            .map(|payload| if self.table.is_padded { payload.trim_ascii_end() } else { payload });
        // A row has a payload: NULL is another one.
        let digest = payload.map_or(0, fnv1a);
        TableRow::Of(FoundRow { client, seq, digest })
    }

    /// The client and the number of the row with this key. `None`: no client has such a key.
    fn row_of_key(&self, key: &[Option<&[u8]>]) -> Option<(u32, u64)> {
        let (mut client, mut seq) = (None, None);
        for (field, value) in self.fields.iter().zip(key) {
            let value = (*value)?;
            let (own_client, own_seq) = match field {
                RowField::Client => (Some(number(value)?), None),
                RowField::Seq => (None, Some(number(value)?)),
                RowField::Key => {
                    let (client, seq) = str::from_utf8(value).ok()?.trim_end().split_once('-')?;
                    (Some(number(client.as_bytes())?), Some(number(seq.as_bytes())?))
                }
                RowField::Uuid => {
                    let (client, seq) = self.identity.row_of_uuid(uuid(value)?)?;
                    (Some(client.into()), Some(seq))
                }
                RowField::Payload => (None, None),
            };
            for (all, own) in [(&mut client, own_client), (&mut seq, own_seq)] {
                if let Some(own) = own
                    && *all.get_or_insert(own) != own
                {
                    return None;
                }
            }
        }
        Some((u32::try_from(client?).ok()?, seq?))
    }
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.trim().parse().ok()
}

/// From its text, with or without hyphens, or from its 16 bytes.
fn uuid(value: &[u8]) -> Option<u128> {
    if let Ok(bytes) = <[u8; 16]>::try_from(value) {
        return Some(u128::from_be_bytes(bytes));
    }
    let digits: String = str::from_utf8(value).ok()?.trim().chars().filter(|c| *c != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok())?
}

/// At most so much of a text that it fits into a line.
fn text_of(value: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text: String = String::from_utf8_lossy(value).chars().take(SHOWN).collect();
    format!("'{}'", truetps_record::printable(&text))
}

fn push_value(column: &PageColumn, value: &[u8], params: &mut Params) {
    match column.kind {
        ColumnKind::Integer => {
            match str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
                Some(number) => params.push_int(number),
                None => params.push_text(|out| out.extend_from_slice(value)),
            }
        }
        ColumnKind::Binary => params.push_bytes(|out| out.extend_from_slice(value)),
        ColumnKind::Text => params.push_text(|out| out.extend_from_slice(value)),
    }
}
