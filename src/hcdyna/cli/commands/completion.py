"""hcdyna completion"""

import contextlib
import importlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import Positional

from hcdyna.cli.options import parse
from hcdyna.cli.output import HelpShown
from hcdyna.settings import presets, registry

SCRIPT = """\
_hcdyna() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" known=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        known="{commands}"
    else
        case "$before" in
{values}
        esac
        if [ -z "$known" ]; then
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
        fi
    fi
    COMPREPLY=($(compgen -W "$known" -- "$word"))
}}
complete -o default -F _hcdyna hcdyna"""
"""Where nothing of ours fits, bash completes names of files."""
FOR_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
WORDS = {
    "list": "environments strategies agents models presets runs",
    "completion": "bash zsh",
}
"""What may follow a command besides its options."""


@dataclass(frozen=True)
class Completion:
    """Print a script for Tab completion of commands, options and names. Save it where your shell
    finds it, for instance:

      hcdyna completion bash > ~/.local/share/bash-completion/completions/hcdyna
      hcdyna completion zsh > ~/.hcdyna-completion        and in ~/.zshrc: . ~/.hcdyna-completion
    """

    shell: Annotated[Literal["bash", "zsh"], Positional]
    """Which shell."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Completion, arguments, "completion")
    from hcdyna.cli import COMMANDS

    values = {
        "--env": registry.available("environments"),
        "--agent": registry.available("agents"),
        "--model": registry.available("models"),
        "--search-control": registry.available("search_control"),
        "--preset": presets.names(),
    }
    flags = {
        command: [*WORDS.get(command, "").split(), *options_of(command)] for command in COMMANDS
    }
    script = SCRIPT.format(
        commands=" ".join((*COMMANDS, "--help", "--version")),
        values="\n".join(f'            {k}) known="{" ".join(v)}" ;;' for k, v in values.items()),
        options="\n".join(
            f'                {k}) known="{" ".join(v)}" ;;' for k, v in flags.items()
        ),
    )
    print(f"{FOR_ZSH}{script}" if options.shell == "zsh" else script)


def options_of(command: str) -> list[str]:
    """The options that the help of a command names."""
    module = importlib.import_module(f"hcdyna.cli.commands.{command.replace('-', '_')}")
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(HelpShown):
        module.main(["--help"])
    return sorted(set(re.findall(r"(?<![\w-])--[\w.-]*\w", text.getvalue())))
