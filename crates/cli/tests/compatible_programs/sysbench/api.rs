//! Scripts written for truetps, one for each part of the API, which print what they find.

use std::fs;
use std::path::Path;

use crate::common::Place;
use crate::sysbench::pair::{Deviation, Look, Verdict, difference, facts, reason};
use crate::sysbench::program::Program;
use crate::sysbench::server::Server;

/// Where a script's calls are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Nothing,
    Mariadb,
    Postgres,
    Both,
}

struct Use {
    /// Without its `.lua`, which is in `lua/`.
    script: &'static str,
    /// One command line each; they are run in order.
    args: &'static [&'static str],
    on: On,
    look: Look,
    /// Command lines where ours differs on purpose.
    deviations: &'static [Deviation],
}

const ANY_ORDER: Look = Look { sorted: true, ..Look::EXACT };
const USE: Use =
    Use { script: "", args: &["--events=1 run"], on: On::Both, look: Look::EXACT, deviations: &[] };
const ALONE: Use = Use { on: On::Nothing, ..USE };

const USES: &[Use] = &[
    Use {
        script: "options",
        args: &[
            "prepare",
            "help",
            "--text=b --whole=-4 --size=2M --broken=1e3 --yes=off --no --names=a,b,c \
             --with-dashes=q prepare",
            "--size=1K --names= --text_none --switch_none=off --mysql-ignore-errors=1,all \
             --with_dashes=z prepare",
            "--names=one --whole=7 --time=3 --rate=10000 --percentile=50 --rand-type=pareto \
             --mysql-host=a,b prepare",
            "--events=2 --names=x,y run",
        ],
        ..ALONE
    },
    Use {
        script: "cmdline",
        args: &[
            "show --b=7",
            "options",
            "work",
            "fail",
            "prepare",
            "cleanup",
            "nothing",
            "help",
            "run",
            "",
            "--a=2 show --threads=3",
        ],
        ..ALONE
    },
    Use {
        script: "cmdline",
        args: &[
            "work --threads=3",
            "fail_together --threads=2",
            "raise_together --threads=2",
            "fail_together",
            "raise_together",
        ],
        look: ANY_ORDER,
        ..ALONE
    },
    Use { script: "states", args: &["", "--events=2 run", "nothing"], ..ALONE },
    Use {
        script: "random",
        args: &["--events=1 run", "--events=1 --rand-type=pareto --rand-seed=3 run"],
        ..ALONE
    },
    Use {
        script: "seeded",
        args: &[
            "--events=2 --rand-seed=5 run",
            "--events=1 --rand-seed=77 --rand-type=uniform run",
            "--events=1 --rand-seed=6 --rand-spec-iter=3 --rand-spec-pct=5 --rand-spec-res=50 \
             --rand-pareto-h=0.4 run",
        ],
        deviations: &[(
            "rand-seed",
            "a seed gives the same numbers in each run, regardless of the number of threads, but \
             not the numbers of sysbench, which draws them from the C library",
        )],
        ..ALONE
    },
    Use { script: "histogram", args: &[""], ..ALONE },
    Use { script: "reports", args: &["--events=4 run", "--events=4 --threads=2 run"], ..ALONE },
    Use {
        script: "reports",
        args: &[
            "--events=3 --format=csv run",
            "--events=3 --format=json run",
            "--events=3 --format=default run",
            "--time=3 --events=0 --report-interval=2 --pause-us=50000 --format=json run",
            "--time=2 --events=0 --report-interval=1 --pause-us=50000 --format=csv --verbosity=0 \
             run",
        ],
        look: Look::ANY_NUMBERS,
        ..ALONE
    },
    Use {
        script: "own_loop",
        args: &["--events=5 run", "--events=0 --time=1 --rate=50 run"],
        look: Look::ANY_NUMBERS,
        ..ALONE
    },
    Use { script: "counters", args: &["--events=3 run"], ..USE },
    Use { script: "bulk", ..USE },
    Use {
        script: "late",
        args: &["--events=1 run", "--events=2 --threads=2 run"],
        look: ANY_ORDER,
        ..USE
    },
    Use { script: "prepared", ..USE },
    // As text, sysbench reads beyond a value of full width.
    Use { script: "prepared_cut", ..USE },
    Use {
        script: "prepared",
        args: &["--events=1 --db-ps-mode=disable run"],
        deviations: &[(
            "",
            "a text is sent as it is, where sysbench adds the end of the longer one that was bound \
             before it",
        )],
        ..USE
    },
    Use {
        script: "prepared_selects",
        args: &["--events=1 run", "--events=1 --db-ps-mode=disable run"],
        ..USE
    },
    Use {
        script: "prepared_nulls",
        args: &["--events=1 run", "--events=1 --db-ps-mode=disable run"],
        on: On::Mariadb,
        ..USE
    },
    Use {
        script: "prepared_nulls",
        on: On::Postgres,
        deviations: &[("", "a NULL is sent as NULL, and not as the value that was bound before")],
        ..USE
    },
    Use {
        script: "prepared_nulls",
        args: &["--events=1 --db-ps-mode=disable run"],
        on: On::Postgres,
        ..USE
    },
    Use { script: "prepared_wrong", args: &["prepare"], ..USE },
    Use { script: "several", on: On::Postgres, ..USE },
    Use { script: "rows", ..USE },
    Use { script: "errors", args: &["--events=1 run", "cleanup"], ..USE },
    Use { script: "restarts", ..USE },
    Use {
        script: "ignored",
        args: &[
            "--events=4 run",
            "--events=4 --mysql-ignore-errors=1062 run",
            "--events=4 --mysql-ignore-errors=all run",
        ],
        ..USE
    },
    Use { script: "misuse", args: &["prepare"], ..USE },
    Use { script: "misuse_types", args: &["prepare"], ..USE },
    Use {
        script: "legacy",
        args: &[
            "--size-of-table=4 prepare",
            "--events=4 run",
            "--max-requests=3 --num-threads=1 run",
            "cleanup",
            "help",
            "",
        ],
        ..USE
    },
    Use { script: "legacy_errors", args: &["prepare", "--events=1 run"], ..USE },
    Use { script: "legacy", args: &["--db-driver=nosuch prepare"], ..ALONE },
];

