#!/usr/bin/env python3
"""evaluate.py RUNS [--csv FILE]: how often the bound held, as a Markdown table.

A pair is a configuration in one round: the bound of the trial whose generator shared the server's core, and the throughput of
the trial whose generator had another one. It holds if the second is at most the first trial's throughput times its bound. The
bounds are those of `truetps report` (TRUETPS names the program), so that folders can be judged again by another version.
"""
import csv, glob, json, math, os, subprocess, sys
from collections import defaultdict
runs = sys.argv[1]
truetps = os.environ.get("TRUETPS", "truetps")

def trials(place):
    """The valid trials of the newest run folder below a place, by configuration and role."""
    folder = os.path.realpath(os.path.join(place, "latest"))
    lines = subprocess.run([truetps, "report", folder, "--format", "jsonl"], stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in lines.splitlines():
        trial = json.loads(line)
        if trial["validity"]["state"] != "valid" or not trial["tps"]:
            continue
        record = json.load(open(os.path.join(folder, trial["name"], "run.json")))
        levels = trial["configuration"]
        key = (levels["innodb_flush_log_at_trx_commit"], levels["connections"], trial["role"])
        found[key] = (trial, record["measured"].get("cpu_window"), record["engine"]["workers"])
    return found

def others(window):
    """Share of the one core that neither server nor generator used."""
    us = (window["to_ms"] - window["from_ms"]) * 1e3
    return 1 - (window["server_us"] + window["generator_us"] + (window["idle_us"] or 0)) / us

def middle(values):
    return sorted(values)[len(values) // 2]

def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))

pairs = []
for shared in sorted(glob.glob(os.path.join(runs, "*", "*-shared"))):
    workload = os.path.basename(shared)[: -len("-shared")]
    apart = trials(shared[: -len("shared")] + "apart")
    for key, (trial, window, workers) in sorted(trials(shared).items()):
        if key not in apart or not window:
            continue
        alone, alone_window, _ = apart[key]
        seconds = (window["to_ms"] - window["from_ms"]) / 1e3
        pairs.append({
            "round": os.path.basename(os.path.dirname(shared)), "workload": workload, "flush": key[0], "connections": key[1],
            "role": key[2], "tps_shared": trial["tps"], "tps_apart": alone["tps"],
            "ratio": alone["tps"] / trial["tps"], "bound": trial["engine"]["tps_bound_free_generator"],
            "idle_used": trial["engine"]["tps_bound_idle_used"],
            "server_cores": window["server_us"] / seconds / 1e6, "generator_cores": window["generator_us"] / seconds / 1e6,
            "idle_cores": (window["idle_us"] or 0) / seconds / 1e6,
            "elsewhere": others(window) if trial["engine"]["shares_cores"] else None, "workers": workers,
            "waited": trial["engine"]["worker_wait_max"],
            "server_us_per_tx_shared": window["server_us"] / window["ok"],
            "server_us_per_tx_apart": alone_window["server_us"] / alone_window["ok"] if alone_window else None,
            "limited_apart": alone["generator_limited"] or "",
        })

if "--csv" in sys.argv:
    with open(sys.argv[sys.argv.index("--csv") + 1], "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(pairs[0]), lineterminator="\n")
        writer.writeheader()
        for pair in pairs:
            writer.writerow({name: round(value, 4) if isinstance(value, float) else value for name, value in pair.items()})

def row(name, some):
    known = [pair for pair in some if pair["bound"]]
    held = sum(pair["ratio"] <= pair["bound"] for pair in known)
    used = [pair["ratio"] / pair["bound"] for pair in known]
    ratio = geometric([pair["ratio"] for pair in some])
    tps = middle([pair["tps_shared"] for pair in some])
    bound = f"{geometric([pair['bound'] for pair in known]):.2f}" if known else "–"
    largest = f"{max(used):.2f}" if used else "–"
    print(f"| {name} | {len(some)} | {tps:,.0f} | {ratio:.2f} | {bound} | {largest} | {held} of {len(known)} |")

print("| workload, flush level, connections | pairs | tps, shared | apart / shared | bound | largest share of the bound | held |")
print("|---|---|---|---|---|---|---|")
groups = defaultdict(list)
for pair in pairs:
    groups[(pair["workload"], pair["flush"], pair["connections"])].append(pair)
for (workload, flush, connections), some in sorted(groups.items()):
    row(f"{workload}, {flush}, {connections}", some)
row("all", pairs)
