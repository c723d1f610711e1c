"""`shoal score`: fit a risk score, read it, and measure it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import narwhals as nw
import typer

from shoal import score
from shoal.cli.console import out as screen
from shoal.cli.console import print_claims, print_table
from shoal.cli.options import AccountOptions, Overwrite, check_free, grouped
from shoal.cli.output import answer
from shoal.errors import FileError, ParameterError
from shoal.files import read_table, write_text
from shoal.files.atomic import reporting
from shoal.frame import enter, series
from shoal.release.account import account_for
from shoal.schema import Schema
from shoal.score import evaluate as measure
from shoal.score import load
from shoal.score.admitting import admission_of

__all__ = ["app"]

app = typer.Typer(help="Risk scores: fit, explain, evaluate.", no_args_is_help=True)

_FIT = """Examples:

shoal score fit patients.csv --schema schema.toml --target diabetes --epsilon 1 --out diabetes.json

shoal score fit patients.csv -s schema.toml --target diabetes --model certified-tree --epsilon 2 -o tree.json

shoal score fit patients.csv -s schema.toml --target days --model certified-regressor -o stay.json
"""
_EXPLAIN = """Examples:

shoal score explain diabetes.json

shoal score explain diabetes.json --svg diabetes.svg

shoal score explain diabetes.json --person person.json
"""
_EVALUATE = """Examples:

