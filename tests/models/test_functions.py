"""Functions of the user's in a model: what they can't answer is said in one line."""

import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import LearnedModel, SettingsError
from hcdyna.environments.grid_world import GridWorld
from hcdyna.models import from_function

ENV = GridWorld().build()
OBS = jnp.full(2, 0.5)


def raises(*given):
    raise OSError("the motor is gone.\nAsk somebody.")


def asked(model):
    built = model.build(ENV)
    return built.predict(None, built.init(jnp.array([0, 1], jnp.uint32)), OBS, jnp.int32(0))


FUNCTIONS = {
    "raises": (raises, "must be a function of JAX .*raised OSError: the motor is gone"),
    "of two": (lambda obs, action: True, "raised TypeError"),
    "a list": ([1, 2], "raised TypeError"),
    "of NumPy": (lambda obs, action, next_obs: np.float32(obs[0] @ "x"), "raised TypeError"),
    "several": (lambda obs, action, next_obs: next_obs > 0, r"shape \(2,\); must be a single one"),
    "nothing": (lambda obs, action, next_obs: None, "is None; must be numbers"),
    "a word": (lambda obs, action, next_obs: "end", "is 'end'; must be numbers"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("field", ["reward", "terminated"])
def test_functions_of_a_learned_model_that_can_not_be_right(field, name):
    function, said = FUNCTIONS[name]
    with pytest.raises(SettingsError, match=rf"LearnedModel\.{field} .*{said}") as refusal:
        asked(LearnedModel(hidden=(4,), **{field: function}))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (raises, r"\.function = .*raised OSError: the motor is gone"),
        (lambda obs, action: obs, "gives .*; must be next_obs, reward, terminated"),
        (lambda obs, action: (obs, -1.0), "gives .*; must be next_obs, reward, terminated"),
        (lambda obs, action: (obs[:1], -1.0, False), r"shape \(1,\); must have 2 numbers"),
        (lambda obs, action: (obs, obs, False), r"shape \(2,\); must be a single one"),
    ],
)
def test_dynamics_that_can_not_be_right(function, said):
    with pytest.raises(SettingsError, match=f"FromFunction.*{said}") as refusal:
        asked(from_function(function))
    assert "\n" not in str(refusal.value)
