"""Debian package descriptions and their debtags: the dataset that comes with the package."""

from pathlib import Path

from piran.data.datasets.base import DATASETS, DatasetCard

CARD = DATASETS.register("debtags")(
    DatasetCard(
        name="debtags",
        title="Debian package descriptions",
        description=(
            "Descriptions of Debian packages, labelled with debtags (facet::tag). Packages of one "
            "source and near-duplicate texts never cross the split."
        ),
        source="Debian's package index (main); rebuilt by scripts/build_debtags.py",
        licence="descriptions: the packages' own DFSG-free licences; debtags vocabulary: GPL-2",
        citation="The Debian project, https://packages.debian.org; debtags, https://debtags.debian.org",
        tail=350,
        embedded_folder=Path(__file__).parent / "debtags_files",
    )
)
