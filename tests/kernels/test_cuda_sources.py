"""The CUDA sources do what the plain functions do, where there is no GPU: a C++ compiler takes them
with a thread for each of those of a block, and JAX calls their handlers as it does on a GPU.

`benchmarks/kernels.py` compares the kernels themselves, on a GPU.
"""

import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

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
    HillClimbing,
    LearnedModel,
    MountainCar,
    Settings,
    Training,
    train,
)
from hcdyna.kernels import accelerate, climb, look, model
from hcdyna.kernels import plan as gpu_plan
from hcdyna.kernels.build import FOLDER
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.model import of_many
from hcdyna.kernels.sizes import sizes
from hcdyna.models.fitting import Lesson
from hcdyna.numerics import ring
from hcdyna.numerics.networks import mlp
from hcdyna.planning import MiniBatches, plan
from hcdyna.planning.discrete import Asked
from hcdyna.search_control.climbing import climb_along
from hcdyna.search_control.frequency import ValueOrFrequency
from hcdyna.types import Scene, Transition

BLOCK = Path(__file__).parent / "a_block_on_threads.h"
AGENTS, STEPS = 4, 8
CASES = [
    (GridWorld(), 32, "tanh", True, True),
    pytest.param(Acrobot(), 32, "tanh", True, True, marks=pytest.mark.slow),
    pytest.param(CartPole(), 64, "tanh", True, False, marks=pytest.mark.slow),
    pytest.param(GridWorld(), 64, "relu", False, True, marks=pytest.mark.slow),
    pytest.param(Acrobot(), 32, "relu", True, False, marks=pytest.mark.slow),
]


def source(kernel: str) -> str:
    """A kernel and its handler as C++, without what only CUDA knows."""
    seen = set()

    def inlined(found: re.Match) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        return re.sub(r'#include "(\w+\.cuh)"', inlined, (FOLDER / name).read_text())

    text = (FOLDER / f"{kernel}.cu").read_text()
    text = re.sub(r'#include "(\w+\.cuh)"', inlined, text)
    for only_cuda in ("#pragma once", "#include <cuda_runtime.h>", "#include <cuda_pipeline.h>"):
        text = text.replace(only_cuda, "")
    text = text.replace("extern __shared__ float4 raw[];", "float4* raw = dynamic_shared_memory;")
    text = re.sub(r"asm\(\"mma\.sync.*?\);", "tensor_cores(c, a, b);", text, flags=re.DOTALL)
    text = re.sub(r"asm\(\"sqrt.*?\"f\"\((.*?)\)\);", r"root = sqrtf(\1);", text)
    text = re.sub(r"asm\(\"rsqrt.*?\"f\"\((.*?)\)\);", r"found = 1.f / sqrtf(\1);", text)
    assert "asm(" not in text
    # The handler: a launch is a call, and there are no streams.
    launched = r"(\w+)<<<(.*?), (.*?), .*?, stream>>>\((.*?)\);\n  return"
    text = re.sub(launched, r"launch(\2, \3, [&] { \1(\4); });\n  return", text, flags=re.DOTALL)
    text = text.replace("cudaStream_t stream, ", "")
    text = re.sub(r"\n *\.Ctx<ffi::PlatformStream<cudaStream_t>>\(\)", "", text)
    text = text.replace(",\n                              {ffi::Traits::kCmdBufferCompatible}", "")
    assert "stream" not in text.split("XLA_FFI_DEFINE")[-1]
    return f'#include "{BLOCK}"\n{text}'


