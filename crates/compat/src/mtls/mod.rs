//! mtls-perf-bench: its options, its log, and the inserts into its table by truetps's engine.

mod exit;
mod insert;
mod log;
mod options;
mod target;

use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use truetps_plan::GeneratedTable;
use truetps_probe::clock;
use truetps_record::SqlDialect;
use truetps_workload::TableInsert;

use self::exit::{GOOD, INTERRUPTED, MtlsExit, NAME, refused};
use self::insert::InsertRun;
use self::log::MtlsLog;
use self::options::{MtlsAction, MtlsOptions};
use self::target::{full_name, table, target, wrong_table};
use crate::ending::PATIENCE;
use crate::run::{connect_unmeasured, unless_stopped};
use crate::{CompatEnv, mask};

/// Runs a command line of mtls-perf-bench, its name first. Returns the exit status.
pub fn run(mut arguments: Vec<OsString>, env: &mut CompatEnv<'_>) -> u8 {
    let command = without_secrets(&arguments);
    // The usage shows the typed name: a command of another program, or a link with another name.
    if let Some(name) = arguments.first_mut().filter(|name| *name == "mtls") {
        *name = "truetps mtls".into();
    }
    let options = match MtlsOptions::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            let text = error.render().to_string();
            let to = if error.use_stderr() { &mut *env.err } else { &mut *env.out };
            let _ = to.write_all(text.as_bytes());
            return error.exit_code() as u8;
        }
    };
    let pid = std::process::id();
    let (err, level) = (&mut *env.err, options.log_level);
    let mut log = MtlsLog { out: err, level, pid, now: clock::now_rfc3339_ms };
    let done = match options.action {
        MtlsAction::Create => create(&options, &mut log, &env.stop),
        MtlsAction::Drop => drop_table(&options, &mut log, &env.stop),
        MtlsAction::Insert => {
            env.interrupt_messages.set(interrupt_message(), String::new());
            let bench = InsertRun {
                options: &options,
                cores: env.cores,
                environment: env.environment,
                stop: &env.stop,
                command,
                server_warning: env.server_warning,
                live_view: env.live_view,
            };
            bench.insert(&mut log, env.out)
        }
    };
    match done {
        Ok(exit) => exit,
        Err((exit, text)) => {
            log.error(&text);
            exit
        }
    }
}

/// Printed on the first Ctrl-C.
fn interrupt_message() -> String {
    let seconds = PATIENCE.as_secs();
    format!(
        "{NAME}: interrupted: running inserts are ended after {seconds} s; Ctrl-C again exits at \
         once\n"
    )
}

fn create(options: &MtlsOptions, log: &mut MtlsLog<'_>, stop: &AtomicBool) -> Result<u8, MtlsExit> {
    let sql = TableInsert::new(&table(options, 1)?, 1, SqlDialect::Mysql).create_sql;
    // The blanks are the original's: they are printed in its log.
    let (head, full) =
        (format!("table {} (", options.table), format!("table {} ( ", full_name(options)));
    let sql = sql.replace(", ", ",").replacen(&head, &full, 1);
    log.info(&format!("create table sql statement: {sql};"));
    execute(options, sql, log, stop)
}

fn drop_table(
    options: &MtlsOptions,
    log: &mut MtlsLog<'_>,
    stop: &AtomicBool,
) -> Result<u8, MtlsExit> {
    // Only the table's name matters here.
    let named =
        GeneratedTable { name: options.table.clone(), ints: 1, ..GeneratedTable::default() };
    named.check(1).map_err(wrong_table)?;
    let sql = format!("drop table {}", full_name(options));
    log.info(&format!("drop table sql statement: {sql};"));
    execute(options, sql, log, stop)
}

/// Waits until the server has finished, or the user interrupts.
fn execute(
    options: &MtlsOptions,
    sql: String,
    log: &mut MtlsLog<'_>,
    stop: &AtomicBool,
) -> Result<u8, MtlsExit> {
    let target = target(options)?;
    let done = unless_stopped(stop, move || connect_unmeasured(&target)?.execute(&sql));
    let Some(done) = done else {
        return Err((
            INTERRUPTED,
            "interrupted: the server may still finish the statement".to_owned(),
        ));
    };
    done.map_err(|error| refused(&error))?;
    log.info("complete");
    Ok(GOOD)
}

/// What the process list shows instead of the words of a command line, its name first; `None`: the
/// word itself.
pub fn masked(arguments: &[OsString]) -> Vec<Option<OsString>> {
    let all: Vec<_> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    mask::masked(&all, &without_secrets(arguments)[..all.len()])
}

