"""Reuters-21578: newswire stories of 1987, in the ModApte split, with the 90 usual topics."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from piran.data.corpus import Corpus, Documents
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.files import read_lines
from piran.types import LabelSet

STORY = re.compile(r"<REUTERS(?P<head>[^>]*)>(?P<content>.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TAG = re.compile(r"<[^>]*>")
FILES = "reut2-*.sgm*"


@dataclass(frozen=True)
class _Story:
    split: str
    text: str
    topics: LabelSet


def read_reuters90(folder: Path) -> Corpus:
    """Read the SGML files: stories with topics, train and test as LEWISSPLIT says (ModApte).

    Kept are topics with a story on both sides, 90 in the whole collection, and stories with one of
    them, 7,770 and 3,019.
    """
    stories = [story for path in sorted(folder.glob(FILES)) for story in _read_stories(path)]
    sides = [
        {topic for story in stories if story.split == split for topic in story.topics}
        for split in ("TRAIN", "TEST")
    ]
    kept = sides[0] & sides[1]
    return Corpus("reuters90", _side(stories, "TRAIN", kept), test=_side(stories, "TEST", kept))


def _side(stories: list[_Story], split: str, kept: set[str]) -> Documents:
    chosen = [story for story in stories if story.split == split and kept & set(story.topics)]
    return Documents(
        [story.text for story in chosen],
        [tuple(topic for topic in story.topics if topic in kept) for story in chosen],
    )


def _read_stories(path: Path) -> Iterator[_Story]:
    """Yield the stories of a file that belong to the ModApte split."""
    content = "".join(read_lines(path, encoding="latin-1"))
    for match in STORY.finditer(content):
        attributes = dict(ATTRIBUTE.findall(match["head"]))
        split = attributes.get("LEWISSPLIT", "")
        if attributes.get("TOPICS") == "YES" and split in ("TRAIN", "TEST"):
            topics = re.findall(r"<D>(.*?)</D>", _element(match["content"], "TOPICS"))
            yield _Story(split, _text(match["content"]), tuple(map(html.unescape, topics)))


def _text(content: str) -> str:
    """Return title and body, or all of the text where it is not divided, as one line."""
    parts = [_element(content, "TITLE"), _element(content, "BODY")]
    if not any(parts):
        parts = [TAG.sub(" ", _element(content, "TEXT"))]
    return " ".join(html.unescape(" ".join(parts)).split())


def _element(content: str, name: str) -> str:
    found = re.search(rf"<{name}\b[^>]*>(.*?)</{name}>", content, re.DOTALL)
    return found[1] if found else ""


CARD = DATASETS.register("reuters90")(
    DatasetCard(
        name="reuters90",
        title="Reuters-21578, 90 topics",
        description=(
            "Reuters stories of 1987 in the ModApte split: 7,770 for training, 3,019 for test, "
            "with the 90 topics that have a story on both sides."
        ),
        source="https://archive.ics.uci.edu/dataset/137 (reuters21578.tar.gz)",
        licence="free for research, with acknowledgement (Reuters and Carnegie Group)",
        citation="Lewis, Reuters-21578 text categorization test collection, 1997",
        tail=60,
        layout=(FILES,),
        reader=read_reuters90,
    )
)
