"""Recomputes the figures of an answer from the raw files of its run folder.

Knows only what is documented: docs/reference/run-folder.md (files), docs/method/estimates.md and
docs/method/trials.md (rules), and the format of an HdrHistogram log. Shares no code with truetps.

    recompute.py FOLDER ANSWER.json

ANSWER.json is what `truetps report FOLDER --format json` printed. Prints how many figures were
compared, and each that differs; ends with 1 if any does.
"""

import base64
import json
import math
import pathlib
import struct
import sys
import zlib


# --- the log of histograms ---------------------------------------------------------------------


def read_varint(data, at):
    """A signed LEB128 number of at most 9 bytes in zigzag order, as in HdrHistogram V2."""
    value = shift = 0
    for n in range(9):
        byte = data[at]
        at += 1
        if n == 8:
            value |= byte << shift
            break
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return (value >> 1) ^ -(value & 1), at


class Histogram:
    """Counts by the highest value of their bucket, as HdrHistogram reports it."""

    def __init__(self):
        self.counts = {}

    def add(self, text):
        outer = base64.b64decode(text + "=" * (-len(text) % 4))
        cookie, length = struct.unpack(">II", outer[:8])
        assert cookie & 0xFF in (0x04, 0x14), hex(cookie)
        inner = zlib.decompress(outer[8:8 + length])
        cookie, size, _, digits, low, _, _ = struct.unpack(">IIIIQQd", inner[:40])
        assert cookie & 0xFF in (0x03, 0x13), hex(cookie)
        sub_buckets = 1 << math.ceil(math.log2(2 * 10**digits))
        unit = int(math.log2(max(low, 1)))
        at, index = 40, 0
        while at < 40 + size:
            count, at = read_varint(inner, at)
            if count < 0:
                index -= count
                continue
            if count:
                top = highest_of(index, sub_buckets, unit)
                self.counts[top] = self.counts.get(top, 0) + count
            index += 1

    def total(self):
        return sum(self.counts.values())

    def at(self, share):
        wanted = max(1, math.ceil(share * self.total() - 1e-9))
        seen = 0
        for value in sorted(self.counts):
            seen += self.counts[value]
            if seen >= wanted:
                return value
        return None


def highest_of(index, sub_buckets, unit):
    half = sub_buckets // 2
    bucket, sub = index // half - 1, index % half + half
    if bucket < 0:
        bucket, sub = 0, sub - half
    return ((sub + 1) << (bucket + unit)) - 1


def read_log(path):
    """(phase, histogram text) of each interval."""
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith("Tag="):
            tag, _, _, _, text = line.split(",")
            lines.append((tag[4:], text))
    return lines


# --- statistics --------------------------------------------------------------------------------


def t_quantile_975(freedom):
    """By bisection of the distribution, which is integrated by Simpson's rule."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    def density(x):
        return scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    def above_zero(t, steps=4000):
        h = t / steps
        inner = sum((4 if n % 2 else 2) * density(n * h) for n in range(1, steps))
        return (density(0) + inner + density(t)) * h / 3

    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above_zero(middle) < 0.475 else (low, middle)
    return low


def mean_log(values):
    return sum(map(math.log, values)) / len(values)


def over_blocks(trials, value):
    """The geometric mean of each block's geometric mean; `value` may leave a trial out."""
    blocks = {}
    for trial in trials:
        found = value(trial)
        if found is not None:
            blocks.setdefault(trial.block, []).append(found)
    if not blocks:
        return None
    if any(one <= 0 for all_of in blocks.values() for one in all_of):
        means = [sum(all_of) / len(all_of) for all_of in blocks.values()]
        return sum(means) / len(means)
    return math.exp(sum(map(mean_log, blocks.values())) / len(blocks))


# --- a trial -----------------------------------------------------------------------------------


