"""Errors that a user can mend: one line that names the field, the value and what would be right."""


class SettingsError(ValueError):
    """A setting, or a combination of settings, that can't work."""
