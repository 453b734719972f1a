"""The CUDA sources do what the plain functions do, where there is no GPU: a C++ compiler takes them
with a thread for each of those of a block.

`benchmarks/kernels.py` compares the kernels themselves, on a GPU.
"""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Acrobot,
    CartPole,
    GridWorld,
    GridWorldContinuous,
    LearnedModel,
    MountainCar,
)
from hcdyna.kernels import model
from hcdyna.kernels.build import FOLDER
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.model import of_many
from hcdyna.kernels.plan import GREEDY
from hcdyna.kernels.sizes import sizes
from hcdyna.models.fitting import Learned, Lesson
from hcdyna.numerics import ring
from hcdyna.numerics.networks import mlp
from hcdyna.planning import MiniBatches, plan
from hcdyna.planning.discrete import Asked
from hcdyna.search_control.climbing import climb_along
from hcdyna.search_control.frequency import ValueOrFrequency
from hcdyna.types import Scene, Transition

BLOCK = Path(__file__).parent / "a_block_on_threads.h"
AGENTS, STEPS = 4, 8
CLIMB = """
extern "C" void run_climb(int agents, int steps, int most, const float** f, const bool* on_value,
                          float* states, bool* accepted) {
  Climb in{{f[0], f[1], f[2], f[3], f[4], f[5]}, f[6], f[7], f[8], f[9], f[10], f[11], f[12],
           states, accepted, steps, most, on_value};
  launch(agents, 32, [=] { climb_kernel(in); });
}
extern "C" void run_look(int agents, const float** f, float* q, float* gradients) {
  Params params{f[0], f[1], f[2], f[3], f[4], f[5]};
  const float* states = f[6];
  launch(agents, 32, [=] { look_kernel(params, states, q, gradients); });
}
"""
FIT = """
extern "C" void run(int networks, int each, const float** f, const int* action, float** to) {
  Fit in{};
  for (auto* arrays : {in.params, in.mean, in.square})
    for (int i = 0; i < 6; ++i) arrays[i] = *f++;
  in.rate = f[0], in.correction = f[1], in.questions = f[2], in.action = action;
  in.truth = f[3], in.ended = f[4], in.move = f[5], in.rest = f[6], in.each = each;
  for (auto* arrays : {in.new_params, in.new_mean, in.new_square})
    for (int i = 0; i < 6; ++i) arrays[i] = *to++;
  in.loss = *to;
  launch(networks, THREADS, [=] { fit_kernel(in); });
}
"""
PLAN = """
extern "C" void run(int agents, int most, int target_period, const float** f, const int** i,
                    float** to, int* updates) {
  Plan in{};
  for (auto* arrays : {in.params, in.target, in.mean, in.square})
    for (int layer = 0; layer < 6; ++layer) arrays[layer] = *f++;
  in.power1 = f[0], in.power2 = f[1], in.learning_rate = f[2];
  in.obs = f[3], in.reward = f[4], in.discount = f[5], in.next_obs = f[6];
  in.states = f[7], in.rewards = f[8], in.discounts = f[9], in.next_states = f[10];
  in.updates = i[0], in.count = i[1], in.action = i[2], in.choice = i[3];
  for (auto* arrays : {in.new_params, in.new_target, in.new_mean, in.new_square})
    for (int layer = 0; layer < 6; ++layer) arrays[layer] = *to++;
  in.new_power1 = to[0], in.new_power2 = to[1], in.loss = to[2], in.mean_q = to[3];
  in.new_updates = updates, in.most = most, in.target_period = target_period;
  launch(agents, THREADS, [=] { plan_kernel(in); });
}
"""
ANSWER = """
extern "C" void run(int networks, int rows, const float** f, float* to) {
  Answer in{{f[0], f[1], f[2], f[3], f[4], f[5]}, f[6], to, rows};
  launch(networks, 64, [=] { answer_kernel(in); });
}
"""
CASES = [
    (GridWorld(), 32, "tanh", True, True),
    pytest.param(Acrobot(), 32, "tanh", True, True, marks=pytest.mark.slow),
    pytest.param(CartPole(), 64, "tanh", True, False, marks=pytest.mark.slow),
    pytest.param(GridWorld(), 64, "relu", False, True, marks=pytest.mark.slow),
    pytest.param(Acrobot(), 32, "relu", True, False, marks=pytest.mark.slow),
]


