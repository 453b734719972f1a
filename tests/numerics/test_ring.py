"""Ring against a deque, and its sampling."""

import collections

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.numerics import ring
from hcdyna.numerics.ring import Ring

extend = jax.jit(ring.extend)
sample = jax.jit(ring.sample, static_argnums=2)

BLOCK = 4
"""Items per call, a constant so that few programs are compiled."""


def item(value):
    """Items are pytrees of several shapes and types; each leaf tells the value."""
    value = np.asarray(value, np.int32)
    return {"whole": value, "pair": np.stack([value, -value], -1).astype(np.float32) / 2}


def unrolled(filled):
    """The values in a ring, oldest first, read off each leaf; the leaves must agree."""
    size, capacity, total = int(filled.size), filled.capacity, int(filled.total)
    order = (total - size + np.arange(size)) % capacity
    whole = np.asarray(filled.data["whole"])[order]
    np.testing.assert_array_equal(np.asarray(filled.data["pair"])[order, 0], whole / 2)
    np.testing.assert_array_equal(np.asarray(filled.data["pair"])[order, 1], -whole / 2)
    return whole.tolist()


def filled_with(values, capacity):
    """A ring that has seen `values`, one at a time."""
    new = ring.init(item(0), capacity)
    for value in values:
        new = extend(new, item(np.array([value])), jnp.array([True]))
    return new


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    capacity=st.sampled_from([BLOCK, BLOCK + 1, 7]),
    masks=st.lists(st.lists(st.booleans(), min_size=BLOCK, max_size=BLOCK), max_size=12),
)
def test_ring_is_a_deque_with_a_largest_length(capacity, masks):
    ours, deque, total = ring.init(item(0), capacity), collections.deque(maxlen=capacity), 0
    for call, mask in enumerate(masks):
        values = 1 + BLOCK * call + np.arange(BLOCK)
        ours = extend(ours, item(values), jnp.array(mask))
        kept = values[np.array(mask)].tolist()
        deque.extend(kept)
        total += len(kept)
        assert unrolled(ours) == list(deque)
        assert int(ours.size) == len(deque)
        assert int(ours.total) == total


def test_more_items_than_fit_are_fine_while_those_kept_fit():
    keep = jnp.array([False, True, False, False, True, False, True, False])
    ours = extend(filled_with([100], 3), item(np.arange(8)), keep)
    assert unrolled(ours) == [1, 4, 6]


def test_an_empty_ring_has_the_shapes_and_types_of_its_items():
    empty = ring.init({"a": np.zeros(3, np.float32), "b": np.int32(0), "c": np.bool_(True)}, 7)
    assert (empty.data["a"].shape, empty.data["a"].dtype) == ((7, 3), jnp.float32)
    assert (empty.data["b"].shape, empty.data["b"].dtype) == ((7,), jnp.int32)
    assert (empty.data["c"].shape, empty.data["c"].dtype) == ((7,), jnp.bool_)
    assert empty.capacity == 7
    assert int(empty.size) == int(empty.total) == 0


def test_a_call_that_keeps_nothing_changes_nothing():
    before = filled_with([1, 2, 3], 7)
    after = extend(before, item(np.array([8, 9])), jnp.array([False, False]))
    jax.tree.map(np.testing.assert_array_equal, after, before)


def test_the_newest_item_is_the_one_added_last():
    newest = jax.jit(ring.newest)
    for n in (1, 2, 7, 8, 20):
        assert newest(filled_with(range(n), 7))["whole"] == n - 1
    several = extend(filled_with([1], 7), item(np.arange(4)), jnp.array([True, True, True, False]))
    np.testing.assert_array_equal(newest(several)["pair"], [1.0, -1.0])


def test_an_empty_ring_samples_its_zeros():
    drawn = sample(jax.random.key(0), ring.init(item(0), 5), 10)
    np.testing.assert_array_equal(drawn["whole"], np.zeros(10))
    np.testing.assert_array_equal(drawn["pair"], np.zeros((10, 2)))


def assert_uniform_over(values, filled):
    """Only `values` are drawn, and each about equally often."""
    n = 20_000
    drawn = sample(jax.random.key(1), filled, n)
    np.testing.assert_array_equal(drawn["pair"][:, 0] * 2, drawn["whole"])
    counts = collections.Counter(np.asarray(drawn["whole"]).tolist())
    assert set(counts) == set(values)
    expected = n / len(values)
    chi_square = sum((counts[value] - expected) ** 2 / expected for value in values)
    freedom = len(values) - 1
    # The statistic has mean `freedom` and variance 2·freedom: five deviations above is a failure.
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


def test_sample_is_uniform_over_a_ring_half_full():
    assert_uniform_over([1, 2, 3, 4], filled_with([1, 2, 3, 4], 7))


def test_sample_is_uniform_over_a_ring_that_has_wrapped():
    assert_uniform_over(list(range(6, 13)), filled_with(range(1, 13), 7))


def test_sample_from_one_item_gives_that_item():
    drawn = sample(jax.random.key(0), filled_with([42], 7), 50)
    np.testing.assert_array_equal(drawn["whole"], np.full(50, 42))


def test_two_keys_draw_differently_and_one_key_repeats():
    filled = filled_with(range(7), 7)
    first, again, other = (sample(jax.random.key(k), filled, 30)["whole"] for k in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_extend_under_vmap_equals_one_by_one():
    rings = [filled_with(range(1, 1 + n), 7) for n in (0, 3, 6, 9)]
    items = item(100 * np.arange(1, 5)[:, None] + np.arange(5))
    keep = jax.random.bernoulli(jax.random.key(0), shape=(4, 5))
    assert len({tuple(mask) for mask in np.asarray(keep).tolist()}) == 4
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rings)
    together = jax.jit(jax.vmap(ring.extend))(stacked, items, keep)
    for i, one in enumerate(rings):
        alone = extend(one, jax.tree.map(lambda x, i=i: x[i], items), keep[i])
        jax.tree.map(lambda x, y, i=i: np.testing.assert_array_equal(x[i], y), together, alone)


def test_total_is_folded_back_before_it_overflows():
    """A total set by hand near the limit stands for a ring in use for a billion steps."""
    capacity = 7
    near_limit = (2**30 // capacity + 1) * capacity - 5  # Position 2 of the ring.
    old = Ring(filled_with(range(1, 8), capacity).data, jnp.int32(near_limit))
    young = Ring(old.data, jnp.int32(capacity + 2))
    folded = False
    for call in range(20):
        items, keep = item(100 * (call + 1) + np.arange(3)), jnp.array([True, False, True])
        old, young = extend(old, items, keep), extend(young, items, keep)
        folded |= int(old.total) < near_limit
        assert 0 < int(old.total) < 2**30 + 2 * capacity
        assert int(old.size) == capacity
        assert int(old.total) % capacity == int(young.total) % capacity
        jax.tree.map(np.testing.assert_array_equal, old.data, young.data)
    assert folded
    assert int(old.total) >= capacity


def test_total_keeps_its_type_through_extend():
    """Otherwise the second call of a compiled step would compile it again."""
    before = ring.init(item(0), 4)
    after = extend(before, item(np.array([1])), jnp.array([True]))
    assert jax.tree.map(jax.typeof, after) == jax.tree.map(jax.typeof, before)
