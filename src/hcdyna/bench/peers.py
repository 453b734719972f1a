"""Peers to measure beside, all on GridWorld and on one CPU thread; none is needed by the library.

They are HC-Dyna as a plain PyTorch loop, and the DQN of Stable-Baselines3 and of SBX (the same in
JAX). They are imported only when they are used.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from hcdyna.bench import peer_world as world


@dataclass(frozen=True)
class Peer:
    """Someone else's program that does the same work."""

    name: str
    needs: tuple[tuple[str, str], ...]
    """Modules, and the packages that have them."""
    speed: Callable[[int], float]
    """Steps to time → environment steps per second."""
    steps: int
    """So many take some seconds."""

    def missing(self) -> str | None:
        """What has to be installed first, in one line; None if all is there."""
        absent = [package for module, package in self.needs if find_spec(module) is None]
        return f"pip install {' '.join(absent)}" if absent else None


def torch_hcdyna(
    steps: int,
    warmup: int = 1_000,
    planning_steps: int = 10,
    seed: int = 0,
    climb_steps: int = 100,
) -> float:
    """Learning steps per second of HC-Dyna in PyTorch, after `warmup` random steps."""
    import torch

    from hcdyna.bench.torch_loop import HCDyna

    torch.set_num_threads(1)
    agent = HCDyna(planning_steps, climb_steps, seed)
    for _ in range(warmup):
        agent.random_step()
    # The first calls into autograd and Adam allocate; they are nobody's speed.
    for _ in range(3):
        agent.learning_step()
    start = time.perf_counter()
    for _ in range(steps):
        agent.learning_step()
    return steps / (time.perf_counter() - start)


def sb3_dqn(steps: int, warmup: int = 500, seed: int = 0) -> float:
    """Environment steps per second of Stable-Baselines3's DQN, after `warmup` random steps."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    return time_of_learning(DQN, steps, warmup, seed)


def sbx_dqn(steps: int, warmup: int = 500, seed: int = 0) -> float:
    """Environment steps per second of SBX's DQN, after `warmup` random steps."""
    import jax
    from sbx import DQN

    # Of networks this small a GPU would only be the slower one, as it is for Stable-Baselines3.
    with jax.default_device(jax.devices("cpu")[0]):
        return time_of_learning(DQN, steps, warmup, seed)


def time_of_learning(kind: Any, steps: int, warmup: int, seed: int) -> float:
    """Steps per second of a DQN behind the interface of Stable-Baselines3: an update a step."""
    agent = kind(
        "MlpPolicy",
        world.PeerGridWorld(),
        policy_kwargs={"net_arch": [32, 32]},
        batch_size=world.BATCH_SIZE,
        learning_starts=warmup,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=world.TARGET_EVERY,
        buffer_size=world.REPLAY_CAPACITY,
        learning_rate=world.LEARNING_RATE,
        gamma=world.GAMMA,
        exploration_initial_eps=world.EPSILON,
        exploration_final_eps=world.EPSILON,
        device="cpu",
        seed=seed,
    )
    # A few steps more than the warm-up, so that the first updates stay out of the time.
    agent.learn(warmup + 3)
    start = time.perf_counter()
    agent.learn(steps, reset_num_timesteps=False)
    return steps / (time.perf_counter() - start)


TORCH, SB3 = ("torch", "torch"), ("stable_baselines3", "stable-baselines3")
LOOP = Peer("PyTorch loop", (TORCH,), torch_hcdyna, steps=80)
STABLE_BASELINES = Peer("Stable-Baselines3 DQN", (TORCH, SB3), sb3_dqn, steps=2_500)
SBX = Peer("SBX DQN", (TORCH, SB3, ("sbx", "sbx-rl")), sbx_dqn, steps=2_500)