@functools.cache
def target_on_threads(kernel: str, **macros: int) -> str:
    """What `build.target` gives, for a CPU."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler was found")
    words = [f"-D{macro}={value}" for macro, value in sorted(macros.items())]
    name = "_".join([kernel, "on_threads", *(str(x) for _, x in sorted(macros.items()))])
    with tempfile.TemporaryDirectory() as folder:
        made, library = Path(folder) / "kernel.cc", Path(folder) / "kernel.so"
        made.write_text(source(kernel))
        flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", "-w"]
        command = [compiler, *flags, *words, f"-I{jax.ffi.include_dir()}"]
        command += ["-o", str(library), str(made)]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if "barrier: No such file" in said.stderr:
            pytest.skip("the C++ compiler is older than C++20")
        assert said.returncode == 0, said.stderr[:2_000]
        handler = getattr(ctypes.cdll.LoadLibrary(str(library)), f"hcdyna_{kernel}")
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name


@pytest.fixture(autouse=True)
def as_if_on_a_gpu(monkeypatch):
    for module in (climb, look, gpu_plan, model):
        monkeypatch.setattr(module, "target", target_on_threads)
    monkeypatch.setattr(model, "why_not", lambda: None)


@pytest.mark.parametrize(("environment", "width", "activation", "frequency", "normalise"), CASES)
def test_kernels_for_gpus_do_what_the_plain_functions_do(
    environment, width, activation, frequency, normalise
):
    env = environment.build()
    perceptron = DQN(hidden=(width, width), activation=activation).build(env.spec).perceptron
    given = sizes(perceptron, env)
    d, actions = given["STATE"], given["ACTIONS"]
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

    how = {
        "step_size": size_of_a_step,
        "normalise": normalise,
        "threshold": 0.02,
        "max_accepted": 5,
    }

    def plain(params, noise, start, covariance, on_value):
        value = partial(lambda params, obs: jnp.max(network.apply(params, obs)), params)
        given = {"covariance": covariance, "project": env.project, "skip": None}
        return climb_along(noise, start, ValueOrFrequency(value, on_value), **given, **how)

    def fused(params, noise, start, covariance, on_value):
        given = {"covariance": covariance, "on_value": on_value if frequency else None}
        return climb.climb_along(noise, start, params, perceptron, env, env.project, **given, **how)

    drawn = (params, noise.astype(np.float32), start, covariance, on_value)
    right, found = jax.vmap(plain)(*drawn), jax.jit(jax.vmap(fused))(*drawn)
    np.testing.assert_allclose(found[0], right[0], atol=2e-5)
    np.testing.assert_array_equal(found[1], right[1])

    looks = jax.vmap(lambda params, obs: look.look(params, obs, perceptron, env))(params, start)
    q = jax.vmap(network.apply)(params, start)
    slope = jax.grad(lambda obs, params: jnp.max(network.apply(params, obs)))
    np.testing.assert_allclose(looks[0], q, atol=1e-5)
    np.testing.assert_allclose(looks[1], jax.vmap(slope)(start, params), atol=1e-5)


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
def test_a_model_learns_the_same(environment, settings, precise, monkeypatch):
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

    def learn(built):
        def step(state, key):
            state, info = built.update(key, state, replay)
            return state, info["model_loss"]

        keys = jax.random.split(jax.random.key(2), steps)
        return jax.lax.scan(step, built.init(jax.random.key(1)), keys)

    monkeypatch.setattr(model, "precise", lambda: bool(precise))
    with jax.default_matmul_precision("highest"):
        plain, right = jax.jit(lambda: learn(settings.build(env)))()
        fused, losses = jax.jit(lambda: learn(settings.build(env, model.fit_for)))()
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
def test_what_is_not_a_number_stays_so(where):
    """Rounding to TF32 would make numbers of it, and a diverged model would look sound."""
    widths, rows = (3, 32, 32, 5), 9
    leaves, structure = jax.tree.flatten(mlp(widths).init(jax.random.key(0)))
    leaves[where] = leaves[where].at[1, 1].set(jnp.nan)
    params, zeros = jax.tree.unflatten(structure, leaves), jax.tree.map(jnp.zeros_like, leaves)
    moments = jax.tree.unflatten(structure, zeros)
    reals = jax.random.normal(jax.random.key(1), (rows, 7))
    ones = jnp.ones(rows)
    lesson = Lesson(reals[:, :3], jnp.zeros(rows, int), reals[:, 3:], 0 * ones, ones, ones)
    fit = model.fit_for(widths, "relu", rows)
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
def test_planning_learns_the_same(simulated, replayed):
    """As many updates as an agent wants, and the target network in between."""
    env, settings = MountainCar().build(), DQN(1e-3, target_period=3)
    agent, updates, agents = settings.build(env.spec), 3, 2
    counts = np.array([3, 2], np.int32)
    rng, d, actions = np.random.default_rng(2), 2, 3

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

    def fused(state, replay, asked, count):
        batches = MiniBatches(replay, simulated=None, rows=asked)
        return gpu_plan.plan(agent.perceptron, env, state, batches, count)

    with jax.default_matmul_precision("highest"):
        (right, info), (found, said) = (
            jax.jit(jax.vmap(function))(state, replay, asked, counts) for function in (plain, fused)
        )
    np.testing.assert_array_equal(found.updates, right.updates)
    for name in ("loss", "mean_q"):
        np.testing.assert_allclose(said[name], info[name], rtol=1e-4)
    for before, one, other in zip(*map(jax.tree.leaves, (state, found, right)), strict=True):
        change = np.abs(np.asarray(other, float) - before).max()
        np.testing.assert_allclose(one, other, atol=1e-3 * change + 1e-7)


@pytest.mark.parametrize("rows", [1, 37])
def test_a_model_answers_the_same(rows):
    widths, networks = (3, 32, 32, 20), 2
    network, rng = mlp(widths), np.random.default_rng(0)
    params = jax.vmap(network.init)(jax.random.split(jax.random.key(0), networks))
    params = jax.tree.map(lambda x: x + 0.2 * rng.normal(size=x.shape).astype(np.float32), params)
    questions = rng.normal(size=(networks, rows, 3)).astype(np.float32)
    found, right = (
        jax.jit(jax.vmap(jax.vmap(function, (None, 0))))(params, questions)
        for function in (model.apply_for(widths, "relu"), network.apply)
    )
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "model_settings",
    [
        LearnedModel(hidden=(32, 32), batch_size=32),
        LearnedModel(hidden=(32, 32), batch_size=16, normalise=False, trust="replay"),
        "true",
    ],
)
def test_a_run_with_all_kernels_of_a_gpu(model_settings, monkeypatch):
    """From the settings to the parameters, two agents at once."""
    gpu = accelerate.GPU._replace(why_not=lambda perceptron, env: None)
    monkeypatch.setattr(accelerate, "kernels_here", lambda: gpu)

    def trained(kernels):
        settings = Settings(
            environment=MountainCar(),
            agent=DQN(1e-3),
            model=model_settings,
            search_control=HillClimbing(steps=12, queue_size=100),
            training=Training(
                steps=48, warmup=40, planning_steps=2, replay_size=60, kernels=kernels
            ),
        )
        run = train(settings, seeds=2, progress=False)
        return [run.state(seed).agent.params for seed in (0, 1)]

    with jax.default_matmul_precision("highest"):
        found, right = trained("on"), trained("off")
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