fn place_with_scripts() -> Place {
    let place = Place::new();
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compatible_programs/sysbench/lua");
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), place.path().join(entry.file_name())).unwrap();
    }
    place
}

fn compare_all(server: Option<&Server>, wanted: &[On]) {
    let (programs, place) = ([Program::reference(), Program::ours()], place_with_scripts());
    let flags = server.map(Server::flags).unwrap_or_default();
    let mut verdict = Verdict::default();
    for usage in USES.iter().filter(|usage| wanted.contains(&usage.on)) {
        let script = format!("{}.lua", usage.script);
        let command_lines = usage.args.iter().map(|args| {
            let all = [script.as_str()].into_iter().chain(flags.iter().map(String::as_str));
            all.chain(args.split_whitespace()).collect::<Vec<_>>()
        });
        let command_lines: Vec<_> = command_lines.collect();
        let [there, here] = programs.each_ref().map(|program| {
            if let Some(server) = server {
                server.reset();
            }
            let run = |args: &Vec<&str>| facts(program, place.path(), args, "", server, usage.look);
            command_lines.iter().map(run).collect::<Vec<_>>()
        });
        for ((args, there), here) in usage.args.iter().zip(&there).zip(&here) {
            let name = format!("{script} {args} on {}", server.map_or("nothing", Server::name));
            verdict.add(&name, difference(there, here, usage.look), reason(usage.deviations, args));
        }
    }
    verdict.check();
}

#[test]
fn the_api_without_a_server() {
    compare_all(None, &[On::Nothing]);
}

#[test]
fn the_api_on_mariadb() {
    let Some(server) = Server::mariadb("the_api_on_mariadb") else { return };
    compare_all(Some(&server), &[On::Mariadb, On::Both]);
}

#[test]
fn the_api_on_postgres() {
    let Some(server) = Server::postgres("the_api_on_postgres") else { return };
    compare_all(Some(&server), &[On::Postgres, On::Both]);
}
