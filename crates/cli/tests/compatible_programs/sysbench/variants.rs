//! The scripts of Debian's package with other options than their defaults, and other ways to the
//! server.

use crate::common::Place;
use crate::sysbench::lines::Counts;
use crate::sysbench::pair::{Deviation, Facts, Look, Verdict, difference, facts, reason};
use crate::sysbench::program::Program;
use crate::sysbench::server::Server;

struct Variant {
    script: &'static str,
    options: &'static str,
    /// The commands of all steps but the last, which is a cleanup.
    commands: &'static [&'static str],
    look: Look,
    only_mariadb: bool,
    /// Commands where ours differs on purpose, of all servers and of PostgreSQL alone.
    deviations: &'static [Deviation],
    on_postgres: &'static [Deviation],
}

const RUN: &[&str] = &["prepare", "--events=10 --time=30 --rand-seed=9 run"];
const BY_TIME: &[&str] = &["prepare", "--time=2 --report-interval=1 run"];
const VARIANT: Variant = Variant {
    script: "",
    options: "",
    commands: RUN,
    look: Look::EXACT,
    only_mariadb: false,
    deviations: &[],
    on_postgres: &[],
};
const READ_WRITE: Variant = Variant { script: "oltp_read_write", ..VARIANT };

const VARIANTS: &[Variant] = &[
    Variant { options: "--skip-trx=on", ..READ_WRITE },
    Variant { options: "--auto-inc=off --tables=2", ..READ_WRITE },
    Variant {
        options: "--secondary=on --create-secondary=off",
        on_postgres: NOT_PREPARED,
        ..READ_WRITE
    },
    Variant {
        options: "--point-selects=2 --simple-ranges=0 --sum-ranges=3 --order-ranges=0 \
                  --distinct-ranges=2",
        ..READ_WRITE
    },
    Variant {
        options: "--index-updates=3 --non-index-updates=0 --delete-inserts=2 --range-selects=off",
        ..READ_WRITE
    },
    Variant {
        options: "--rand-type=pareto --rand-pareto-h=0.3 --db-ps-mode=disable",
        ..READ_WRITE
    },
    Variant { options: "--table-size=0", commands: &["prepare"], ..READ_WRITE },
    Variant { options: "", commands: &["prepare", "prepare", "cleanup", "cleanup"], ..READ_WRITE },
    Variant {
        options: "",
        commands: &["--events=1 run", "nonsense"],
        on_postgres: NOT_PREPARED,
        ..READ_WRITE
    },
    Variant { options: "--percentile=0", ..READ_WRITE },
    Variant { options: "--verbosity=4 --rate=500", ..READ_WRITE },
    Variant { options: "--verbosity=5", look: Look::ANY_NUMBERS, ..READ_WRITE },
    Variant {
        options: "--db-debug",
        commands: &["prepare"],
        look: Look::ANY_NUMBERS,
        ..READ_WRITE
    },
    Variant {
        options: "--db-debug --verbosity=5",
        look: Look::ANY_NUMBERS,
        deviations: &[(
            "run",
            "sysbench's statistics of queries are left out, since it prints nothing but zeros in \
             them",
        )],
        ..READ_WRITE
    },
    Variant { options: "", commands: BY_TIME, look: Look::ANY_NUMBERS, ..READ_WRITE },
    Variant {
        options: "--rate=40 --threads=2",
        commands: BY_TIME,
        look: Look::ANY_NUMBERS,
        ..READ_WRITE
    },
    Variant {
        options: "--mysql-storage-engine=aria --tables=2 --threads=2",
        commands: &["prepare", "prewarm"],
        only_mariadb: true,
        look: ORDERLESS,
        ..READ_WRITE
    },
    Variant { options: "--tables=2", commands: &["prepare", "prewarm"], ..READ_WRITE },
    Variant { options: "--mysql-dry-run=on --threads=2", only_mariadb: true, ..READ_WRITE },
    Variant {
        options: "--mysql-host=127.0.0.1,localhost --mysql-socket=",
        commands: &["prepare"],
        only_mariadb: true,
        ..READ_WRITE
    },
    Variant {
        options: "--mysql-user=nobody --pgsql-user=nobody",
        commands: &["prepare"],
        ..READ_WRITE
    },
    Variant {
        options: "--mysql-db=nowhere --pgsql-db=nowhere",
        commands: &["prepare", "--events=1 run"],
        ..READ_WRITE
    },
    Variant {
        script: "oltp_insert",
        options: "--auto-inc=off --tables=2",
        look: SPREAD,
        ..VARIANT
    },
    Variant { script: "oltp_point_select", options: "--point-selects=5", ..VARIANT },
    Variant { script: "oltp_read_only", options: "--range-selects=off --skip-trx", ..VARIANT },
    Variant { script: "select_random_points", options: "--random-points=3", ..VARIANT },
    Variant {
        script: "select_random_ranges",
        options: "--number-of-ranges=2 --delta=3",
        ..VARIANT
    },
    Variant { script: "select_random_points", options: "--tables=2", ..VARIANT },
];

const NOT_PREPARED: &[Deviation] = &[(
    "run",
    "executing a statement that could not be prepared is an error, where sysbench crashes",
)];
const SPREAD: Look = Look { spread: true, ..Look::EXACT };
const ORDERLESS: Look = Look { sorted: true, counts: Counts::Exact, spread: false };

impl Variant {
    fn run(
        &self,
        program: &Program,
        server: &Server,
        place: &Place,
        flags: &[String],
    ) -> Vec<Facts> {
        server.reset();
        let step = |command: &&str| {
            let mut args = vec![self.script, "--table-size=100", "--range-size=5"];
            args.extend(flags.iter().map(String::as_str));
            args.extend(self.options.split_whitespace().chain(command.split_whitespace()));
            facts(program, place.path(), &args, "", Some(server), self.look)
        };
        self.commands.iter().chain(&["cleanup"]).map(step).collect()
    }
}

fn compare_all(server: &Server, is_mariadb: bool) {
    let (programs, place) = ([Program::reference(), Program::ours()], Place::new());
    let mut verdict = Verdict::default();
    for variant in VARIANTS.iter().filter(|variant| is_mariadb || !variant.only_mariadb) {
        let [there, here] = programs
            .each_ref()
            .map(|program| variant.run(program, server, &place, &server.flags()));
        for (index, (there, here)) in there.iter().zip(&here).enumerate() {
            let command = variant.commands.get(index).unwrap_or(&"cleanup");
            let name =
                format!("{} {} {command} on {}", variant.script, variant.options, server.name());
            let deviates = reason(variant.deviations, command)
                .or_else(|| reason(variant.on_postgres, command).filter(|_| !is_mariadb));
            verdict.add(&name, difference(there, here, variant.look), deviates);
        }
    }
    let way = Variant { script: "oltp_read_only", ..VARIANT };
    for flags in server.other_ways() {
        let [there, here] =
            programs.each_ref().map(|program| way.run(program, server, &place, &flags));
        for (there, here) in there.iter().zip(&here) {
            verdict.add(&flags.join(" "), difference(there, here, way.look), None);
        }
    }
    verdict.check();
}

#[test]
fn options_of_the_package_s_scripts_on_mariadb() {
    let Some(server) = Server::mariadb("options_of_the_package_s_scripts_on_mariadb") else {
        return;
    };
    compare_all(&server, true);
}

#[test]
fn options_of_the_package_s_scripts_on_postgres() {
    let Some(server) = Server::postgres("options_of_the_package_s_scripts_on_postgres") else {
        return;
    };
    compare_all(&server, false);
}
