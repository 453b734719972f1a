"""A strategy from outside the package keeps the same contract and trains."""

import numpy as np

from hcdyna import Evaluation, Settings, Training, testing, train
from hcdyna.environments.mountain_car import MountainCar
from nearest_to_goal import NearestToGoal


def test_it_keeps_the_contract():
    env = MountainCar().build()
    testing.check_search_control(NearestToGoal(), env)


def test_it_trains_with_its_number_traced():
    training = Training(steps=120, warmup=60, planning_steps=2, replay_size=200)
    narrow, wide = (
        Settings(
            environment="MountainCar",
            search_control=NearestToGoal(spread),
            training=training,
            evaluation=Evaluation(every=60),
        )
        for spread in (0.001, 0.5)
    )
    run = train([narrow, wide], seeds=2)
    assert run.returns.shape == (2, 2, 2, 1)
    weights = [run.state(0, setting).agent.params[0].weights for setting in (0, 1)]
    assert not np.array_equal(*weights), "the spread of the strategy must reach the program"