def source(kernels: Sequence[str]) -> str:
    """Some kernels as C++, without what only CUDA and XLA know."""
    seen = set()

    def inlined(found: re.Match) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        inside = re.split("inline ffi::Error|struct Buffers", (FOLDER / name).read_text())[0]
        return re.sub(r'#include "(\w+\.cuh)"', inlined, inside)

    text = f'#include "{BLOCK}"\n'
    for kernel in kernels:
        own = (FOLDER / f"{kernel}.cu").read_text().split("static ffi::Error")[0]
        text += re.sub(r'#include "(\w+\.cuh)"', inlined, own)
    for only_cuda in (
        "#pragma once",
        "namespace ffi = xla::ffi;",
        '#include "xla/ffi/api/ffi.h"',
        "#include <cuda_runtime.h>",
        "#include <cuda_pipeline.h>",
    ):
        text = text.replace(only_cuda, "")
    text = text.replace("extern __shared__ float4 raw[];", "float4* raw = dynamic_shared_memory;")
    text = re.sub(r"asm\(\"mma\.sync.*?\);", "tensor_cores(c, a, b);", text, flags=re.DOTALL)
    text = re.sub(r"asm\(\"sqrt.*?\"f\"\((.*?)\)\);", r"root = sqrtf(\1);", text)
    text = re.sub(r"asm\(\"rsqrt.*?\"f\"\((.*?)\)\);", r"found = 1.f / sqrtf(\1);", text)
    assert "asm(" not in text
    return text


