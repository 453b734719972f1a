"""HC-Dyna as a plain PyTorch loop, as a careful user would write it: one state climbed at a time,
batched updates. PyTorch is imported only when it is used."""

import copy
import math
from typing import Any

import numpy as np

from hcdyna.bench import peer_world as world


class FloatRows:
    """First in, first out rows of floats, sampled uniformly."""

    def __init__(self, capacity: int, width: int) -> None:
        self.rows = np.zeros((capacity, width), dtype=np.float32)
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.rows))

    def add(self, row: np.ndarray | list[float]) -> None:
        self.rows[self.added % len(self.rows)] = row
        self.added += 1

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.rows[rng.integers(len(self), size=n)]


def transitions(
    s: np.ndarray, a: np.ndarray | int, r: float, s_next: np.ndarray, terminal: np.ndarray
) -> np.ndarray:
    """Packs transitions into rows (s, a, r, s', terminal)."""
    rows = np.empty((*s.shape[:-1], 2 * world.STATE_DIM + 3), dtype=np.float32)
    rows[..., :2], rows[..., 2], rows[..., 3] = s, a, r
    rows[..., 4:6], rows[..., 6] = s_next, terminal
    return rows


def q_network() -> Any:
    from torch import nn

    net = nn.Sequential(
        nn.Linear(world.STATE_DIM, 32),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, world.NUM_ACTIONS),
    )
    for layer in (net[0], net[2]):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    for parameter in net[4].parameters():
        nn.init.uniform_(parameter, -0.0003, 0.0003)
    return net


class HCDyna:
    """Algorithm 3 of the paper, with the true model."""

    def __init__(self, planning_steps: int, climb_steps: int, seed: int) -> None:
        import torch

        self.torch = torch
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.planning_steps, self.climb_steps = planning_steps, climb_steps
        self.q = q_network()
        self.q_target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=world.LEARNING_RATE)
        self.updates = 0
        self.replay = FloatRows(world.REPLAY_CAPACITY, 2 * world.STATE_DIM + 3)
        self.queue = FloatRows(world.QUEUE_CAPACITY, world.STATE_DIM)
        # Double precision: the difference of two means cancels badly in single.
        self.mu_s, self.mu_ss = (
            np.zeros(world.STATE_DIM),
            np.zeros((world.STATE_DIM, world.STATE_DIM)),
        )
        self.t, self.eps_a = 0, 0.0
        self.s, self.age = world.initial_state(self.rng), 0

    def random_step(self) -> None:
        self.observe(int(self.rng.integers(world.NUM_ACTIONS)))

    def learning_step(self) -> None:
        self.observe(int(self.epsilon_greedy(self.s[None])[0]))
        self.climb()
        for _ in range(self.planning_steps):
            self.planning_update()

    def observe(self, a: int) -> None:
        s = self.s
        s_next, r, terminal = world.model(s, a)
        self.replay.add(transitions(s, a, r, s_next, terminal))
        self.t += 1
        self.mu_s += (s - self.mu_s) / self.t
        self.mu_ss += (np.outer(s, s) - self.mu_ss) / self.t
        self.eps_a += world.BETA * (math.dist(s_next, s) / math.sqrt(world.STATE_DIM) - self.eps_a)
        self.s, self.age = s_next, self.age + 1
        if terminal or self.age >= world.TIME_LIMIT:
            self.s, self.age = world.initial_state(self.rng), 0

    def epsilon_greedy(self, s: np.ndarray) -> np.ndarray:
        with self.torch.no_grad():
            greedy = self.q(self.torch.from_numpy(s)).argmax(dim=1).numpy()
        random = self.rng.integers(world.NUM_ACTIONS, size=len(s))
        return np.where(self.rng.random(len(s)) < world.EPSILON, random, greedy)

    def covariance(self) -> np.ndarray:
        if self.t < 2:
            return np.eye(world.STATE_DIM)
        return self.mu_ss - np.outer(self.mu_s, self.mu_s)

    def climb(self) -> None:
        torch, sigma = self.torch, self.covariance()
        # The jitter keeps the factor defined while the states seen lie on a line.
        factor = np.linalg.cholesky(world.ETA * sigma + 1e-8 * np.eye(world.STATE_DIM))
        noise = self.rng.standard_normal((self.climb_steps, world.STATE_DIM)) @ factor.T
        metric = torch.from_numpy(sigma.astype(np.float32))
        s = torch.from_numpy(self.replay.sample(1, self.rng)[0, : world.STATE_DIM].copy())
        last_accepted = (math.inf,) * world.STATE_DIM
        for x in torch.from_numpy(noise.astype(np.float32)):
            s.requires_grad_(True)
            (g,) = torch.autograd.grad(self.q(s).max(), s)
            drift = metric @ g
            norm = drift.norm().item()
            s = s.detach() + x
            if 1e-8 < norm < math.inf:
                s += (world.ALPHA / norm) * drift
            s.clamp_(0.0, 1.0)
            climbed = s.tolist()
            if math.dist(climbed, last_accepted) / math.sqrt(world.STATE_DIM) >= self.eps_a:
                self.queue.add(climbed)
                last_accepted = climbed

    def planning_update(self) -> None:
        torch = self.torch
        batch = torch.from_numpy(self.mini_batch())
        s, a, r, s_next, terminal = batch.split((world.STATE_DIM, 1, 1, world.STATE_DIM, 1), dim=1)
        with torch.no_grad():
            value_next = self.q_target(s_next).amax(dim=1, keepdim=True)
            target = r + world.GAMMA * (1.0 - terminal) * value_next
        loss = torch.nn.functional.mse_loss(self.q(s).gather(1, a.long()), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % world.TARGET_EVERY == 0:
            self.q_target.load_state_dict(self.q.state_dict())

    def mini_batch(self) -> np.ndarray:
        if not len(self.queue):
            return self.replay.sample(world.BATCH_SIZE, self.rng)
        s = self.queue.sample(world.FROM_QUEUE, self.rng)
        a = self.epsilon_greedy(s)
        s_next, r, terminal = world.model(s, a)
        simulated = transitions(s, a, r, s_next, terminal)
        return np.concatenate(
            (simulated, self.replay.sample(world.BATCH_SIZE - world.FROM_QUEUE, self.rng))
        )
