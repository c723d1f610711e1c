"""`shoal market`: what enrollees of new markets will cost, from (anonymised) members of an existing one."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table, steps
from shoal.cli.options import Overwrite, check_free
from shoal.cli.output import answer
from shoal.errors import InputError, ParameterError
from shoal.files import read_table, write_text
from shoal.report.drawing import need_pictures
from shoal.report.market import render_markets
from shoal.schema import Schema
from shoal.shift import MarketAssessment, MarketRisk, rank_markets
from shoal.value import canonical

__all__ = ["EXAMPLES", "market"]

EXAMPLES = """Examples:

shoal market --members release/release.csv --existing us.csv --new ca.csv --schema schema.toml --out market.html

shoal market --members release/release.csv --existing us.csv --new areas.csv --by area -s schema.toml -o market.html

shoal market --members members.csv --new prospects.csv -s schema.toml -o market.html --model two-part --enrolment chance
"""


def market(
    members: Annotated[
        Path, typer.Option("--members", help="Members with their costs: a released or an original table.")
    ],
    new: Annotated[list[Path], typer.Option("--new", help="People of a new market; repeatable for several markets.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML) of the members.")],
    existing: Annotated[
        Path | None,
        typer.Option(help="People of the market the members come from; omit it if --new holds prospective enrollees."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the HTML report.")] = None,
    by: Annotated[str | None, typer.Option(help="Column of --new that names the market of each person.")] = None,
    shift: Annotated[str, typer.Option(help="How members are weighted: ratio, logistic or none.")] = "ratio",
    coding: Annotated[str, typer.Option(help="How covariates enter the model: dummy or numeric.")] = "dummy",
    model: Annotated[
        str, typer.Option(help="least-squares, two-part, log, gamma, tweedie or multiplicative.")
    ] = "least-squares",
    response: Annotated[
        str | None, typer.Option(help="The cost column, if several sensitive columns are numeric.")
    ] = None,
    enrolment: Annotated[
        str | None,
        typer.Option(
            help="Column of --new with the probability of enrolment, or 'members' if people enrol as the members did."
        ),
    ] = None,
    group_size: Annotated[
        float | None,
        typer.Option(help="Number of enrollees in each market. [default: number of people the file represents]"),
    ] = None,
    cost_factor: Annotated[
        list[str] | None,
        typer.Option(help="Cost level of the new market relative to the old: 1.1, or MARKET=1.1; repeatable."),
    ] = None,
    smoothing: Annotated[float, typer.Option(help="Records added to each cell (ratio weights).")] = 0.0,
    cap: Annotated[float | None, typer.Option(help="Largest weight, as a multiple of the mean.")] = None,
    bins: Annotated[int, typer.Option(help="Number of bins for a numeric column with more distinct values.")] = 20,
    limit: Annotated[float, typer.Option(help="Largest share of a market that may remain without weight.")] = 0.2,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of --members, such as race: are predictions as right for each of its groups? Repeatable."
        ),
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Number of bootstrap replicates.", min=2)] = 200,
    seed: Annotated[int, typer.Option(help="Random seed, to make the run reproducible.", min=0)] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Predict what people who enrol in new markets will cost, and rank the markets.

    Members are weighted by how common people like them are in the new market; a cost model is fitted to them and
    averaged over the people of the new market. The members may be a release of `shoal anonymize`; market files hold no
    costs and need no protection.
    """
    check_free(out, overwrite)
    rules = Schema.read(schema)
    risk = MarketRisk(
        shift=shift,  # type: ignore[arg-type]
        coding=coding,  # type: ignore[arg-type]
        model=model,
        response=response,
        smoothing=smoothing,
        cap=cap,
        bins=bins,
        limit=limit,
    )
    if out is not None:
        need_pictures("--out")
    with steps(3 + len(new)) as step:
        step("reading")
        people = read_table(members)
        groups = {name: _members_column(people, name) for name in compare or []}
        risk.fit(people, None if existing is None else read_table(existing), rules)
        markets = _markets(new, by)
        factors = _cost_factors(cost_factor or [], list(markets))
        done = []
        for name, table in markets.items():
            step(f"assessing {name}")
            done.append(
                risk.assess(
                    table,
                    enrolment,
                    group_size,
                    factors[name],
                    name=name,
                    bootstrap=bootstrap,
                    seed=seed,
                    compare=groups,
                )
            )
        if out is not None:
            step("writing")
            _write(out, done, members)
    answer(markets=[rank.assessment for rank in rank_markets(done)], out=out)
    _tell(done, out)


def _markets(files: list[Path], by: str | None) -> dict[str, Any]:
    """The tables by the name of their market: the file's name, or the values of the column `by`."""
    out: dict[str, Any] = {}
    for file in files:
        table = read_table(file)
        parts = {file.stem: table} if by is None else _parts(table, by, file)
        for name, part in parts.items():
            if name in out:
                raise InputError(str(file), f"repeats the market '{name}'", hint="Rename one of the files.")
            out[name] = part
    return out


def _members_column(table: Any, name: str) -> Any:
    if name not in table.columns:
        raise ParameterError("--compare", "must name a column of the members", got=repr(name)[:60])
    return table[name]


def _parts(table: Any, by: str, file: Path) -> dict[str, Any]:
    if by not in table.columns:
        raise InputError(str(file), f"must have the column '{by}', which names the market of each person")
    names = canonical(table[by]).fill_null("missing")
    return {name: table.filter(names == name) for name in names.unique().sort().cast(pl.String)}


def _cost_factors(given: list[str], markets: list[str]) -> dict[str, float]:
    factors = dict.fromkeys(markets, 1.0)
    for text in given:
        name, equals, value = text.rpartition("=")
        if equals and name not in factors:
            raise ParameterError("--cost-factor", "must name one of the markets", got=repr(name)[:40])
        factors.update({name: _factor(value)} if equals else dict.fromkeys(markets, _factor(text)))
    return factors


def _factor(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError("--cost-factor", "must be a number, or MARKET=number", got=repr(text)[:40]) from None


def _write(out: Path, done: list[MarketAssessment], members: Path) -> None:

    write_text(out, render_markets(done, title="Market risk", created=date.today().isoformat(), members=members.name))


def _tell_parity(done: list[MarketAssessment]) -> None:
    """Predictions held against actual costs, group by group, one table for each market."""
    for item in done:
        rows = [
            [
                f"{p.column} {p.level}",
                f"{p.n_members:,}",
                f"{p.actual:,.0f}",
                f"{p.predicted:,.0f}",
                f"{p.difference:+.1%} ({p.interval[0]:+.1%} to {p.interval[1]:+.1%})",
                p.verdict,
            ]
            for p in item.parity
        ]
        head = ["group", "members", "actual", "predicted", "difference (95% interval)", "reading"]
        if rows:
            print_table(f"{item.name}: predictions by group of members", head, rows)


def _tell(done: list[MarketAssessment], out: Path | None) -> None:
    rows = [
        [
            rank.assessment.name,
            f"{rank.rank} ({rank.low}-{rank.high})",
            f"{rank.assessment.mean:,.0f}",
            f"{rank.assessment.interval[0]:,.0f} to {rank.assessment.interval[1]:,.0f}",
            f"{rank.assessment.weights.effective_sample_size:,.0f}",
        ]
        for rank in rank_markets(done)
    ]
    head = ["market", "rank", "mean cost", "95% interval", "effective members"]
    print_table("Markets, cheapest first", head, rows)
    _tell_parity(done)
    for item in done:
        for note in item.notes:
            screen.print(f"{item.name}: {note}", markup=False)
    if out is not None:
        screen.print(f"Report: {out}", markup=False)
