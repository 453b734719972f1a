"""What somebody may have meant by a name that does not exist."""

import difflib
from collections.abc import Iterable, Mapping

OTHER_WORDS = {
    "gamma": "discount",
    "rho": "mixing_rate",
    "n": "planning_steps",
    "buffer_size": "replay_size",
    "total_timesteps": "steps",
    "eps": "epsilon",
    "exploration": "epsilon",
    "exploration_final_eps": "epsilon",
    "exploration_initial_eps": "epsilon_start",
    "gradient_steps": "planning_steps",
    "learning_starts": "warmup",
    "train_freq": "update_every",
    "target_update_interval": "target_period",
    "tau": "target_rate",
    "polyak": "target_rate",
    "hidden_sizes": "hidden",
    "net_arch": "hidden",
    "max_grad_norm": "max_gradient",
    "verbose": "progress",
}
"""What the paper and other libraries call things, and what they are called here."""
ALIKE = 0.6
"""difflib's own idea of a close match."""
BARE = 0.95
"""A name found behind a dot, as learning_rate in agent.learning_rate, counts a little less."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant most likely, or None if none is near.

    Names may have parts (--agent.learning-rate), and initials will do for a part.

    >>> nearest("--lr", ["--help", "--seeds", "--agent.learning-rate"])
    '--agent.learning-rate'
    >>> nearest("GridWrld", ["GridWorld", "CartPole"])
    'GridWorld'
    """
    scores = {each: _likeness(_plain(name), _plain(each)) for each in known if each != "--help"}
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] >= ALIKE else None


def did_you_mean(name: str, known: Iterable[str], written: Mapping[str, str] = {}) -> str:
    """`did you mean steps? `, with a space to go on after, or nothing.

    `written` says how to write those names that are not written as they are.
    """
    near = nearest(name, known)
    return f"did you mean {written.get(near, near)}? " if near else ""


def _likeness(name: str, known: str) -> float:
    """From 0 to 1."""
    last, known_last = name.rpartition(".")[2], known.rpartition(".")[2]
    if OTHER_WORDS.get(last) == known_last or last == _initials(known_last):
        name, last = name.removesuffix(last) + known_last, known_last
    return max(_ratio(name, known), BARE * _ratio(last, known_last))


def _ratio(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _initials(name: str) -> str | None:
    """lr of learning_rate; a single word has none."""
    words = [word for word in name.split("_") if word]
    return "".join(word[0] for word in words) if len(words) > 1 else None
