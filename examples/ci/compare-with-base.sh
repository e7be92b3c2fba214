#!/bin/sh
# Compares a candidate with its base in one experiment, whose blocks have both in random order, and fails where it is
# worse than allowed. For any CI server; docs/guides/ci.md explains it.
#
#   compare-with-base.sh PLAN FACTOR BASE CANDIDATE --fail-if CONDITION…
#
#   PLAN              a plan whose factor FACTOR has the levels BASE and CANDIDATE: two named servers, or two settings
#   --fail-if …       as of `truetps compare`: 'tps<-5%', 'p99>10%', durability
#
# Environment:
#   TRUETPS           the program (default: truetps)
#   RESULTS           folder for the results (default: truetps-results)
#   SWEEP_FLAGS       more flags of `truetps sweep`, separated by spaces, such as "--quick --blocks 20"
#   ON_UNDECIDED      fail (default) or warn: what happens where a condition could not be decided
#
# Exit codes: 0 all conditions kept; 1 one was crossed; 2 wrong usage; 3 one could not be decided; 4 a trial failed.
set -eu

if [ $# -lt 6 ]; then
    echo "usage: $0 PLAN FACTOR BASE CANDIDATE --fail-if CONDITION [--fail-if CONDITION]..." >&2
    exit 2
fi
plan=$1 factor=$2 base=$3 candidate=$4
shift 4
truetps=${TRUETPS:-truetps}
results=${RESULTS:-truetps-results}
on_undecided=${ON_UNDECIDED:-fail}
case $on_undecided in
fail | warn) ;;
*)
    echo "$0: ON_UNDECIDED is '$on_undecided': use fail or warn" >&2
    exit 2
    ;;
esac
mkdir -p "$results"

# The job's page shows this text, on GitHub.
summarise() {
    cat "$1"
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        cat "$1" >> "$GITHUB_STEP_SUMMARY"
    fi
}

compare() {
    "$truetps" compare latest latest --runs "$results/runs" \
        --a-levels "$factor=$base" --b-levels "$factor=$candidate" "$@"
}

# A condition that cannot be read is refused before anything is measured. There may be no run yet: other errors are
# expected here.
refusal=$(compare "$@" 2>&1 > "$results/comparison.md") || case $refusal in
*--fail-if*)
    echo "$refusal" >&2
    exit 2
    ;;
esac

code=0
# shellcheck disable=SC2086 # SWEEP_FLAGS are several words.
"$truetps" sweep "$plan" --runs "$results/runs" --format md ${SWEEP_FLAGS:-} > "$results/sweep.md" || code=$?
case $code in
# 3: no level of the plan is proven faster. The conditions may be decided nevertheless.
0 | 3) ;;
*)
    summarise "$results/sweep.md"
    exit "$code"
    ;;
esac

code=0
compare "$@" --format md > "$results/comparison.md" || code=$?
if [ "$code" -gt 3 ] || [ "$code" -eq 2 ]; then
    exit "$code"
fi
summarise "$results/comparison.md"
# The same once more from the run folder, for programs. Their exit codes say what is known already.
compare "$@" --format junit > "$results/junit.xml" || [ $? -eq "$code" ]
"$truetps" report --runs "$results/runs" --format prometheus > "$results/metrics.prom" || [ $? -eq 3 ]

if [ "$code" -eq 3 ] && [ "$on_undecided" = warn ]; then
    warning="truetps could not decide every condition: use more blocks, or a quieter machine"
    if [ -n "${GITHUB_ACTIONS:-}" ]; then echo "::warning::$warning"; else echo "warning: $warning" >&2; fi
    exit 0
fi
exit "$code"
