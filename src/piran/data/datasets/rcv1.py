"""RCV1-v2: Reuters newswire stories and their topics, in the LYRL2004 distribution."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from piran.data.corpus import Corpus, Documents
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.files import read_lines
from piran.errors import DataError

TRAIN = "lyrl2004_tokens_train.dat*"
TEST = "lyrl2004_tokens_test_pt[0-9].dat*"
TOPICS = "rcv1-v2.topics.qrels*"


def read_rcv1(folder: Path) -> Corpus:
    """Read the token files and the topics of the LYRL2004 distribution, plain or .gz.

    Those of the four test parts that are there make up the test split.
    """
    topics = _read_topics(next(folder.glob(TOPICS)))
    splits = {"train": _documents(folder, TRAIN, topics)}
    if any(folder.glob(TEST)):
        splits["test"] = _documents(folder, TEST, topics)
    return Corpus.from_splits("rcv1", splits)


def _documents(folder: Path, pattern: str, topics: dict[str, list[str]]) -> Documents:
    texts: list[str] = []
    label_sets: list[tuple[str, ...]] = []
    for path in sorted(folder.glob(pattern)):
        for number, text in _read_tokens(path):
            texts.append(text)
            label_sets.append(tuple(topics.get(number, ())))
    return Documents(texts, label_sets)


def _read_topics(path: Path) -> dict[str, list[str]]:
    """Read lines ``TOPIC document 1``: document → topics."""
    topics: dict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(read_lines(path), start=1):
        match line.split():
            case [topic, document, "1"]:
                topics[document].append(topic)
            case []:
                continue
            case _:
                raise DataError(
                    f"{path}, line {number}: expected 'TOPIC document 1', got {line.strip()!r}; "
                    "get the file again."
                )
    return dict(topics)


def _read_tokens(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (document, text) from blocks ``.I document``, ``.W``, lines of tokens, a blank line."""
    document: str | None = None
    tokens: list[str] = []
    for line in _checked(path, read_lines(path)):
        if line.startswith(".I "):
            if document is not None:
                yield document, " ".join(tokens)
            document, tokens = line[3:].strip(), []
        elif line != ".W":
            tokens.extend(line.split())
    if document is not None:
        yield document, " ".join(tokens)


def _checked(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """Yield stripped lines that are not blank; the first must begin a document."""
    is_first = True
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if is_first and stripped and not stripped.startswith(".I "):
            raise DataError(
                f"{path}, line {number}: expected '.I' and a document's number, got "
                f"{stripped[:40]!r}; get the file again."
            )
        if stripped:
            is_first = False
            yield stripped


CARD = DATASETS.register("rcv1")(
    DatasetCard(
        name="rcv1",
        title="Reuters Corpus Volume 1, version 2",
        description=(
            "804,414 Reuters stories (23,149 for training) as stemmed tokens, and their 103 topics."
        ),
        source="https://www.jmlr.org/papers/volume5/lewis04a (appendices 8 and 12)",
        licence="Reuters' research agreement; may not be redistributed",
        citation=(
            "Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization "
            "Research, JMLR 2004"
        ),
        tail=60,
        layout=(TRAIN, TOPICS),
        reader=read_rcv1,
    )
)
