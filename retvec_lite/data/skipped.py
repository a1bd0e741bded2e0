"""What becomes of rows that hold no text, and what a report says about them."""

from typing import Final

from retvec_lite.errors import RetvecLiteError, SystematicError

_ADVICE: Final = "--skip-bad-rows (skip_bad_rows=True) leaves such rows out."

_PLACES: Final = 3
"""Repeated headers whose places are told."""


class Skipped:
    """What becomes of rows that hold no text: empty ones are counted; bad ones too, with what was wrong with the first, or an error."""

    def __init__(self, bad_rows: bool | None = None) -> None:
        """Count bad rows if `bad_rows` is on; otherwise the first is an error, which names the option unless there is none (None)."""
        self._bad_rows, self._advice = bad_rows, "" if bad_rows is None else _ADVICE
        self.empty, self.count, self.first = 0, 0, ""
        self.headers, self._header_places = 0, ""

    def bad(self, error: RetvecLiteError) -> None:
        """Take the error of a bad row, or raise it."""
        if not self._bad_rows:
            advice = "" if isinstance(error, SystematicError) else self._advice
            raise RetvecLiteError(f"{error} {advice}".rstrip()) from error
        self.count += 1
        self.first = self.first or str(error)

    def header(self, place: str) -> None:
        """Count a row that repeats the names of the columns, as in files that were joined."""
        self.headers += 1
        if self.headers <= _PLACES:
            self._header_places += f"{'; ' if self._header_places else ''}{place}"

    def sentences(self) -> tuple[str, ...]:
        """Return what a report says about them."""
        found = []
        if self.empty:
            found.append(f"{_counted(self.empty, 'empty row')} skipped.")
        if self.headers:
            more = " and more" if self.headers > _PLACES else ""
            rows = _counted(self.headers, "row")
            found.append(
                f"{rows} skipped that hold{'s' * (self.headers == 1)} the names of the columns: {self._header_places}{more}."
            )
        if self.count:
            found.append(f"{_counted(self.count, 'bad row')} skipped, the first: {self.first}")
        return tuple(found)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
