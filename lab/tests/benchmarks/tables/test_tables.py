"""What the commands make of their rows."""

from benchmarks.experiments import comparison
from benchmarks.systems.names import FASTTEXT, NETWORK


def compared(system: str, head: str, seed: int, clean: float, size: int, **more: object) -> dict:
    accuracy = {"0": clean, "0.2": clean - 0.1, "0.5": clean - 0.2, "1": clean - 0.3}
    languages = {"de-DE": {"0": 0.9, "0.5": 0.8}, "fr-FR": {"0": 0.7, "0.5": 0.6}, "ru-RU": {"0": 0.5, "0.5": 0.4}}
    return {
        "data": "MASSIVE",
        "system": system,
        "head": head,
        "seed": seed,
        "settings": {"test_texts": 30, "texts": "x", "epochs": 4},
        "accuracy": accuracy,
        "bytes": size,
        "parameters": None if system == FASTTEXT else 1000,
        "by_language": languages,
        "scripts": {"de-DE": "Latin", "fr-FR": "Latin", "ru-RU": "Cyrillic"},
        **more,
    }


def test_comparison_shows_spread_size_class_scripts_and_languages() -> None:
    rows = [
        compared(FASTTEXT, "whole", 0, 0.8, 1_000_000),
        compared(NETWORK, "cnn", 1, 0.9, 500_000),
        compared(NETWORK, "cnn", 0, 0.8, 500_400),
    ]
    markdown = comparison.tables(rows)
    line = (
        "| network alone | cnn | 1,000 | 500 kB | 0.850 ± 0.071 | 0.750 ± 0.071 | 0.650 ± 0.071 | 0.550 ± 0.071 | 2 |"
    )
    assert line in markdown
    assert "| fastText | whole | - | 1,000 kB (over 1 MB) | 0.800 | 0.700 | 0.600 | 0.500 | 1 |" in markdown
    assert markdown.index(line) < markdown.index("| fastText | whole")
    assert "| Latin (2) | 0.800 / 0.700 | 0.800 / 0.700 |" in markdown
    assert "| Cyrillic (1) | 0.500 / 0.400 | 0.500 / 0.400 |" in markdown
    assert "| fr-FR | 0.700 / 0.600 | 0.700 / 0.600 |" in markdown
    assert "| mean of languages | 0.700 / 0.600 | 0.700 / 0.600 |" in markdown
