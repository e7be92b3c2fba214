#!/usr/bin/env python3
"""evaluate.py RUNS: the advice of `pool` beside the sweep over all numbers of connections, as a Markdown table.

Throughput: the geometric mean of a number's trials, made to rise to one peak and fall after it. Best: the largest. Smallest: the
smallest number with 95 % of the best.
"""
import json, math, os, sys
from collections import defaultdict
runs = sys.argv[1]

def rising(values):
    """Isotonic regression: means of neighbours that fall are pooled."""
    blocks = []
    for value in values:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (b, m), (a, n) = blocks.pop(), blocks.pop()
            blocks.append([(a * n + b * m) / (n + m), n + m])
    return [value for value, count in blocks for _ in range(count)]

def one_peak(values):
    """The nearest values (least squares) that rise to one peak and fall after it, so that the best is no lucky point."""
    fits = [rising(values[:n]) + rising(values[n:][::-1])[::-1] for n in range(len(values) + 1)]
    return min(fits, key=lambda fit: sum((a - b) ** 2 for a, b in zip(fit, values)))

took = {}
for line in open(os.path.join(runs, "log")):
    word = line.split()
    took[(word[0], word[1], word[2])] = int(word[5])
print("| workload | disk | best of the sweep | smallest with 95 % | advice | its share of the best | advice / smallest | trials | seconds |")
print("|---|---|---|---|---|---|---|---|---|")
for plan in ("insert", "hot-row"):
    for disk in ("flush-100us", "flush-2ms", "flush-10ms", "flush-60ms"):
        here = os.path.join(runs, f"{plan}-{disk}")
        try:
            pool = json.load(open(here + "/pool.json")); sweep = json.load(open(here + "/sweep.json"))
        except (OSError, ValueError) as error:
            print(f"| {plan} | {disk} | {error} |"); continue
        logs = defaultdict(list)
        # A plan with more factors: only the configuration that `pool` has measured, the first level of each.
        others = {name: levels[0] for name, levels in sweep["plan"]["factors"].items() if name != "connections"}
        for trial in sweep["trials"]:
            is_same = all(trial["configuration"][name] == level for name, level in others.items())
            if is_same and trial["validity"]["state"] == "valid" and trial["tps"]:
                logs[trial["configuration"]["connections"]].append(math.log(trial["tps"]))
        raw = {n: math.exp(sum(l) / len(l)) for n, l in logs.items() if l}
        numbers = sorted(raw)
        tps = dict(zip(numbers, (math.exp(v) for v in one_peak([math.log(raw[n]) for n in numbers]))))
        best = max(tps, key=tps.get); smallest = min(n for n in tps if tps[n] >= 0.95 * tps[best])
        advice = pool["findings"]["advice"]
        if advice is None:
            print(f"| {plan} | {disk} | {tps[best]:,.0f} at {best} | {smallest} | none |"); continue
        trials = len(pool["trials"])
        print(f"| {plan} | {disk} | {tps[best]:,.0f} at {best} | {smallest} | {advice} | {100 * tps[advice] / tps[best]:.0f} % | {advice / smallest:.2f} | {trials} | {took.get((plan, disk, 'pool'))} |")
        print("  ", {n: (round(raw[n]), round(t)) for n, t in sorted(tps.items())}, file=sys.stderr)
