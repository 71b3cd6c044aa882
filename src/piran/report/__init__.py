"""A run as a page: one self-contained HTML file."""

from piran.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
