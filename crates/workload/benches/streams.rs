//! What it costs to make one transaction's values: `cargo bench -p truetps-workload`. The aim is
//! under 200 ns for `insert`: a tenth of what sending it costs.

use std::cell::RefCell;

use divan::AllocProfiler;
use truetps_driver::Params;
use truetps_plan::{KeyDistribution, Plan, UpdateSpec, WorkloadKind, WorkloadSpec};
use truetps_record::{SqlDialect, WorkloadProfile};
use truetps_workload::{ClientStream, NAMES, build, profile};

/// Counts allocations: none is the aim, once the buffers have grown.
#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// An order and its lines: the shape of a `custom` workload.
const CUSTOM: &str = r#"
name = "bench"
about = "?"
[factors]
connections = [1]
[workload]
name = "custom"
transaction = true
[[workload.statements]]
sql = "INSERT INTO orders (id, customer, at, note) VALUES (?, ?, ?, ?)"
params = [
    { kind = "sequence", name = "order" },
    { kind = "int", min = 1, max = 100000, distribution = "zipfian" },
    { kind = "datetime" },
    { kind = "text", max_length = 60, null_share = 0.5 },
]
[[workload.statements]]
sql = "INSERT INTO line (order_id, item) VALUES (?, ?)"
params = [{ kind = "same", as = "order" }, { kind = "uuid" }]
[[workload.table]]
name = "orders"
create = ["-"]
"#;

/// The workload with its defaults.
fn spec(name: &str) -> WorkloadSpec {
    if name == "custom" {
        return Plan::parse(CUSTOM).expect("a plan").workload;
    }
    WorkloadSpec::new(WorkloadKind::named(name).expect("a workload"))
}

fn measure(bencher: divan::Bencher<'_, '_>, spec: &WorkloadSpec) {
    let workload = build(spec, SqlDialect::Mysql, 42).expect("a workload");
    let state: RefCell<(Box<dyn ClientStream>, Params)> =
        RefCell::new((workload.client(0), Params::default()));
    let transaction = || {
        let (stream, params) = &mut *state.borrow_mut();
        stream.next_transaction();
        loop {
            params.clear();
            let step = stream.next_statement(params);
            divan::black_box(&*params);
            if step.is_last {
                break;
            }
        }
    };
    (0..100).for_each(|_| transaction());
    bencher.bench_local(transaction);
}

#[divan::bench(args = NAMES)]
fn one_transaction(bencher: divan::Bencher<'_, '_>, name: &str) {
    measure(bencher, &spec(name));
}

/// `update-index`, which is little more than one key.
#[divan::bench(args = KeyDistribution::KINDS)]
fn one_key(bencher: divan::Bencher<'_, '_>, distribution: &str) {
    let distribution = distribution.parse().ok();
    measure(bencher, &WorkloadSpec::new(WorkloadKind::UpdateIndex(UpdateSpec { distribution })));
}

/// What comes before the first trial: under 50 ms is the aim.
#[divan::bench(args = ["insert", "bulk-insert", "update-non-index", "delete-insert", "read-write"], sample_count = 10)]
fn one_profile(name: &str) -> WorkloadProfile {
    profile(&*build(&spec(name), SqlDialect::Mysql, 42).expect("a workload"))
}
