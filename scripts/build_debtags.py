r"""Rebuild the debtags corpus from Debian's package index and compare it with the shipped copy.

Fetch the indexes into a folder of their own, which leaves the system's lists alone, then build::

    mkdir -p lists/partial
    apt-get update -o Dir::State::lists=$PWD/lists -o Acquire::Languages=en \
        -o Acquire::GzipIndexes=false
    python scripts/build_debtags.py --lists lists --suite bookworm --out debtags

The same index gives the same rows. A point release changes packages, and with them some rows and
the split; the script says how much differs from what is shipped.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from piran.data import Corpus, Documents, load_corpus, write_documents
from piran.data.files import read_lines

STRUCTURAL_PREFIXES = ("role::", "implemented-in::", "devel::lang:")
STRUCTURAL_TAGS = ("devel::library", "devel::doc")
"""Tags that follow from a package's name, format or language rather than from what it is about."""
DUMMY = re.compile(
    r"transition(n?al)? (dummy )?package|dummy (transition(n?al)? )?package"
    r"|empty (transition(n?al)? )?package",
    re.IGNORECASE,
)
WORD = re.compile(r"[a-z0-9][a-z0-9+#'-]*")
SHINGLE_WORDS = 3
MIN_JACCARD = 0.3
MIN_CONTAINED = 0.5
MAX_SHINGLE_PACKAGES = 250
"""A shingle in more packages is a set phrase and ties nothing."""
MAX_HOMEPAGE_PACKAGES = 40
"""A home page of more packages is a portal, not a project."""
TEST_FRACTION = 0.2
SEED = 13


@dataclass(frozen=True)
class Package:
    """A tagged package as the index describes it."""

    name: str
    source: str
    homepage: str
    description: str
    """Short description, line end, long description as in the control file."""
    tags: tuple[str, ...]

    @property
    def paragraphs(self) -> list[str]:
        """The short description and the paragraphs of the long one, each without line breaks."""
        short, _, body = self.description.partition("\n")
        lines = ["" if line.strip() == "." else line.strip() for line in body.split("\n")]
        joined = "\n".join(lines)
        parts = (" ".join(part.split("\n")) for part in re.split(r"\n{2,}", joined.strip("\n")))
        return [short.strip(), *(part for part in parts if part)]

    @property
    def text(self) -> str:
        """The document: one line for each paragraph."""
        return "\n".join(self.paragraphs)


Groups = list[list[int]]


def build(lists: Path, suite: str) -> Corpus:
    """Make the corpus: read, filter, remove duplicates, group, divide, drop one-sided tags."""
    documents = (package for package in read_index(lists, suite) if is_document(package))
    packages = remove_duplicates(documents)
    groups = group(packages)
    random.Random(SEED).shuffle(groups)
    is_test = divide(groups, packages)
    sides: dict[str, list[int]] = {"train": [], "test": []}
    for members, goes_to_test in zip(groups, is_test, strict=True):
        sides["test" if goes_to_test else "train"].extend(members)
    tags = [{tag for number in side for tag in packages[number].tags} for side in sides.values()]
    kept = tags[0] & tags[1]
    splits = {
        name: to_documents((packages[number] for number in sorted(side)), kept)
        for name, side in sides.items()
    }
    return Corpus.from_splits("debtags", splits)


def read_index(lists: Path, suite: str) -> Iterator[Package]:
    """Yield the tagged packages of main, with their long descriptions."""
    found = sorted(lists.glob(f"*_dists_{suite}_main_binary-amd64_Packages"))
    if not found:
        sys.exit(f"{lists} has no Packages index of {suite}/main; fetch it as the docstring says.")
    translations = found[0].with_name(
        found[0].name.replace("binary-amd64_Packages", "i18n_Translation-en")
    )
    descriptions = {
        stanza["Description-md5"]: stanza["Description-en"] for stanza in read_stanzas(translations)
    }
    for stanza in read_stanzas(found[0]):
        if "Tag" in stanza:
            short = stanza.get("Description", "")
            yield Package(
                name=stanza["Package"],
                source=stanza.get("Source", stanza["Package"]).split()[0],
                homepage=stanza.get("Homepage", ""),
                description=descriptions.get(stanza.get("Description-md5", ""), short),
                tags=tuple(sorted(read_tags(stanza["Tag"]))),
            )


