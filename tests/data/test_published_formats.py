"""Each dataset in the form it was published in, on small files written in that form."""

import gzip
import json
from pathlib import Path

import pytest

from piran.data import Documents, load_corpus
from piran.errors import DataError


def write(folder: Path, **files: str) -> Path:
    """Write files; a double underscore in a name stands for a dot."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="latin-1")
    return folder


def test_aapd_pairs_lines_of_texts_and_labels(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "aapd",
        text_train="the first\nthe second\n",
        label_train="cs.it math.it\ncs.lg\n",
        text_val="third\n",
        label_val="cs.lg\n",
        text_test="fourth\n",
        label_test="cs.ai\n",
    )
    corpus = load_corpus(folder)
    assert corpus.train == Documents(
        ["the first", "the second"], [("cs.it", "math.it"), ("cs.lg",)]
    )
    assert (corpus.validation, corpus.test) == (
        Documents(["third"], [("cs.lg",)]),
        Documents(["fourth"], [("cs.ai",)]),
    )
    assert corpus.tail == 24
    assert corpus.label_descriptions["cs.lg"] == "Machine Learning"


def test_files_about_labels_come_before_what_the_card_says(tmp_path: Path) -> None:
    rows = '{"text": "a", "labels": ["cs.lg"]}\n{"text": "b", "labels": ["cs.ai"]}\n'
    folder = write(tmp_path / "aapd", train__jsonl=rows)
    assert load_corpus(folder).label_descriptions["cs.ai"] == "Artificial Intelligence"
    write(folder, label_descriptions__tsv="cs.ai\tWhat machines do not do yet\n")
    assert load_corpus(folder).label_descriptions == {"cs.ai": "What machines do not do yet"}


def test_aapd_files_of_different_length_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "aapd", text_train="one\ntwo\n", label_train="cs.it\n")
    with pytest.raises(DataError, match=r"label_train must have as many lines .* got 2 and 1"):
        load_corpus(folder)


def test_eurlex_is_known_by_its_files_whatever_the_folder_is_called(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "EUR-Lex",
        train_texts__txt="commission decision\nno labels\n",
        train_labels__txt="products_ec imports\n\n",
        test_texts__txt="council\n",
        test_labels__txt="imports\n",
    )
    corpus = load_corpus(folder)
    assert corpus.train.label_sets == [("products_ec", "imports"), ()]
    assert corpus.test == Documents(["council"], [("imports",)])
    assert (corpus.name, corpus.tail) == ("EUR-Lex", 2 / 3)


TOKENS = """.I 2286
.W
recov recov excit
excit bring

.I 2287
.W
usa usa

