"""A date or a code for its absence through every method: codes are written as they came, and end no interval."""

import datetime as dt

import polars as pl
import pytest

from shoal import (
    AddNoise,
    Generalize,
    KMember,
    MarginalBootstrap,
    Mondrian,
    MultipleImputation,
    PeGS,
    PushBack,
    Recode,
    Resample,
    SafeHarbor,
    Schema,
    Suppress,
    anonymize,
    coarsen,
    synthesize,
    verify,
)
from shoal.errors import ProblemsError, ShoalError
from shoal.files import read_source, read_table
from shoal.files.column_types import as_dates
from shoal.method import methods
from shoal.schema.infer import propose

N = 60
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=5 * i) for i in range(N)]
SEEN = [
    "unknown" if i % 5 == 0 else "refused" if i % 7 == 0 else day.strftime("%d.%m.%Y") for i, day in enumerate(DAYS)
]
TABLE = pl.DataFrame(
    {
        "seen": SEEN,
        "born": [99999999 if i % 6 == 0 else 19500101 + 10_000 * (i % 40) for i in range(N)],
        "sex": ["f", "m"] * (N // 2),
        "ill": ["no", "no", "yes"] * (N // 3),
    }
)
CODES = {"seen": {"unknown": "unknown", "refused": "refused"}, "born": {99999999: "unknown"}}
FORMATS = {"seen": "DD.MM.YYYY", "born": "YYYYMMDD"}
SCHEMA = Schema.of(quasi=["seen", "born", "sex"], sensitive=["ill"], formats=FORMATS, missing_codes=CODES)
ISO = r"^\d{4}-\d{2}-\d{2}$"


def held(table):
    for name, codes in CODES.items():
        cells = table[name].cast(pl.String).drop_nulls()
        assert (cells.is_in([str(code) for code in codes]) | cells.str.contains(ISO)).all()


@pytest.mark.parametrize("mask", [mask for mask in methods("mask") if mask is not AddNoise])  # of numbers alone
def test_every_mask_writes_dates_or_codes(mask):
    release = anonymize(TABLE, SCHEMA, group=KMember(k=4), mask=mask(), seed=3)
    held(release.table)
    assert release.table["seen"].is_in(list(CODES["seen"])).any()


@pytest.mark.parametrize("grouper", methods("group"))
def test_every_grouper_takes_them(grouper):
    masks = [PushBack(), Resample()] if grouper.leaves_small else [Resample()]
    held(anonymize(TABLE, SCHEMA, group=grouper(**{grouper.size_parameter: 4}), mask=masks, seed=3).table)


@pytest.mark.parametrize("method", [Mondrian(k=4), Generalize(k=4, suppression=0.3), Suppress(k=2)])
def test_every_coarsener_keeps_codes_apart_from_intervals(method):
    release = coarsen(TABLE, SCHEMA, method, seed=3)
    before = as_dates(TABLE["seen"], "DD.MM.YYYY", CODES["seen"])[release.source_rows]
    for own, new in zip(before, release.table["seen"], strict=True):
        told = new.split(" or ")
        assert new == "*" or own not in CODES["seen"] or own in told
        assert not any(code in part and part != code for part in told for code in CODES["seen"])


def test_a_part_of_a_date_leaves_its_codes():
    steps = {"seen": {"kind": "date", "part": "year-month"}, "born": {"kind": "date", "part": "year"}}
    table = coarsen(TABLE, SCHEMA, Recode(steps=steps)).table
    assert set(table["seen"].str.slice(0, 4)) == {"2020", "unkn", "refu"}
    assert "99999999" in set(table["born"])
    assert {len(year) for year in table["born"]} == {4, 8}


@pytest.mark.parametrize("method", [PeGS(epsilon=20.0), MarginalBootstrap(epsilon=20.0), MultipleImputation()])
def test_every_synthesizer_draws_dates_or_codes(method):
    levels = {"seen": [str(day) for day in DAYS], "born": [f"{1950 + i}-01-01" for i in range(40)]}
    schema = Schema.of(
        quasi=["seen", "born", "sex"],
        sensitive=["ill"],
        formats=FORMATS,
        missing_codes=CODES,
        kinds={"seen": "ordinal", "born": "ordinal", "sex": "nominal", "ill": "nominal"},
        levels={**levels, "sex": ["f", "m"], "ill": ["no", "yes"]},
    )
    held(synthesize(TABLE, schema, method, rows=N).table)


def test_a_release_is_verified_from_its_original_and_says_what_the_codes_mean(tmp_path):
    path = tmp_path / "people.csv"
    TABLE.write_csv(path)
    source = read_source(path, formats=SCHEMA.formats, codes=SCHEMA.coded)
    assert source.frame["seen"][1] == "2020-01-06"
    anonymize(source, SCHEMA, group=KMember(k=4), mask=Resample(), seed=3).write(tmp_path / "out")
    assert verify(tmp_path / "out", original=path).holds
    assert "refused (refused)" in (tmp_path / "out" / "report.html").read_text()


def test_a_code_that_nobody_has_is_no_less_declared():
    dated = TABLE.filter(~pl.col("seen").is_in(list(CODES["seen"]))).select("seen", "sex")
    schema = Schema.of(quasi=["seen", "sex"], formats={"seen": FORMATS["seen"]}, missing_codes={"seen": CODES["seen"]})
    typed = dated.with_columns(pl.col("seen").str.to_date("%d.%m.%Y"))
    written = [anonymize(table, schema, group=KMember(k=4), mask=Resample(), seed=3).table for table in (dated, typed)]
    assert written[0].schema == written[1].schema == {"seen": pl.String, "sex": pl.String}
    held(written[0].with_columns(born=pl.lit("1950-01-01")))


def test_dates_in_order_with_codes_among_them(tmp_path):
    rule = {"order": ["born", "seen"]}
    schema = Schema.of(
        quasi=["seen", "born", "sex"], sensitive=["ill"], formats=FORMATS, missing_codes=CODES, rules=[rule]
    )
    release = anonymize(TABLE, schema, group=KMember(k=4), mask=Resample(), seed=3)
    assert "rules kept" in {claim.kind for claim in release.claims}
    late = TABLE.with_columns(born=pl.when(pl.int_range(N) == 1).then(20300101).otherwise("born"))
    with pytest.raises(ShoalError, match="1"):
        anonymize(late, schema, group=KMember(k=4), mask=Resample(), seed=3)


@pytest.mark.parametrize(
    ("cells", "form", "codes", "read"),
    [
        ([" 1.2.2021 ", " n/a", None], "DD.MM.YYYY", ["n/a"], ["2021-02-01", "n/a", None]),
        ([20210201, -8], "YYYYMMDD", [-8], ["2021-02-01", "-8"]),
        (["7:05", "?"], "HH:MM", ["?"], ["07:05:00", "?"]),
        (["26:30", "?"], "[H]:MM", ["?"], ["95400", "?"]),
        ([dt.date(2021, 2, 1)], "DD.MM.YYYY", ["n/a"], ["2021-02-01"]),
        ([dt.datetime(2021, 2, 1)], "DD.MM.YYYY", ["n/a"], ["2021-02-01"]),
    ],
)
def test_what_is_read_once_reads_the_same_again(cells, form, codes, read):
    once = as_dates(pl.Series("x", cells), form, codes)
    assert once.to_list() == read
    assert as_dates(once, form, codes).to_list() == read


def test_a_cell_that_is_neither_date_nor_code_is_an_error_that_quotes_nothing():
    wrong = TABLE.with_columns(seen=pl.when(pl.int_range(N) == 3).then(pl.lit("20210201")).otherwise("seen"))
    with pytest.raises((ProblemsError, ShoalError), match="1 cells that are none, the first in row 4") as caught:
        anonymize(wrong, SCHEMA, group=KMember(k=4), mask=Resample(), seed=3)
    assert "20210201" not in str(caught.value)
    assert "missing_codes" in str(caught.value)


def test_codes_beside_dates_are_proposed():
    proposal = propose(TABLE)
    assert proposal.schema["seen"].format == "DD.MM.YYYY"
    assert proposal.schema["seen"].missing_codes == {"refused": "refused", "unknown": "unknown"}
    assert proposal.schema["born"].missing_codes == {99999999: "unknown"}
    anonymize(TABLE, proposal.schema, group=KMember(k=4), mask=Resample(), seed=3)


def test_safe_harbor_keeps_the_year_of_a_date_beside_its_codes(tmp_path):
    table = coarsen(TABLE, SCHEMA, SafeHarbor(year=2020, allow=["born"])).table
    assert set(table["seen"].cast(pl.String)) <= {"2020", "unknown", "refused"}
    file = tmp_path / "seen.csv"
    table.write_csv(file)
    assert read_table(file)["seen"].dtype == pl.String


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("n_absent", [1, 60, 99])
def test_safe_harbor_judges_what_stands_beside_codes_however_many_have_one(tmp_path, engine, n_absent):
    n = 100 - n_absent
    days = [20200101 + i % 28 for i in range(n)]
    table = pl.DataFrame(
        {
            "x": ["unknown"] * n_absent + [f"{str(day)[6:]}.01.2020" for day in days],
            "born": [99999999] * n_absent + [19100101, *days[1:]],
            "yob": [9999] * n_absent + [1910, *[1980] * (n - 1)],
            "age": [999] * n_absent + [97, *[40] * (n - 1)],
        }
    )
    codes = {"x": {"unknown": "unknown"}, "born": {99999999: "unknown"}, "yob": {9999: "no"}, "age": {999: "no"}}
    schema = Schema.of(
        quasi=["x", "born"],
        sensitive=["yob", "age"],
        kinds={"yob": "numeric", "age": "numeric"},
        formats={"x": "DD.MM.YYYY", "born": "YYYYMMDD"},
        missing_codes=codes,
    )
    table.write_csv(tmp_path / "people.csv")
    given = str(tmp_path / "people.csv") if engine else table
    coarsen(given, schema, SafeHarbor(year=2020), **({"engine": engine} if engine else {})).write(tmp_path / "out")
    (file,) = [*tmp_path.glob("out/*.parquet"), *tmp_path.glob("out/*.csv")]
    cells = (pl.read_parquet(file) if engine else read_table(file)).cast(pl.String)
    assert set(cells["x"]) == {"unknown", "2020"}
    assert set(cells["born"]) - {"2020"} == {"99999999", "1930"}
    assert set(cells["yob"]) - {"1980"} == {"9999", "1930"}
    assert set(cells["age"]) - {"40"} == {"999", "90"}


def test_moments_beside_codes_are_days_or_refused():
    days = [dt.datetime(2021, 2, 1), dt.datetime(2021, 2, 2)]
    assert as_dates(pl.Series("x", days), "DD.MM.YYYY", ["n/a"]).to_list() == ["2021-02-01", "2021-02-02"]
    noon = pl.Series("x", [*days, dt.datetime(2021, 2, 2, 12)])
    with pytest.raises(ShoalError, match="1 cells with a time of day"):
        as_dates(noon, "DD.MM.YYYY", ["n/a"])


def test_on_an_engine_they_are_dates_or_codes_too(tmp_path):
    path = tmp_path / "people.csv"
    TABLE.write_csv(path)
    release = anonymize(str(path), SCHEMA, group=KMember(k=4), mask=Resample(), engine="duckdb")
    release.write(tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "*.parquet")
    held(table)
    assert table["born"].str.contains("99999999").any()
    assert verify(tmp_path / "out", original=path).holds
