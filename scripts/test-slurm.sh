#!/usr/bin/env bash
# test-slurm.sh: runs deploy/slurm/truetps.sbatch in a real Slurm of one node, whose four tasks load a private MariaDB
# together, and checks the merged run. As root, on Debian: the packages slurm-wlm and munge are installed if they are
# missing. The cluster has its own folder, key, ports and daemons, and all end with this script.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD

die() {
    echo "test-slurm: $1" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || die "Slurm's daemons run as root"
export PATH="$PATH:/usr/sbin:/sbin"
if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
    echo "test-slurm: installing slurm-wlm and munge" >&2
    # Their services stay off: this script starts its own.
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d.truetps
    chmod 755 /usr/sbin/policy-rc.d.truetps
    if [ -e /usr/sbin/policy-rc.d ]; then
        rm /usr/sbin/policy-rc.d.truetps
    else
        mv /usr/sbin/policy-rc.d.truetps /usr/sbin/policy-rc.d
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    apt-get install -y --no-install-recommends slurm-wlm munge >/dev/null
fi
cargo build --locked --quiet --package truetps
truetps=${CARGO_TARGET_DIR:-target}/debug/truetps
truetps=$(readlink -f "$truetps")

here=$(mktemp -d)
chmod 755 "$here"
pids=()
finish() {
    code=$?
    set +e
    "$truetps" server remove slurm-test --force >/dev/null 2>&1
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
    [ $code = 0 ] || tail -n 20 "$here"/*.log "$here"/work/*.log 2>/dev/null
    rm -rf "$here"
    rm -f /usr/sbin/policy-rc.d.truetps
    exit $code
}
trap finish EXIT
export TRUETPS_SANDBOX_DIR=$here/servers XDG_STATE_HOME=$here/state SLURM_CONF=$here/slurm.conf

# Not the usual ports: there may be another cluster on this host.
port=$((20000 + $$ % 10000))
mkdir -p "$here"/{munge,state,spool,work}
chown munge: "$here/munge" 2>/dev/null || die "there is no user munge"
chmod 711 "$here/munge"
head -c 1024 /dev/urandom >"$here/key"
chown munge: "$here/key"
chmod 400 "$here/key"
cat >"$here/slurm.conf" <<END
ClusterName=truetps
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$here/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
END

start() {
    "$@" >"$here/$(basename "$1").out.log" 2>&1 &
    pids+=($!)
}
start setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file="$here/key" \
    --socket="$here/munge/socket" --pid-file="$here/munge/pid" --log-file="$here/munge/log" \
    --seed-file="$here/munge/seed" --force
for _ in $(seq 100); do [ -S "$here/munge/socket" ] && break; sleep 0.1; done
start slurmctld -D -i
start slurmd -D
for _ in $(seq 200); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.2; done
sinfo -h -o %T | grep -q idle || die "the node is not ready: $(sinfo 2>&1)"

server=$("$truetps" server add slurm-test 2>&1 && "$truetps" server start slurm-test 2>&1) || die "$server"
socket=$(find "$here/servers" -name sock -type s | head -n 1)
[ -n "$socket" ] || die "the server has no socket: $server"
cd "$here/work"
export TRUETPS=$truetps
sbatch --quiet --wait "$repository/deploy/slurm/truetps.sbatch" \
    run insert --dsn "mysql://root@?socket=$socket" --table-rows 1000 -c 8 --warm-up 0.5 --measure 2 ||
    die "the job has failed"
merged=$(find . -maxdepth 2 -name '*-merged-*' | head -n 1)
[ -n "$merged" ] || die "nothing was merged"
python3 - "$merged" <<'END'
import glob, json, sys
trial = json.load(open(sys.argv[1] + "/trial-0001/run.json"))
assert trial["validity"]["state"] == "valid", trial["validity"]
parts = [json.load(open(name)) for name in glob.glob("parts-*/part-*/latest/trial-0001/run.json")]
assert len(parts) == len(trial["parts"]) == 4, parts
assert trial["measured"]["ok"] == sum(part["measured"]["ok"] for part in parts) > 0
assert len({part["start"]["server_us"] for part in parts}) == 1
print("test-slurm: four tasks, %d transactions, one start, valid" % trial["measured"]["ok"])
END
"$truetps" report "$merged" --full | sed -n 1,60p
