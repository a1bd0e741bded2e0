"""Pre-training of meaning: from files of text, or of translations, to a file of meanings."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from retvec_lite.arguments import checked
from retvec_lite.data.decoding import read_text
from retvec_lite.data.rows import TEXT_SUFFIX, check_suffix
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import explain_os_error, require_writable
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.pretraining.meaning.card import meaning_card
from retvec_lite.pretraining.meaning.corpus import digest_of
from retvec_lite.pretraining.meaning.languages import learn_translations
from retvec_lite.pretraining.meaning.options import PretrainMeaningOptions, stage_settings
from retvec_lite.pretraining.meaning.stages import Stages
from retvec_lite.pretraining.meaning.valence import read_valence
from retvec_lite.terminal import Progress, watched


@PretrainMeaningOptions.document
@checked
def pretrain_meaning(  # noqa: D417  # the decorator documents the options
    texts: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    out: str | os.PathLike[str] = PretrainMeaningOptions.out,
    language: str = PretrainMeaningOptions.language,
    words: int = PretrainMeaningOptions.words,
    least_count: int = PretrainMeaningOptions.least_count,
    passes: int = PretrainMeaningOptions.passes,
    steps: int = PretrainMeaningOptions.steps,
    code_steps: int = PretrainMeaningOptions.code_steps,
    valence: str | os.PathLike[str] | None = PretrainMeaningOptions.valence,
    about: str | os.PathLike[str] | None = PretrainMeaningOptions.about,
    translations: str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]]
    | None = PretrainMeaningOptions.translations,
    space: str | os.PathLike[str] | None = PretrainMeaningOptions.space,
    seed: int = PretrainMeaningOptions.seed,
    resume: str | os.PathLike[str] | None = PretrainMeaningOptions.resume,
    force: bool = PretrainMeaningOptions.force,
    progress: Progress | bool | None = None,
) -> MeaningFile:
    """Learn from open text what the words of a language mean, or from translations into English, and write it as safetensors.

    A run on texts that is interrupted goes on where it was: the same call ends with the same bytes, on the same machine.

    Args:
        texts: UTF-8 text files, a sentence or paragraph a line, in which neighbouring lines belong together; they may be packed.
        out, ..., force: see `PretrainMeaningOptions`.
        progress: as of `train`.

    Raises:
        RetvecLiteError: for a file at `out` without `force`, texts that cannot be read, fewer than a million words, scripts
            without spaces, fewer than 10,000 translations, an option out of range, or a folder that belongs to a run of other texts
            or settings.
        ModuleNotFoundError: when gensim is not installed.

    Example:
        >>> from pathlib import Path
        >>> import retvec_lite as rl
        >>> _ = Path("notes.txt").write_text("wake me at six")
        >>> rl.pretrain_meaning("notes.txt", out="meaning.safetensors")
        Traceback (most recent call last):
        retvec_lite.errors.RetvecLiteError: The texts have 4 words, too few to learn what words mean: at least 1,000,000 are needed, ...
    """
    options = PretrainMeaningOptions.of(locals())
    files = [Path(file) for file in _listed(texts)]
    told = "" if about is None else read_text(Path(about))
    if translations is None:
        result = _learn_texts(files, options, told, progress)
    elif files:
        raise RetvecLiteError("Meanings are learned from texts or from translations: name one of them.")
    else:
        require_writable(out, force)
        with watched(progress) as report:
            result = learn_translations(_listed(translations), options, told, report)
    result.save(out)
    return result


def _learn_texts(
    files: Sequence[Path], options: PretrainMeaningOptions, about: str, progress: Progress | bool | None
) -> MeaningFile:
    """Return the meanings of the words of texts; arguments and errors as of `pretrain_meaning`."""
    if options.space is not None:
        raise RetvecLiteError(
            "Only translations join a space: name them with --translations (in Python: translations)."
        )
    if not files:
        raise RetvecLiteError("texts must name at least one file.")
    for file in files:
        check_suffix(file, (TEXT_SUFFIX,), "a file of texts")
    import gensim  # noqa: F401  # what is missing is found before the work starts

    require_writable(options.out, options.force)
    valence = None if options.valence is None else Path(options.valence)
    known_valence = None if valence is None else read_valence(valence)
    out = Path(options.out)
    folder = out.with_name(out.stem + "-run") if options.resume is None else Path(options.resume)
    settings = stage_settings(options, digest_of(files), None if valence is None else digest_of([valence]))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, folder) from error
    with watched(progress) as report:
        stages = Stages(folder, settings, options, report)
        corpus = stages.read(files)
        codes, codebooks = stages.encode(corpus, stages.learn(corpus), known_valence)
    kept = corpus.words[: len(codes)]
    bare = MeaningFile(kept, codes, codebooks, options.language, {})
    return dataclasses.replace(bare, card=meaning_card(bare, options, files, corpus, about, known_valence))


def _listed(places: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    return [places] if isinstance(places, (str, os.PathLike)) else list(places)
