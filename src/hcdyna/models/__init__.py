"""Where do simulated outcomes come from? The names in __init__.pyi are imported on first use."""

from hcdyna.lazily import lazily

HOME_OF, __getattr__, __dir__ = lazily(__name__, __file__)
