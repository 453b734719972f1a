"""The public names of the package. Type checkers read this list, and so does `lazily`."""

from hcdyna import callbacks as callbacks
from hcdyna import models as models
from hcdyna.agents.ddpg import DDPG as DDPG
from hcdyna.agents.dqn import DQN as DQN
from hcdyna.agents.tabular import Tabular as Tabular
from hcdyna.environments.acrobot import Acrobot as Acrobot
from hcdyna.environments.cart_pole import CartPole as CartPole
from hcdyna.environments.grid_world import GridWorld as GridWorld
from hcdyna.environments.grid_world import GridWorldContinuous as GridWorldContinuous
from hcdyna.environments.maze import Maze as Maze
from hcdyna.environments.mountain_car import MountainCar as MountainCar
from hcdyna.environments.tabular_grid_world import TabularGridWorld as TabularGridWorld
from hcdyna.gymnasium.theirs.environment import Hosted as Hosted
from hcdyna.models.counted import CountedModel as CountedModel
from hcdyna.models.learned import LearnedModel as LearnedModel
from hcdyna.models.true import TrueModel as TrueModel
from hcdyna.numerics import adam as adam
from hcdyna.numerics import networks as networks
from hcdyna.numerics import ring as ring
from hcdyna.numerics.networks import Network as Network
from hcdyna.runs.run import Run as Run
from hcdyna.runs.scoring import evaluate as evaluate
from hcdyna.runs.trained import TrainedAgent as TrainedAgent
from hcdyna.search_control.base import drawn as drawn
from hcdyna.search_control.base import queued as queued
from hcdyna.search_control.base import with_value as with_value
from hcdyna.search_control.climbing import climb as climb
from hcdyna.search_control.continuous_gibbs import ContinuousGibbs as ContinuousGibbs
from hcdyna.search_control.frequency import Frequency as Frequency
from hcdyna.search_control.gibbs import Gibbs as Gibbs
from hcdyna.search_control.hill_climbing import HillClimbing as HillClimbing
from hcdyna.search_control.on_policy import OnPolicy as OnPolicy
from hcdyna.search_control.prioritised_replay import PrioritisedReplay as PrioritisedReplay
from hcdyna.search_control.prioritised_sweeping import (
    PrioritisedSweeping as PrioritisedSweeping,
)
from hcdyna.search_control.replay import Replay as Replay
from hcdyna.search_control.rollouts import Rollouts as Rollouts
from hcdyna.search_control.tabular_hill_climbing import (
    TabularHillClimbing as TabularHillClimbing,
)
from hcdyna.search_control.td_error import TDError as TDError
from hcdyna.search_control.uniform import Uniform as Uniform
from hcdyna.search_control.visited_pairs import VisitedPairs as VisitedPairs
from hcdyna.settings import Evaluation as Evaluation
from hcdyna.settings import Settings as Settings
from hcdyna.settings import Training as Training
from hcdyna.settings import presets as presets
from hcdyna.settings import registry as registry
from hcdyna.settings.errors import Interrupted as Interrupted
from hcdyna.settings.errors import RunError as RunError
from hcdyna.settings.errors import SettingsError as SettingsError
from hcdyna.sweeps.study import Study as Study
from hcdyna.sweeps.sweep import sweep as sweep
from hcdyna.training.load import load as load
from hcdyna.training.load import load_agent as load_agent
from hcdyna.training.load import load_run as load_run
from hcdyna.training.train import resume as resume
from hcdyna.training.train import train as train
from hcdyna.version import __version__ as __version__
