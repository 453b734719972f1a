"""hcdyna train"""

import contextlib
import dataclasses
import datetime
import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from hcdyna.cli.options import parse
from hcdyna.numerics.files import explained
from hcdyna.settings import CHOICES, Evaluation, Settings, Training, presets, registry
from hcdyna.settings.errors import Interrupted, SettingsError
from hcdyna.settings.fields import MOST_SEEDS
from hcdyna.settings.flat import said_of_others
from hcdyna.settings.plain import name_in_files

FLAGS = {"environment": "env", "agent": "agent", "model": "model", "search_control": "search"}
"""Prefix of the options of each choice."""

DESCRIPTION = """\
Train agents, one per seed, all in one program.

Which options exist depends on the four choices: options of the environment begin with --env., those
of the strategy with --search., and so on. Defaults come from the preset. To use a class of your
own, name it as my_module:MyClass; its module is imported."""


def main(arguments: Sequence[str]) -> None:
    options, settings = read(arguments)
    if options.print_settings:
        print(presets.dump(settings), end="")
        return
    from hcdyna.cli.show import follow
    from hcdyna.training.train import in_words, memory_needed, train

    wanted = seeds(options)
    needed = memory_needed(settings, wanted)
    folder = options.out or new_folder(settings)
    try:
        if not options.quiet:
            print(f"Run: {folder}\n{in_words(settings)}\n{needed}", flush=True)
        elif options.out is None:
            print(folder, flush=True)
        with follow(settings, options.seeds, options.quiet, options.track, folder) as on_chunk:
            train(settings, wanted, on_chunk, out=folder, progress=False)
    except Interrupted as stop:
        raise Interrupted(f"{stop}; resume with: hcdyna resume {folder}") from None
    finally:
        if options.out is None and not (folder / "run.json").exists():  # nothing was begun
            shutil.rmtree(folder, ignore_errors=True)


def read(arguments: Sequence[str]) -> tuple[Any, Settings]:
    """The options of the command, and the settings that they amount to."""
    named = {choice: value_of(arguments, flag_of(choice)) for choice in CHOICES}
    preset = value_of(arguments, "preset")
    preset = presets.usual_for(named["environment"]) if preset is None else preset
    settings = presets.settings(preset, **named, kwargs=values_of(arguments, "env.kwargs"))
    options = parse(options_for(settings, preset), arguments, "train", whose)
    parts = {choice: getattr(options, f"{choice}_options") for choice in CHOICES}
    return options, Settings(**parts, training=options.training, evaluation=options.evaluation)


def options_for(settings: Settings, preset: str) -> type:
    """The options of the parts chosen, with the preset's values as defaults."""
    fields: list[tuple[str, Any, Any]] = [
        ("preset", Annotated[str, arg(help=f"One of {names(presets.names())}, or a YAML file.")],
         preset),
    ]  # fmt: skip
    questions = {
        "environment": "What is the world?",
        "agent": "How are values learned?",
        "model": "Where do simulated outcomes come from?",
        "search_control": "From which states do we plan?",
    }
    for choice, group in CHOICES.items():
        part = getattr(settings, choice)
        name, known = name_in_files(group, part), names(registry.available(group))
        help = f"{questions[choice]} One of {known}, or yours, as my_module:MyClass."
        if choice == "environment":
            known = names(name for name in registry.available(group) if name != "hosted")
            help = (
                f"{questions[choice]} One of {known}, any Gymnasium id, such as CartPole-v1, "
                "or yours, as my_module:MyClass or my_module:make_env."
            )
            name = part.id if name == "hosted" else name
        kind = Annotated[str, arg(name=flag_of(choice), help=help, metavar="NAME")]
        fields.append((choice, kind, name))
    fields += [
        ("training", Annotated[Training, arg(name="")], settings.training),
        ("seeds", Annotated[int, arg(help="Number of agents: seeds 0, 1, 2, …")], 1),
        ("first_seed", Annotated[int, arg(help="Begin with this seed instead of 0.")], 0),
        ("out", Annotated[Path | None, arg(help="Folder of the run; a new one under runs/ "
                                           "otherwise. An interrupted run there goes on.")], None),
        ("quiet", Annotated[bool, arg(help="Show no progress.")], False),
        ("track", Annotated[Literal["no", "tensorboard", "wandb"],
                            arg(help="Also log to TensorBoard or Weights & Biases.")], "no"),
        ("print_settings", Annotated[bool, arg(help="Print all settings as a YAML preset, and "
                                               "don't train.")], False),
    ]  # fmt: skip
    for choice, prefix in FLAGS.items():
        part = getattr(settings, choice)
        fields.append((f"{choice}_options", Annotated[type(part), arg(name=prefix)], part))
    fields.append(("evaluation", Evaluation, settings.evaluation))
    made = dataclasses.make_dataclass(
        "Train", [(name, kind, dataclasses.field(default=value)) for name, kind, value in fields]
    )
    made.__doc__ = DESCRIPTION
    return made


def whose(option: str) -> str:
    """What is known of an option of a part that is not chosen; nothing if no part has it."""
    prefix, _, field = option.removeprefix("--").partition(".")
    choice = next((choice for choice, flag in FLAGS.items() if flag == prefix), None)
    said = said_of_others(f"{choice}.{field.replace('-', '_')}") if choice and field else ""
    return said.rstrip("; ")


def value_of(arguments: Sequence[str], flag: str) -> str | None:
    """The value of an option, read before all options are known."""
    found = None
    for number, word in enumerate(arguments):
        name, equals, _ = word.replace("_", "-").partition("=")
        if name != f"--{flag}":
            continue
        if equals:
            found = word.partition("=")[2]
        elif number + 1 < len(arguments):
            found = arguments[number + 1]
        else:
            raise SettingsError(f"--{flag}: needs a value")
    return found


def values_of(arguments: Sequence[str], flag: str) -> list[str]:
    """The words behind an option that takes several, likewise."""
    found: list[str] = []
    for number, word in enumerate(arguments):
        if word.replace("_", "-") == f"--{flag}":
            rest = arguments[number + 1 :]
            found = list(itertools.takewhile(lambda x: not x.startswith("--"), rest))
    return found


def flag_of(choice: str) -> str:
    """The option that names a choice."""
    return "search-control" if choice == "search_control" else FLAGS[choice]


def names(known: Any) -> str:
    return ", ".join(known)


def seeds(options: Any) -> list[int]:
    """The seeds asked for."""
    first, count = options.first_seed, options.seeds
    if not 1 <= count <= MOST_SEEDS:
        raise SettingsError(f"--seeds {count}: must be at least 1 and at most {MOST_SEEDS}")
    if not 0 <= first <= 2**32 - count:
        raise SettingsError(f"--first-seed {first}: must be from 0 to {2**32 - count}")
    return list(range(first, first + count))


def new_folder(settings: Settings) -> Path:
    """A new runs/GridWorld-dqn-hill_climbing-20190810-120000, or with a number behind it."""
    parts = [registry.name_of(CHOICES[c], getattr(settings, c)) for c in CHOICES if c != "model"]
    parts[0] = registry.title_of(settings.environment).replace("/", "-").replace(":", "-")
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    base = Path("runs") / "-".join([*parts, now])
    for number in itertools.count(1):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        # Made at once, so that two processes never choose the same.
        with explained(folder), contextlib.suppress(FileExistsError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            break
    return folder
