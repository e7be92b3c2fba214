#!/usr/bin/env python3
"""evaluate.py RUNS [--csv FILE]: the second build beside the first, as a Markdown table: throughput and the generator's CPU time
of a transaction, the medians of all rounds, and the ratios of neighbouring trials, medians [min..max]."""
import csv, glob, json, os, sys
from collections import defaultdict
runs = sys.argv[1]

def trials(folder):
    """The valid trials, by number of connections; of several alike the median one."""
    found = defaultdict(list)
    path = os.path.join(folder, "trials.jsonl")
    for line in open(path) if os.path.exists(path) else []:
        trial = json.loads(line)
        if trial.get("validity", {}).get("state") != "valid" or not trial["tps"]:
            continue
        cost = {line["key"]: line["per_tx"] for line in trial["ledger"]["lines"]}["client_cpu_us_per_tx"]
        found[trial["configuration"]["connections"]].append((trial["tps"], cost, trial["response_us_p99"]))
    return {connections: sorted(some)[len(some) // 2] for connections, some in found.items()}

def middle(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2

def spread(values):
    return f"{middle(values):.2f} [{min(values):.2f}..{max(values):.2f}]"

order, pairs = [], defaultdict(list)
for line in open(os.path.join(runs, "log")):
    _, name, way = line.split()[:3]
    if (name, way) not in order:
        order.append((name, way))
for name, way in order:
    for before in sorted(glob.glob(os.path.join(runs, "*", f"{name}-{way}-before"))):
        second = trials(before[: -len("before")] + "after")
        for connections, first in trials(before).items():
            if connections in second:
                round_ = os.path.basename(os.path.dirname(before))
                pairs[(name, way, connections)].append((round_, first, second[connections]))

if "--csv" in sys.argv:
    with open(sys.argv[sys.argv.index("--csv") + 1], "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        figures = ["tps", "generator_us_per_tx", "response_us_p99"]
        writer.writerow(["server", "way", "connections", "round"] + [f"{f}_{b}" for b in ("before", "after") for f in figures])
        for key, some in pairs.items():
            for round_, first, second in some:
                writer.writerow([*key, round_, *(round(value, 3) for value in first + second)])

print("| server | by | connections | pairs | tps before | after | ratio | generator µs before | after | ratio |")
print("|---|---|---|---|---|---|---|---|---|---|")
for (name, way, connections), some in sorted(pairs.items(), key=lambda pair: (order.index(pair[0][:2]), pair[0][2])):
    cells = []
    for figure, digits in ((0, 0), (1, 2)):
        first, second = ([pair[n][figure] for pair in some] for n in (1, 2))
        ratios = [b / a for a, b in zip(first, second)]
        cells += [f"{middle(first):,.{digits}f}", f"{middle(second):,.{digits}f}", spread(ratios)]
    print(f"| {name} | {way} | {connections:,} | {len(some)} | " + " | ".join(cells) + " |")
