#!/usr/bin/env python3
"""highest.py TRUETPS: the highest number of clients at a row a second each with p99 under a second, for each disk and variant.

Steps of about 1.4 from a first guess; 10 s each. Prints a line a run. Root, for the emulated disks.
"""
import json, os, subprocess, sys, time
T = sys.argv[1]
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/clients-1000"))
env = dict(os.environ, TRUETPS=T)
NAME, PORT, RUNS = "highest", 13316, "runs"
subprocess.run(["go", "build", "-o", "./service", "."], check=True)
open("dsn", "w").write(f"saver:secret@tcp(127.0.0.1:{PORT})/clients")
os.chmod("dsn", 0o600)
def t(*a, check=True):
    return subprocess.run([T, "--quiet", *a], capture_output=True, text=True, check=check)
def sql(s): t("server", "sql", NAME, s)
def run(variant, clients, seconds=10):
    sql("DELETE FROM clients.client_rows"); time.sleep(4)
    if variant == "gateway":
        p = subprocess.Popen([T, "gateway", "--dsn", f"mysql://saver@127.0.0.1:{PORT}/clients", "--table", "client_rows", "--listen", "127.0.0.1:8090", "--config", "gateway.toml"], env=dict(env, TRUETPS_PASSWORD="secret"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL); path = "/v1/client_rows"
    else:
        p = subprocess.Popen(["./service", "-listen", "127.0.0.1:8090", "-dsn-file", "dsn", "-pool", variant], stderr=subprocess.DEVNULL); path = "/rows"
    time.sleep(1.5)
    r = t("verify", f"http://127.0.0.1:8090{path}", "--server", NAME, "--table", "clients.client_rows", "--clients", str(clients), "--rate", "1/s", "--measure", str(seconds), "--runs", RUNS, check=False)
    p.terminate(); p.wait()
    if r.returncode not in (0, 3): print(variant, clients, r.stderr[-300:], flush=True); return False
    v = json.load(open(RUNS + "/latest/verification.json"))["comparison"]["rows"]
    m = json.load(open(RUNS + "/latest/trial-0001/run.json"))["measured"]
    p99 = m["response_us_p99"] / 1e6
    good = p99 < 1.0 and v["acknowledged"] >= 0.999 * clients * seconds
    print(disk, variant, clients, "acknowledged", v["acknowledged"] / seconds, "p50", round(m["response_us_p50"]/1e3,1), "p99", round(p99*1e3,1), "ms", "ok" if good else "-", "lost", v["lost"], flush=True)
    return good
open("gateway.toml", "w").write("[limits]\nconnections = 19000\n")
guesses = {"flush-100us": {"10": 4000, "gateway": 16000}, "flush-1ms": {"10": 2000, "gateway": 16000}, "flush-10ms": {"10": 300, "64": 1500, "gateway": 16000}, "hdd7200": {"10": 250, "64": 1000, "gateway": 8000}, "flush-60ms": {"10": 60, "200": 900, "gateway": 6000}}
t("server", "add", NAME, check=False)
MOST = 18000
for disk, variants in guesses.items():
    t("server", "start", NAME, "--disk", disk, "--port", str(PORT), "--set", "max_connections=1500", "--set", "innodb_flush_log_at_trx_commit=1")
    sql("CREATE DATABASE IF NOT EXISTS clients; CREATE USER IF NOT EXISTS saver@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT ALL ON clients.* TO saver@'127.0.0.1'; DROP TABLE IF EXISTS clients.client_rows; CREATE TABLE clients.client_rows (client BIGINT NOT NULL, seq BIGINT NOT NULL, payload VARCHAR(1000) NOT NULL, PRIMARY KEY (client, seq)) ENGINE=InnoDB")
    sql("INSERT INTO clients.client_rows VALUES (0, 0, REPEAT('x', 300))")
    for k in range(19): sql(f"INSERT INTO clients.client_rows SELECT client + {1<<k}, 0, payload FROM clients.client_rows")
    for variant, guess in variants.items():
        n = guess; good = run(variant, n)
        best = n if good else None
        for _ in range(int(os.environ.get("STEPS", "2"))):
            n = min(MOST, int(n * 1.4)) if good else int(n / 1.4)
            if good and best == MOST: break
            now = run(variant, n)
            if now: best = max(best or 0, n)
            if now != good: break
        print("==", disk, variant, "highest", best, flush=True)
    t("server", "stop", NAME)
