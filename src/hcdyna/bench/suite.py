"""All measurements of `hcdyna bench`, one after the other, and their record."""

import itertools
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import numpy as np

from hcdyna.bench import counts, versus
from hcdyna.bench.cases import Case, Measurement, prepare, result
from hcdyna.bench.ours import Ours
from hcdyna.bench.peers import Peer
from hcdyna.numerics.devices import offer_every_core
from hcdyna.runs.record import commit, versions
from hcdyna.training.trainer import kernels_used

FORMAT = 1
STRATEGIES = ("replay", "on_policy", "hill_climbing")
CENTRE = Case("hill_climbing", n=10, agents=30)
"""What the scaling series vary one at a time."""
LARGE = 200e6
"""Bytes of a program that is not kept beside others."""
FEWEST_STEPS = 5
"""In a round, however long they take; on a GPU a whole block of them."""


@dataclass(frozen=True)
class Schedule:
    """What to measure, and for how long."""

    grid: tuple[Case, ...]
    series: dict[str, tuple[Any, ...]]
    """Field of the case → values of it, everything else as in the centre."""
    peers: dict[Peer, tuple[Case, ...]]
    rounds: int
    seconds: float
    """Roughly how long a round of ours takes."""
    peer_rounds: int = 5
    peer_steps: float = 1.0
    """Share of a peer's usual number of steps."""


def grid(ns: tuple[int, ...], agents: tuple[int, ...]) -> tuple[Case, ...]:
    """Strategies × n × agents."""
    return tuple(Case(*choice) for choice in itertools.product(STRATEGIES, ns, agents))


ENVIRONMENTS = ("GridWorld", "CartPole", "Acrobot")
FULL = Schedule(
    grid((1, 10, 30), (1, 30, 480, 1920)),
    {
        "k": (10, 100, 300),
        "n": (1, 3, 10, 30),
        "agents": (1, 3, 10, 30, 100, 480, 1920),
        "environment": ENVIRONMENTS,
        "width": (16, 32, 64, 128),
    },
    versus.GROUPS,
    rounds=5,
    seconds=0.6,
)
QUICK = replace(
    FULL,
    grid=grid((1, 10), (1, 30)),
    series=FULL.series | {"n": (1, 3, 10), "agents": (1, 3, 10, 30), "width": (16, 32, 64)},
    seconds=0.3,
    peer_rounds=3,
    peer_steps=0.4,
)


def without_kernels(case: Case) -> Case | None:
    """The same case without kernels; None where it has none anyway."""
    fused = kernels_used(case.settings()).startswith("fused")
    return replace(case, kernels="off") if fused else None


