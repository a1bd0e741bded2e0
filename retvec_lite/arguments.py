"""Arguments of public functions: what signatures and docstrings say of them, which commands are made from, what is refused; and texts as one."""

import collections.abc
import functools
import inspect
import math
import numbers
import os
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, ParamSpec, TypeVar, Union, cast, get_args, get_origin

from retvec_lite.errors import RetvecLiteError, did_you_mean, shown

Function = TypeVar("Function", bound=Callable[..., Any])
Arguments = ParamSpec("Arguments")
Options = TypeVar("Options")
Result = TypeVar("Result")

_Test = Callable[[Any], bool]

# An array and a column of a table are no `Sequence`.
_SEQUENCE: Final = ("a sequence", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes))

_BEYOND: Final = 2**63
"""From here on, integers are too large for arrays, and some of them for floats and messages."""

_KINDS: Final[Mapping[Any, tuple[str, _Test]]] = {
    type(None): ("None", lambda value: value is None),
    str: ("a string", lambda value: isinstance(value, str)),
    bool: ("True or False", lambda value: str(value) in ("True", "False") and not isinstance(value, str)),
    int: ("an integer", lambda value: isinstance(value, numbers.Integral) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool)),
    os.PathLike: ("a path", lambda value: isinstance(value, os.PathLike)),
    collections.abc.Callable: ("a function", callable),
    collections.abc.Mapping: ("a mapping", lambda value: isinstance(value, Mapping)),
    collections.abc.Sequence: _SEQUENCE,
    collections.abc.Iterable: _SEQUENCE,
}
"""Annotation, or its origin -> what it is in words, and whether a value is one."""


