"""The pages of the workbench, one file each."""

from shoal.web.controller import Controller
from shoal.web.pages.columns import add_columns
from shoal.web.pages.compare import add_compare
from shoal.web.pages.method import add_method
from shoal.web.pages.results import add_results
from shoal.web.pages.scores import add_scores
from shoal.web.pages.start import add_start

__all__ = ["add_pages"]


def add_pages(controller: Controller) -> None:
    """Register every page."""
    for add in (add_start, add_columns, add_method, add_results, add_compare, add_scores):
        add(controller)
