"""What is made of a known end: `Environment.terminal` of environments on the host."""

import dataclasses
import json

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds_of_ours

from hcdyna import (
    DQN,
    Evaluation,
    HillClimbing,
    LearnedModel,
    Settings,
    SettingsError,
    Training,
    load,
    resume,
    train,
)
from hcdyna.cli import main
from hcdyna.gymnasium.theirs.checking import check_environment
from hcdyna.gymnasium.theirs.ends import cart_pole, known_terminal
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.settings.importing import Unimported
from hcdyna.training.hosted_steps import init, world_now


def at_the_end(obs):
    """Of Walk-v0."""
    return obs[0] >= 0.95


def too_early(obs):
    return obs[0] >= 0.0


def not_of_jax(obs):
    return bool(obs[0] > 0)


NO_FUNCTION = 3


def climbing(environment, warmup=100, steps=300):
    return Settings(
        environment=environment,
        agent=DQN(hidden=(8,)),
        model=LearnedModel(hidden=(4,), batch_size=4, normalise=False, trust="trust"),
        search_control=HillClimbing(steps=6, queue_size=500, skip_terminal=True, step_size=0.5),
        training=Training(
            steps=steps, warmup=warmup, planning_steps=1, batch_size=4, replay_size=500
        ),
        evaluation=Evaluation(every=100, episodes=1),
    )


@pytest.mark.parametrize("part", ["model", "search_control"])
def test_what_asks_for_ends_is_refused_where_none_are_known(part, tmp_path):
    given = {
        "model": LearnedModel(ends="known"),
        "search_control": HillClimbing(skip_terminal=True),
    }[part]
    settings = Settings(environment="Walk-v0", **{part: given})
    said = r"Walk-v0 does not tell which states end an episode; .*Hosted\('Walk-v0', terminal=…\)"
    with pytest.raises(SettingsError, match=said):
        train(settings, seeds=1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_line_says_so_in_one_line(capsys):
    words = ["--env", "Walk-v0", "--search-control", "hill_climbing", "--search.skip-terminal"]
    assert main(["train", *words, "--steps", "10"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "search_control = hill_climbing: skip_terminal = True, but Walk-v0 does not tell" in line


def test_an_id_is_known_only_as_it_was_registered(monkeypatch):
    assert Hosted("CartPole-v1").build().terminal is cart_pole
    assert known_terminal("my_package:CartPole-v1") is cart_pole
    assert known_terminal("hcdyna:hcdyna/GridWorld-v0") is not None
    for name in ("Walk-v0", "CartPole-v9", "MountainCar-v1", "LunarLander-v3", "Hopper-v4"):
        assert known_terminal(name) is None
    spec = gymnasium.registry["CartPole-v1"]
    for change in (
        {"kwargs": {"sutton_barto_reward": True}},
        {"entry_point": worlds_of_ours.Walk},
        {"additional_wrappers": (gymnasium.wrappers.FlattenObservation.wrapper_spec,)},
    ):
        monkeypatch.setitem(gymnasium.registry, spec.id, dataclasses.replace(spec, **change))
        assert known_terminal("CartPole-v1") is None


def test_a_function_of_the_user_comes_first():
    never = Hosted("CartPole-v1", terminal=lambda obs: False).build().terminal
    ended = never(jnp.full(4, 9.0))
    assert isinstance(ended, jax.Array)
    assert not ended


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda obs: obs[0], r"it gives .*float32"),
        (lambda obs: obs > 0, r"it gives .*shape=\(2,\)"),
        (lambda obs: None, r"it gives None"),
        (lambda obs: bool(obs[0] > 0), r"raised TracerBoolConversionError"),
        (lambda obs, action: True, r"raised TypeError"),
        ([1, 2], r"raised TypeError"),
        ("at_the_end", r"must be given from Python, as an object"),
    ],
)
def test_functions_that_can_not_be_right(function, said):
    with pytest.raises(SettingsError, match=rf"Hosted\.terminal = .*{said}") as e:
        Hosted("Walk-v0", terminal=function).build()
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("scaling", [False, True])
def test_the_function_is_asked_about_original_observations(scaling):
    settings = climbing(Hosted("CartPole-v1", scaling=scaling))
    life = init(settings, 0, {})
    obs = jnp.array([[2.3, 0.0, 0.2, 0.0], [2.5, 0.0, 0.2, 0.0], [0.0, 0.0, -0.22, 9.0]])
    shown = obs
    if scaling:
        centre, width = jnp.array([1.0, -2.0, 0.1, 5.0]), jnp.array([2.4, 3.0, 0.4, 0.1])
        life = life._replace(scale=jnp.stack([centre, width]))
        shown = (obs - centre) / width
    found = jax.vmap(world_now(settings, life).terminal)(shown)
    np.testing.assert_array_equal(found, [False, True, True])


def queued(run):
    """The states in the queues of all seeds [n, d], as the environment shows them."""
    rows = []
    for seed in run.seeds:
        queue = run.state(seed).search_control.queue
        rows.append(np.asarray(queue.data)[: int(queue.total)])
    scale = run.agent().scale
    rows = np.concatenate(rows)
    return rows if scale is None else rows * scale.width + scale.centre


