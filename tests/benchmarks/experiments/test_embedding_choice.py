"""The table by which embeddings are chosen."""

from benchmarks.experiments.embedding_choice import HEADS, TRAININGS, tables


def rows(embedding: str, data: str, accuracy: float) -> list[dict]:
    return [
        {
            "set": data,
            "trained_on": trained_on,
            "embedding": embedding,
            "head": head,
            "seed": 0,
            "accuracy": dict.fromkeys(("0", "0.5", "1"), accuracy),
        }
        for trained_on in TRAININGS
        for head in HEADS
    ]


def test_embeddings_are_compared_on_the_same_data_sets() -> None:
    found = [*rows("ours", "Banking77", 0.5), *rows("ours", "SMS spam", 0.9), *rows("v1", "Banking77", 0.4)]
    found += rows("v1", "SMS spam", 0.9)[:1]  # unfinished
    one, both = tables(found).split("On Banking77; SMS spam:")
    assert one.startswith("On Banking77:\n")
    assert [line.split(" | ")[-1] for line in one.splitlines()[4:6]] == [".5000 |", ".4000 |"]
    assert "| ours |" in both and ".7000 |" in both and "v1" not in both
