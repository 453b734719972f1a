"""An agent's climbs are the same to the last bit, whoever shares its program."""

import jax
import numpy as np
import pytest

from hcdyna import DQN, Evaluation, Frequency, HillClimbing, Settings, TDError, Training, train

SHORT = {"steps": 5, "queue_size": 50}


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [TDError(HillClimbing(normalise=False, eta=0.01, **SHORT)), Frequency(HillClimbing(**SHORT))],
    ids=["td_error", "frequency"],
)
def test_others_do_not_change_a_bit(strategy):
    settings = Settings(
        agent=DQN(activation="tanh", learning_rate=1e-2),
        search_control=strategy,
        training=Training(steps=80, warmup=40, planning_steps=2, replay_size=100),
        evaluation=Evaluation(every=80),
    )
    alone, four = (train(settings, seeds=seeds).state(7) for seeds in ([7], [7, 1, 2, 3]))
    assert np.ptp(alone.search_control.queue.data) > 0
    for x, y in zip(jax.tree.leaves(alone), jax.tree.leaves(four), strict=True):
        assert np.array_equal(x, y)
