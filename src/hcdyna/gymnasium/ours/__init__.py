"""Our own domains as Gymnasium environments, for any library that knows Gymnasium.

`import hcdyna` registers them; nothing of JAX is imported before one is made:

    import hcdyna
    env = gymnasium.make("hcdyna/GridWorld-v0", move_noise=0.01)

Gymnasium has had no plug-ins since 1.0, but imports the module that stands before a colon, so that
`gymnasium.make("hcdyna:hcdyna/GridWorld-v0")` needs no import.
"""

import gymnasium

TIME_LIMITS = {"GridWorld": 2_000, "GridWorldContinuous": 2_000, "TabularGridWorld": 1_000}
"""Steps until an episode is cut off; `gymnasium.make(…, max_episode_steps=…)` changes that."""

HOME_OF = {
    "GridWorld": "hcdyna.gymnasium.ours.grid_world:GridWorldEnv",
    "GridWorldContinuous": "hcdyna.gymnasium.ours.grid_world:GridWorldContinuousEnv",
    "TabularGridWorld": "hcdyna.gymnasium.ours.tabular_grid_world:TabularGridWorldEnv",
}

for name, steps in TIME_LIMITS.items():
    gymnasium.register(f"hcdyna/{name}-v0", entry_point=HOME_OF[name], max_episode_steps=steps)
