"""What tables, figures and pages call methods, variants and metrics."""

METHOD_NAMES = {
    "attention-xml": "AttentionXML",
    "dxml": "DXML",
    "httn": "HTTN",
    "leap": "LEAP",
    "linear": "Linear",
    "linear-threshold": "Linear-SCutFBR",
    "ltmcp": "LTMCP",
    "oltr": "OLTR",
    "piran": "PIRAN",
    "xml-cnn": "XML-CNN",
}
VARIANT_NAMES = {
    "no-aug": "No-Aug",
    "retrain-on-real": "Retrain-on-real",
    "duplicate": "Duplicate",
    "aug-w/o-c": "Aug-w/o-C",
    "aug-w-gen": "Aug-w-gen",
    "aug-w-gen-div": "Aug-w-gen-div",
    "complete": "Complete",
}
METRIC_NAMES = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "head_f1": "head F1",
    "tail_f1": "tail F1",
}
AT_HALF = "_at_0.5"


def display_name(name: str) -> str:
    """Return a method's, variant's or cell's name as a reader knows it.

    >>> display_name("xml-cnn"), display_name("no-aug"), display_name("piran[no-aug]")
    ('XML-CNN', 'No-Aug', 'PIRAN: No-Aug')
    """
    cell, bracket, system = name.removesuffix("]").partition("[")
    if bracket:
        return f"{display_name(cell)}: {display_name(system)}"
    return METHOD_NAMES.get(name) or VARIANT_NAMES.get(name) or name


def metric_name(metric: str) -> str:
    """Return a metric's name as a reader knows it.

    >>> metric_name("tail_f1_at_0.5"), metric_name("nDCG@5")
    ('tail F1 at 0.5', 'nDCG@5')
    """
    base = metric.removesuffix(AT_HALF)
    return METRIC_NAMES.get(base, base) + (" at 0.5" if base != metric else "")
