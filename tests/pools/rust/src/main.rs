//! Uses a pool as tests/pools/check.py asks. `pool.rs` is made of `pool.rs.in`.

mod pool;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::pool::PoolConnection;
use tokio::io::{AsyncBufReadExt, BufReader};

use pool::{Database, bounded, open};

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct User {
    pool: sqlx::Pool<Database>,
    held: Vec<PoolConnection<Database>>,
}

impl User {
    async fn take(&mut self, connections: usize) -> Result<(), Failure> {
        let mut failure = None;
        for taken in join_all((0..connections).map(|_| self.pool.acquire())).await {
            match taken {
                Ok(mut connection) => {
                    sqlx::raw_sql("SELECT 1").execute(&mut *connection).await?;
                    self.held.push(connection);
                }
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn obey(&mut self, command: &str, argument: &str) -> Result<(), Failure> {
        match command {
            "take" => self.take(argument.parse()?).await?,
            // A dropped connection is given back by a task.
            "give" => {
                self.held.clear();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            "run" => {
                bounded(sqlx::raw_sql(argument).execute(&self.pool)).await??;
            }
            _ => return Err(format!("unknown command {command}").into()),
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut user = User { pool: open().await?, held: Vec::new() };
    println!("ok 0");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let start = Instant::now();
        let answer = user.obey(command, argument).await;
        let milliseconds = start.elapsed().as_millis();
        match answer {
            Ok(()) => println!("ok {milliseconds}"),
            Err(error) => println!("error {milliseconds} {}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}