class Trial:
    def __init__(self, folder):
        self.record = json.loads((folder / "run.json").read_text())
        self.block = self.record["block"]
        lines = (folder / "intervals.jsonl").read_text().splitlines()
        self.intervals = [json.loads(line) for line in lines]
        self.log = read_log(folder / "latency.hdr")
        self.measured = [one for one in self.intervals if one["phase"] == "measure"]
        self.histogram = Histogram()
        for phase, text in self.log:
            if phase == "measure":
                self.histogram.add(text)
        self.length_ms = sum(one["length_ms"] for one in self.measured)
        self.ok = self.sum("ok")

    def sum(self, key):
        return sum(one.get(key, 0) for one in self.measured)

    def tps(self):
        return self.ok / self.length_ms * 1e3

    def percentile_us(self, share):
        found = self.histogram.at(share)
        return None if found is None else found / 1e3

    def mean_us(self):
        return sum(one["response_us_mean"] * one["ok"] for one in self.measured if one["ok"]) / self.ok

    def server_cpu_us(self):
        window = self.record["measured"].get("cpu_window")
        if window is None or self.ok_between(window["from_ms"], window["to_ms"]) == 0:
            return None
        us = window["server_us"] / self.ok_between(window["from_ms"], window["to_ms"])
        return us if us * self.ok >= 100_000 else None

    def ok_between(self, from_ms, to_ms):
        """Of a bucket that is in it in part, that part."""
        total = 0.0
        for one in self.intervals:
            end = one["start_ms"] + one["length_ms"]
            for n, count in enumerate(one["buckets"]):
                start = one["start_ms"] + 100 * n
                stop = min(start + 100, end)
                inside = min(stop, to_ms) - max(start, from_ms)
                if inside > 0 and stop > start:
                    total += count * inside / (stop - start)
        return total


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


# --- the comparison ----------------------------------------------------------------------------


class Comparison:
    def __init__(self):
        self.count = 0
        self.differing = []

    def same(self, where, printed, own, tolerance=1e-9):
        self.count += 1
        if printed is None or own is None:
            alike = printed is None and own is None
        else:
            alike = abs(printed - own) <= tolerance * max(abs(printed), abs(own), 1e-12)
        if not alike:
            self.differing.append(f"{where}: {printed} is printed, {own} recomputed")


def compare_intervals(found, name, trial):
    for n, (one, (phase, text)) in enumerate(zip(trial.intervals, trial.log, strict=True)):
        where = f"{name}, interval {n}"
        own = Histogram()
        own.add(text)
        found.same(f"{where}, phase", float(phase == one["phase"]), 1.0)
        found.same(f"{where}, ok", one["ok"], own.total())
        found.same(f"{where}, buckets", one["ok"], sum(one["buckets"]))
        found.same(f"{where}, tps", one["tps"], one["ok"] / one["length_ms"] * 1e3)
        begun = one["carried_in"] + one["started"]
        found.same(f"{where}, in and out", begun, one["ok"] + one["failed"] + one["in_flight"])
        if own.total():
            for key, share in PERCENTILES.items():
                found.same(f"{where}, {key}", one[f"response_us_{key}"], own.at(share) / 1e3)


def compare_trial(found, answer, trial):
    name = answer["name"]
    found.same(f"{name}, tps", answer["tps"], trial.tps())
    rows = trial.sum("rows_changed") / trial.length_ms * 1e3
    found.same(f"{name}, rows changed", answer["rows_changed_per_s"] or 0.0, rows)
    for key, share in PERCENTILES.items():
        found.same(f"{name}, {key}", answer[f"response_us_{key}"], trial.percentile_us(share))
    largest = max(one["response_us_max"] for one in trial.measured if one["ok"])
    found.same(f"{name}, max", answer["response_us_max"], largest)
    for key in ["failed", "ignored", "retried"]:
        found.same(f"{name}, {key}", answer[key], trial.sum(key))
    if trial.record["measured"].get("open_loop") is None:
        clients = trial.record["engine"]["clients"]
        law = trial.tps() * trial.mean_us() / 1e6 / clients
        found.same(f"{name}, Little's law", answer["littles_law"], law, 1e-6)
    lines = {line["key"]: line["per_tx"] for line in answer["ledger"]["lines"]}
    printed = lines.get("server_cpu_us_per_tx")
    found.same(f"{name}, server CPU", printed, trial.server_cpu_us(), 1e-6)
    watched = answer["stalls"]["watched_ms"]
    found.same(f"{name}, watched", watched, trial.length_ms)
    open_loop = trial.record["measured"].get("open_loop")
    if open_loop is not None:
        sums = {key: sum(one["open_loop"][key] for one in trial.measured) for key in ("scheduled", "skipped")}
        for key, own in sums.items():
            found.same(f"{name}, {key}", open_loop[key], own)
        waiting = open_loop["queued_in"] + open_loop["scheduled"]
        gone = trial.sum("started") + open_loop["skipped"] + open_loop["queued"]
        found.same(f"{name}, the queue", waiting, gone)


