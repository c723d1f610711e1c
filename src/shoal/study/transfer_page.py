"""The study of transfer between tasks: what came out, and its table."""

from __future__ import annotations

from shoal.report.markup import Child, Html, join, rows_table
from shoal.report.numbers import number, percent
from shoal.study.page import paragraph
from shoal.study.paired import Paired, paired
from shoal.study.study import Study
from shoal.study.transfer import KINDS, WAYS, Settings, TransferStudy, run

__all__ = ["STUDY", "findings"]


def findings(study: TransferStudy) -> list[str]:
    """Each way against the target task alone, with its interval."""
    return [_finding(study, kind, size) for size in study.settings.sizes for kind in KINDS]


def _finding(study: TransferStudy, kind: str, size: int) -> str:
    said = "; ".join(
        f"{way} {number(study.error(kind, size, way).mean)} ({_verdict(found)}: {found})"
        for way, found in ((way, _against(study, kind, size, way)) for way in WAYS[1:])
    )
    alone = number(study.error(kind, size, "alone").mean)
    return f"{size:,} rows of the target, the other task {kind}: error alone {alone}; {said}."


def _against(study: TransferStudy, kind: str, size: int, way: str) -> Paired:
    return paired(study.error(kind, size, way).runs, study.error(kind, size, "alone").runs)


def _verdict(found: Paired) -> str:
    if not found.clear:
        return "no clear difference"
    return "better" if found.difference < 0 else "worse"


def _heading(study: TransferStudy) -> str:
    settings = study.settings
    return f"Simulated surveys, {settings.draws} draws, {settings.n:,} rows of the other task; seed {settings.seed}"


def _figures(study: TransferStudy) -> dict[str, Html]:
    words = (
        "Root mean square error of the predicted mean cost over new, older people; alone: the target's rows only; "
        "pooled: all rows alike; ratio and logistic: transfer weights, and what share of them lies on rows of the "
        "other task."
    )
    head = ("Other task", "Rows of the target", *WAYS, *(f"borrowed, {way}" for way in WAYS[2:]))
    rows: list[list[Child]] = [
        [
            kind,
            f"{size:,}",
            *(number(study.error(kind, size, way).mean) for way in WAYS),
            *(percent(study.error(kind, size, way).borrowed_share) for way in WAYS[2:]),
        ]
        for size in study.settings.sizes
        for kind in KINDS
    ]
    return {"Error by way": join([paragraph(words), rows_table("Mean error", head, rows, numeric=range(1, 8))])}


def _measured(study: TransferStudy) -> tuple[str, ...]:
    return (
        "Every draw has three surveys of its own: the target's rows, the other task's, and the new people of age group "
        "3 and above. Differences have Student's paired intervals at 95% over the draws.",
        "The same dummy-coded least squares everywhere; truth is that model on 60,000 people of the target task, so "
        "that what is measured is what the rows cost, not what the model can't say.",
    )


STUDY = Study(
    title="Transfer between tasks",
    examples=("shoal study transfer --out study", "shoal study transfer --size 200 --draws 50 --out study"),
    counted="settings",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"study.json": TransferStudy.to_dict},
)
