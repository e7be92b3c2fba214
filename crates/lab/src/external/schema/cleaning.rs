//! Dropping what a run created, according to its mark and its journal. What cannot be proved is
//! left and reported.

use std::collections::{BTreeMap, BTreeSet};

use truetps_driver::Client;
use truetps_record::SqlDialect;

use super::super::closing;
use super::super::error::ExternalError;
use super::super::journal::LeftSchema;
use super::super::mark::TABLE;
use super::super::relations::{Relation, RelationKind};
use super::super::restoring::Restored;
use super::dropping::{drop_relations, drop_schema};
use super::server_schema::ServerSchema;
use super::table_names::{as_tables, listed, lower, parted, plain};
use crate::error::LabError;

pub(super) struct SchemaCleaning<'a> {
    pub(super) schema: &'a ServerSchema,
    /// What the journal says of the run.
    pub(super) made: &'a LeftSchema,
    pub(super) restored: &'a mut Restored,
}

impl SchemaCleaning<'_> {
    pub(super) fn clean(mut self, mut client: Client, is_theirs: bool) -> Result<(), LabError> {
        let schema = self.schema;
        // A schema is hidden from an account without privileges on it: then the query for the mark
        // fails, or is answered with privileges that the session still has.
        let is_there = schema.exists(&mut client)?
            || (schema.name.dialect == SqlDialect::Mysql && schema.is_marked_there(&mut client)?);
        if !is_there {
            return Ok(());
        }
        let mut own = self.session_inside(&mut client, is_theirs)?;
        let inside = own.as_mut().unwrap_or(&mut client);
        let is_marked = schema.is_marked_there(inside)?;
        // After all other queries: tables that another user created before it are seen.
        let relations = schema.relations_in(inside)?;
        if is_marked && !relations.contains_key(TABLE) {
            return Err(ExternalError::Hidden { schema: schema.name.text.clone() }.into());
        }
        if is_theirs {
            return self.clean_theirs(inside, &relations, is_marked);
        }
        if !is_marked && !self.check_unmarked(inside, &relations)? {
            return Ok(());
        }
        let planned = lower(&self.made.planned);
        let (ours, others) = parted(relations, &planned);
        if !others.is_empty() {
            return self.drop_beside(inside, &ours, &others);
        }
        if let Some(inside) = own {
            return self.drop_database(&mut client, inside, &planned);
        }
        self.drop_schema(&mut client)
    }

    /// A session in a PostgreSQL database: the server shows no other database's tables.
    fn session_inside(
        &self,
        outside: &mut Client,
        is_theirs: bool,
    ) -> Result<Option<Client>, LabError> {
        let name = &self.schema.name;
        if self.schema.name.dialect == SqlDialect::Mysql {
            return Ok(None);
        }
        // A run that was killed between closing and dropping the database.
        let sql = format!(
            "SELECT datallowconn::text FROM pg_database WHERE datname = {}",
            name.literal()
        );
        let is_closed = outside.query_value(&sql)?.as_deref() == Some("false");
        if is_closed && !is_theirs && self.schema.is_created_by_us(outside)? {
            closing::open(outside, &name.quoted())?;
        }
        Ok(Some(self.schema.connect_inside()?))
    }

    /// Whether a schema of the run's name without its mark is of a run that was killed between
    /// creating the schema and its mark; reports it if it is not.
    fn check_unmarked(
        &mut self,
        inside: &mut Client,
        relations: &BTreeMap<String, Relation>,
    ) -> Result<bool, LabError> {
        let schema = self.schema;
        let is_bare = relations.is_empty()
            || (relations.keys().eq([TABLE]) && schema.is_empty(inside, TABLE)?);
        let is_ours = is_bare
            && (schema.is_created_by_us(inside)? || schema.was_being_created(inside, self.made)?);
        if !is_ours {
            let name = &schema.name.text;
            self.restored.left.push(if is_bare {
                format!(
                    "the schema `{name}` is empty and lacks the mark of the run, which may have \
                     created it; left unchanged"
                )
            } else {
                let there = listed(relations.keys());
                format!(
                    "the schema `{name}` lacks the mark of the run; left unchanged, with its \
                         tables: {there}"
                )
            });
        }
        Ok(is_ours)
    }

    /// On PostgreSQL: closes the database, checks it once more, and drops it. If the account may
    /// not close it, it is dropped while open.
    fn drop_database(
        &mut self,
        outside: &mut Client,
        mut inside: Client,
        planned: &BTreeSet<String>,
    ) -> Result<(), LabError> {
        let name = self.schema.name.quoted();
        if !closing::close(outside, &mut inside, &name)? {
            drop(inside);
            return self.drop_schema(outside);
        }
        let dropped =
            match self.schema.relations_in(&mut inside).map(|relations| parted(relations, planned))
            {
                Ok((_, others)) if others.is_empty() => {
                    drop(inside);
                    self.drop_schema(outside)
                }
                Ok((ours, others)) => {
                    closing::open(outside, &name)?;
                    return self.drop_beside(&mut inside, &ours, &others);
                }
                Err(error) => Err(error.into()),
            };
        if dropped.is_err() {
            closing::open(outside, &name)?;
        }
        dropped
    }

    fn drop_schema(&mut self, client: &mut Client) -> Result<(), LabError> {
        drop_schema(&self.schema.name, client)?;
        self.restored.done.push(format!("the schema `{}` was dropped", self.schema.name.text));
        Ok(())
    }

    /// In a schema of the run that other users use, too.
    fn drop_beside(
        &mut self,
        inside: &mut Client,
        ours: &[(RelationKind, String)],
        others: &[String],
    ) -> Result<(), LabError> {
        let schema = &self.schema.name;
        // In the server's spelling, as they must be quoted.
        let mine = ours.iter().map(|(kind, table)| {
            (*kind, if table == TABLE { table.clone() } else { schema.quote(table) })
        });
        self.drop_tables(inside, &mine.collect::<Vec<_>>())?;
        let others = listed(others);
        self.restored.left.push(format!(
            "the schema `{}` has tables not created by truetps: {others}",
            schema.text
        ));
        Ok(())
    }

    fn drop_tables(
        &mut self,
        inside: &mut Client,
        relations: &[(RelationKind, String)],
    ) -> Result<(), LabError> {
        drop_relations(&self.schema.name, inside, relations)?;
        self.restored
            .done
            .push(format!("the tables of truetps in `{}` were dropped", self.schema.name.text));
        Ok(())
    }

    /// In a user's schema: tables that were created, and those in creation that are empty.
    fn clean_theirs(
        &mut self,
        inside: &mut Client,
        there: &BTreeMap<String, Relation>,
        is_marked: bool,
    ) -> Result<(), LabError> {
        let there: BTreeMap<_, _> =
            there.iter().map(|(table, relation)| (plain(table), &relation.comment)).collect();
        let mut mine = self.proven_tables(&there, is_marked);
        for table in self.made.making.iter().filter(|table| there.contains_key(&plain(table))) {
            // The mark's own table has the row that proves it, or is still empty.
            let is_mark = table == TABLE;
            if (is_mark && is_marked)
                || ((is_mark || is_marked) && self.schema.is_empty(inside, table)?)
            {
                mine.push(table.clone());
            } else {
                self.restored.left.push(format!(
                    "the table `{}`.`{table}` may have been created by the run, and has rows",
                    self.schema.name.text
                ));
            }
        }
        if mine.is_empty() { Ok(()) } else { self.drop_tables(inside, &as_tables(&mine)) }
    }

    /// Tables that the run created; reports tables with such a name that are not proved to be the
    /// run's. A name proves nothing: the user may have renamed the run's table and created another
    /// one. `there`: comments by table.
    fn proven_tables(&mut self, there: &BTreeMap<String, &String>, is_marked: bool) -> Vec<String> {
        let signature = self.schema.mark.signature();
        let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
        for table in &self.made.made {
            let Some(comment) = there.get(&plain(table)) else { continue };
            let is_signed = table == TABLE || **comment == signature;
            if is_signed { &mut signed } else { &mut unsigned }.push(table.clone());
        }
        let (proven, left, why) = if is_marked {
            (
                signed,
                unsigned,
                "tables with names used by the run, but not created by it; left unchanged",
            )
        } else {
            // Another session has created them anew, or removed the mark.
            let all = [signed, unsigned].concat();
            (Vec::new(), all, "tables with names used by the run, without its mark; left unchanged")
        };
        if !left.is_empty() {
            self.restored.left.push(format!(
                "the schema `{}` has {why}: {}",
                self.schema.name.text,
                listed(&left)
            ));
        }
        proven
    }
}
