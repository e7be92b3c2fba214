//! What a user of `mysql_async` would write: one tokio thread, one task a connection, INSERTs in a
//! loop until it is ended.
//!
//! `reference-client SOCKET CONNECTIONS text|prepared`

use std::env;
use std::error::Error;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const INSERT: &str = "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ?, ?, ?)";
const TABLE_ROWS: u32 = 200_000;

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [socket, connections, protocol] = args.as_slice() else {
        return Err("reference-client SOCKET CONNECTIONS text|prepared".into());
    };
    let prepared = match protocol.as_str() {
        "text" => false,
        "prepared" => true,
        other => return Err(format!("`{other}`: text or prepared").into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(socket, connections.parse()?, prepared))
}

async fn run(socket: &str, connections: u32, prepared: bool) -> Result<()> {
    let opts = OptsBuilder::default().socket(Some(socket)).user(Some("root")).db_name(Some("truetps"));
    // All are there before the first statement.
    let mut conns = Vec::new();
    for _ in 0..connections {
        conns.push(Conn::new(opts.clone()).await?);
    }
    let mut tasks = JoinSet::new();
    for conn in conns {
        tasks.spawn(async move { if prepared { insert_prepared(conn).await } else { insert_text(conn).await } });
    }
    // Tasks end only where they fail.
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

async fn insert_text(mut conn: Conn) -> Result<()> {
    let mut random: SmallRng = rand::make_rng();
    loop {
        let (k, c, pad) = row(&mut random);
        conn.query_drop(format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, {k}, '{c}', \
                                 '{pad}')")).await?;
    }
}

async fn insert_prepared(mut conn: Conn) -> Result<()> {
    let mut random: SmallRng = rand::make_rng();
    let statement = conn.prep(INSERT).await?;
    loop {
        conn.exec_drop(&statement, row(&mut random)).await?;
    }
}

fn row(random: &mut SmallRng) -> (u32, String, String) {
    (random.random_range(1..=TABLE_ROWS), digit_groups(random, 10), digit_groups(random, 5))
}

/// Groups of eleven digits with a dash between them.
fn digit_groups(random: &mut SmallRng, groups: usize) -> String {
    let mut text = String::with_capacity(groups * 12);
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        for _ in 0..11 {
            text.push(char::from(b'0' + random.random_range(0..10)));
        }
    }
    text
}
