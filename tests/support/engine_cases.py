"""Classifiers for the engine, and their files, sound and damaged."""

import dataclasses
import random
import struct
from pathlib import Path

from hostile_files import mended
from meaning_cases import table
from modeling_cases import random_classifier

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.engine import ADDS_ROWS, PROJECTIONS, build_file, file_metadata
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.decision import Decision
from retvec_lite.model.grid import snap
from retvec_lite.model.heads import CnnHead, LinearHead, NgramHead, PoolHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NATIVE, NativeEngine
from retvec_lite.runtime.retvec_file import Layer, sections_of

SMALL = EncoderConfig(max_chars=48, max_words=9)
MEANT = EncoderConfig(max_chars=90, max_words=9)
PLAIN = NgramConfig(buckets=300, plain_letters=True)
ACCENTED = NgramConfig(buckets=300)
CODED = NgramConfig(buckets=512, codebooks=2, rank=5, longest=5, shortest=2)


def _cases() -> dict[str, TrainedModel]:
    letters = EncoderConfig(max_chars=48, max_words=1, letters_only=True)
    cases = {
        "linear": random_classifier(LinearHead(), config=SMALL, ngrams=PLAIN),
        "pool": random_classifier(PoolHead(hidden=24), config=SMALL),
        "cnn": random_classifier(CnnHead(hidden=18, filters=16, blocks=2), config=SMALL, ngrams=PLAIN),
        "blocks": random_classifier(CnnHead(hidden=18, filters=16, blocks=3), config=SMALL, ngrams=CODED),
        "pool, a vector": random_classifier(PoolHead(hidden=17, blocks=1, vector=8), config=SMALL),
        "pool, two blocks": random_classifier(PoolHead(hidden=24, blocks=2), config=SMALL, ngrams=PLAIN),
        "raw": random_classifier(PoolHead(hidden=24), config=SMALL, raw=True),
        "meaning": random_classifier(PoolHead(hidden=24, vector=9), config=MEANT, ngrams=ACCENTED, meaning=True),
        "meaning alone": random_classifier(LinearHead(), raw=True, config=MEANT, meaning=True),
    }
    whole = random_classifier(LinearHead(), config=letters, ngrams=CODED)
    own = {name: value for name, value in whole.weights.items() if name.startswith("ngrams/")}
    cases["ngrams"] = dataclasses.replace(whole, head=NgramHead(), weights=own)
    sizes, table_weights = table(len(whole.labels))
    cases["meaning of ngrams"] = dataclasses.replace(cases["ngrams"], weights={**own, **table_weights}, meaning=sizes)
    cases["linear"] = dataclasses.replace(
        cases["linear"], decision=Decision(threshold=0.4, unknown_label="yes", unknown_power=0.3, characters="abcdef🙂")
    )
    cases["meaning"] = dataclasses.replace(
        cases["meaning"], decision=Decision(characters="abcde", shares=(0.7, 0.2, 0.1))
    )
    cases["pool"] = dataclasses.replace(cases["pool"], decision=Decision(thresholds=(0.3, 0.4, 0.5)))
    return cases


CASES = _cases()
"""Every head and option that the engine computes."""


def file_of(name: str, bits: int = 8) -> bytes:
    """The .retvec of a case; with 4 bits, of its network on their grid."""
    model = CASES[name]
    if bits == 4:
        layers = {name for name in model.weights if name.endswith("/kernel")}
        snapped = {name: snap(value) if name in layers else value for name, value in model.weights.items()}
        model = dataclasses.replace(model, weights=snapped)
    return build_file(model, file_metadata(model, find_recipe("int8"), {NATIVE: "0"}))


def engine_of(content: bytes, folder: Path, library: Path) -> NativeEngine:
    path = folder / "m.retvec"
    path.write_bytes(content)
    return NativeEngine(read_artifact(path), library)


def own_weights(model: TrainedModel, content: bytes) -> dict[str, Floats]:
    """What the file computes with."""
    sections, found = sections_of(content), dict(model.weights)
    for name in found:
        layer, _, part = name.rpartition("/")
        if layer in sections and part == "kernel":
            found[name] = Layer.from_bytes(sections[layer], layer in ADDS_ROWS).kernel()
        if name in PROJECTIONS:
            found[name] = Layer.from_bytes(sections[name]).kernel()
    return found


def mutated(content: bytes, draw: random.Random) -> bytes:
    """A file with something wrong in header, table, sizes, settings or anywhere, mostly under a right checksum."""
    found = bytearray(content)
    way = draw.randrange(10)
    rows = sections_of(content).get("meaning/rows")
    if rows and draw.random() < 0.3:
        # Any row may be the one that a word of a text has.
        start = content.index(rows)
        found[start : start + len(rows)] = draw.choice((bytes(len(rows)), draw.randbytes(3) * (len(rows) // 3)))
    if way == 0:
        return bytes(found[: draw.randrange(len(found))])
    if way == 1:
        start, end = sorted(draw.randrange(len(found) // 64) * 64 for _ in range(2))
        del found[start:end]
        if len(found) >= 64:
            struct.pack_into("<I", found, 16, len(found))
        return mended(found)
    values = (0, 1, 2, 3, 16, 63, 64, 127, 255, 256, 4096, 65535, 65536, 2**20, 2**31 - 1, 2**31, 2**32 - 1, len(found))
    end = len(found) if way > 7 else 2000
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(4, min(end, len(found)) // 4) * 4
        value = draw.choice(
            (*values, draw.randrange(2**32), struct.unpack_from("<I", found, place)[0] ^ 1 << draw.randrange(32))
        )
        struct.pack_into("<I", found, place, value)
    return bytes(found) if way == 2 else mended(found)
