"""The one exception that users are meant to read."""


class RetvecLiteError(Exception):
    """Bad input or a failed operation, told in one sentence: what was expected and what came.

    The command line prints the sentence and exits non-zero without a traceback; anything else that escapes is a bug.
    """
