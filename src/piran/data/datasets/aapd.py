"""AAPD: abstracts of computer science papers on arXiv and their subjects."""

from pathlib import Path

from piran.data.corpus import Corpus
from piran.data.datasets.base import DATASETS, DatasetCard
from piran.data.datasets.line_files import read_splits

FILES = {
    "train": ("text_train", "label_train"),
    "validation": ("text_val", "label_val"),
    "test": ("text_test", "label_test"),
}

SUBJECTS = {
    "cmp-lg": "Computation and Language",
    "cond-mat.dis-nn": "Disordered Systems and Neural Networks",
    "cond-mat.stat-mech": "Statistical Mechanics",
    "cs.ai": "Artificial Intelligence",
    "cs.cc": "Computational Complexity",
    "cs.ce": "Computational Engineering, Finance and Science",
    "cs.cg": "Computational Geometry",
    "cs.cl": "Computation and Language",
    "cs.cr": "Cryptography and Security",
    "cs.cv": "Computer Vision and Pattern Recognition",
    "cs.cy": "Computers and Society",
    "cs.db": "Databases",
    "cs.dc": "Distributed, Parallel and Cluster Computing",
    "cs.dl": "Digital Libraries",
    "cs.dm": "Discrete Mathematics",
    "cs.ds": "Data Structures and Algorithms",
    "cs.fl": "Formal Languages and Automata Theory",
    "cs.gt": "Computer Science and Game Theory",
    "cs.hc": "Human-Computer Interaction",
    "cs.ir": "Information Retrieval",
    "cs.it": "Information Theory",
    "cs.lg": "Machine Learning",
    "cs.lo": "Logic in Computer Science",
    "cs.ma": "Multiagent Systems",
    "cs.mm": "Multimedia",
    "cs.ms": "Mathematical Software",
    "cs.na": "Numerical Analysis",
    "cs.ne": "Neural and Evolutionary Computing",
    "cs.ni": "Networking and Internet Architecture",
    "cs.pf": "Performance",
    "cs.pl": "Programming Languages",
    "cs.ro": "Robotics",
    "cs.sc": "Symbolic Computation",
    "cs.se": "Software Engineering",
    "cs.si": "Social and Information Networks",
    "cs.sy": "Systems and Control",
    "math.co": "Combinatorics",
    "math.it": "Information Theory",
    "math.lo": "Logic",
    "math.na": "Numerical Analysis",
    "math.nt": "Number Theory",
    "math.oc": "Optimization and Control",
    "math.pr": "Probability",
    "math.st": "Statistics Theory",
    "nlin.ao": "Adaptation and Self-Organizing Systems",
    "physics.data-an": "Data Analysis, Statistics and Probability",
    "physics.soc-ph": "Physics and Society",
    "q-bio.nc": "Neurons and Cognition",
    "q-bio.qm": "Quantitative Methods",
    "quant-ph": "Quantum Physics",
    "stat.ap": "Applications of Statistics",
    "stat.me": "Methodology of Statistics",
    "stat.ml": "Machine Learning",
    "stat.th": "Statistics Theory",
}
"""What arXiv calls the subjects."""


def read_aapd(folder: Path) -> Corpus:
    """Read SGM's release: text_train and label_train, and the same for val and test."""
    return Corpus.from_splits("aapd", read_splits(folder, FILES))


CARD = DATASETS.register("aapd")(
    DatasetCard(
        name="aapd",
        title="arXiv Academic Paper Dataset",
        description="Abstracts of 55,840 computer science papers and their 54 arXiv subjects.",
        source="https://github.com/lancopku/SGM",
        licence="not stated by the release; abstracts are their authors'",
        citation=(
            "Yang et al., SGM: Sequence Generation Model for Multi-Label Classification, "
            "COLING 2018"
        ),
        tail=24,
        layout=("text_train", "label_train"),
        reader=read_aapd,
        subset_fields={"with raw text": "raw_text"},
        label_descriptions=SUBJECTS,
    )
)