def compiled(
    folder: Path, kernels: Sequence[str], entries: str, macros: dict[str, int]
) -> ctypes.CDLL:
    """Some kernels for some sizes."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler was found")
    name = "_".join(kernels)
    (folder / f"{name}.cc").write_text(source(kernels) + entries)
    words = [f"-D{macro}={value}" for macro, value in macros.items()]
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", "-Wno-unknown-pragmas"]
    library = folder / f"{name}.so"
    command = [compiler, *flags, *words, "-o", str(library), str(folder / f"{name}.cc")]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if "barrier: No such file" in said.stderr:
        pytest.skip("the C++ compiler is older than C++20")
    assert said.returncode == 0, said.stderr[:2_000]
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("environment", "width", "activation", "frequency", "normalise"), CASES)
def test_kernels_for_gpus_do_what_the_plain_functions_do(
    environment, width, activation, frequency, normalise, tmp_path
):
    env = environment.build()
    perceptron = DQN(hidden=(width, width), activation=activation).build(env.spec).perceptron
    given = sizes(perceptron, env)
    d, actions = given["STATE"], given["ACTIONS"]
    how = {"NORMALISE": int(normalise), "FREQUENCY": int(frequency), "PAIRS": env.project.pairs}
    library = compiled(tmp_path, ("climb", "look"), CLIMB, given | how)

    size_of_a_step = 0.1 if normalise else 1e-3
    network, rng = mlp((d, width, width, actions), activation), np.random.default_rng(0)
    params = jax.vmap(network.init)(jax.random.split(jax.random.key(0), AGENTS))
    params = jax.tree.map(lambda x: x + 0.2 * rng.normal(size=x.shape).astype(np.float32), params)
    size = np.asarray(env.spec.high - env.spec.low)
    states = np.asarray(env.spec.low) + size * rng.uniform(size=(AGENTS, d))
    start = np.asarray(jax.vmap(env.project)(states.astype(np.float32)))
    mixing = 0.2 * size[:, None] * rng.normal(size=(AGENTS, d, d))
    covariance = (mixing @ mixing.transpose(0, 2, 1)).astype(np.float32)
    noise = 0.1 * rng.normal(size=(AGENTS, STEPS, d)) @ mixing.transpose(0, 2, 1)
    on_value = np.arange(AGENTS) % 2 == 0 if frequency else np.ones(AGENTS, bool)

    def plain(params, noise, start, covariance, on_value):
        value = partial(lambda params, obs: jnp.max(network.apply(params, obs)), params)
        return climb_along(
            noise,
            start,
            ValueOrFrequency(value, on_value),
            covariance=covariance,
            step_size=size_of_a_step,
            normalise=normalise,
            project=env.project,
            threshold=0.02,
            skip=None,
            max_accepted=5,
        )

    right = jax.vmap(plain)(params, noise.astype(np.float32), start, covariance, on_value)
    box = [np.broadcast_to(end, (AGENTS, d)) for end in (env.project.low, env.project.high)]
    numbers = [np.full(AGENTS, x) for x in (size_of_a_step, 0.02)]
    inputs = [*jax.tree.leaves(params), noise, start, covariance, *numbers, *box]
    inputs = [np.ascontiguousarray(x, np.float32) for x in inputs]
    pointers = (ctypes.c_void_p * len(inputs))(*[x.ctypes.data for x in inputs])
    found = np.zeros((AGENTS, STEPS, d), np.float32), np.zeros((AGENTS, STEPS), bool)
    library.run_climb(AGENTS, STEPS, 5, pointers, pointer(on_value), *map(pointer, found))
    np.testing.assert_allclose(found[0], right[0], atol=2e-5)
    np.testing.assert_array_equal(found[1], right[1])

    looks = np.zeros((AGENTS, actions), np.float32), np.zeros((AGENTS, d), np.float32)
    seen = (ctypes.c_void_p * 7)(*pointers[:6], start.ctypes.data)
    library.run_look(AGENTS, seen, *map(pointer, looks))
    q = jax.vmap(network.apply)(params, start)
    slope = jax.grad(lambda obs, params: jnp.max(network.apply(params, obs)))
    np.testing.assert_allclose(looks[0], q, atol=1e-5)
    np.testing.assert_allclose(looks[1], jax.vmap(slope)(start, params), atol=1e-5)


def pointers_to(arrays: Any) -> tuple[list[np.ndarray], Any]:
    """Arrays as a kernel takes them, and their addresses; the first must outlive the second."""
    kept = [np.ascontiguousarray(x, np.float32) for x in jax.tree.leaves(arrays)]
    return kept, (ctypes.c_void_p * len(kept))(*[x.ctypes.data for x in kept])


def fit_for(folder: Path, precise: bool):
    """A gradient step as models ask for it, by the CUDA source."""

    def for_network(widths, activation, rows):
        sizes = {"STATE": widths[0], "HIDDEN": widths[1], "OUTPUTS": widths[-1]}
        how = {"TANH": int(activation == "tanh"), "ROWS": rows, "PRECISE": int(precise)}
        library = compiled(folder, ("fit",), FIT, sizes | how)

        def run(kept, rate, correction, lesson):
            given = (rate, correction, lesson.questions, lesson.truth, lesson.ended)
            given = (*given, lesson.weight_of_move, lesson.weight_of_rest)
            networks = np.size(rate)
            _kept, addresses = pointers_to((kept, given))
            action = np.ascontiguousarray(lesson.action, np.int32)
            found = [np.zeros(np.shape(x), np.float32) for x in jax.tree.leaves((kept, rate))]
            results = (ctypes.c_void_p * len(found))(*[x.ctypes.data for x in found])
            each = np.shape(lesson.truth)[-1] + 1
            library.run(networks, each, addresses, pointer(action), results)
            return *jax.tree.unflatten(jax.tree.structure(kept), found[:-1]), found[-1]

        def fit(params, mean, square, power, rate, lesson):
            shapes = jax.tree.map(
                lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (params, mean, square, power[0])
            )
            numbers = (rate / (1 - power[0]), 1 / (1 - power[1]))
            given = ((params, mean, square), *numbers, lesson)
            return Learned(*jax.pure_callback(run, shapes, *given, vmap_method="broadcast_all"))

        return fit

    return for_network


MODELS = [
    (CartPole(), LearnedModel(hidden=(32, 32), members=2, batch_size=20, trust="trust"), True),
    (GridWorld(), LearnedModel(hidden=(32, 32), batch_size=32, normalise=False, trust="trust"), 0),
    pytest.param(
        Acrobot(),
        LearnedModel(activation="tanh", trust="trust"),
        True,
        marks=pytest.mark.slow,
    ),
    pytest.param(
        GridWorldContinuous(),
        LearnedModel(batch_size=100, trust="trust"),
        True,
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("environment", "settings", "precise"), MODELS)
def test_a_model_learns_the_same(environment, settings, precise, tmp_path):
    """With members, rare steps, raw data and continuous actions."""
    env, steps = environment.build(), 3
    rng = np.random.default_rng(1)
    low, high = np.asarray(env.spec.low), np.asarray(env.spec.high)

    def states(count):
        return (low + (high - low) * rng.uniform(size=(count, len(low)))).astype(np.float32)

    count = 40
    if env.spec.num_actions is None:
        action = rng.normal(size=(count, env.spec.action_size)).astype(np.float32)
    else:
        action = rng.integers(env.spec.num_actions, size=count).astype(np.int32)
    discount = np.where(rng.uniform(size=count) < 0.2, 0, 0.9).astype(np.float32)
    rewards = rng.normal(size=count).astype(np.float32)
    replay = ring.of_steps(env.spec, 64)
    rows = Transition(states(count), action, rewards, discount, states(count))
    replay = ring.extend(replay, rows, jnp.ones(count, bool))

    def learn(model):
        def step(state, key):
            state, info = model.update(key, state, replay)
            return state, info["model_loss"]

        keys = jax.random.split(jax.random.key(2), steps)
        return jax.lax.scan(step, model.init(jax.random.key(1)), keys)

    with jax.default_matmul_precision("highest"):
        plain, right = jax.jit(lambda: learn(settings.build(env)))()
        fused, losses = jax.jit(lambda: learn(settings.build(env, fit_for(tmp_path, precise))))()
    np.testing.assert_allclose(losses, right, rtol=1e-4 if precise else 2e-3)
    for name in ("mean", "square"):
        for one, other in zip(
            *(jax.tree.leaves(getattr(x.optimiser, name)) for x in (fused, plain)), strict=True
        ):
            size = np.linalg.norm(other)
            assert np.linalg.norm(one - other) <= (1e-4 if precise else 4e-3) * size + 1e-9
    start = settings.build(env).init(jax.random.key(1))
    for before, one, other in zip(
        *(jax.tree.leaves(x.params) for x in (start, plain, fused)), strict=True
    ):
        change = np.linalg.norm(one - before)
        assert np.linalg.norm(other - one) <= (2e-3 if precise else 0.05) * change


@pytest.mark.parametrize("where", [0, 2, 4], ids=["W1", "W2", "W3"])
def test_what_is_not_a_number_stays_so(where, tmp_path):
    """Rounding to TF32 would make numbers of it, and a diverged model would look sound."""
    widths, rows = (3, 32, 32, 5), 9
    leaves, structure = jax.tree.flatten(mlp(widths).init(jax.random.key(0)))
    leaves[where] = leaves[where].at[1, 1].set(jnp.nan)
    params, zeros = jax.tree.unflatten(structure, leaves), jax.tree.map(jnp.zeros_like, leaves)
    moments = jax.tree.unflatten(structure, zeros)
    reals = jax.random.normal(jax.random.key(1), (rows, 7))
    ones = jnp.ones(rows)
    lesson = Lesson(reals[:, :3], jnp.zeros(rows, int), reals[:, 3:], 0 * ones, ones, ones)
    fit = fit_for(tmp_path, precise=False)(widths, "relu", rows)
    power = (jnp.float32(0.9), jnp.float32(0.999))
    found = fit(params, moments, moments, power, 1e-3, lesson)
    assert all(np.isnan(x).all() for x in jax.tree.leaves((found.params, found.loss)))


def test_networks_that_do_not_fit_have_no_kernel(monkeypatch):
    """Neither are there any where the compiler fails."""
    made = []
    monkeypatch.setattr(model, "why_not", lambda: None)
    monkeypatch.setattr(model, "target", lambda kernel, **sizes: made.append((kernel, sizes)))
    assert model.fit_for((6, 64, 64, 24), "relu", 160) is not None
    assert model.apply_for((15, 32, 32, 32), "tanh") is not None
    assert [kernel for kernel, _ in made] == ["fit", "answer"]
    for widths in (
        (6, 64, 24),
        (6, 64, 32, 24),
        (6, 48, 48, 24),
        (16, 64, 64, 24),
        (6, 64, 64, 33),
    ):
        assert model.fit_for(widths, "relu", 128) is model.apply_for(widths, "relu") is None
    assert model.fit_for((6, 64, 64, 24), "relu", 161) is None

    def fails(kernel, **sizes):
        raise CannotBuild("too many rows")

    monkeypatch.setattr(model, "target", fails)
    assert model.fit_for((6, 64, 64, 24), "relu", 160) is None
    assert model.apply_for((6, 64, 64, 24), "relu") is None


@pytest.mark.parametrize(
    ("simulated", "replayed"), [pytest.param(16, 16, marks=pytest.mark.slow), (5, 20)]
)
def test_planning_learns_the_same(simulated, replayed, tmp_path):
    """As many updates as an agent wants, and the target network in between."""
    env, settings = MountainCar().build(), DQN(1e-3, target_period=3)
    agent, updates, agents = settings.build(env.spec), 3, 2
    counts = np.array([3, 2], np.int32)
    rng, d, actions = np.random.default_rng(2), 2, 3
    given = sizes(agent.perceptron, env) | {"FALLBACK": 0, "PRECISE": 1}
    macros = given | {"SIMULATED": simulated, "REPLAYED": replayed}
    library = compiled(tmp_path, ("plan",), PLAN, macros)

    def real(*shape):
        return rng.normal(size=(agents, updates, *shape)).astype(np.float32)

    def whole(*shape):
        return rng.integers(actions, size=(agents, updates, *shape)).astype(np.int32)

    state = jax.vmap(agent.init)(jax.random.split(jax.random.key(0), agents))
    state = jax.tree.map(
        lambda x: x + 0.1 * rng.uniform(size=x.shape).astype(np.float32) if x.ndim > 1 else x, state
    )
    state = state._replace(updates=np.array([4, 1], np.int32))
    replay = (real(replayed, d), whole(replayed), real(replayed), real(replayed), real(replayed, d))
    replay = Transition(*replay)
    asked = Asked(
        states=real(simulated, d),
        reward=real(simulated, actions),
        discount=real(simulated, actions),
        next_states=real(simulated, actions, d),
        explore=real(simulated) > 1,
        random_action=whole(simulated),
    )

    def plain(state, replay, asked, count):
        batches = MiniBatches(replay, simulated=None, rows=asked)
        scene = Scene(env, partial(agent.value, state), env.dynamics, None, None)
        return plan(jax.random.key(0), agent, state, batches, scene, count=count)

    with jax.default_matmul_precision("highest"):
        right, info = jax.jit(jax.vmap(plain))(state, replay, asked, counts)
    adam = state.optimiser
    kept = (state.params, state.target, adam.mean, adam.square, adam.power1, adam.power2)
    rate = np.full(agents, settings.learning_rate)
    rows = (replay.obs, replay.reward, replay.discount, replay.next_obs)
    answers = (asked.states, asked.reward, asked.discount, asked.next_states)
    inputs, addresses = pointers_to((kept, rate, rows, answers))
    choice = np.where(asked.explore, asked.random_action, GREEDY).astype(np.int32)
    numbers = [state.updates, counts, replay.action, choice]
    integers = (ctypes.c_void_p * 4)(*[x.ctypes.data for x in numbers])
    found = [np.zeros(x.shape, np.float32) for x in (*inputs[:26], rate, rate)]
    results = (ctypes.c_void_p * len(found))(*[x.ctypes.data for x in found])
    made = np.zeros(agents, np.int32)
    library.run(agents, updates, 3, addresses, integers, results, pointer(made))
    np.testing.assert_array_equal(made, right.updates)
    adam = right.optimiser
    wanted = (right.params, right.target, adam.mean, adam.square, adam.power1, adam.power2)
    wanted = jax.tree.leaves((wanted, info["loss"], info["mean_q"]))
    for before, one, other in zip((*inputs[:26], 0, 0), found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(other - before).max() + 1e-7)


@pytest.mark.parametrize("rows", [1, 37])
def test_a_model_answers_the_same(rows, tmp_path):
    widths, networks = (3, 32, 32, 20), 2
    sizes = {"STATE": 3, "HIDDEN": 32, "OUTPUTS": 20, "TANH": 0}
    library = compiled(tmp_path, ("answer",), ANSWER, sizes)
    network, rng = mlp(widths), np.random.default_rng(0)
    params = jax.vmap(network.init)(jax.random.split(jax.random.key(0), networks))
    params = jax.tree.map(lambda x: x + 0.2 * rng.normal(size=x.shape).astype(np.float32), params)
    questions = rng.normal(size=(networks, rows, 3)).astype(np.float32)
    kept, addresses = pointers_to((params, questions))
    found = np.zeros((networks, rows, 20), np.float32)
    library.run(networks, rows, addresses, pointer(found))
    right = jax.vmap(network.on_batch)(params, questions)
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
    assert len(kept) == 7


def test_many_questions_of_a_network_are_asked_at_once():
    """However they are mapped, and with the derivatives of the plain network."""
    widths, asked = (3, 8, 8, 5), []
    network = mlp(widths)

    def many(params, questions):
        asked.append(questions.shape)
        return network.on_batch(params, questions)

    apply = of_many(many, widths, "relu")
    params = jax.vmap(network.init)(jax.random.split(jax.random.key(0), 2))
    questions = jax.random.normal(jax.random.key(1), (2, 6, 4, 3))

    def every(function):
        each = jax.vmap(jax.vmap(function, (None, 0)), (None, 0))
        return jax.vmap(each)(params, questions)

    np.testing.assert_allclose(every(apply), every(network.apply), atol=1e-6)
    assert asked[-1] == (24, 3)  # the last of those that are traced on the way
    one = jax.tree.map(lambda x: x[0], params)
    question = questions[0, 0, 0]
    np.testing.assert_allclose(apply(one, question), network.apply(one, question))

    def slope(function):
        return every(jax.grad(lambda params, x: jnp.sum(function(params, x)), argnums=1))

    np.testing.assert_allclose(slope(apply), slope(network.apply), atol=1e-6)
