"""The command line: every command is a few lines over a public function.

Nothing heavy is imported before a command needs it, so that help comes at once.
"""

import contextlib
import functools
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from hcdyna.cli.output import HelpShown, Output, ReaderGone, say
from hcdyna.settings.errors import Interrupted, RunError, SettingsError
from hcdyna.settings.hints import did_you_mean

COMMANDS = {
    "train": "train agents, one per seed, all in one program",
    "resume": "continue an interrupted run, or extend one, bit for bit",
    "eval": "evaluate the trained agents of a run on new episodes",
    "diagnose": "find out why planning did or did not help",
    "list": "list environments, strategies, agents, models, presets or runs",
    "plot": "draw learning curves, or the value estimate of an agent",
    "watch": "record an episode of a trained agent as GIF or MP4",
    "report": "write an interactive HTML page about one or several runs",
    "export": "write curves or diagnostics as CSV or Parquet",
    "sweep": "train a study of many settings and seeds, on many machines",
    "work": "work on the tasks of a sweep until none is left",
    "status": "show which parts of a sweep are done, running or failed",
    "bench": "measure speed and memory on this machine",
    "check-env": "check if a Gymnasium environment can be trained on",
    "reproduce": "reproduce the figures and claims of the paper",
    "completion": "print a script for Tab completion in bash or zsh",
}
"""Each is the function `main` of the module of that name in `commands`."""

MAKES_FILES = (
    *("train", "resume", "plot", "watch", "report"),
    *("sweep", "work", "bench", "reproduce"),
)
"""Commands that go on where their output can't be written, …"""
ONLY_SHOWS = {"-h", "--help", "--print-settings"}
"""… but not if they only show something."""

USAGE = """\
usage: hcdyna COMMAND [OPTIONS]

Search-control in Dyna: plan from better states.

commands:
{commands}

examples:
  hcdyna train --env MountainCar --search-control hill_climbing --seeds 30 --steps 50000
  hcdyna train --preset demo --env GridWorld --seeds 4 --out runs/first
  hcdyna plot runs/first          hcdyna report runs/first          hcdyna watch runs/first

hcdyna COMMAND --help explains a command and all its options."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it went well, 2 for what the user can mend, 130 if interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments else "--help"
    try:
        needed = command not in MAKES_FILES or bool(ONLY_SHOWS & set(arguments))
        output: Any = Output(sys.stdout, needed)
        with contextlib.redirect_stdout(output):
            with contextlib.suppress(HelpShown):
                run(command, arguments[1:])
            output.flush()
    except (SettingsError, RunError) as error:
        say(f"hcdyna: {error}")
    except (Interrupted, KeyboardInterrupt) as stop:
        say(f"hcdyna: {stop}" if isinstance(stop, Interrupted) else "hcdyna: stopped")
        return getattr(stop, "exit_code", 130)
    except ReaderGone:
        return 0
    except OSError as error:  # of a file that nobody expected to be in the way
        say(f"hcdyna: {error.filename or 'system'}: {error.strerror or error}")
    except MemoryError:
        say("hcdyna: there is not enough memory for this")
    except SystemExit as stop:  # code that is not ours, such as an environment
        say(f"hcdyna: ended by sys.exit({stop.code!r}) before it was finished")
    else:
        return 0
    return 2


def run(command: str, arguments: list[str]) -> None:
    """Import the command and let it run."""
    if command in ("-h", "--help"):
        print(USAGE.format(commands="\n".join(f"  {k:<10} {v}" for k, v in COMMANDS.items())))
        return
    if command == "--version":
        from hcdyna.version import __version__

        print(f"hcdyna {__version__}")
        return
    if command not in COMMANDS:
        hint = did_you_mean(command, COMMANDS)
        raise SettingsError(f"unknown command {command!r}: {hint}known: {', '.join(COMMANDS)}")
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        # Once each, in one line, without the place in the code.
        once = functools.cache(say)
        warnings.showwarning = lambda message, *place, **more: once(f"hcdyna: warning: {message}")
        import_jax_if_told()
        module = command.replace("-", "_")
        importlib.import_module(f"hcdyna.cli.commands.{module}").main(arguments)


def import_jax_if_told() -> None:
    """Raise SettingsError for a variable such as JAX_ENABLE_X64=maybe, which stops the import."""
    if any(name.startswith("JAX_") for name in os.environ):
        try:
            importlib.import_module("jax")
        except ValueError as error:
            raise SettingsError(f"JAX does not start with these variables: {error}") from None


def script() -> None:
    """The console script. It opens no window, and a backend that matplotlib does not have would
    stop its import."""
    os.environ["MPLBACKEND"] = "agg"
    sys.exit(main())