def compare_cell(found, cell, trials):
    where = ", ".join(f"{key}={value}" for key, value in cell["configuration"].items())
    by_block = {}
    for trial in trials:
        by_block.setdefault(trial.block, []).append(math.log(trial.tps()))
    logs = [sum(all_of) / len(all_of) for all_of in by_block.values()]
    middle = sum(logs) / len(logs)
    found.same(f"{where}, tps", cell["tps"]["value"], math.exp(middle))
    if len(logs) > 1:
        spread = math.sqrt(sum((one - middle) ** 2 for one in logs) / (len(logs) - 1))
        half = t_quantile_975(len(logs) - 1) * spread / math.sqrt(len(logs))
        if half <= math.log(1000):
            found.same(f"{where}, low", cell["tps"]["low"], math.exp(middle - half), 1e-5)
            found.same(f"{where}, high", cell["tps"]["high"], math.exp(middle + half), 1e-5)
    for key, share in PERCENTILES.items():
        own = over_blocks(trials, lambda trial: trial.percentile_us(share))
        found.same(f"{where}, {key}", cell[f"response_us_{key}"], own)
    own = over_blocks(trials, Trial.server_cpu_us)
    found.same(f"{where}, server CPU", cell["server_cpu_us_per_tx"], own, 1e-6)
    for key in ["failed", "ignored", "retried"]:
        found.same(f"{where}, {key}", cell[key], sum(trial.sum(key) for trial in trials))


def compare_contrast(found, contrast, cells, trials_of):
    """Ratios are paired by block; values of a block are means of its trials."""
    pair = [contrast["cell"], contrast["baseline_cell"]]
    names = " against ".join(str(cells[n]["configuration"]) for n in pair)

    def ratio(value):
        sides = []
        for n in pair:
            blocks = {}
            for trial in trials_of[n]:
                if value(trial) is not None:
                    blocks.setdefault(trial.block, []).append(math.log(value(trial)))
            sides.append({block: sum(all_of) / len(all_of) for block, all_of in blocks.items()})
        both = sides[0].keys() & sides[1].keys()
        return math.exp(sum(sides[0][n] - sides[1][n] for n in both) / len(both)) if both else None

    found.same(f"{names}, tps", contrast["tps_ratio"]["value"], ratio(Trial.tps))
    p99 = contrast["p99_ratio"]
    if p99 is not None:
        found.same(f"{names}, p99", p99["value"], ratio(lambda trial: trial.percentile_us(0.99)))
    cpu = contrast["server_cpu_ratio"]
    if cpu is not None:
        found.same(f"{names}, server CPU", cpu["value"], ratio(Trial.server_cpu_us), 1e-6)


def main():
    folder, answer = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    found = Comparison()
    valid = [one for one in answer["trials"] if one["validity"]["state"] == "valid"]
    trials = {one["name"]: Trial(folder / one["name"]) for one in valid}
    for one in valid:
        compare_intervals(found, one["name"], trials[one["name"]])
        compare_trial(found, one, trials[one["name"]])
    cells = answer["analysis"]["cells"]
    trials_of = []
    for cell in cells:
        own = [trials[name] for name in cell["trials"]]
        own += [
            trials[one["name"]]
            for one in valid
            if one["role"] != "cell"
            and one["configuration"] == cell["configuration"]
            and one["name"] not in cell["trials"]
        ]
        trials_of.append(own)
        compare_cell(found, cell, own)
    for contrast in answer["analysis"]["contrasts"]:
        compare_contrast(found, contrast, cells, trials_of)
    print(f"{found.count} figures, {len(found.differing)} differ")
    for line in found.differing:
        print(line)
    sys.exit(1 if found.differing else 0)


main()
