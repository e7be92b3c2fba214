//! `--only-print`: the statements of a test, in the original's order.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::auto::Query;
use super::script::SlapScript;
use super::settings::{SlapSettings, StatementSource};

/// Placeholder of a key that only the server knows.
pub(super) const SOME_KEY: &str = "796c4422-1d94-102a-9d6d-00e0812d";

/// A query as text.
pub(super) fn query(query: &Query) -> String {
    if query.takes_key {
        format!("{} WHERE id = '{SOME_KEY}'", query.sql)
    } else {
        query.sql.clone()
    }
}

/// Prints all statements, each with `;` and on a line of its own. For each client, the queries of
/// its first pass through the list are printed, or as many as it would send.
pub(super) fn all(
    settings: &SlapSettings,
    script: &SlapScript,
    out: &mut dyn Write,
    stop: &AtomicBool,
) -> io::Result<()> {
    Printer { settings, script, out, stop }.all()
}

struct Printer<'a> {
    settings: &'a SlapSettings,
    script: &'a SlapScript,
    out: &'a mut dyn Write,
    stop: &'a AtomicBool,
}

impl Printer<'_> {
    fn all(&mut self) -> io::Result<()> {
        let Self { settings, script, .. } = *self;
        for engine in settings.tested_engines() {
            for clients in &settings.concurrency {
                for _ in 0..settings.iterations {
                    self.drop_schema()?;
                    if settings.makes_schema() {
                        self.print_statement(&format!("CREATE SCHEMA `{}`", settings.schema))?;
                        self.print_statement(&format!("use {}", settings.schema))?;
                    }
                    script
                        .create_with(engine)
                        .iter()
                        .try_for_each(|sql| self.print_statement(sql))?;
                    if let StatementSource::Generated(auto) = &settings.source {
                        auto.fill(settings.seed).try_for_each(|sql| self.print_statement(&sql))?;
                    }
                    script.pre.iter().try_for_each(|sql| self.print_statement(sql))?;
                    (0..*clients).try_for_each(|client| self.client(client, *clients))?;
                    script.post.iter().try_for_each(|sql| self.print_statement(sql))?;
                }
            }
            self.drop_schema()?;
        }
        self.out.flush()
    }

    /// The original also drops before it creates, even a schema created by another user.
    fn drop_schema(&mut self) -> io::Result<()> {
        if self.settings.makes_schema() && !self.settings.keeps_schema {
            self.print_statement(&format!("DROP SCHEMA IF EXISTS `{}`", self.settings.schema))?;
        }
        Ok(())
    }

    fn client(&mut self, client: u32, clients: u32) -> io::Result<()> {
        let Self { settings, script, .. } = *self;
        if settings.commit.is_some() {
            self.print_statement("SET AUTOCOMMIT=0")?;
        }
        let length = script.queries.len() as u64;
        let count = match (settings.queries, settings.queries_each) {
            (Some(all), _) => {
                all / u64::from(clients) + u64::from(u64::from(client) < all % u64::from(clients))
            }
            (None, Some(each)) => each,
            (None, None) => length,
        };
        for n in 0..count {
            self.print_statement(&query(&script.queries[(n % length) as usize]))?;
            let is_last = n + 1 == count;
            if settings.commit.is_some_and(|batch| (n + 1) % batch == 0 || is_last) {
                self.print_statement("COMMIT")?;
            }
        }
        Ok(())
    }

    /// The output may be longer than the user wants to wait for.
    fn print_statement(&mut self, sql: &str) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        writeln!(self.out, "{sql};")
    }
}
