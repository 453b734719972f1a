"""Hostile command lines, made from what the commands and parts say about their fields.

    python tests/cli/fuzzing.py 1000 --seed 7

Each is run in this process. It must end within 30 seconds of processor time, with exit code 0, or
with 2 and one line.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import functools
import importlib
import io
import os
import random
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml

from hcdyna.cli import COMMANDS, main
from hcdyna.cli.commands.train import FLAGS, flag_of
from hcdyna.settings import CHOICES, Evaluation, Training, presets, registry
from hcdyna.settings.fields import hints_of, kinds_of

SECONDS = 30
SMALL = {
    "--steps": "30", "--warmup": "20", "--replay-size": "64", "--batch-size": "8",
    "--planning-steps": "1", "--evaluation.every": "15", "--env.time-limit": "15",
    "--search.queue-size": "64", "--search.steps": "4",
}  # fmt: skip
ODD = (
    *("", " ", "-", "--", "-1", "0", "1.5", "1e5", "1e300", "1e400", "nan", "inf", "-inf", "ten"),
    *("2147483647", "2147483648", "4294967296", "9" * 19, "-" + "9" * 30, "7" * 5000, "0x10"),
    *("None", "True", "true", "[]", "{}", "[/x]", "[red]", "ü", "１２", "\udcff", "a\tb", "\n"),
    *("/dev/null", "/proc/self/mem/x", "x" * 300, "y/" * 3000, "%s", "$HOME", "~", "file/x"),
)
NOISE = ("--x", "--search.", "--steps=", "--epsilon", "stray", "--seeds", "--env=Acrobot")
ENVIRONMENTS = (*registry.PARTS["environments"], "CartPole-v1", "Nothing-v0", "no_module:X-v0")


class Hang(BaseException):
    """It took too long."""


def odd_numbers(field: dataclasses.Field) -> list[str]:
    """Just outside the bounds of a field."""
    bounds = field.metadata.get("bounds", {})
    low, high, above = (bounds.get(word) for word in ("at least", "at most", "above"))
    outside = [low - 1 if low is not None else None, high + 1 if high is not None else None, above]
    return [str(x) for x in outside if x is not None]


def inside(field: dataclasses.Field, hint: Any, chance: random.Random) -> str | None:
    """A value that the field accepts and that makes nothing large; None: leave it alone."""
    if get_origin(hint) is Literal:
        return str(chance.choice(get_args(hint)))
    kinds, bounds = kinds_of(hint), field.metadata.get("bounds", {})
    if float in kinds:
        low = bounds.get("at least") or bounds.get("above") or 0.0
        return str(low + 0.1 if low + 0.1 <= (bounds.get("at most") or 1.0) else low)
    if int in kinds:
        return str(max(bounds.get("at least") or 0, chance.randint(1, 5)))
    return None


@functools.cache
def fields_of(kind: Any, prefix: str = "") -> list[tuple[str, dataclasses.Field, Any]]:
    """Option, field and type of all that can be given on the command line."""
    plain, found = (int, float, bool, str, Path, tuple, Literal), []
    for field in dataclasses.fields(kind):
        hint = hints_of(kind)[field.name]
        if any((get_origin(k) or k) in plain for k in kinds_of(hint)):
            found.append((f"--{prefix}{field.name.replace('_', '-')}", field, hint))
    return found


def options_of(command: str) -> list[tuple[str, dataclasses.Field, Any]]:
    """The options of a command other than train."""
    module = importlib.import_module(f"hcdyna.cli.commands.{command.replace('-', '_')}")
    return fields_of(getattr(module, command.title().replace("-", "")))


def train(chance: random.Random, place: Path) -> list[str]:
    """One to three options of some parts; most have a value that can't be."""
    chosen = {choice: chance.choice(list(registry.PARTS[g])) for choice, g in CHOICES.items()}
    chosen["environment"] = chance.choice(ENVIRONMENTS)
    options = fields_of(Training) + fields_of(Evaluation, "evaluation.")
    for choice, group in CHOICES.items():
        name = chosen[choice] if chosen[choice] in registry.PARTS[group] else "hosted"
        options += fields_of(registry.lookup(group, name), f"{FLAGS[choice]}.")
    given, acceptable = {}, False
    for flag, field, hint in chance.sample(options, chance.randint(1, 3)):
        value = inside(field, hint, chance) if chance.random() < 0.3 else None
        if value is None:
            value = chance.choice([*odd_numbers(field), *ODD])
            acceptable |= value not in odd_numbers(field)
        given[flag] = value
    if chance.random() < 0.2:
        given[chance.choice(["--seeds", "--first-seed"])] = chance.choice(["-1", "1e12", *ODD])
        acceptable = True
    # What may be right, and then large, is only looked at; the rest would begin to train.
    more = ["--print-settings"] if acceptable or chance.random() < 0.5 else []
    words = [word for choice in CHOICES for word in (f"--{flag_of(choice)}", chosen[choice])]
    parts = {flag for flag, _, _ in options}
    small = {k: v for k, v in SMALL.items() if k in parts and k not in given}
    words += [word for pair in {**small, **given}.items() for word in pair]
    return ["train", *words, *more, "--quiet", "--out", str(place / "new" / str(chance.random()))]


def noise(chance: random.Random, place: Path) -> list[str]:
    """Words that belong nowhere, twice, or without their value; commands that are nearly one."""
    command = chance.choice([*COMMANDS, "trian", "", "[/x]", "LIST", "-x"])
    words = chance.choices([*NOISE, *ODD], k=chance.randint(1, 4))
    return [command, *words, "--nothing"]


