"""The script that rebuilds debtags, on a small index written in Debian's format."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from piran.data import Corpus, Documents, load_corpus

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_debtags.py"
INDEX = "deb.example.org_debian_dists_bookworm_main_"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_debtags", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def stanza(name: str, tags: str, *, source: str = "", homepage: str = "") -> str:
    optional = f"Source: {source}\n" * bool(source) + f"Homepage: {homepage}\n" * bool(homepage)
    return (
        f"Package: {name}\n{optional}Description: short\nDescription-md5: {name}\nTag: {tags}\n\n"
    )


def description(name: str, short: str, body: str) -> str:
    return f"Package: {name}\nDescription-md5: {name}\nDescription-en: {short}\n{body}\n\n"


def write_index(folder: Path, packages: str, descriptions: str) -> Path:
    (folder / f"{INDEX}binary-amd64_Packages").write_text(packages)
    (folder / f"{INDEX}i18n_Translation-en").write_text(descriptions.rstrip("\n"))
    return folder


def body(topic: str) -> str:
    return f" It is about {topic}\n and more {topic}.\n .\n Second {topic} paragraph."


@pytest.fixture
def index(tmp_path: Path) -> Path:
    topics = {letter: f"topic{letter} word{letter} thing{letter}" for letter in "abcdefghij"}
    packages = "".join(
        stanza(f"pkg-{letter}", "use::playing, role::program,\n works-with::text")
        for letter in topics
    )
    descriptions = "".join(
        description(f"pkg-{letter}", f"short {letter}", body(topic))
        for letter, topic in topics.items()
    )
    packages += stanza("dummy", "use::playing") + stanza("plain", "role::program")
    packages += stanza("todo", "use::TODO, special::auto-inst-parts") + "Package: untagged\n\n"
    packages += stanza("data", "use::playing", source="pkg-a (1.2)") + stanza("bare", "use::x")
    descriptions += description("dummy", "dummy package", " Nothing.")
    descriptions += description("plain", "plain", body("plainness here"))
    descriptions += description("todo", "todo", body("todo here"))
    descriptions += description("data", "data of short", body(topics["a"]))
    return write_index(tmp_path, packages, descriptions)


def test_documents_are_filtered_and_unwrapped(script: ModuleType, index: Path) -> None:
    corpus: Corpus = script.build(index, "bookworm")
    texts = [text for documents in corpus.splits.values() for text in documents.texts]
    assert len(texts) == 10  # without dummy, plain, todo, untagged, bare and the sibling of pkg-a
    assert (
        "short b\nIt is about topicb wordb thingb and more topicb wordb thingb.\n"
        "Second topicb wordb thingb paragraph."
    ) in texts
    assert corpus.label_names == ("role::program", "use::playing", "works-with::text")
    assert [len(documents) for documents in corpus.splits.values()] == [8, 2]


def test_groups_join_source_homepage_and_similar_texts(script: ModuleType) -> None:
    words = ["one two three four five", "six seven eight nine ten", "a b c d e f g", "h i j k l m"]
    texts = [*words, words[0] + " and more", "o p q r s"]
    sources = ["gcc-12", "gcc-13", "x", "y", "z", "other"]
    homepages = ["", "https://www.example.org/", "http://example.org", "", "", ""]
    packages = [
        script.Package(f"p{i}", source, homepage, f"s\n{text}", ("use::x",))
        for i, (source, homepage, text) in enumerate(zip(sources, homepages, texts, strict=True))
    ]
    assert script.group(packages) == [[0, 1, 2, 4], [3], [5]]


def test_a_missing_index_is_named(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no Packages index of sid/main"):
        script.build(tmp_path, "sid")


def test_the_script_writes_files_and_reports_what_differs(
    script: ModuleType,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["build", "--lists", str(index), "--out", str(out)])
    script.main()
    assert len(load_corpus(out).train) == 8
    printed = capsys.readouterr().out
    assert "train: 8 rows (shipped 8988), 8 new, 8988 gone" in printed
    assert "labels: 3, new: none, gone: accessibility::input" in printed


def test_equal_corpora_are_reported_as_equal(script: ModuleType) -> None:
    corpus = Corpus("x", Documents(["t"], [("a",)]))
    assert script.differences(corpus, corpus) == ["Every row equals the shipped copy."]
