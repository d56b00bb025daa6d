#!/usr/bin/env bash
# A study as a job array on a real Slurm, with two tasks killed on the way: its results are those of
# one machine, byte for byte. `cargo xtask slurm` builds the simulator and starts this.
#
#   host-sim/tests/slurm.sh target/debug/host-sim
#
# munged, slurmctld and slurmd run on loopback, in a temporary folder, on random ports. They need
# only the installed programs.
set -euo pipefail

program=$(realpath "$1")
tasks=16
patience=600

folder=$(mktemp -d -t meshalloc-slurm-XXXXXX)
export SLURM_CONF=$folder/slurm.conf
# Jobs and daemons end with this script.
trap 'timeout 10 scancel --user "$(id -un)" 2>/dev/null && sleep 3
    kill -9 $(jobs -p) 2>/dev/null
    rm -rf "$folder"' EXIT
cd "$folder"
mkdir munge state spool
alone=$folder/alone array=$folder/array

# Descriptor 3 is standard error, also where a command's standard error is dropped.
exec 3>&2
fail() {
    echo "error: $*" >&3
    tail -n 50 "$array"/*.log >&3 || true
    exit 1
}

# Waits until a command succeeds.
wait_for() {
    local end=$((SECONDS + patience)) what=$1
    shift
    until "$@" 2>/dev/null; do
        ((SECONDS < end)) || fail "after $patience s still not: $what"
        sleep 0.02
    done
}

# Three points a task. Each takes long enough that the task can be killed meanwhile.
cat > grid.toml <<'END'
mesh = "32x32"
jobs = 20_000
replications = 3
strategy = ["fsl", "as", "bl"]
load = [0.30, 0.35, 0.40, 0.45]
side-lengths = ["uniform", "exponential"]
seed = [1, 2, 3, 4, 5, 6]
END
"$program" run --threads 1 --scenario grid.toml --save "$alone" --format csv > alone.csv

# Authentication for this cluster only, with a key of its own.
mungekey --create --keyfile munge/key
munged --foreground --force --key-file=munge/key --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" >munged.log 2>&1 &
wait_for "munged has its socket" test -S munge/socket

# One node on loopback with four processors, however many the machine has, without accounting and
# control groups.
read -r controller_port node_port < <(shuf --input-range 20000-60000 --head-count 2 | xargs)
cat > slurm.conf <<END
ClusterName=meshalloc
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
BatchStartTimeout=3
MailProg=/bin/true
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=$(hostname -s) Default=YES MaxTime=INFINITE State=UP
END

start_node() {
    slurmd -D -f slurm.conf >/dev/null 2>&1 &
    slurmd=$!
}
controller_is_up() { scontrol ping | grep -q "is UP"; }
node_is_idle() { sinfo -h -o %T | grep -q idle; }
slurmctld -D -f slurm.conf >/dev/null 2>&1 &
wait_for "slurmctld answers" controller_is_up
start_node
wait_for "the node is ready" node_is_idle

"$program" run --scenario grid.toml --save "$array" --format csv --slurm $tasks > written
eval "$(tail -n 1 written)" | tee submitted
merge_job=$(sed -n 's/^Submitted batch job \([0-9]*\).*/\1/p' submitted)
array_job=$((merge_job - 1))

parent() { ps -o ppid= -p "$1" | tr -d ' '; }
points() { { find "$array" -name "*.json" -type f 2>/dev/null || true; } | wc -l; }
# Finds a task other than the first one that runs after another point has been completed: `task` is
# its number. Then kills the process that computes its shard, and with `whole` also its script and
# its supervisor, as if its node had failed.
first=
kill_one() {
    local process processes script
    (($(points) > known)) || return 1
    for task in $(seq $tasks); do
        [[ $task != "$first" ]] || continue
        process=$(pgrep -f -- "--save $array .*--shard $task/$tasks --threads") || continue
        processes=$process
        if [[ $1 == whole ]]; then
            script=$(parent "$process") || continue
            processes="$(parent "$script") $script $process" || continue
        fi
        kill -9 $processes && return
    done
    return 1
}
known=$(points)
wait_for "a task has completed a point" kill_one process
echo "the process of task $task is killed"
first=$task
known=$(points)
wait_for "another point is complete" kill_one whole
echo "task $task, its script and its supervisor are killed; slurmd starts again"
# If a node does not report a job, the controller takes the job for lost, but not before
# `BatchStartTimeout` and `MessageTimeout` have passed since its start.
sleep 16
kill $slurmd
wait $slurmd || true
start_node

has_ended() {
    case $(scontrol --oneliner show job "$merge_job" | grep -o 'JobState=[A-Z]*') in
    *=COMPLETED) ;;
    *=PENDING | *=RUNNING | *=COMPLETING | *=CONFIGURING) return 1 ;;
    *) fail "the merge has failed" ;;
    esac
}
wait_for "the merge has ended" has_ended
restarts=$(scontrol --oneliner show job "$array_job" | grep -o 'Restarts=[1-9]' | wc -l)
[[ $restarts == 2 ]] || fail "$restarts tasks were requeued (expected 2)"
diff alone.csv "$array"/slurm-merge-*.log >&3 || fail "the results differ from those of one machine"
for path in "$alone"/*.json; do
    cmp "$path" "$array/${path##*/}" >&3 || fail "a point differs from that of one machine"
done
echo "$tasks tasks, 2 of them killed and requeued: the results are those of one machine"
