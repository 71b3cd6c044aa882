"""A run or a suite as a page: one self-contained HTML file."""

from piran.report.page import report_page, write_report
from piran.report.suite import suite_page, write_suite_report

__all__ = ["report_page", "suite_page", "write_report", "write_suite_report"]
