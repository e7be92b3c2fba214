//! `--only-print`: what would be sent.

use super::auto::Query;
use super::script::Script;
use super::settings::{Settings, Source};
use crate::mysql_words::Words;

/// What stands for a key that only the server knows.
const SOME_KEY: &str = "796c4422-1d94-102a-9d6d-00e0812d";

/// A query as text.
pub(super) fn query(query: &Query) -> String {
    if query.takes_key { format!("{} WHERE id = '{SOME_KEY}'", query.sql) } else { query.sql.clone() }
}

/// All statements in the order in which they would be sent, each with `;` and on a line of its own. Of each client's
/// queries those of its first pass through the list are printed, or as many as it would send.
pub(super) fn all(settings: &Settings, script: &Script, words: &Words) -> String {
    let mut text = String::new();
    let mut say = |sql: &str| {
        text += sql;
        text += ";\n";
    };
    let engines: Vec<_> =
        if settings.engines.is_empty() { vec![None] } else { settings.engines.iter().map(Some).collect() };
    for engine in engines {
        for clients in &settings.concurrency {
            for _ in 0..settings.iterations {
                if settings.makes_schema() {
                    say(&format!("CREATE SCHEMA `{}`", settings.schema));
                }
                say(&format!("use {}", settings.schema));
                script.create_with(engine).iter().for_each(|sql| say(sql));
                if let Source::Generated(auto) = &settings.source {
                    auto.fill(settings.seed).for_each(|sql| say(&sql));
                }
                script.pre.iter().for_each(|sql| say(sql));
                for client in 0..*clients {
                    one_client(settings, script, words, client, *clients, &mut say);
                }
                script.post.iter().for_each(|sql| say(sql));
                if settings.makes_schema() && !settings.keeps_schema {
                    say(&format!("DROP SCHEMA IF EXISTS `{}`", settings.schema));
                }
            }
        }
    }
    text
}

fn one_client(
    settings: &Settings,
    script: &Script,
    words: &Words,
    client: u32,
    clients: u32,
    say: &mut impl FnMut(&str),
) {
    if let Some(sql) = words.text("init-command") {
        say(sql);
    }
    if settings.commit.is_some() {
        say("SET AUTOCOMMIT=0");
    }
    let length = script.queries.len() as u64;
    let count = match (settings.queries, settings.queries_each) {
        (Some(all), _) => all / u64::from(clients) + u64::from(u64::from(client) < all % u64::from(clients)),
        (None, Some(each)) => each,
        (None, None) => length,
    };
    for n in 0..count {
        say(&query(&script.queries[(n % length) as usize]));
        let is_last = n + 1 == count;
        if settings.commit.is_some_and(|batch| (n + 1) % batch == 0 || is_last) {
            say("COMMIT");
        }
    }
}
