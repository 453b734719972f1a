"""What is loaded from a cache must come from a folder that only this user can write to."""

import os
import tempfile
import warnings

import pytest

from hcdyna.numerics.caches import NoCache, cache_folder, not_private, trim


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A cache folder and a temporary folder that have nothing in them yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache" / "hcdyna", tmp_path / "temporary" / f"hcdyna-{os.getuid()}"


def test_a_new_folder_is_for_this_user_alone(places):
    before = os.umask(0)
    try:
        folder = cache_folder("kernels")
    finally:
        os.umask(before)
    assert folder == places[0] / "kernels"
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]
    assert cache_folder("kernels") == folder, "and is found again"


@pytest.mark.parametrize("level", ["hcdyna", "kernels"])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(places, level, mode):
    folder = cache_folder("kernels")
    (folder if level == "kernels" else folder.parent).chmod(mode)
    with pytest.warns(UserWarning, match=r"can be written by other users"):
        assert cache_folder("kernels") == places[1] / "kernels"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_not_used(places):
    folder = cache_folder("kernels")
    os.chown(folder, 12345, -1)
    with pytest.warns(UserWarning, match=r"belongs to another user"):
        assert cache_folder("kernels") == places[1] / "kernels"
    (places[1] / "kernels").chmod(0o777)
    with (
        pytest.warns(UserWarning, match="nothing is kept there"),
        pytest.raises(NoCache, match=r"belongs to another user; .*chmod"),
    ):
        cache_folder("kernels")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_link_that_another_user_has_planted_is_not_followed(places, tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    places[0].mkdir(parents=True, mode=0o700)
    (places[0] / "kernels").symlink_to(tmp_path / "mine")
    assert cache_folder("kernels") == places[0] / "kernels", "a link of our own is"
    os.chown(places[0] / "kernels", 12345, -1, follow_symlinks=False)
    assert not_private(places[0] / "kernels") == "belongs to another user"


@pytest.mark.parametrize("place", ["", "relative"])
def test_without_a_home_there_is_a_temporary_folder(places, monkeypatch, place):
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    monkeypatch.setenv("HOME", place)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder("compiled") == places[1] / "compiled"


def test_a_home_that_is_a_file(places, tmp_path):
    (tmp_path / "cache").write_text("")
    assert cache_folder("compiled") == places[1] / "compiled"


def test_no_folder_at_all(places, tmp_path):
    (tmp_path / "cache").write_text("")
    places[1].parent.rmdir()
    places[1].parent.write_text("")
    with pytest.raises(NoCache):
        cache_folder("compiled")


def test_what_was_used_longest_ago_is_removed(tmp_path):
    for age, name in enumerate(["new", "middle", "old", "oldest"]):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1_000 - age, 1_000 - age))
    trim(tmp_path, 400)
    assert len(list(tmp_path.iterdir())) == 4
    trim(tmp_path, 250)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "middle"}
