"""Every error that piran raises on purpose; each is also the standard type it stands for.

A message says what is wrong, where, what was expected, what was got and what to do, in that order and
in one line. The command line prints it as it is and exits with 1.
"""


class PiranError(Exception):
    """Base of all errors that a user of piran can put right."""


class DataError(PiranError, ValueError):
    """A file, a row or a set of documents is not what was expected."""


class SettingError(PiranError, ValueError):
    """A setting has a value that is not allowed."""


class UnknownNameError(PiranError, LookupError):
    """A name is not registered; the message lists or suggests names that are."""


class ModelFolderError(PiranError, ValueError):
    """A saved model is missing, damaged, or of a format this version does not know."""


class NoMinimumError(PiranError, ArithmeticError):
    """The transfer loss is unbounded below, so no map W minimises it."""


class MissingExtraError(PiranError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""


class NotFittedError(PiranError, ValueError, AttributeError):
    """Something was asked of an object that has not been fitted (scikit-learn's two base types)."""
