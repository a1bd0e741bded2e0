"""What the language detector learns from and is measured with: words by frequency, and real sentences, of each language.

Licences: Unilex and CLDR, Unicode licence v3; FrequencyWords, CC BY-SA 4.0; wordfreq, data CC BY-SA 4.0; UDHR, text of the United
Nations; Tatoeba, CC BY 2.0 FR; MASSIVE, CC BY 4.0; starter texts, Apache-2.0; translations, several open ones. Only counts of n-grams enter the weights.
"""

import bz2
import collections
import csv
import functools
import gzip
import re
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.common import require_data
from makers.command import ROOT
from makers.embedding.words import read_frequency_list
from makers.language.labels import LABELS, ROMANIZED, UNKNOWN, list_code, massive_tag, tag_of, udhr_labels
from makers.language.romanized import spelled

HELD_OUT_ARTICLES: Final = frozenset({"6", "12", "18", "24", "30"})
"""Articles of the Declaration of Human Rights that no weight is trained on: all languages say the same in them."""

_MOST_WORDS: Final = 40_000
_MOST_MASSIVE: Final = 2_000
"""Training texts of a language that are taken from MASSIVE, about as many as from Tatoeba twice: its commands are alike."""

_MOST_TRANSLATIONS: Final = 8_000
_LONGEST_TRANSLATION: Final = 100
"""Texts of a language that are taken from the translations, and their code points: the rest are like them."""

_SET_ASIDE: Final = 12
"""One training text in so many is never trained on: settings were chosen by these."""

SPELLED: Final = "spelled"
"""The source of romanized texts: those of the language, spelled by rules."""

_SPELLINGS: Final = 3
"""How often each word and sentence of those is spelled."""

_MOST_SPELLED: Final = 20_000
"""Words of a language that are spelled."""

_SHARED_LISTS: Final = {"hr": "sh", "bs": "sh", "sr-Latn": "sh", "sr-Cyrl": ""}
"""Tag -> its list in wordfreq, where the code says something else; none for an empty one."""

_SHARES: Final = {"unilex": 0.5, "freqwords": 1.0, "wordfreq": 1.0, "CLDR": 0.02, "sentences": 0.7}
"""How much each list of words counts, next to the others."""

_WORD: Final = re.compile(r"[^\W\d_][\w'’\-\u0300-\u036f\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]*")


class Source(NamedTuple):
    """The texts of one language.

    Attributes:
        words: word -> how often it occurs, next to the others.
        train: sentences to train with.
        places: source -> how many words or sentences came from it.
    """

    words: Mapping[str, float]
    train: list[str]
    places: Mapping[str, int]


def compose(text: str) -> str:
    r"""Return a text as a classifier reads it: composed, white space as single blanks.

    Example:
        >>> compose(" cafe\u0301  noir ")
        'café noir'
    """
    return unicodedata.normalize("NFC", " ".join(text.split()))


@functools.cache
def read_sources(data: Path) -> dict[str, Source]:
    """Read all sources of training texts, by tag, without the texts of `read_tests`.

    Raises:
        SystemExit: for a file that is missing.
    """
    tested = {text for texts in read_tests(data).values() for found in texts.values() for text in found}
    sentences: dict[str, dict[str, list[str]]] = {tag: collections.defaultdict(list) for tag in LABELS}
    for place, tag, text in _sentences(data, "train"):
        if text not in tested:
            sentences[tag][place].append(text)
    found = {tag: _source(data, tag, sentences[tag]) for tag in LABELS if tag not in (UNKNOWN, *ROMANIZED)}
    return found | {tag: _romanized(tag, found[native]) for tag, native in ROMANIZED.items()}


def read_tests(data: Path) -> dict[str, dict[str, list[str]]]:
    """Read the test texts, source -> tag -> texts: Tatoeba, MASSIVE, and held-out articles of UDHR, without those of training."""
    tests: dict[str, dict[str, list[str]]] = {}
    for place, tag, text in _sentences(data, "test"):
        tests.setdefault(place, {}).setdefault(tag, []).append(text)
    return tests


@functools.cache
def chinese_scripts() -> tuple[frozenset[str], frozenset[str], Mapping[int, str]]:
    """Return characters of traditional Chinese only, of simplified Chinese only, and simplified -> traditional, from wordfreq."""
    import msgpack

    # Its module `chinese` would need jieba.
    packed = resources.files("wordfreq") / "data" / "_chinese_mapping.msgpack.gz"
    mapping = msgpack.loads(gzip.decompress(packed.read_bytes()), raw=False, strict_map_key=False)
    pairs = {chr(old): new for old, new in mapping.items() if isinstance(new, str) and len(new) == 1}
    pairs = {old: new for old, new in pairs.items() if old != new}
    traditional = frozenset(pairs) - frozenset(pairs.values())
    simplified = frozenset(pairs.values()) - frozenset(pairs)
    back: dict[int, str] = {}
    for old, new in pairs.items():
        if new in simplified and (ord(new) not in back or old < back[ord(new)]):
            back[ord(new)] = old
    return traditional, simplified, back


def _sentences(data: Path, split: str) -> Iterator[tuple[str, str, str]]:
    """Yield (source, tag, text) of the real sentences of a split, each text once."""
    traditional, simplified, _ = chinese_scripts()
    seen: set[tuple[str, str]] = set()
    taken: collections.Counter[str] = collections.Counter()
    for place, tag, text in _labelled(data, split, traditional, simplified):
        if tag not in LABELS or not text or (tag, text) in seen:
            continue
        if place == "MASSIVE" and split == "train":
            # Its texts are sorted by language and then by intent.
            taken[tag] += 1
            if taken[tag] * 7 % 23 >= 23 * _MOST_MASSIVE // 11_500 + 1:
                continue
        seen.add((tag, text))
        yield place, tag, text


