"""Errors that a user can mend: one line that names the field, the value and what would be right."""


class SettingsError(ValueError):
    """A setting, or a combination of settings, that can't work."""


class NotImported(SettingsError):
    """A module that settings name and that is not here; on another machine or in another folder it
    may be."""


class RunError(Exception):
    """A run folder that can't be read, written or used in this way."""


class NotWritten(RunError):
    """A folder that can't be written, or a disk that is full: no fault of what was to be kept."""


class Interrupted(KeyboardInterrupt):
    """Training was interrupted, and its state was saved."""

    exit_code = 130


def words_of(error: BaseException) -> str:
    """What an error says, in one line, or else its name.

    >>> words_of(ValueError("two\\nlines")), words_of(KeyError())
    ('two lines', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__
