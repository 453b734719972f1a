"""All tests see one device per core, as training does."""

from hcdyna.training.devices import offer_every_core

offer_every_core()
