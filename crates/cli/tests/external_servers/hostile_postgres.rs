//! A PostgreSQL in which every account may create functions in the schema `public`, as in all
//! databases that were made by version 14 or older, and one account has made functions and
//! operators that the server prefers to its own wherever the types of a call fit better. Commands
//! that only read or measure must not call them: they would have the rights of the account that
//! truetps logs in with.

use std::time::Duration;

use truetps_driver::Client;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::Place;
use crate::support::short_run;

const CALLED: &str = "CALLED FOR ANOTHER ACCOUNT";

/// Functions of the server that have a text, a name, a relation or any type among their arguments:
/// each is made again for other types, with a warning in the server's log.
const FUNCTIONS: &str = r#"
DO $make$ DECLARE f record; other text; args text; n int; BEGIN
FOR f IN SELECT proname, proargtypes::oid[] AS types, pronargs, prokind FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a') AND pronargs BETWEEN 1 AND 3
    AND prorettype NOT IN ('trigger'::regtype, 'internal'::regtype)
    AND (proname ~ '^(pg_|has_|obj_|shobj_|current_setting|set_config|format|to_reg|quote_|row_sec|lower|upper|concat)'
        OR proname IN ('count', 'sum', 'max', 'min', 'unnest', 'generate_series', 'string_agg', 'array_agg'))
LOOP
    FOREACH other IN ARRAY ARRAY['text', 'name', 'oid', 'int2', 'int4', 'int8', 'regclass', 'pg_lsn', '"char"'] LOOP
        FOR n IN 1..f.pronargs LOOP
            SELECT string_agg(CASE WHEN place = n THEN other ELSE pg_catalog.format_type(t, NULL) END, ',' ORDER BY place)
                INTO args FROM unnest(f.types) WITH ORDINALITY AS u(t, place);
            BEGIN
                IF f.prokind = 'a' THEN
                    EXECUTE format('CREATE AGGREGATE public.%I(%s) (SFUNC = public.step, STYPE = int8)', f.proname, args);
                ELSE
                    EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS text LANGUAGE plpgsql AS '
                        '$f$ BEGIN RAISE WARNING ''CALLED FOR ANOTHER ACCOUNT: function %s''; RETURN 0; END $f$',
                        f.proname, args, f.proname);
                END IF;
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
        END LOOP;
    END LOOP;
END LOOP; END $make$"#;

/// The state of each aggregate.
const STEP: &str = "CREATE FUNCTION public.step(int8, anyelement) RETURNS int8 LANGUAGE plpgsql AS \
     $$ BEGIN RAISE WARNING 'CALLED FOR ANOTHER ACCOUNT: aggregate'; RETURN 0; END $$";

/// Operators for pairs of types that have none of their own.
const OPERATORS: &str = r#"
DO $make$ DECLARE a text; b text; op text; n int := 0; BEGIN
FOREACH a IN ARRAY ARRAY['text', 'name', 'oid', 'int2', 'int4', 'int8', 'regclass', '"char"', 'pg_lsn'] LOOP
    FOREACH b IN ARRAY ARRAY['text', 'name', 'oid', 'int2', 'int4', 'int8', 'regclass', '"char"', 'pg_lsn'] LOOP
        FOREACH op IN ARRAY ARRAY['=', '<>', '<', '>', '||', '~', '!~', '~~', '&', '-', '/', '*', '+'] LOOP
            CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_operator WHERE oprname = op
                AND oprleft = a::regtype AND oprright = b::regtype);
            n := n + 1;
            EXECUTE format('CREATE FUNCTION public.op_%s(%s, %s) RETURNS bool LANGUAGE plpgsql AS '
                '$f$ BEGIN RAISE WARNING ''CALLED FOR ANOTHER ACCOUNT: %s %s %s''; RETURN false; END $f$',
                n, a, b, a, op, b);
            EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.op_%s, LEFTARG = %s, RIGHTARG = %s)', op, n, a, b);
        END LOOP;
    END LOOP;
END LOOP; END $make$"#;

/// A server with such functions in its databases: new ones are copies of `template1`.
fn server() -> Option<PostgresServer> {
    let server = PostgresServer::start("hostile_postgres", &PostgresOptions::default())?;
    server.connect().unwrap().execute("CREATE ROLE mallory LOGIN").unwrap();
    for database in ["postgres", "template1"] {
        let mut target = server.target();
        target.login.database = Some(database.to_owned());
        let mut root = Client::connect(&target, Duration::from_mins(1)).unwrap();
        root.execute("GRANT CREATE ON SCHEMA public TO PUBLIC").unwrap();
        root.execute("SET ROLE mallory").unwrap();
        for sql in [STEP, FUNCTIONS, OPERATORS] {
            root.execute(sql).unwrap();
        }
    }
    Some(server)
}

fn calls(server: &PostgresServer) -> Vec<String> {
    server.log().lines().filter(|line| line.contains(CALLED)).map(str::to_owned).collect()
}

#[test]
fn functions_of_another_account_are_not_called() {
    let Some(server) = server() else { return };
    let mut root = server.connect().unwrap();
    root.query("SELECT pg_table_size(oid) FROM pg_class LIMIT 1").unwrap();
    let known = calls(&server).len();
    assert!(known > 0, "the server prefers them: {}", server.log());
    root.execute(
        "CREATE TABLE readings (client int, seq bigint, text varchar(100), PRIMARY KEY \
                  (client, seq))",
    )
    .unwrap();
    let place = Place::new();
    let dsn = format!("postgresql://truetps@/postgres?socket={}", server.socket().display());
    let measure = |workload, flags: &[&str]| place.run(&short_run(workload, &dsn, flags));
    for ran in [
        place.run(&["server", "capture", &dsn, "-o", "capture.json"]),
        place.run(&["gateway", "--dsn", &dsn, "--table", "readings", "--check"]),
        measure("insert", &["--table-rows=500"]),
        measure("read-write", &["--table-rows=500"]),
        measure("update-index", &["--table-rows=500", "--set=work_mem=8MB"]),
    ] {
        assert!(matches!(ran.code, Some(0 | 3)), "{}{}", ran.stdout, ran.stderr);
        let called = &calls(&server)[known..];
        assert!(called.is_empty(), "{}{}\n{}", ran.stdout, ran.stderr, called.join("\n"));
    }
}
