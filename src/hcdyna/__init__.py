"""Search-control in Dyna: plan from better states.

>>> from hcdyna import Settings, Training, train
>>> settings = Settings(search_control="uniform", training=Training(steps=200, warmup=100))
>>> train(settings, seeds=2).returns.shape
(1, 2, 1, 1)
"""

import importlib
from typing import TYPE_CHECKING, Any

from hcdyna.numerics.rounding import round_every_operation
from hcdyna.version import __version__ as __version__

if TYPE_CHECKING:
    from hcdyna import callbacks
    from hcdyna.agents.ddpg import DDPG
    from hcdyna.agents.double_dqn import DoubleDQN
    from hcdyna.agents.dqn import DQN
    from hcdyna.agents.tabular import Tabular
    from hcdyna.environments.acrobot import Acrobot
    from hcdyna.environments.cart_pole import CartPole
    from hcdyna.environments.grid_world import GridWorld, GridWorldContinuous
    from hcdyna.environments.mountain_car import MountainCar
    from hcdyna.environments.tabular_grid_world import TabularGridWorld
    from hcdyna.gymnasium.theirs.environment import Hosted
    from hcdyna.models.counted import CountedModel
    from hcdyna.models.learned import LearnedModel
    from hcdyna.models.true import TrueModel
    from hcdyna.numerics import adam as adam
    from hcdyna.numerics import networks as networks
    from hcdyna.numerics import ring as ring
    from hcdyna.numerics.networks import Network
    from hcdyna.runs.run import Run
    from hcdyna.runs.trained import TrainedAgent
    from hcdyna.search_control.base import drawn, queued, with_value
    from hcdyna.search_control.climbing import climb
    from hcdyna.search_control.continuous_gibbs import ContinuousGibbs
    from hcdyna.search_control.frequency import Frequency
    from hcdyna.search_control.gibbs import Gibbs
    from hcdyna.search_control.hill_climbing import HillClimbing
    from hcdyna.search_control.on_policy import OnPolicy
    from hcdyna.search_control.prioritised_replay import PrioritisedReplay
    from hcdyna.search_control.prioritised_sweeping import PrioritisedSweeping
    from hcdyna.search_control.replay import Replay
    from hcdyna.search_control.rollouts import Rollouts
    from hcdyna.search_control.tabular_hill_climbing import TabularHillClimbing
    from hcdyna.search_control.td_error import TDError
    from hcdyna.search_control.uniform import Uniform
    from hcdyna.search_control.visited_pairs import VisitedPairs
    from hcdyna.settings import Evaluation, Settings, Training
    from hcdyna.settings import presets as presets
    from hcdyna.settings import registry as registry
    from hcdyna.settings.errors import Interrupted, RunError, SettingsError
    from hcdyna.training.load import load
    from hcdyna.training.train import resume, train


HOME_OF = {
    "Acrobot": "hcdyna.environments.acrobot",
    "CartPole": "hcdyna.environments.cart_pole",
    "CountedModel": "hcdyna.models.counted",
    "ContinuousGibbs": "hcdyna.search_control.continuous_gibbs",
    "DDPG": "hcdyna.agents.ddpg",
    "DQN": "hcdyna.agents.dqn",
    "DoubleDQN": "hcdyna.agents.double_dqn",
    "Evaluation": "hcdyna.settings",
    "Frequency": "hcdyna.search_control.frequency",
    "Gibbs": "hcdyna.search_control.gibbs",
    "GridWorld": "hcdyna.environments.grid_world",
    "GridWorldContinuous": "hcdyna.environments.grid_world",
    "HillClimbing": "hcdyna.search_control.hill_climbing",
    "Hosted": "hcdyna.gymnasium.theirs.environment",
    "LearnedModel": "hcdyna.models.learned",
    "MountainCar": "hcdyna.environments.mountain_car",
    "Network": "hcdyna.numerics.networks",
    "OnPolicy": "hcdyna.search_control.on_policy",
    "PrioritisedReplay": "hcdyna.search_control.prioritised_replay",
    "PrioritisedSweeping": "hcdyna.search_control.prioritised_sweeping",
    "Replay": "hcdyna.search_control.replay",
    "Rollouts": "hcdyna.search_control.rollouts",
    "Run": "hcdyna.runs.run",
    "Settings": "hcdyna.settings",
    "SettingsError": "hcdyna.settings.errors",
    "TDError": "hcdyna.search_control.td_error",
    "Tabular": "hcdyna.agents.tabular",
    "TabularGridWorld": "hcdyna.environments.tabular_grid_world",
    "TabularHillClimbing": "hcdyna.search_control.tabular_hill_climbing",
    "TrainedAgent": "hcdyna.runs.trained",
    "Training": "hcdyna.settings",
    "TrueModel": "hcdyna.models.true",
    "Uniform": "hcdyna.search_control.uniform",
    "VisitedPairs": "hcdyna.search_control.visited_pairs",
    "climb": "hcdyna.search_control.climbing",
    "Interrupted": "hcdyna.settings.errors",
    "RunError": "hcdyna.settings.errors",
    "load": "hcdyna.training.load",
    "resume": "hcdyna.training.train",
    "drawn": "hcdyna.search_control.base",
    "queued": "hcdyna.search_control.base",
    "train": "hcdyna.training.train",
    "with_value": "hcdyna.search_control.base",
}
"""Where each public name lives: JAX is imported with the first one that needs it."""

MODULES = {
    "adam": "hcdyna.numerics.adam",
    "callbacks": "hcdyna.callbacks",
    "models": "hcdyna.models",
    "networks": "hcdyna.numerics.networks",
    "presets": "hcdyna.settings.presets",
    "registry": "hcdyna.settings.registry",
    "ring": "hcdyna.numerics.ring",
}
"""Modules that parts of one's own are made with, by their short names."""

__all__ = [
    "DDPG",
    "DQN",
    "Acrobot",
    "CartPole",
    "ContinuousGibbs",
    "CountedModel",
    "DoubleDQN",
    "Evaluation",
    "Frequency",
    "Gibbs",
    "GridWorld",
    "GridWorldContinuous",
    "HillClimbing",
    "Hosted",
    "Interrupted",
    "LearnedModel",
    "MountainCar",
    "Network",
    "OnPolicy",
    "PrioritisedReplay",
    "PrioritisedSweeping",
    "Replay",
    "Rollouts",
    "Run",
    "RunError",
    "Settings",
    "SettingsError",
    "TDError",
    "Tabular",
    "TabularGridWorld",
    "TabularHillClimbing",
    "TrainedAgent",
    "Training",
    "TrueModel",
    "Uniform",
    "VisitedPairs",
    "callbacks",
    "climb",
    "drawn",
    "load",
    "queued",
    "resume",
    "train",
    "with_value",
]

round_every_operation()
importlib.import_module("hcdyna.gymnasium.ours")  # so that gymnasium.make knows our domains


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(MODULES[name])
    if name not in HOME_OF:
        raise AttributeError(f"module 'hcdyna' has no attribute {name!r}")
    return getattr(importlib.import_module(HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *HOME_OF, *MODULES])
