"""The score page: the models that are served beneath the workbench, tried with a key as any client would."""

from __future__ import annotations

from nicegui import ui

from shoal.report.markup import Html, join, tag
from shoal.web.controller import Controller
from shoal.web.pages.screen import Block, screen

__all__ = ["add_scores"]

NONE = "No models are served here. Start the workbench with --models FOLDER and --ledger URL."


def add_scores(controller: Controller) -> None:
    """Add the page ``/scores``."""

    @ui.page("/scores")
    def scores() -> None:
        with screen("Scores", scores=controller.scores):
            Block(lambda: _served() if controller.scores else tag("p", NONE, class_="problem"))


def _served() -> Html:
    lead = "Queries made here are charged to the key that makes them. To make a key: shoal keys add."
    frame = tag("iframe", src="/service/", title="Risk scores", class_="report")
    return join([tag("h1", "Try a risk score"), tag("p", lead, class_="lead"), frame])
