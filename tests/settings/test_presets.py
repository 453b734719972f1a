"""Preset files: numbers as people write them, and files that nobody should have to read."""

import dataclasses

import pytest

from hcdyna import DQN, HillClimbing, LearnedModel, MountainCar, SettingsError, Uniform
from hcdyna.settings import presets
from hcdyna.settings.shorthand import settings_named
from parts_of_ours import Mixture


def read(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return presets.settings(str(file))


def test_numbers_with_an_exponent_are_numbers(tmp_path):
    found = read(tmp_path, "training: {steps: 1e5}\nagent: {dqn: {learning_rate: 1e-3}}\n")
    assert found.training.steps == 100_000
    assert found.agent.learning_rate == 1e-3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 5_000, "nested too deeply"),
        ("a: {" * 1_000, "nested too deeply"),
        ("a: " + "[" * 1_000 + "]" * 1_000, "nested too deeply"),
        ("training: {steps: 1.5}", "Training.steps = 1.5: must be a whole number"),
        ("training: {steps: .nan}", "Training.steps = nan: must be a whole number"),
        ("training: &a {steps: *a}", "Training.steps = {'steps': "),
        ("where: &a [*a]", "each case of where must name its environment"),
        ("x" * 1_000_001, "must have at most 1000000 bytes"),
        ("training: {steps: " + "9" * 5_000 + "}", "4300"),
    ],
)
def test_files_that_were_tampered_with(tmp_path, text, said):
    with pytest.raises(SettingsError) as refusal:
        read(tmp_path, text)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 1_000


def test_a_value_that_grows_when_it_is_written_out(tmp_path):
    lines = ["description: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"training: {{steps: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    with pytest.raises(SettingsError, match=r"Training.steps = .*: must be a whole number") as said:
        read(tmp_path, "\n".join(lines))
    assert len(str(said.value)) < 1_000


MINE = """
search_control:
  parts_of_ours:Mixture:
    share: 0.9
    first: {part: search_control.hill_climbing, eta: 0.3}
where:
  - environment: GridWorld
    search_control: {"parts_of_ours:Mixture": {first: {eta: 0.4}}}
  - environment: MountainCar
    search_control: {"parts_of_ours:Mixture": {first: {part: search_control.uniform}}}
"""


def test_presets_with_parts_inside_parts(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)

    def found(environment):
        mixture = "parts_of_ours:Mixture"
        return presets.settings(str(file), environment, search_control=mixture).search_control

    assert found("GridWorld") == Mixture(HillClimbing(eta=0.4), share=0.9)
    assert found("MountainCar") == Mixture(Uniform(), share=0.9), "of another part, nothing stays"
    assert found("parts_of_ours:Pond") == Mixture(HillClimbing(eta=0.3), share=0.9)


def test_gymnasium_environments_have_a_preset_of_their_own():
    assert presets.usual_for("CartPole-v1") == "gym"
    assert presets.usual_for("GridWorld") == presets.usual_for(None) == "paper"
    found = settings_named("CartPole-v1", steps=300)
    preset = presets.settings("gym", "CartPole-v1")
    assert found == dataclasses.replace(
        preset, training=dataclasses.replace(preset.training, steps=300)
    )
    assert found.agent.learning_rate == 1e-3
    assert (found.agent.target_period, found.agent.target_rate) == (1, 0.005), "soft targets"
    assert found.agent.average_rate == 0.01
    assert presets.settings("paper", "GridWorld").agent == DQN()
    assert found.model == LearnedModel()
    assert settings_named("CartPole-v1", agent=DQN(hidden=(8,)), steps=300).agent.hidden == (8,)
    assert settings_named("GridWorld").agent.learning_rate == 1e-4


def test_python_can_name_a_preset():
    found = settings_named("Acrobot-v1", preset="shaped", steps=300)
    usual = settings_named("Acrobot-v1", steps=300)
    assert found.agent == DQN(1e-3, hidden=(64, 64), double=True, loss="huber")
    assert found.training == usual.training
    assert settings_named(MountainCar(), preset="authors") == dataclasses.replace(
        presets.settings("authors", "MountainCar"), environment=MountainCar()
    ), "an object takes what its name would, but stays as it is"
    assert settings_named("GridWorld", preset="paper") == presets.settings("paper", "GridWorld")
    for wrong in ("shape", 3):
        with pytest.raises(SettingsError, match=r"preset = .*shaped"):
            settings_named("Acrobot-v1", preset=wrong)


def test_the_preset_for_continuous_actions_is_made_for_many_updates():
    agent = settings_named("Pendulum-v1").agent
    assert agent.layer_norm
    assert agent.twin_critics
