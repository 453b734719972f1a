"""The YAML of a study."""

from pathlib import Path
from typing import Any

import yaml

from hcdyna.settings import presets
from hcdyna.settings.errors import SettingsError


class Once(presets.Loader):
    """As presets are read; but of two values for a key none is dropped without a word."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        known: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in known:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{key.value} is there twice", key.start_mark
                    )
                known.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """What a file says; SettingsError, in a line, if it can't be read."""
    try:
        if not path.is_file():
            raise SettingsError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
        return yaml.load(path.read_text(encoding="utf-8"), Once)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError, RecursionError) as error:
        if isinstance(error, SettingsError):
            raise
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(f"{path}: can't be read as YAML: {reason}") from None
