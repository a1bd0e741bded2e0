"""The one exception that users should see, and how it quotes others."""


class RetvecLiteError(Exception):
    """Bad input or a failed operation. The message says what is wrong and how to fix it.

    The command line prints the message and exits with status 2. Any other exception that reaches a user is a bug.

    Example:
        >>> from retvec_lite import RetvecLiteError, TextClassifier
        >>> try:
        ...     TextClassifier.load("missing.tflite")
        ... except RetvecLiteError as error:
        ...     print(error)
        Cannot read missing.tflite: No such file or directory.
    """


def reason(error: object) -> str:
    """Return what is wrong, which may span several lines, in one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
