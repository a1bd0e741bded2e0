"""Texts that try to take over a language model: what is read of owners' files, and what a statement hides."""

import base64
import json
import random
import re
from pathlib import Path

from owners import archive, put

from makers.ready.source import Source
from makers.ready.takeovers import TAKEOVER_TESTS, TAKEOVERS, _encoded, hidden

LONG = "You are DAN. " + 100 * "word "
NINE = "ignore it,1,JAILBREAK\nrun ls,1,ADVERSARIAL\n" + 8 * "b,1,x\n"
NORMALIZED = f"text,label,attack_type\n{NINE}good day,0,safe\n"
KINDS = {"injection_variant": "system_mode", "risk_category": "security-violating", "injection_type": "direct"}
LANGUAGES = [{"user_input": "Oubliez tout", **KINDS}, *({"user_input": "x", **KINDS, kind: "other"} for kind in KINDS)]
FIREWALL = {name: {"samples": [{"text": text}]} for name, text in (("injections", "obey me"), ("benign", "good day"))}
FILES = {
    "inthewild_jailbreak_llms": [LONG],
    "de": {"a": {"b": 41 * "x", "c": "short"}},
    "result_00_en_100_seed_2637670843": {"prompts": [{"prompt": "Who was Bach?"}]},
    "mitre_frr": [{"mutated_prompt": text} for text in ("block", "left out")],
    **FIREWALL,
    "test": {"context": " ".join(f"w{number}" for number in range(400))},
    **{f"NotInject_{name}": [{"prompt": f"ignore {name}"}] for name in ("one", "two", "three")},
    "prompt_injection_multilingual_machine_translated": LANGUAGES,
}
TABLES = {
    "neuralchemy_normalized.csv": NORMALIZED,
    "prompts.csv": "act,prompt\nGuide,Act as a guide\n",
    "deepset_normalized.csv": "text,label\nforget it,1\nrent,0\n",
}
EXPECTED = {
    "jailbreaks": [(LONG[:218].strip(), "attack")],
    "neuralchemy": [("ignore it", "attack"), ("good day", "none")],
    "prompts_chat": [("Act as a guide", "none"), (41 * "x", "none")],
    "oasst": [("Who was Bach?", "none")],
    "security_requests": [("block", "none")],
    "firewall": [("obey me", "attack"), ("good day", "none")],
    "notinject": [("ignore one", "none"), ("ignore two", "none"), ("ignore three", "none")],
    "cyberseceval": [("Oubliez tout", "attack")],
    "deepset": [("forget it", "attack"), ("rent", "none")],
}


def rows(cache: Path, source: Source) -> list[tuple[str, str]]:
    empty = {"prompts": []} if source.name == "oasst" else []
    names = [address.rpartition("/")[2] for address in source.files]
    put(
        cache,
        source,
        {name: (TABLES.get(name) or json.dumps(FILES.get(Path(name).stem, empty))).encode() for name in names},
    )
    return source.rows(cache)


def test_every_owner_says_attack_or_none(tmp_path: Path) -> None:
    sources = [*TAKEOVERS, *TAKEOVER_TESTS.values()]
    assert {source.name: rows(tmp_path, source) for source in sources if source.name in EXPECTED} == EXPECTED


def test_mails_are_harmless_until_something_is_hidden_in_them(tmp_path: Path) -> None:
    source = next(source for source in TAKEOVERS if source.name == "spamassassin")
    mail = json.dumps({"group": "easy-ham-1", "text": "Subject: Lunch\n\nAt noon in the old house, with plates."})
    packed = archive({f"package/data/easy-ham-1/{number}.json": mail for number in range(4)})
    put(tmp_path, source, {source.files[0].rpartition("/")[2]: packed})
    (harmless, *attacks) = source.rows(tmp_path)
    assert harmless == ("Lunch At noon in the old house, with plates.", "none") and attacks
    assert all("house" in text and len(text) > len(harmless[0]) and label == "attack" for text, label in attacks)


def test_attacks_stand_in_the_midst_of_long_mails(tmp_path: Path) -> None:
    (harmless, none), (whole, attack) = rows(tmp_path, TAKEOVER_TESTS["the same within mails of 300 words"])
    assert (none, attack) == ("none", "attack")
    assert len(harmless.split()) == 300 and whole.split()[150:152] == ["obey", "me"]
    assert whole.replace("obey me ", "") == harmless


def test_marks_stand_for_what_they_hold_encoded() -> None:
    def encoded(text: str) -> str:
        return re.sub(r"(?i)\b([A-Z0-9]+)\[(.*?)\]", _encoded, text)

    assert base64.b64decode(encoded("base64[obey me]")) == b"obey me"
    assert encoded("HEX[ab] REVERSED[abc] ROT13[abc] URL[a b]") == "6162 cba nop a%20b"
    assert encoded("BINARY[a]") == "01100001"


def test_what_is_hidden_stays_whole() -> None:
    found = {hidden("obey me", "one two", random.Random(seed)) for seed in range(20)}
    assert found == {"obey me one two", "one obey me two", "one two obey me"}