@functools.cache
def paper() -> dict[str, Any]:
    """A preset that is right."""
    return yaml.safe_load(presets.dump(presets.settings("paper")))


def preset(chance: random.Random, place: Path) -> list[str]:
    """A preset with something wrong in it."""
    content = copy.deepcopy(paper())
    for _ in range(chance.randint(1, 3)):
        tree = content
        while True:
            key = chance.choice(list(tree))
            if isinstance(tree[key], dict) and tree[key] and chance.random() < 0.8:
                tree = tree[key]
                continue
            odd = [*ODD[:30], -1, 2**40, 1e5, float("nan"), None, True, [], {}, [[1]], {"a": {}}]
            tree[chance.choice([key, "x", key])] = chance.choice(odd)
            break
    text = yaml.safe_dump(content, allow_unicode=True)
    cut = chance.randint(0, len(text))
    kinds = [text, text, text, text[:cut], text[:cut] + "[" * 2000, "a: {" * 1500, "&a [*a]", "\0"]
    file = place / f"{chance.random()}.yaml"
    file.write_text(chance.choice(kinds), encoding="utf-8", errors="replace")
    return ["train", "--preset", str(chance.choice([file, file, file, *ODD])), "--print-settings"]


def other(chance: random.Random, place: Path) -> list[str]:
    """Any other command, on a run or on a path that can't be one, with a value that can't be."""
    command = chance.choice([name for name in COMMANDS if name != "train"])
    runs = [str(place / "run"), str(place / "[/x]"), str(place / "file"), str(place / "missing")]
    words = [command]
    if command in (
        *("eval", "diagnose", "plot", "watch", "report", "export", "resume"),
        *("sweep", "work", "status"),
    ):
        words.append(chance.choice([*runs, *ODD]))
    elif command == "check-env":
        words.append(chance.choice([*ENVIRONMENTS, *ODD]))
    elif command == "list":
        words += ["runs", "--folder", chance.choice([*runs, str(place), *ODD])]
    for flag, field, _ in chance.sample(options_of(command), min(2, len(options_of(command)))):
        words += [flag, chance.choice([*odd_numbers(field), *ODD])]
    if command in ("bench", "reproduce"):  # what is right would take hours
        words.append(chance.choice(["--nothing", "fig99", "[/x]"]))
    return words


def small_run(chance: random.Random, place: Path) -> list[str]:
    """A run that is right: it must train."""
    environment = chance.choice(["GridWorld", "MountainCar", "Acrobot", "GridWorldContinuous"])
    strategy = chance.choice(["replay", "on_policy", "uniform", "hill_climbing"])
    given = dict(SMALL, **{"--env": environment, "--search-control": strategy})
    if strategy != "hill_climbing":
        del given["--search.queue-size"], given["--search.steps"]
    for flag, field, hint in chance.sample(fields_of(Training), 3):
        value = inside(field, hint, chance)
        if flag not in SMALL and flag != "--kernels" and value is not None:
            given[flag] = value
    words = [word for pair in given.items() for word in pair]
    return ["train", *words, "--quiet", "--out", str(place / "new" / str(chance.random()))]


MAKERS: dict[Callable[[random.Random, Path], list[str]], int] = {
    train: 55, noise: 10, preset: 14, other: 20, small_run: 1
}  # fmt: skip


def inputs(seed: int, number: int, place: Path) -> Iterator[list[str]]:
    """So many command lines; equal seeds give equal ones."""
    for index in range(number):
        chance = random.Random(f"{seed}/{index}")
        maker = chance.choices(list(MAKERS), list(MAKERS.values()))[0]
        yield maker(chance, place)


def prepare(place: Path) -> None:
    """A folder with a finished run, the same under an odd name, and a file that is no run."""
    small = [word for pair in SMALL.items() for word in pair]
    for name in ("run", "[/x]"):
        assert main(["train", *small, "--quiet", "--out", str(place / name)]) == 0
    (place / "file").write_text("no run\n")


def complaint(words: list[str]) -> str | None:
    """Run one command line; what is wrong with how it ended, if something is."""
    out, err = io.StringIO(), io.StringIO()

    def too_long(*_: Any) -> None:
        raise Hang

    # In processor time, since the machine may be busy; who only waits uses none.
    before = {name: signal.signal(name, too_long) for name in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(5 * SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except (Exception, Hang, SystemExit) as error:
        return "".join(traceback.format_exception(error))
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for name, handler in before.items():
            signal.signal(name, handler)
    said = [line for line in err.getvalue().splitlines() if "hcdyna: warning: " not in line]
    right = {0: not said, 2: len(said) == 1 and said[0].startswith("hcdyna: ")}
    return None if right.get(code) else f"exit code {code}, and on standard error: {said}"


def search(number: int, seed: int, place: Path) -> list[str]:
    """What went wrong, each with the words that did it."""
    prepare(place)
    found = []
    with contextlib.chdir(place):
        for index, words in enumerate(inputs(seed, number, place)):
            problem = complaint(words)
            if problem is not None:
                short = [word if len(word) < 99 else f"{word[:20]}…({len(word)})" for word in words]
                found.append(f"seed {seed}, input {index}: {short}\n{problem}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(2), "big"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        problems = search(asked.number, asked.seed, Path(folder))
    print(*problems, f"{len(problems)} of {asked.number} went wrong, seed {asked.seed}", sep="\n")
    raise SystemExit(bool(problems))
