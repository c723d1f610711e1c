"""The pages of the workbench, one file each."""

from shoal.workbench.pages.columns import add_columns
from shoal.workbench.pages.compare import add_compare
from shoal.workbench.pages.method import add_method
from shoal.workbench.pages.results import add_results
from shoal.workbench.pages.scores import add_scores
from shoal.workbench.pages.start import add_start
from shoal.workbench.shop import Shop

__all__ = ["add_pages"]


def add_pages(shop: Shop) -> None:
    """Register every page."""
    for add in (add_start, add_columns, add_method, add_results, add_compare, add_scores):
        add(shop)