class Suite:
    """A run of the suite; no case is measured twice."""

    def __init__(self, plan: Schedule, tell: Callable[[str], None]) -> None:
        self.plan, self.tell = plan, tell
        self.results: dict[Case, Measurement] = {}
        self.programs: dict[Case, Ours] = {}

    def run(self) -> dict[str, Any]:
        """Compile everything, then measure in turn, then beside peers."""
        offer_every_core()
        began, start = datetime.now(UTC), time.perf_counter()
        plan, peaks = self.plan, measured_peaks()
        self.tell(f"{device_name()}: {amount(peaks['float32'])} multiply-adds a second in float32")
        varied = [replace(CENTRE, **{k: v}) for k, values in plan.series.items() for v in values]
        plain = [twin for twin in map(without_kernels, plan.grid) if twin is not None]
        every_case = dict.fromkeys([*plan.grid, *varied, *plain])
        for place, case in enumerate(every_case, 1):
            self.begin(case, f"{place} of {len(every_case)}: {case}")
        self.take_turns()
        compared = [row for peer, cases in plan.peers.items() for row in self.compare(peer, cases)]
        # Once more, since a peak is the best there is, and the machine may have been busy.
        peaks = {name: max(best, peaks[name]) for name, best in measured_peaks().items()}
        record = {case: found.record(peaks["float32"]) for case, found in self.results.items()}
        return {
            "format": FORMAT,
            "device": device_name(),
            "versions": versions(),
            "commit": commit(),
            "command": sys.argv,
            "started": began.isoformat(timespec="seconds"),
            "seconds": time.perf_counter() - start,
            "multiply_adds_per_second": peaks,
            "grid": [record[case] | self.beside_plain(case) for case in plan.grid],
            "scaling": {
                field: [record[replace(CENTRE, **{field: value})] for value in values]
                for field, values in plan.series.items()
            },
            "peers": compared,
        }

    def beside_plain(self, case: Case) -> dict[str, float]:
        """The plain program in the same run, and how many times as fast the fused one is."""
        twin = without_kernels(case)
        if twin is None or not (self.results[twin].rates and self.results[case].rates):
            return {}
        fused, plain = self.results[case], self.results[twin]
        ratios = [x / y for x, y in zip(fused.rates, plain.rates, strict=True)]
        return {
            "plain_steps_per_second": plain.rate,
            "plain_compile_seconds": plain.compile_seconds,
            "fused_over_plain": float(np.median(ratios)),
        }

    def begin(self, case: Case, name: str) -> None:
        """Compile and warm up. What is too large to be kept beside others is measured at once."""
        ours = prepare(case)
        if isinstance(ours, str):
            self.results[case] = result(case, ours)
            self.tell(f"{name}: skipped, {ours}")
            return
        self.tell(f"{name}: compiled in {ours.compile_seconds:.1f} s")
        if ours.peak_bytes <= LARGE:
            self.programs[case] = ours
        else:
            rates = [self.rate(ours) for _ in range(self.plan.rounds)]
            self.results[case] = result(case, ours, rates)

    def take_turns(self) -> None:
        """Measure the programs kept, round by round, so that a busy minute is bad for all alike."""
        rates: dict[Case, list[float]] = {case: [] for case in self.programs}
        for place in range(1, self.plan.rounds + 1):
            self.tell(f"{len(rates)} programs in turn, round {place} of {self.plan.rounds}")
            for case, ours in self.programs.items():
                rates[case].append(self.rate(ours))
        for case, ours in self.programs.items():
            self.results[case] = result(case, ours, rates[case])

    def rate(self, ours: Ours) -> float:
        """Environment steps per second in one round."""
        return ours.measure_for(self.plan.seconds, FEWEST_STEPS)

    def compare(self, peer: Peer, cases: tuple[Case, ...]) -> list[dict[str, Any]]:
        """One peer beside some of ours; or a line that says what is missing."""
        missing = peer.missing()
        if missing is not None:
            self.tell(f"{peer.name}: not installed, so left out ({missing})")
            return [{"peer": peer.name, "missing": missing}]
        cases = tuple(case for case in cases if case in self.programs)
        if not cases:
            return []
        self.tell(f"beside {peer.name}, {self.plan.peer_rounds} rounds")
        turns = versus.take_turns(
            [self.programs[case] for case in cases],
            peer,
            self.plan.peer_rounds,
            self.plan.seconds,
            max(1, round(peer.steps * self.plan.peer_steps)),
        )
        return [
            {"peer": peer.name, "ours": asdict(case), **turn.record()}
            for case, turn in zip(cases, turns, strict=True)
        ]


def measured_peaks() -> dict[str, float]:
    """Multiply-adds a second: all in float32, and as JAX multiplies by default (TF32 on GPUs)."""
    return {"float32": counts.peak("highest"), "default": counts.peak("default")}


def amount(x: float) -> str:
    """A large number, in words."""
    for word, scale in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if x >= scale:
            return f"{x / scale:.3g} {word}"
    return f"{x:.3g}"


def device_name() -> str:
    """What this machine computes on, for people."""
    devices = jax.devices()
    count = len(devices)
    if devices[0].platform != "cpu":
        return f"{count} × {devices[0].device_kind}" if count > 1 else devices[0].device_kind
    return f"{count} CPU core{'s' if count > 1 else ''}{processor()}"


def processor() -> str:
    """The model of the processor, in brackets, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    marks = re.compile(r"\((R|TM)\)")
    return f" ({marks.sub('', names[0])})" if names else ""
