"""HC-Dyna learns: near-optimal returns on a world without a wall, within a few thousand steps."""

import numpy as np

from hcdyna import DQN, Evaluation, GridWorld, HillClimbing, Settings, Training, train

SHORTEST = -(2 * 18)
"""From the start to the goal corner: at least 18 moves each way."""


def test_hc_dyna_finds_the_goal():
    settings = Settings(
        environment=GridWorld(wall=False, time_limit=300),
        agent=DQN(learning_rate=1e-3, target_period=200),
        search_control=HillClimbing(steps=30, queue_size=20_000),
        training=Training(steps=4_000, warmup=1_500, planning_steps=4, replay_size=4_000),
        evaluation=Evaluation(every=1_000, episodes=5),
    )
    run = train(settings, seeds=4)
    final = np.median(run.mean_returns()[:, -1])
    assert final > SHORTEST - 12, f"median return {final}"
    assert np.median(run.mean_returns()[:, 0]) < SHORTEST - 60, (
        "it must have had something to learn"
    )