def read_stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Yield the stanzas of a control file; a field's continuation lines lose one blank each."""
    stanza: dict[str, str] = {}
    field = ""
    for line in read_lines(path):
        line = line.rstrip("\n")
        if not line:
            if stanza:
                yield stanza
            stanza = {}
        elif line[0] in " \t":
            stanza[field] += "\n" + line[1:]
        else:
            field, _, value = line.partition(":")
            stanza[field] = value.strip()
    if stanza:
        yield stanza


def read_tags(value: str) -> set[str]:
    """Split the Tag field; notes to the taggers (special::, ::TODO) are no tags of the package."""
    tags = (tag.strip() for tag in value.replace("\n", " ").split(","))
    return {
        tag
        for tag in tags
        if "::" in tag and not tag.endswith("::TODO") and not tag.startswith("special::")
    }


def is_document(package: Package) -> bool:
    """Return whether a package has a long description of its own and a tag about its purpose."""
    return (
        "\n" in package.description
        and not DUMMY.search(package.description)
        and not all(map(is_structural, package.tags))
    )


def is_structural(tag: str) -> bool:
    """Return whether a tag says only what kind of package it is, or its language."""
    return tag.startswith(STRUCTURAL_PREFIXES) or tag in STRUCTURAL_TAGS


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


def remove_duplicates(packages: Iterable[Package]) -> list[Package]:
    """Keep one package, that with most tags, for each source and first paragraph and for each text.

    Texts are compared without digits, so that gcc-11 and gcc-12 count as one.
    """
    shortest_name_first = sorted(packages, key=lambda p: (-len(p.tags), len(p.name), p.name))
    siblings = first_of_each(shortest_name_first, first_paragraph_of_source)
    first_name_first = sorted(siblings, key=lambda p: (-len(p.tags), p.name))
    return sorted(first_of_each(first_name_first, text_without_digits), key=lambda p: p.name)


def first_of_each(
    packages: Iterable[Package], key: Callable[[Package], Hashable]
) -> Iterable[Package]:
    """Return the first package for each value of ``key``."""
    first: dict[Hashable, Package] = {}
    for package in packages:
        first.setdefault(key(package), package)
    return first.values()


def first_paragraph_of_source(package: Package) -> tuple[str, str]:
    """Return the source and the words of the first paragraph of the long description."""
    paragraphs = package.paragraphs
    return package.source, " ".join(words(paragraphs[min(1, len(paragraphs) - 1)]))


def text_without_digits(package: Package) -> str:
    """Return the words of the text, every number and version as ``#``."""
    return re.sub(r"[0-9.]+", "#", " ".join(words(package.text)))