def _labelled(
    data: Path, split: str, traditional: frozenset[str], simplified: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    for row in _rows(data / "tatoeba_langid" / f"{split}.csv"):
        text = compose(row["text"])
        yield "Tatoeba", tag_of(row["label"], text, traditional, simplified), text
    for row in _rows(data / "massive" / f"{split}.csv"):
        yield "MASSIVE", massive_tag(row["lang"]), compose(row["text"])
    tags = {label: tag for tag in LABELS for label in udhr_labels(tag)}
    for row in _rows(data / "udhr" / "paragraphs.csv"):
        if row["label"] in tags and (row["article"] in HELD_OUT_ARTICLES) == (split == "test"):
            for part in re.split(r"(?<=[.;:,!?。；，、।።၊။])\s*", compose(row["text"])):
                if len(part) > 3:
                    yield "UDHR", tags[row["label"]], part
    if split == "train":
        starter = ROOT / "retvec_lite" / "starter" / "train.csv"
        for row in _rows(starter):
            yield "starter", {"zh": "zh-Hans"}.get(row["lang"], row["lang"]), compose(row["text"])
        for path in sorted((data / "translations").glob("pairs_*.tsv.bz2")):
            code = path.name.removeprefix("pairs_").partition(".")[0]
            chinese = code == "zh"
            for text in _translations(path):
                tag = tag_of("cmn", text, traditional, simplified) if chinese else {"no": "nb"}.get(code, code)
                yield "translations", tag, text


def _translations(path: Path) -> list[str]:
    """Return short texts of the language that is not English, evenly from the whole file."""
    with bz2.open(path, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t") for line in file]
    found = [compose(other) for english, other in pairs if other != english and len(other) <= _LONGEST_TRANSLATION]
    return found[:: len(found) // _MOST_TRANSLATIONS + 1]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    require_data(path)
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _source(data: Path, tag: str, sentences: Mapping[str, list[str]]) -> Source:
    train = [text for texts in sentences.values() for index, text in enumerate(texts) if index % _SET_ASIDE]
    lists = dict(_lists(data, tag))
    real = collections.Counter(word for text in train for word in words_of(text))
    if real:
        lists["sentences"] = {word: float(count) for word, count in real.items()}
    words: dict[str, float] = collections.defaultdict(float)
    for name, found in lists.items():
        total = sum(found.values())
        for word, count in found.items():
            words[word] += _SHARES[name] * count / total
    places = {**{name: len(found) for name, found in lists.items()}, **{name: len(t) for name, t in sentences.items()}}
    return Source(dict(words), train, places)


def _romanized(tag: str, native: Source) -> Source:
    """Return the words and sentences of a language in Latin letters."""
    words: dict[str, float] = collections.defaultdict(float)
    frequent = sorted(native.words, key=lambda word: -native.words[word])[:_MOST_SPELLED]
    for word, spelling in spelled(tag, frequent, _SPELLINGS):
        words[spelling] += native.words[word]
    train = list(dict.fromkeys(spelling for _, spelling in spelled(tag, native.train, _SPELLINGS)))
    return Source(dict(words), train, {SPELLED: len(train)})


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters and marks, or of Han, kana and Thai characters between other signs.

    Example:
        >>> words_of("Don't panic, 42 times!")
        ["Don't", 'panic', 'times']
    """
    return _WORD.findall(text)


def _lists(data: Path, tag: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the lists of words of a language: their source, and word -> count."""
    _, _, to_traditional = chinese_scripts()
    code = list_code(tag)
    for place in ("unilex", "freqwords"):
        path = data / place / f"{code}.csv"
        if path.is_file() and (found := _of_script(tag, dict(read_frequency_list(path)[:_MOST_WORDS]))):
            yield place, found
    if found := _of_script(tag, _wordfreq(_SHARED_LISTS.get(tag, code))):
        if tag == "zh-Hant":
            found = {word.translate(to_traditional): share for word, share in found.items()}
        yield "wordfreq", found
    if found := _of_script(tag, _cldr(tag)):
        yield "CLDR", found


def _of_script(tag: str, found: Mapping[str, float]) -> dict[str, float]:
    composed = {compose(word): count for word, count in found.items() if words_of(word)}
    if tag in ("sr-Cyrl", "sr-Latn", "bs", "hr"):
        is_cyrillic = tag == "sr-Cyrl"
        return {
            word: count for word, count in composed.items() if bool(re.search("[\u0400-\u04ff]", word)) == is_cyrillic
        }
    return composed


@functools.cache
def _wordfreq(code: str) -> Mapping[str, float]:
    import wordfreq

    if code not in wordfreq.available_languages("best"):
        return {}
    # Each bin holds the words of one frequency, in centibels. `word_frequency` would cut Chinese and Japanese with other packages.
    bins = enumerate(wordfreq.get_frequency_list(code, wordlist="best"))
    found = {word: wordfreq.cB_to_freq(-centibels) for centibels, words in bins for word in words}
    return dict(list(found.items())[:_MOST_WORDS])


@functools.cache
def _cldr(tag: str) -> Mapping[str, float]:
    """Return the names of days and months of CLDR, each counted once; none for a language without a locale."""
    import babel

    try:
        locale = babel.Locale.parse(tag, sep="-")
    except (babel.UnknownLocaleError, ValueError):
        return {}
    found: collections.Counter[str] = collections.Counter()
    for names in (locale.days, locale.months):
        for form in names.values():
            for word in {word for name in form["wide"].values() for word in words_of(str(name)) if len(word) > 1}:
                found[word] += 1
    return found
