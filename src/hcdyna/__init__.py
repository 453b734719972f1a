"""Search-control in Dyna: plan from better states.

>>> from hcdyna import Settings, Training, train
>>> settings = Settings(search_control="uniform", training=Training(steps=200, warmup=100))
>>> train(settings, seeds=2).returns.shape
(1, 2, 1, 1)
"""

from hcdyna.agents.dqn import DQN
from hcdyna.environments.acrobot import Acrobot
from hcdyna.environments.cart_pole import CartPole
from hcdyna.environments.grid_world import GridWorld, GridWorldContinuous
from hcdyna.environments.mountain_car import MountainCar
from hcdyna.environments.tabular_grid_world import TabularGridWorld
from hcdyna.errors import SettingsError
from hcdyna.models.learned import LearnedModel
from hcdyna.models.true import TrueModel
from hcdyna.networks import Network
from hcdyna.search_control.base import drawn, queued, with_value
from hcdyna.search_control.climbing import climb
from hcdyna.search_control.hill_climbing import HillClimbing
from hcdyna.search_control.on_policy import OnPolicy
from hcdyna.search_control.replay import Replay
from hcdyna.search_control.uniform import Uniform
from hcdyna.settings import Evaluation, Settings, Training
from hcdyna.training.compiled import train
from hcdyna.training.run import Run

__version__ = "0.1.0"

__all__ = [
    "DQN",
    "Acrobot",
    "CartPole",
    "Evaluation",
    "GridWorld",
    "GridWorldContinuous",
    "HillClimbing",
    "LearnedModel",
    "MountainCar",
    "Network",
    "OnPolicy",
    "Replay",
    "Run",
    "Settings",
    "SettingsError",
    "TabularGridWorld",
    "Training",
    "TrueModel",
    "Uniform",
    "climb",
    "drawn",
    "queued",
    "train",
    "with_value",
]
