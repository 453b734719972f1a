"""hcdyna bench"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hcdyna.cli.options import parse


@dataclass(frozen=True)
class Bench:
    """Measure speed and memory on this machine, beside peers where they are installed.

    Measures DQN, OnPolicy-Dyna and HC-Dyna with different n and numbers of agents: environment
    steps per second (the median of some rounds after a warm-up), compile time, memory as counted
    by XLA, and for HC-Dyna the share of the multiply-adds per second of a large matrix product.
    Then varies k, n, agents, state variables and network width one at a time. Then alternates with
    peers: a PyTorch loop of HC-Dyna, and the DQN of Stable-Baselines3 and SBX. Peers that are not
    installed are skipped; `make bench` installs the first two. Keep the machine idle meanwhile.
    Examples:

      hcdyna bench --quick            hcdyna bench --out bench/gpu
    """

    quick: bool = False
    """Fewer cases and shorter rounds: minutes on two cores, most of them spent compiling."""
    peers: bool = True
    """Measure beside peers too."""
    out: Path = Path("bench")
    """Folder for bench.json (everything measured, with versions and commit) and scaling.png."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Bench, arguments, "bench")
    from hcdyna.numerics.files import explained, write

    # Better to find out now that the folder can't be written than when all is measured.
    with explained(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=options.out).close()
    from rich.console import Console

    from hcdyna.bench import show, suite
    from hcdyna.figures.plots import save_figure

    plan = suite.QUICK if options.quick else suite.FULL
    if not options.peers:
        plan = replace(plan, peers={})
    record = suite.Suite(plan, lambda line: print(line, flush=True)).run()
    write(options.out / "bench.json", json.dumps(record, indent=1, ensure_ascii=False).encode())
    picture = save_figure(show.scaling_figure(record), options.out / "scaling.png")
    console = Console(width=100)
    for table in show.tables(record):
        console.print(table)
    print(f"{options.out / 'bench.json'}\n{picture}")
