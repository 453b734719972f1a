"""A small study of tabular agents, which compile at once."""

from hcdyna.sweeps.study import Study

SETTINGS = {
    "environment": "TabularGridWorld",
    "agent": "tabular",
    "search_control": "replay",
    "training.steps": 60,
    "training.warmup": 0,
    "training.planning_steps": 1,
    "training.batch_size": 1,
    "evaluation.every": 20,
}


def small(**given):
    """Two learning rates × two blocks of two seeds: four cells, each a task."""
    usual = {
        "name": "small",
        "settings": SETTINGS,
        "vary": {"agent.learning_rate": [0.5, 1.0]},
        "seeds": 4,
        "block": 2,
        "together": 1,
    }
    return Study(**(usual | given))


def cells_of(store):
    """Name → bytes of all that is published."""
    return {name: store.place.read(f"cells/{name}") for name in store.place.names("cells")}