shoal score evaluate diabetes.json new_patients.csv --target diabetes
"""
_MODELS = ("certified-forest", "certified-tree", "certified-regressor", "stable-tree", "stable-forest", "alpha-tree")


@app.callback()
def main() -> None:
    """Risk scores: fit, explain, evaluate."""


@app.command("fit", epilog=_FIT)
@grouped
def fit(
    file: Annotated[Path, typer.Argument(help="Table with features and outcome.")],
    schema: Annotated[
        Path, typer.Option("--schema", "-s", help="Schema file (TOML) with public levels, bounds and edges.")
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="Column with the outcome: classes, or a number.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file (JSON).")],
    model: Annotated[str, typer.Option("--model", "-m", help=f"One of {', '.join(_MODELS)}.")] = "certified-forest",
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Privacy loss, per model or per query.")] = 1.0,
    design: Annotated[
        str, typer.Option(help="Design of a certified forest or regressor: histogram, random or private.")
    ] = "histogram",
    alpha: Annotated[
        list[float] | None, typer.Option(help="Alpha of alpha trees and stable trees; repeatable for a forest.")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Maximum tree depth.")] = None,
    positive: Annotated[str | None, typer.Option(help="Class to predict. [default: last level]")] = None,
    rows_per_person: Annotated[
        int, typer.Option(help="Largest number of rows per person, all covered by one epsilon (certified models).")
    ] = 1,
    overwrite: Overwrite = False,
    *,
    budget: AccountOptions,
) -> None:
    """Fit a risk score on FILE and write it as JSON with its claim.

    The privacy account of FILE is charged before anything is computed, and the model file is admitted to its ledger for
    serving. A certified model may be released; a published or plain one holds exact counts, and its file is marked as
    internal.
    """
    check_free(out, overwrite)
    certified = model.startswith("certified")
    X, y, rules = _table(file, schema, target, with_unit=certified)
    fitted = _model(model, rules, epsilon, design, alpha, depth, _classes(rules, target, positive))
    if certified:
        fitted.set_params(rows_per_person=rows_per_person)
    account = _account(file, fitted, budget) if budget.account else None
    fitted.fit(X, y, account=account)
    fitted.save(out, internal=True)
    if account is not None:  # the ledger that was charged notes the file, so that nothing else is served in its name
        account.ledger.admit(admission_of(out, by="fit"))
    answer(words=fitted.words, claims=fitted.claims, releasable=fitted.releasable, out=out)
    screen.print(fitted.words, markup=False)
    print_claims(fitted.claims)
    if account is not None:
        answer(account={"path": account.path, "summary": account.summary})
        screen.print(f"Account {account.path}: {account.summary}", markup=False)
    kind = "Model" if fitted.releasable else "Model with exact counts (internal)"
    screen.print(f"{kind}: {out}", markup=False)


@app.command("explain", epilog=_EXPLAIN)
def explain(
    file: Annotated[Path, typer.Argument(help="Model file.")],
    svg: Annotated[Path | None, typer.Option(help="Write a drawing to this SVG file.")] = None,
    person: Annotated[
        Path | None,
        typer.Option(help="JSON file with one person's values: show what each contributed (certified models)."),
    ] = None,
) -> None:
    """Show a model: description, claims, feature importances, and its rules as text."""
    model = load(file)
    if person is not None:
        _explain_person(model, person)
        return
    screen.print(model.words, markup=False)
    print_claims(model.claims)
    cost = "no price is known" if model.cost is None else "nothing" if model.cost.empty else str(model.cost)
    screen.print(f"One answer costs: {cost}", markup=False)
    shares = list(zip(model.features.names, model.feature_importances_, strict=True))
    answer(importances=dict(shares))
    answer(words=model.words, claims=model.claims, cost=cost, rules=model.to_text(), svg=svg)
    rows = [[name, f"{share:.1%}"] for name, share in sorted(shares, key=lambda pair: -pair[1])]
    print_table("Importance", ("feature", "share"), rows)
    screen.print(model.to_text(), markup=False)
    if svg is not None:
        write_text(svg, model.to_svg())
        screen.print(f"Picture: {svg}", markup=False)


@app.command("evaluate", epilog=_EVALUATE)
def evaluate(
    file: Annotated[Path, typer.Argument(help="Model file.")],
    table: Annotated[Path, typer.Argument(help="Table of people not used to fit the model.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Column with the outcome.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the numbers to this JSON file.")] = None,
) -> None:
    """Measure a model on TABLE: AUROC, accuracy, calibration, or errors of a number. Internal: no noise is added."""

    model, frame = load(file), enter(read_table(table))
    _check_column(frame, target, table)
    absent = [name for name in model.features.names if name not in frame.columns]
    if absent:
        raise FileError(str(table), f"must have the column '{absent[0]}' that the model needs")
    people, outcome = frame.select(list(model.features.names)), frame[target]
    found: Any = _measured(model, people, outcome)
    if isinstance(found, score.Evaluation):
        _print_risks(found)
    else:
        print_table("Measured (internal)", ("measure", "value"), found.rows())
    answer(measured=found, out=out)
    if out is not None:
        write_text(out, json.dumps(found.to_dict(), indent=1) + "\n")


def _measured(model: Any, people: Any, outcome: Any) -> Any:
    """How well the model does, by what its outcome is."""
    if isinstance(model, score.CertifiedRegressor):
        return score.evaluate_numbers(model.predict(people), outcome.to_numpy())
    labels = outcome.cast(nw.String).to_numpy()
    if len(model.classes_) > 2:
        return score.evaluate_classes(model.predict_proba(people), [str(c) for c in model.classes_], labels)
    return measure(model.predict_proba(people)[:, 1], (labels == str(model.classes_[1])).astype(int))


def _print_risks(found: score.Evaluation) -> None:
    rows = [
        ["people", f"{found.n:,}"],
        ["with the outcome", f"{found.n_outcome:,}"],
        ["AUROC", f"{found.auroc:.3f} ({found.auroc_interval[0]:.3f} to {found.auroc_interval[1]:.3f})"],
        ["accuracy at 1/2", f"{found.accuracy:.3f}"],
        ["Brier score", f"{found.brier:.3f}"],
        ["calibration error", f"{found.calibration_error:.3f}"],
    ]
    print_table("Measured (internal)", ("measure", "value"), rows)
    bins = [[f"{risk:.2f}", f"{share:.2f}", f"{n:,}"] for risk, share, n in found.bins]
    print_table("Calibration by tenths", ("mean risk", "share with the outcome", "people"), bins)


def _explain_person(model: Any, file: Path) -> None:
    with reporting(file):
        text = file.read_text(encoding="utf-8")
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise FileError(str(file), "must hold one JSON object: feature names and values")
    found = model.explain(values)
    answer(explanation=found)
    rows = [[part.feature, part.cell, f"{part.log_odds:+.2f}"] for part in found.contributions]
    print_table(f"{found.outcome}: {found.score:.4g}", ("feature", "value", "log-odds"), rows)
    screen.print(f"Everybody starts at {found.base:+.2f}. Explaining costs nothing.", markup=False)


def _check_column(frame: Any, target: str, file: Path) -> None:
    if target not in frame.columns:
        raise FileError(str(file), f"must have the target column '{target}'")


def _table(file: Path, schema: Path, target: str, *, with_unit: bool) -> tuple[Any, Any, Any]:
    """The features that the schema declares (and whose each row is), the target, and the schema."""
    rules, frame = Schema.read(schema), enter(read_table(file))
    _check_column(frame, target, file)
    roles = ("quasi", "sensitive", "other")
    names = [c.name for c in rules.columns if c.role in roles and c.name != target and c.name in frame.columns]
    if not names:
        raise FileError(str(schema), "must declare at least one feature that the table has")
    unit = [name for name in (rules.unit,) if with_unit and name in frame.columns]
    return frame.select(names + unit), series(frame, target), rules


def _classes(rules: Any, target: str, positive: str | None) -> tuple[Any, ...] | None:
    if positive is None:
        return None
    levels = rules[target].levels if target in rules else None
    if levels is None or len(levels) < 2 or positive not in map(str, levels):
        raise ParameterError("--positive", "needs a target with levels in the schema, and must be one of them")
    return tuple(sorted(levels, key=lambda level: str(level) == positive))


def _model(
    name: str, schema: Any, epsilon: float, design: str, alpha: list[float] | None, depth: int | None, classes: Any
) -> Any:
    shared: dict[str, Any] = {"schema": schema, "classes": classes} | ({} if depth is None else {"max_depth": depth})
    numeric = {name: value for name, value in shared.items() if name != "classes"}
    first = (alpha or [1.0])[0]
    makers: dict[str, Any] = {
        "certified-forest": lambda: score.CertifiedForest(epsilon, design=design, **shared),  # type: ignore[arg-type]
        "certified-tree": lambda: score.CertifiedTree(epsilon, **shared),
        "certified-regressor": lambda: score.CertifiedRegressor(epsilon, design=design, **numeric),  # type: ignore[arg-type]
        "stable-tree": lambda: score.StableTree(first, epsilon, **shared),
        "stable-forest": lambda: score.StableForest(tuple(alpha or (0.25, 0.5, 1.0, 2.0, 4.0)), epsilon, **shared),
        "alpha-tree": lambda: score.AlphaTree(first, **shared),
    }
    if name not in makers:
        raise ParameterError("--model", f"must be one of {', '.join(_MODELS)}", got=name[:60])
    return makers[name]()


def _account(file: Path, model: Any, budget: AccountOptions) -> Any:
    """The account of the file; none for a model that promises nothing.

    A published model is not charged here, as its fit has no known price; but it gets the data set's name, so that its
    answers and everything else that is computed from these people spend from one account.
    """
    model._check()
    return None if model.cost is None else account_for(file, budget.limit, **budget.place)
