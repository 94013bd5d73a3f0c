"""Ranks and workers that are killed, stopped, slow or fail while they train: python -m trust.distributed [--long]

`make test-distributed` tests gradients on several processes. This command disturbs the processes.

Training over MPI starts again from the last stored step after each failure, until it is complete. No gradient may be
wrong. Each failure must end all ranks within LIMIT seconds. The parameters at the end must have the bits of an
undisturbed run. Workers of dask are killed and stopped during their work. Each call must give the same bits, or an
error in time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trust.figures import ROOT, Recorder
from trust.threads import environment

RANKS, STEPS = 3, 30
#: All ranks must end within this number of seconds after one has failed. The reducer waits for 1 s; MPI ends the
#: others.
LIMIT = 20.0
#: What happens to a rank, and what the figures call it.
DISTURBANCES = {
    "kill": "is killed",
    "fail": "raises an error",
    "stop": "stops for ever",
    "late": "comes too late",
    "slow": "is slow, but in time",
}
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def launcher() -> str | None:
    """The program that starts ranks, or None."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def run_ranks(folder: str, what: str, seed: int) -> tuple[str, float]:
    """Begin or continue training.

    Returns the output of the ranks, and the seconds that they ran after a disturbance, or 0.
    """
    command = [str(launcher()), "-n", str(RANKS), sys.executable, "-m", "trust.scenarios.ranks"]
    ended = subprocess.run(
        [*command, folder, str(STEPS), what, str(seed)],
        env=environment() | SETTINGS, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    end = time.time()
    disturbed = re.search(r"disturbed at ([\d.]+)", ended.stdout)
    return ended.stdout + ended.stderr, end - float(disturbed[1]) if disturbed else 0.0


def final_parameters(output: str) -> str | None:
    """The parameters at the end of training, or None if training did not end."""
    match = re.search(r"trained from \d+: (\w+)", output)
    return match[1] if match else None


class Trainings:
    """Training runs over MPI, and their counts."""

    def __init__(self, recorder: Recorder) -> None:
        self.figures = recorder.figures
        self.counts = dict.fromkeys(DISTURBANCES, 0)
        self.longest = 0.0
        with tempfile.TemporaryDirectory() as folder:
            self.expected = final_parameters(run_ranks(folder, "nothing", 0)[0])
        if self.expected is None:
            self.figures.findings.append("the undisturbed training did not end")

    def train(self, seed: int, first: str) -> None:
        """One training. Each of its runs but the last is disturbed, the first one in a given way."""
        chance = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            for run in range(6):
                what = "nothing" if run == 5 else first if run == 0 else chance.choice(list(DISTURBANCES))
                output, seconds = run_ranks(folder, what, seed * 100 + run)
                if what in self.counts:
                    self.counts[what] += 1
                self.judge(what, output, seconds)
                parameters = final_parameters(output)
                if parameters is not None:
                    break
        if parameters != self.expected:
            self.figures.findings.append(f"training {seed} ended with other parameters, or not at all: {output[-500:]}")

    def judge(self, what: str, output: str, seconds: float) -> None:
        self.longest = max(self.longest, seconds)
        if "wrong gradient" in output:
            self.figures.findings.append(f"{what}: a wrong gradient")
        if seconds > LIMIT:
            self.figures.findings.append(f"{what}: ranks went on for {seconds:.0f} s")
        if what == "slow" and final_parameters(output) is None:
            self.figures.findings.append(f"a rank that is slow, but in time, ended the training: {output[-500:]}")


def run_mpi(recorder: Recorder, trainings: int) -> None:
    if importlib.util.find_spec("mpi4py") is None or launcher() is None:
        recorder.figures.not_run.append("ranks: mpi4py or mpiexec is not installed")
        return
    counted = Trainings(recorder)
    for seed in range(trainings):
        counted.train(seed, list(DISTURBANCES)[seed % len(DISTURBANCES)])
    rows = recorder.figures.rows
    rows[f"trainings of {STEPS} steps on {RANKS} ranks"] = trainings
    words = {
        "kill": "killed",
        "fail": "failed",
        "stop": "stopped for ever",
        "late": "late",
        "slow": "slow, but in time",
    }
    for what, number in counted.counts.items():
        rows[f"ranks that were {words[what]}"] = number
    rows["longest time from a failure to the end of all ranks"] = f"{counted.longest:.1f} s"


def run_dask(recorder: Recorder, times: int) -> None:
    if importlib.util.find_spec("distributed") is None:
        recorder.figures.not_run.append("workers: dask's distributed is not installed")
        return
    ended = subprocess.run(
        [sys.executable, "-m", "trust.scenarios.workers", str(times), "0"],
        env=environment(), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        recorder.figures.findings.append(f"workers: {ended.stderr.strip().splitlines()[-1]}")
        return
    counts = json.loads(ended.stdout.splitlines()[-1])
    rows = recorder.figures.rows
    rows["calls on a cluster with a worker killed"] = counts["killed"]
    rows["calls on a cluster with a worker stopped for a second"] = counts["stopped"]
    rows["of these with the same bits as undisturbed"] = counts["right"]
    rows["of these with an error in time"] = counts["errors"]
    rows["longest call"] = f"{counts['longest']:.1f} s"
    if counts["wrong"] or not counts["right at last"]:
        recorder.figures.findings.append(f"workers: wrong gradients: {counts}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.distributed", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the long form, whose figures are written")
    options = parser.parse_args(arguments)
    recorder = Recorder("make distributed", long=options.long)
    run_mpi(recorder, 10 if options.long else len(DISTURBANCES))
    run_dask(recorder, 25 if options.long else 3)
    return recorder.report()


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