/// Words for the record, without the password.
fn without_secrets(arguments: &[OsString]) -> Vec<String> {
    let (mut words, mut is_secret) = (vec!["truetps mtls".to_owned()], false);
    for argument in arguments.iter().skip(1).map(|argument| argument.to_string_lossy()) {
        let names_it = argument.starts_with("--pas");
        words.push(match (is_secret, names_it.then(|| argument.contains('='))) {
            (true, _) => "…".to_owned(),
            (false, Some(true)) => "--password=…".to_owned(),
            _ => argument.to_string(),
        });
        is_secret = names_it && !argument.contains('=');
    }
    words
}

#[cfg(test)]
mod tests {
    use truetps_driver::{DriverError, LoginError, TlsMode};

    use super::exit::{FAILED, REFUSED};
    use super::*;

    #[test]
    fn no_password_is_recorded() {
        let words = ["mtls", "--password", "secret", "--pass=secret", "insert"].map(OsString::from);
        assert_eq!(
            without_secrets(&words),
            ["truetps mtls", "--password", "…", "--password=…", "insert"]
        );
        let masks = [None, None, Some("x"), Some("--password=x"), None]
            .map(|mask| mask.map(OsString::from));
        assert_eq!(masked(&words), masks);
        assert!(masked(&[]).is_empty());
    }

    #[test]
    fn a_table_that_no_server_takes_is_refused_by_its_option() {
        let check = |words: &[&str], expect: &str| {
            let options = MtlsOptions::try_parse_from([&["mtls"], words].concat()).unwrap();
            let (exit, text) = table(&options, options.batch).unwrap_err();
            assert_eq!((exit, text.contains(expect)), (FAILED, true), "{text}");
        };
        check(
            &["insert", "--ints=4000000000", "--texts=4000000000"],
            "8000000000 columns are more than",
        );
        check(
            &["create", "--texts=1", "--value-length=4000000000"],
            "--value-length: 4000000000 is not between 1 and",
        );
        check(
            &["create", "--decimals=1", "--decimal-scale=13"],
            "--decimal-scale: 13 is not between 0 and 12",
        );
        check(
            &["create", "--varchars=1", "--varchar-length=0"],
            "--varchar-length: 0 is not between 1 and",
        );
        check(&["create", "--ints=1", "--table=a b"], "--table: a table's name is");
        check(&["insert", "--ints=100", "--batch=1000"], "--batch: 1000 rows of 100 values");
        check(&["create"], "do not have any columns in table tempdb.t");
    }

    #[test]
    fn tls_is_asked_for_by_the_options_of_mysql() {
        let read = |words: &[&str]| {
            let options = MtlsOptions::try_parse_from([&["mtls", "insert"], words].concat())
                .map_err(|error| error.to_string());
            target(&options?)
                .map(|target| target.tls)
                .map_err(|(exit, text)| format!("{exit}: {text}"))
        };
        let mode = |words: &[&str]| read(words).unwrap().mode;
        assert_eq!(mode(&[]), TlsMode::Preferred);
        assert_eq!(mode(&["--socket=/s"]), TlsMode::Off);
        assert_eq!(mode(&["--socket=/s", "--ssl-mode=required"]), TlsMode::Required);
        assert_eq!(mode(&["--ssl-mode=DISABLED"]), TlsMode::Off);
        assert_eq!(mode(&["--ssl-ca=a.pem"]), TlsMode::VerifyCa);
        assert_eq!(mode(&["--ssl-cert=a.pem", "--ssl-key=a.key"]), TlsMode::Required);
        assert!(
            !read(&[]).unwrap().takes_server_key
                && read(&["--get-server-public-key"]).unwrap().takes_server_key
        );
        assert_eq!(
            read(&["--ssl-key=a.key"]).unwrap_err(),
            "2: --ssl-cert and --ssl-key go together"
        );
        assert!(
            read(&["--ssl-mode=on"])
                .unwrap_err()
                .contains("none of disabled, preferred, required, verify_ca")
        );
    }

    #[test]
    fn the_options_of_mtls_are_named_where_no_key_is_taken() {
        let error = LoginError::UnknownKey {
            plugin: "sha256_password".to_owned(),
            account: "a".to_owned(),
        };
        let (exit, text) = refused(&DriverError::Login(error));
        assert!(
            exit == REFUSED
                && text.contains("--get-server-public-key")
                && text.contains("--ssl-mode="),
            "{text}"
        );
    }

    #[test]
    fn the_message_of_an_interruption_says_each_thing_once() {
        let expect = "mtls-perf-bench: interrupted: running inserts are ended after 1 s; Ctrl-C \
                      again exits at once\n";
        assert_eq!(interrupt_message(), expect);
    }

    #[test]
    fn a_database_is_quoted_where_it_must_be() {
        let check = |database: &str, expect: &str| {
            let option = format!("--database={database}");
            assert_eq!(
                full_name(&MtlsOptions::try_parse_from(["mtls", "drop", &option]).unwrap()),
                expect
            );
        };
        check("temp_db1", "temp_db1.t");
        check("my-db`", "`my-db```.t");
    }
}