class UnionFind:
    """Sets that merge: things joined directly or through others have the same root."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def root(self, thing: Hashable) -> Hashable:
        """Return the one thing that stands for all that are joined with this one."""
        self._parents.setdefault(thing, thing)
        while self._parents[thing] != thing:
            self._parents[thing] = self._parents[self._parents[thing]]
            thing = self._parents[thing]
        return thing

    def join(self, one: Hashable, other: Hashable) -> None:
        """Put two things, and all that are joined with them, into one set."""
        self._parents[self.root(one)] = self.root(other)


def group(packages: list[Package]) -> Groups:
    """Group packages that must not be divided; groups and members run by package name.

    Together are those of one source (version aside), of one home page, and with similar texts.
    """
    joined = UnionFind()
    for number, package in enumerate(packages):
        source = re.sub(r"[-.]?\d[\d.]*", "", package.source) or package.source
        joined.join(number, ("source", source))
    for one, other in [*same_homepage(packages), *similar_texts(packages)]:
        joined.join(one, other)
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number in range(len(packages)):
        groups[joined.root(number)].append(number)
    return sorted(groups.values())


def same_homepage(packages: list[Package]) -> Iterator[tuple[int, int]]:
    """Yield pairs of packages that tie together those of each home page."""
    by_homepage: dict[str, list[int]] = defaultdict(list)
    for number, package in enumerate(packages):
        address = re.sub(r"^https?://(www\.)?|/+$|#.*$", "", package.homepage.lower())
        if address:
            by_homepage[address].append(number)
    for members in by_homepage.values():
        if len(members) <= MAX_HOMEPAGE_PACKAGES:
            yield from ((members[0], other) for other in members[1:])


def similar_texts(packages: list[Package]) -> Iterator[tuple[int, int]]:
    """Yield pairs whose runs of three words overlap, or half of the shorter is in the longer."""
    shingles = [shingles_of(package.text) for package in packages]
    by_shingle: dict[str, list[int]] = defaultdict(list)
    for number, shingle_set in enumerate(shingles):
        for shingle in shingle_set:
            by_shingle[shingle].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for members in by_shingle.values():
        if len(members) <= MAX_SHINGLE_PACKAGES:
            shared.update(combinations(members, 2))
    for (one, other), n_shared in shared.items():
        sizes = len(shingles[one]), len(shingles[other])
        is_similar = n_shared >= MIN_JACCARD * (sum(sizes) - n_shared)
        if is_similar or n_shared >= MIN_CONTAINED * min(sizes):
            yield one, other


def shingles_of(text: str) -> set[str]:
    """Return all runs of three words of a text."""
    found = words(text)
    last = len(found) - SHINGLE_WORDS + 1
    return {" ".join(found[start : start + SHINGLE_WORDS]) for start in range(last)}


def divide(groups: Groups, packages: list[Package]) -> list[bool]:
    """Return for each group whether it goes to test.

    Iterative stratification (Sechidis et al. 2011) of whole groups: the rarest tag left is dealt
    out first, each group to the side that needs most of that tag, then to that with most room.
    """
    tag_counts = [Counter(tag for i in members for tag in packages[i].tags) for members in groups]
    sides = [Side(packages, 1 - TEST_FRACTION), Side(packages, TEST_FRACTION)]
    left: dict[str, set[int]] = defaultdict(set)
    for number, counts in enumerate(tag_counts):
        for tag in counts:
            left[tag].add(number)
    is_test = [False] * len(groups)
    while left:
        rarest = min(left, key=lambda tag: (len(left[tag]), tag))
        for number in sorted(left[rarest], key=lambda i: (-tag_counts[i][rarest], i)):
            side = max(sides, key=lambda side: (side.needed[rarest], side.room))
            is_test[number] = side is sides[1]
            side.take(len(groups[number]), tag_counts[number])
            for tag in tag_counts[number]:
                left[tag].discard(number)
        left = {tag: numbers for tag, numbers in left.items() if numbers}
    return is_test


class Side:
    """Train or test while it is filled: how many documents and of each tag it still wants."""

    def __init__(self, packages: list[Package], fraction: float) -> None:
        totals = Counter(tag for package in packages for tag in package.tags)
        self.needed = {tag: total * fraction for tag, total in totals.items()}
        self.room = len(packages) * fraction

    def take(self, n_packages: int, tag_counts: Counter[str]) -> None:
        """Fill the side with a group."""
        self.room -= n_packages
        for tag, count in tag_counts.items():
            self.needed[tag] -= count


def to_documents(packages: Iterable[Package], kept: set[str]) -> Documents:
    """Return texts and the kept tags; packages without any of those are left out."""
    rows = [(p.text, tuple(tag for tag in p.tags if tag in kept)) for p in packages]
    labelled = [(text, tags) for text, tags in rows if tags]
    return Documents([text for text, _ in labelled], [tags for _, tags in labelled])


def differences(built: Corpus, shipped: Corpus) -> list[str]:
    """Say how the built corpus differs from the shipped one, by split and in its labels."""
    if built.checksum() == shipped.checksum():
        return ["Every row equals the shipped copy."]
    report = []
    for split, documents in built.splits.items():
        ours, theirs = (rows_of(side) for side in (documents, shipped.splits[split]))
        report.append(
            f"{split}: {len(documents)} rows (shipped {theirs.total()}), {(ours - theirs).total()} "
            f"new, {(theirs - ours).total()} gone"
        )
    names, shipped_names = set(built.label_names), set(shipped.label_names)
    new, gone = listed(names - shipped_names), listed(shipped_names - names)
    return [*report, f"labels: {len(names)}, new: {new}, gone: {gone}"]


def listed(names: set[str], limit: int = 10) -> str:
    """Return names for a report, the first few where there are many."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(sorted(names)[:limit]) + more or "none"


def rows_of(documents: Documents) -> Counter[tuple[str, tuple[str, ...]]]:
    """Count the rows of a split."""
    return Counter(zip(documents.texts, documents.label_sets, strict=True))


def main() -> None:
    """Build from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lists", type=Path, required=True, help="folder with apt's indexes")
    parser.add_argument("--suite", default="bookworm", help="Debian release, by code name")
    parser.add_argument("--out", type=Path, required=True, help="folder for train and test")
    arguments = parser.parse_args()
    corpus = build(arguments.lists, arguments.suite)
    for split, documents in corpus.splits.items():
        write_documents(documents, arguments.out / f"{split}.jsonl.xz")
    print("\n".join(differences(corpus, load_corpus("debtags"))))


if __name__ == "__main__":
    main()