"""
QRELS = "E11 2286 1\nECAT 2286 1\nM11 2287 1\nMCAT 26151 1\n"


def test_rcv1_joins_tokens_with_topics(tmp_path: Path) -> None:
    folder = write(tmp_path / "rcv1", lyrl2004_tokens_train__dat=TOKENS)
    (folder / "rcv1-v2.topics.qrels").write_text(QRELS)
    for part, number in enumerate(("26151", "26152")):
        content = f".I {number}\n.W\ntoken{part}\n"
        (folder / f"lyrl2004_tokens_test_pt{part}.dat.gz").write_bytes(
            gzip.compress(content.encode())
        )
    corpus = load_corpus(folder)
    texts = ["recov recov excit excit bring", "usa usa"]
    assert corpus.train == Documents(texts, [("E11", "ECAT"), ("M11",)])
    assert corpus.test == Documents(["token0", "token1"], [("MCAT",), ()])
    assert corpus.tail == 60


def test_rcv1_without_test_parts_has_no_test_split(tmp_path: Path) -> None:
    folder = write(tmp_path / "rcv1", lyrl2004_tokens_train__dat=TOKENS)
    (folder / "rcv1-v2.topics.qrels").write_text(QRELS + "\n")
    assert load_corpus(folder).test is None


@pytest.mark.parametrize(
    ("tokens", "topics", "message"),
    [
        (
            "\nrecov\n",
            QRELS,
            r"train.dat, line 2: expected '.I' and a document's number, got 'recov'",
        ),
        (
            TOKENS,
            "E11 2286 1\nE11,2286\n",
            r"qrels, line 2: expected 'TOPIC document 1', got 'E11,",
        ),
    ],
)
def test_rcv1_says_which_line_is_wrong(
    tokens: str, topics: str, message: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "rcv1", lyrl2004_tokens_train__dat=tokens)
    (folder / "rcv1-v2.topics.qrels").write_text(topics)
    with pytest.raises(DataError, match=message):
        load_corpus(folder)


def law(folder: Path, number: str, **fields: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "celex_id": number,
        "header": f"Decision {number}\n",
        "recitals": ",\nHaving regard",
        "main_body": ["Article 1", " ", "Article 2"],
        "attachments": "Done at Brussels.",
        "concepts": ["1309", "192"],
    }
    (folder / f"{number}.json").write_text(json.dumps(document | fields))


def test_eurlex57k_joins_the_sections_of_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "EURLEX57K"
    law(folder / "train", "32001D0002")
    law(folder / "train", "32001D0001", header="", title="A title", attachments=["x"], concepts=[])
    law(folder / "dev", "32001D0003")
    law(folder / "test", "32001D0004", concepts=["9999"])
    corpus = load_corpus(folder)
    first = "A title\n,\nHaving regard\nArticle 1\nArticle 2\nx"
    second = "Decision 32001D0002\n,\nHaving regard\nArticle 1\nArticle 2\nDone at Brussels."
    assert corpus.train == Documents([first, second], [(), ("1309", "192")])
    assert [len(documents) for documents in corpus.splits.values()] == [2, 1, 1]
    assert (corpus.tail, corpus.label_descriptions) == (3369, {})


def test_eurlex57k_takes_names_of_labels(tmp_path: Path) -> None:
    law(tmp_path / "eurlex57k" / "train", "1")
    names = {"192": {"label": "health control", "alt_labels": [], "parents": ["2841"]}}
    (tmp_path / "eurlex57k" / "EURLEX57K.json").write_text(json.dumps(names))
    corpus = load_corpus(tmp_path / "eurlex57k")
    assert corpus.label_descriptions == {"192": "health control"}


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "1.json: expected a JSON object, got something"), ("[]", "and the list concepts, got")],
)
def test_eurlex57k_names_the_wrong_file(content: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "eurlex57k" / "train"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(content)
    with pytest.raises(DataError, match=message):
        load_corpus(folder.parent)


def story(split: str, topics: list[str], text: str, *, has_topics: str = "YES") -> str:
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{has_topics}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="5544" '
        f'NEWID="1">\n<TOPICS>{marked}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n'
        f"<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"
    )


FIRST = story(
    "TRAIN",
    ["cocoa", "gold"],
    "<TITLE>BAHIA &amp; COCOA</TITLE><DATELINE>  SALVADOR - </DATELINE>"
    "<BODY>Showers at 5\xb0\n  &lt;B> went.\n Reuter\n&#3;</BODY>",
)


def test_reuters90_follows_the_modapte_split(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "reuters90",
        **{
            "reut2-000__sgm": "<!DOCTYPE lewis>\n"
            + FIRST
            + story("TRAIN", ["gold"], "<BODY>x</BODY>"),
            "reut2-001__sgm": story("TEST", ["cocoa", "tin"], "*** &lt;SHORT> <b>NOTE</b>")
            + story("TEST", ["tin"], "<BODY>one side only</BODY>")
            + story("NOT-USED", ["cocoa"], "<BODY>unused</BODY>")
            + story("TRAIN", ["cocoa"], "<BODY>no topics</BODY>", has_topics="BYPASS"),
        },
    )
    corpus = load_corpus(folder)
    assert corpus.train == Documents(["BAHIA & COCOA Showers at 5° <B> went. Reuter"], [("cocoa",)])
    assert corpus.test == Documents(["*** <SHORT> NOTE"], [("cocoa",)])
    assert corpus.tail == 60
