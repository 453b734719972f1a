"""All tests see one device per core, as training does.

Runs to look at: a small real one, and changed copies of it.
"""

import dataclasses
import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from hcdyna import Evaluation, HillClimbing, Settings, Training, train
from hcdyna.numerics.devices import offer_every_core
from hcdyna.runs.run import Run

offer_every_core()

QUICKLY_COMPILED = "--xla_backend_optimization_level=0"
"""A third of the time of the default tests would go into optimising programs that run for a moment;
the slow tests, which train for longer, have them as users do."""


def pytest_configure(config: pytest.Config) -> None:
    flags = os.environ.get("XLA_FLAGS", "")
    if config.option.markexpr == "not slow" and "optimization_level" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {QUICKLY_COMPILED}".strip()


SETTINGS = Settings(
    search_control=HillClimbing(steps=10, queue_size=300),
    training=Training(steps=100, warmup=40, planning_steps=1, replay_size=100),
    evaluation=Evaluation(every=20),
)


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """Signals as a terminal leaves them, even if the tests were started with some ignored."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """HC-Dyna on GridWorld, two seeds, five evaluations, kept in a folder with snapshots."""
    return train(SETTINGS, seeds=[3, 8], out=tmp_path_factory.mktemp("runs") / "climbing")


@pytest.fixture(scope="session")
def made_up() -> Run:
    """DQN without training: four seeds with returns from a hat."""
    rng = np.random.default_rng(0)
    returns = rng.normal(-500, 50, (1, 4, 5, 1))
    return Run(
        settings=[dataclasses.replace(SETTINGS, search_control="replay")],
        seeds=[0, 1, 2, 3],
        steps=np.arange(20, 101, 20),
        returns=returns,
        lengths=-returns,
        info=[{"loss": rng.uniform(1, 2, (1, 4))} for _ in range(5)],
        diverged=np.zeros((1, 4, 5), bool),
        final=lambda: None,
    )


@pytest.fixture(scope="session")
def broken(made_up: Run) -> Run:
    """Seeds 1 and 2 diverge, at the third and the last evaluation; the returns of 2 are lost."""
    diverged = made_up.diverged.copy()
    diverged[0, 1, 2:] = diverged[0, 2, 4:] = True
    returns = made_up.returns.copy()
    returns[0, 2, 4:] = np.nan
    info = [
        {"loss": np.where(diverged[..., i], np.inf, e["loss"])} for i, e in enumerate(made_up.info)
    ]
    return dataclasses.replace(made_up, diverged=diverged, returns=returns, info=info)


@pytest.fixture(scope="session")
def empty(made_up: Run) -> Run:
    """Not a single evaluation yet."""
    return dataclasses.replace(
        made_up,
        steps=made_up.steps[:0],
        returns=made_up.returns[:, :, :0],
        lengths=made_up.lengths[:, :, :0],
        info=[],
        diverged=made_up.diverged[:, :, :0],
    )


@pytest.fixture(scope="session")
def single(made_up: Run) -> Run:
    """One seed: there is no interval."""
    return dataclasses.replace(
        made_up,
        seeds=[0],
        returns=made_up.returns[:, :1],
        lengths=made_up.lengths[:, :1],
        info=[{"loss": entry["loss"][:, :1]} for entry in made_up.info],
        diverged=made_up.diverged[:, :1],
    )