def checked(function: Function) -> Function:
    """Check the arguments of a function by its annotations; those that say nothing, or are strings, let everything pass.

    Raises:
        RetvecLiteError: by the function, for an argument of another type, or a path with a null character.

    Example:
        >>> from retvec_lite.arguments import checked
        >>> @checked
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double("2")
        Traceback (most recent call last):
        retvec_lite.errors.RetvecLiteError: number must be an integer, not '2'.
    """
    signature = inspect.signature(function)
    kinds = {name: _kinds_of(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name, value in bind(function.__name__, signature, args, kwargs).items():
            check(name, value, kinds[name])
        return function(*args, **kwargs)

    return cast(Function, call)


def bind(
    function: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the arguments of a call by name; raises TypeError for a call that does not fit, with the name that may have been meant."""
    for name in kwargs:
        if name not in signature.parameters:
            raise TypeError(f"{function} has no argument {name}.{did_you_mean(name, signature.parameters)}")
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{function}: {error}.") from None


def takes(options: type) -> Callable[[Function], Function]:
    """Let a function whose last argument is `**reading` take the fields of a dataclass, as that declares and documents them.

    Both the signature and the docstring then list them, so that `help` and everything that is made from signatures know them.
    """

    def extend(function: Function) -> Function:
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()
        function.__signature__ = signature.replace(parameters=[*own, *inspect.signature(options).parameters.values()])  # type: ignore[attr-defined]
        doc, told = function.__doc__ or "", described(options)
        function.__doc__ = re.sub(
            r"^( *)reading: .*", lambda line: _listed(told, line[1]), doc, count=1, flags=re.MULTILINE
        )
        return function

    return extend


def spread(
    options: Callable[Arguments, Options],
) -> Callable[[Callable[[Options], Result]], Callable[Arguments, Result]]:
    """Let a function of one dataclass be called with its fields, which its signature and its docstring then list."""

    def extend(function: Callable[[Options], Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return function(options(*args, **kwargs))

        signature, told = inspect.signature(options), described(options)
        call.__signature__ = signature.replace(return_annotation=inspect.signature(function).return_annotation)  # type: ignore[attr-defined]
        summary, rest = (function.__doc__ or "").split("\n\n    Raises:", 1)
        explained = _listed({name: told[name] for name in signature.parameters}, " " * 8)
        call.__doc__ = f"{summary}\n\n    Args:\n{explained}\n\n    Raises:{rest}"
        return call

    return extend


def _listed(told: Mapping[str, str], indent: str) -> str:
    return "\n".join(f"{indent}{name}: {text}." for name, text in told.items())


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the docstring of a function, or of a dataclass and what it is made of, says of each argument, in one line without a full stop."""
    found: dict[str, str] = {}
    for each in function.__mro__ if isinstance(function, type) else (function,):
        _, _, rest = re.sub("\nAttributes:\n", "\nArgs:\n", inspect.cleandoc(each.__doc__ or "")).partition("\nArgs:\n")
        told = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", rest.partition("\n\n")[0], re.MULTILINE)
        found = {name: " ".join(text.split()).removesuffix(".") for name, text in told} | found
    return found


def check(name: str, value: object, kinds: Mapping[str, _Test]) -> None:
    """Raise RetvecLiteError unless a value is of one of the kinds; without kinds, only integers beyond 64 bits are refused."""
    if isinstance(value, int) and abs(value) >= _BEYOND:
        raise RetvecLiteError(f"{name} is too large: {shown(value)}.")
    if kinds and not any(test(value) for test in kinds.values()):
        *others, last = kinds
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise RetvecLiteError(f"{name} must be {wanted}, not {shown(value)}.")
    if isinstance(value, str) and "a path" in kinds and "\0" in value:
        raise RetvecLiteError(f"{name} must be a path, which cannot hold a null character.")


def finite(value: Any) -> float | None:
    """Return a number of any library as a float; None for what is none, or is not finite as one."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def as_texts(texts: object) -> list[str]:
    """Return a string, or any column of strings (list, NumPy array, pandas Series, ...), as a list of strings.

    Raises:
        RetvecLiteError: for anything else, naming the type and the index of the first item that is not a string.
    """
    return [texts] if isinstance(texts, str) else require_strings(list(one_column(texts)))


def one_column(texts: object) -> Iterable[object]:
    """Refuse what is iterable but does not yield one text after the other, in order."""
    # Iterating over a DataFrame yields its column names, over bytes integers, over a mapping its keys.
    odd = isinstance(texts, bytes | bytearray | Mapping | set | frozenset) or getattr(texts, "ndim", 1) != 1
    if odd or not isinstance(texts, Iterable):
        raise RetvecLiteError(
            f"Texts must be a string or a sequence of strings, not {type(texts).__name__}. "
            "Pass a list, an array or one column of a table."
        )
    return texts


def require_strings(texts: Sequence[object], start: int = 0) -> list[str]:
    """Return the texts if all are strings; raises RetvecLiteError with an index counted from `start`."""
    for index, text in enumerate(texts, start):
        if not isinstance(text, str):
            raise RetvecLiteError(
                f"Texts must be strings, but the one at index {index} is of type {type(text).__name__}."
            )
    return cast(list[str], texts)


def chunks(texts: Iterable[object], size: int) -> Iterator[list[str] | Exception]:
    """Yield texts in lists of `size`, in order.

    Where reading a text fails, or it is not a string, yields the texts before it and then the exception: what can be
    answered is answered first.
    """
    chunk: list[str] = []
    failure: Exception | None = None
    try:
        for index, text in enumerate(texts):
            chunk += require_strings([text], index)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except Exception as error:  # noqa: BLE001 - whatever reading the texts raises belongs to the reader of the answers
        failure = error
    if chunk:
        yield chunk
    if failure is not None:
        yield failure


def _kinds_of(annotation: Any) -> dict[str, _Test]:
    """Return the kinds of an annotation in words, with their tests; none where it does not say."""
    found: dict[str, _Test] = {}
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    for member in members:
        origin = get_origin(member) or member
        if origin is Literal:
            found |= {repr(word): functools.partial(_equals, word) for word in get_args(member)}
        elif origin in _KINDS:
            words, test = _KINDS[origin]
            found[words] = test
        elif isinstance(origin, type) and origin not in (Any, inspect.Parameter.empty):
            found[f"a {origin.__name__}"] = functools.partial(_is_a, origin)
        else:
            return {}
    if "a string" in found:  # words are only the ones with a meaning of their own
        return {words: test for words, test in found.items() if not words.startswith("'")}
    return found


def _equals(word: object, value: object) -> bool:
    return isinstance(value, str) and value == word


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind)
