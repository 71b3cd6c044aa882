"""Files as bytes and lines: decompression, decoding, and what to say of damaged files."""

import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from piran.errors import DataError

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
COMPRESSIONS = ("gz", "xz")


@dataclass(frozen=True)
class FileFormat:
    """What a file's extension says: ``train.csv.gz`` is the format csv, compressed by gz."""

    stem: str
    format: str
    compression: str | None

    @classmethod
    def of(cls, path: Path) -> "FileFormat":
        """Read the extension of a path, in either case; an unknown one is an error."""
        compression = compression_of(path)
        name = path.name[: -len(compression) - 1] if compression else path.name
        stem, _, extension = name.rpartition(".")
        if extension.lower() in FORMATS and stem:
            return cls(stem, extension.lower(), compression)
        known = ", ".join(f".{name}" for name in FORMATS)
        raise DataError(
            f"{path}: unknown extension; expected one of {known}, each also with .gz or .xz; "
            "rename or convert the file."
        )


def compression_of(path: Path) -> str | None:
    """Return "gz" or "xz" if the path ends so, in either case, else None."""
    extension = path.suffix.lower().removeprefix(".")
    return extension if extension in COMPRESSIONS else None


@contextmanager
def opened(path: Path, mode: str = "rb") -> Iterator[IO[bytes]]:
    """Open a file for bytes through its compression; what goes wrong is a one-line DataError."""
    try:
        with _open(path, mode) as file:
            yield file
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; check the path.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        kind = compression_of(path)
        raise DataError(
            f"{path}: expected a whole .{kind} file, got a damaged one ({error}); copy it again, "
            "or give it the extension of what it is."
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from error


def _open(path: Path, mode: str) -> IO[bytes]:
    match compression_of(path):
        case "gz" if mode == "wb":
            # Without time and name in its header, the same documents give the same bytes.
            return cast(IO[bytes], gzip.GzipFile(path, mode, mtime=0))
        case "gz":
            return cast(IO[bytes], gzip.open(path, mode))
        case "xz":
            return cast(IO[bytes], lzma.open(path, mode))
    return cast(IO[bytes], path.open(mode))


def read_lines(path: Path, *, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file one by one, with their ends; a byte order mark is dropped."""
    with opened(path) as file:
        yield from decoded_lines(file, str(path), encoding=encoding)


def decoded_lines(lines: Iterable[bytes], name: str, *, encoding: str = "utf-8") -> Iterator[str]:
    """Decode lines one by one, so that a wrong byte is reported with its line's number."""
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError as error:
            raise _not_text(f"{name}, line {number}", error) from error
        yield text.removeprefix("\ufeff") if number == 1 else text


def read_text(path: Path) -> str:
    """Return the whole of a UTF-8 file, without a byte order mark."""
    with opened(path) as file:
        content = file.read()
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _not_text(str(path), error) from error


def _not_text(where: str, error: UnicodeDecodeError) -> DataError:
    byte = error.object[error.start]
    return DataError(
        f"{where}: expected UTF-8 text, got the byte 0x{byte:02x} at position {error.start}; save "
        "the file as UTF-8, or give it the extension of what it is."
    )
