"""V* by hand, against a linear solve, by the recipe, and from the cache."""

import json

import numpy as np
import pytest

from hcdyna import TabularGridWorld
from hcdyna.experiments.recipe import recipe
from hcdyna.search_control.optimal_values import cache_file, cached, digest, value_iteration


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_without_slips_the_value_is_the_number_of_moves():
    spec = TabularGridWorld(size=4, success=1.0).build().spec
    column, row = np.divmod(np.arange(16), 4)
    np.testing.assert_allclose(value_iteration(spec), -((3 - column) + (3 - row)), atol=1e-6)


def test_two_by_two_with_slips_by_hand():
    """By symmetry V(1) = V(2) = v. Beside the goal, the move there succeeds with 0.85, two slips of
    0.05 are blocked and one leads back to the start, whose value is u. At the start, 0.85 + 0.05
    lead to a neighbour and 0.1 is blocked. So v = −1 + 0.1v + 0.05u and u = −1 + 0.9v + 0.1u.
    """
    values = value_iteration(TabularGridWorld(size=2).build().spec)
    v, u = np.linalg.solve([[0.9, -0.05], [-0.9, 0.9]], [-1.0, -1.0])
    np.testing.assert_allclose(values, [u, v, v, 0.0], atol=1e-6)


def test_it_satisfies_the_optimality_equation():
    spec = TabularGridWorld(size=5, discount=0.9).build().spec
    values, table = value_iteration(spec), spec.table
    np.testing.assert_allclose(table.probability.sum(axis=-1), 1.0)
    for state in range(24):
        q = [
            sum(p * (-1 + 0.9 * values[to] * (to != 24)) for p, to in zip(ps, tos, strict=True))
            for ps, tos in zip(table.probability[state], table.next_states[state], strict=True)
        ]
        np.testing.assert_allclose(values[state], max(q), atol=1e-6)


def test_results_are_cached_with_what_made_them(empty_cache):
    calls = []

    def compute():
        calls.append(1)
        return np.arange(3.0)

    for _ in range(2):
        np.testing.assert_array_equal(cached("kind", {"a": 1}, compute), [0, 1, 2])
    cached("kind", {"a": 2}, compute)
    assert len(calls) == 2
    path = cache_file("kind", {"a": 1})
    assert path.is_relative_to(empty_cache)
    with np.load(path) as stored:
        assert json.loads(str(stored["made_by"])) == {"a": 1}


def test_what_is_damaged_in_the_cache_is_made_again():
    cached("kind", {"a": 1}, lambda: np.arange(3.0))
    path = cache_file("kind", {"a": 1})
    for content in (b"", path.read_bytes()[:-30], b"not an archive"):
        path.write_bytes(content)
        np.testing.assert_array_equal(cached("kind", {"a": 1}, lambda: np.ones(2)), [1, 1])
    np.testing.assert_array_equal(cached("kind", {"a": 1}, lambda: np.zeros(2)), [1, 1])


def test_worlds_that_differ_have_different_names():
    worlds = [TabularGridWorld(), TabularGridWorld(success=0.7), TabularGridWorld(discount=0.9)]
    assert len({digest(world.build().spec) for world in worlds}) == 3


def test_the_recipe_approaches_value_iteration_and_goes_on_where_it_was():
    world = TabularGridWorld(size=3, time_limit=50)
    values = recipe(world, steps=1_500, seeds=4, learning_rate=0.05, together=2)
    exact = value_iteration(world.build().spec)
    assert values[-1] == 0
    # Corners off the way are visited seldom; the way itself is learned well.
    np.testing.assert_allclose(values[[0, 4]], exact[[0, 4]], atol=0.5)
    again = recipe(world, steps=1_500, seeds=4, learning_rate=0.05, together=2)
    np.testing.assert_array_equal(values, again)