@pytest.mark.slow
@pytest.mark.parametrize("scaling", [True, False])
def test_skip_terminal_on_cart_pole_stopped_and_resumed(scaling, tmp_path):
    settings = climbing(Hosted("CartPole-v1", scaling=scaling))
    whole = train(settings, seeds=2, out=tmp_path / "whole")
    train(settings, seeds=2, on_chunk=lambda now: now.steps[-1] == 200, out=tmp_path / "stopped")
    states = queued(whole)
    np.testing.assert_array_equal(queued(resume(tmp_path / "stopped")), states)
    assert len(states) > 100
    assert not np.asarray(jax.vmap(cart_pole)(states)).any()


@pytest.mark.slow
def test_without_skip_terminal_there_are_ends_in_the_queue():
    settings = climbing(Hosted("CartPole-v1"))
    queueing = dataclasses.replace(settings.search_control, skip_terminal=False)
    run = train(dataclasses.replace(settings, search_control=queueing), seeds=2)
    assert np.asarray(jax.vmap(cart_pole)(queued(run))).any()


def with_known_skipped(environment):
    settings = climbing(environment)
    skipping = dataclasses.replace(settings.search_control, skip_terminal=False, skip_known=True)
    return dataclasses.replace(settings, search_control=skipping)


def test_terminal_states_are_skipped_where_they_are_known():
    strictly = train(climbing(Hosted("CartPole-v1")), seeds=1)
    known = train(with_known_skipped(Hosted("CartPole-v1")), seeds=1)
    states = queued(known)
    np.testing.assert_array_equal(states, queued(strictly))
    assert not np.asarray(jax.vmap(cart_pole)(states)).any()


def test_and_queued_where_they_are_not():
    known = train(with_known_skipped(Hosted("Walk-v0")), seeds=1)
    plain = with_known_skipped(Hosted("Walk-v0"))
    climb = dataclasses.replace(plain.search_control, skip_known=False)
    states = queued(known)
    np.testing.assert_array_equal(
        states, queued(train(dataclasses.replace(plain, search_control=climb), seeds=1))
    )
    assert len(states) > 100


def test_a_function_is_kept_with_the_run_by_its_place(tmp_path):
    walk = climbing(Hosted("Walk-v0", terminal=at_the_end), warmup=200, steps=200)
    train(walk, seeds=1, on_chunk=lambda progress: True, out=tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    place = f"{__name__}:at_the_end"
    assert record["settings"][0]["environment"]["terminal"] == {"import": place}
    assert list(resume(tmp_path / "run").steps) == [100, 200]
    looked_at = load(tmp_path / "run")
    assert looked_at.settings[0].environment.terminal == Unimported(place)
    assert looked_at.settings[0].environment.build().terminal is None
    path = looked_at.agent().save(tmp_path / "agent.safetensors")
    assert load(path).settings.environment.terminal is at_the_end
    assert main(["eval", str(tmp_path / "run"), "--episodes", "1"]) == 0


def test_a_function_without_a_place_is_refused_at_the_start(tmp_path):
    nameless = climbing(Hosted("Walk-v0", terminal=lambda obs: obs[0] >= 0.95))
    with pytest.raises(SettingsError, match=r"Hosted\.terminal = .*can't be saved with the run"):
        train(nameless, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_check_env_says_whether_ends_are_known(capsys):
    assert main(["check-env", "CartPole-v1", "--steps", "50"]) == 0
    assert "known (a function of the observation)" in capsys.readouterr().out
    assert main(["check-env", "Walk-v0", "--steps", "50"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "learned; if the observation determines them, pass a function: Hosted('Walk-v0'" in out


def test_check_environment_compares_a_function_of_the_user():
    right = check_environment(Hosted("Walk-v0", terminal=at_the_end), steps=200)
    assert right["ends"] == "given (a function of the observation, right in all 200 random steps)"
    wrong = check_environment(Hosted("Walk-v0", terminal=too_early), steps=200)
    assert "given, but the function is wrong in" in wrong["ends"]


def test_a_function_by_its_place_from_the_shell(tmp_path, capsys):
    place = f"{__name__}:at_the_end"
    small = ["--steps", "60", "--warmup", "40", "--evaluation.every", "60", "--agent.hidden", "4"]
    words = ["--env", "Walk-v0", "--env.terminal", place, *small, "--search.skip-terminal"]
    assert main(["train", *words, "--out", str(tmp_path / "run")]) == 0
    assert "model learned (ends known;" in capsys.readouterr().out
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["settings"][0]["environment"]["terminal"] == {"import": place}
    assert main(["check-env", "Walk-v0", "--env.terminal", place, "--steps", "200"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "given (a function of the observation, right in all 200 random steps)" in out
    assert f"hcdyna train --env Walk-v0 --env.terminal {place} --steps" in out
    assert main(["train", *words, "--print-settings"]) == 0
    assert f"import: {place}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("at_the_end", "'at_the_end': must be like my_module:my_function"),
        ("no_such_module:f", "can't import 'no_such_module:f'"),
        (f"{__name__}:no_such_function", "has no attribute 'no_such_function'"),
        (f"{__name__}:NO_FUNCTION", "is 3; must be a function"),
        (f"{__name__}:not_of_jax", "raised TracerBoolConversionError"),
    ],
)
@pytest.mark.parametrize("command", [["train", "--steps", "10", "--env"], ["check-env"]])
def test_a_place_where_there_is_no_such_function(command, name, said, capsys):
    assert main([*command, "Walk-v0", "--env.terminal", name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
