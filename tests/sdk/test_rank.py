"""Which items fall to which rank."""

import pytest

import tutti


@pytest.fixture
def place(monkeypatch):
    """Puts this process where a rank of a job would be."""
    def at(rank, world_size):
        monkeypatch.setenv("TUTTI_RANK", str(rank))
        monkeypatch.setenv("TUTTI_WORLD_SIZE", str(world_size))
    monkeypatch.delenv("TUTTI_RANK", raising=False)
    monkeypatch.delenv("TUTTI_WORLD_SIZE", raising=False)
    return at


@pytest.mark.parametrize("items", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 64, 100])
def test_every_item_falls_to_exactly_one_rank(place, items, ranks):
    seen = []
    sizes = set()
    for rank in range(ranks):
        place(rank, ranks)
        mine = tutti.shard(items)
        seen.extend(mine)
        sizes.add(len(mine))
    assert seen == list(range(items))
    assert max(sizes) - min(sizes) <= 1


def test_outside_of_a_job_all_items_are_one_s_own(place):
    assert (tutti.rank(), tutti.world_size()) == (0, 1)
    assert tutti.shard(10) == range(10)


def test_in_a_job_the_numbers_are_those_of_the_task(place):
    place(2, 5)
    assert (tutti.rank(), tutti.world_size()) == (2, 5)


def test_negative_number_of_items_is_refused(place):
    with pytest.raises(ValueError, match="negative"):
        tutti.shard(-1)


@pytest.mark.parametrize("rank, ranks", [("x", "2"), ("2", "2"), ("-1", "2"), ("0", "0")])
def test_variables_that_nobody_sets_so_are_refused(place, rank, ranks):
    place(rank, ranks)
    with pytest.raises(tutti.Error, match="TUTTI_"):
        tutti.shard(3)
