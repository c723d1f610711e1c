"""What leaves is a function of the kept records, the schema and the recipe: change anything else, compare bytes.

The intruder's code reads only the files that leave. Keys, seed and day are held fixed; the keyed commitment of the
input, which is random to whoever lacks the key, is blanked before the comparison.
"""

import json
import re
from functools import cache

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.files import read_source
from shoal.recipe import Anonymization, Coarsening
from shoal.release import make
from shoal.release.folders import SUPPRESSION, inside_of

KEY = "5a" * 32
QUASI = ["age", "sex", "town"]
SCHEMA = shoal.Schema.of(
    identifier=["name"],
    quasi=QUASI,
    sensitive=["cost", "ill"],
    other=["visits"],
    kinds={"town": "nominal"},
    bounds={"age": (0, 120)},
    missing={"age": "drop"},
)
N = 120


def people(seed=1):
    """Crowds that resemble each other, one person who stands out (row 0), and one without an age (row 1)."""
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(N)],
            "age": rng.integers(3, 7, N) * 10,
            "sex": rng.choice(["f", "m"], N),
            "town": rng.choice(["Alba", "Boro"], N),
            "cost": rng.integers(1, 1000, N) * 10,
            "ill": rng.choice(["no", "yes"], N),
            "visits": rng.integers(0, 9, N),
        }
    )
    odd = pl.Series("age", [97, None, *table["age"].to_list()[2:]])
    return table.with_columns(odd, town=pl.Series(["Zed", *table["town"].to_list()[1:]]))


def write(table, method, folder):
    """Write a release with everything random held fixed; give the files that leave."""
    release = make(table, SCHEMA, method, seed=3, key=KEY)
    release.write(folder)
    return leaving(folder), release


def leaving(folder):
    """Every file that leaves, the commitment blanked wherever it stands."""
    manifest = json.loads((folder / "manifest.json").read_text())
    secret = manifest["input"]["commitment"].encode()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "internal" not in path.parts)
    blank = {path.name: path.read_bytes().replace(secret, b"COMMITMENT") for path in files}
    report = manifest.get("files", {}).get("report.html", "no such hash").encode()
    return {name: content.replace(report, b"HASH OF THE REPORT") for name, content in blank.items()}


MASKS = {
    mask.__class__.__name__: Anonymization.of(shoal.MDAV(k=4), mask)
    for mask in (
        shoal.Centroid(),
        shoal.Resample(),
        shoal.CellDither(),
        shoal.GaussianDither(),
        shoal.MicroPerturb(),
        shoal.Shuffle(),
    )
}
COARSENERS = {
    "generalize": Coarsening.of(shoal.Generalize(k=4, suppression=0.05, limits={"age": 0, "town": 0})),
    "suppress": Coarsening.of(shoal.Suppress(k=4, records=0.05)),
    "mondrian": Coarsening.of(shoal.Mondrian(k=4)),
}
EVERY = MASKS | COARSENERS


def changed(table, row, **cells):
    """The same table with some cells of one row changed."""
    return table.with_columns(
        pl.Series(name, [value if i == row else old for i, old in enumerate(table[name])], strict=False)
        for name, value in cells.items()
    )


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The files of each method on the table as it is, written once."""
    return cache(lambda name: write(people(), EVERY[name], tmp_path_factory.mktemp("before") / "out")[0])


OTHERS = [{"cost": 813_377}, {"ill": "maybe"}, {"visits": 61}, {"sex": "x", "town": "Nowhere"}, {"name": "nobody"}]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("cells", OTHERS, ids=" ".join)
@pytest.mark.parametrize("name", EVERY)
def test_a_dropped_person_leaves_no_trace(name, cells, before, tmp_path):
    """Row 1 has no age and is left out: none of their cells may show, not even in a median, a type or a count."""
    after, _ = write(changed(people(), 1, **cells), EVERY[name], tmp_path / "after")
    assert after == before(name), "a cell of a person who was left out can be seen"


def test_a_missing_person_is_not_missed(tmp_path):
    """Who was left out may as well not have been in the file."""
    table = people()
    before, _ = write(table, EVERY["Resample"], tmp_path / "before")
    after, _ = write(table.filter(pl.col("age").is_not_null()), EVERY["Resample"], tmp_path / "after")
    assert after == before


def test_a_suppressed_person_leaves_no_trace(tmp_path):
    """Row 0 stands out and is suppressed: whatever the rest of their record says, the files are the same."""
    table, method = people(), EVERY["generalize"]
    before, release = write(table, method, tmp_path / "before")
    assert 0 not in release.source_rows
    for i, cells in enumerate([{"cost": 813_377}, {"ill": "maybe"}, {"visits": 61}, {"age": 99}, {"sex": "x"}]):
        after, again = write(changed(table, 0, **cells), method, tmp_path / f"after{i}")
        assert 0 not in again.source_rows
        assert after == before, f"{cells} of a suppressed person can be seen"


def test_what_suppression_took_is_told_inside_and_not_outside(tmp_path):
    """The town of a suppressed person is in the count of what was lost, and in no file that leaves."""
    table, method = people(), EVERY["generalize"]
    outside, inside = [], []
    for i, town in enumerate(["Zed", "Yon", "Xen"]):
        files, release = write(changed(table, 0, town=town), method, tmp_path / f"out{i}")
        assert 0 not in release.source_rows
        assert town in [group.values[0] for group in release.suppression.vanished]
        outside.append(files)
        inside.append((inside_of(tmp_path / f"out{i}") / SUPPRESSION).read_text())
    assert len(set(inside)) == 3
    assert outside[0] == outside[1] == outside[2]


def test_nobody_can_count_the_suppressed(tmp_path):
    """Two suppressed people in place of one: the files are the same."""
    table, method = people(), EVERY["generalize"]
    before, release = write(table, method, tmp_path / "before")
    second = table.head(1).with_columns(town=pl.lit("Yon"), name=pl.lit("another"))
    after, again = write(pl.concat([table, second]), method, tmp_path / "after")
    assert len(again.source_rows) == len(release.source_rows)
    assert after == before


def encodings(table):
    """The same table, kept in other ways."""
    pandas = table.to_pandas()
    categories = pl.Enum(["Zed", "Alba", "Boro", "a level that nobody has"])
    return {
        "rows the other way round": table.reverse(),
        "shuffled": table[np.random.default_rng(4).permutation(len(table))],
        "floats": table.with_columns(pl.col("age", "cost", "visits").cast(pl.Float64)),
        "narrow integers": table.with_columns(pl.col("age").cast(pl.Int8), pl.col("visits").cast(pl.UInt16)),
        "decimals": table.with_columns(pl.col("age", "cost").cast(pl.Decimal(12, 2))),
        "pandas, nullable": pandas.convert_dtypes(),
        "pandas, an index of names": pandas.set_index(pandas["name"].rename(None)),
        "categories": table.with_columns(pl.col("sex", "town", "ill").cast(pl.Categorical)),
        "unused categories": table.with_columns(pl.col("town").cast(categories)),
        "pandas": pandas,
        "pandas categories": pandas.assign(town=pandas["town"].astype("category").cat.add_categories(["nobody's"])),
        "arrow": table.to_arrow(),
        "lazy": table.lazy(),
    }


@pytest.mark.thinned(4)
@pytest.mark.parametrize("how", encodings(people()))
@pytest.mark.parametrize("name", EVERY)
def test_how_the_input_was_kept_does_not_show(name, how, before, tmp_path):
    after, _ = write(encodings(people())[how], EVERY[name], tmp_path / "after")
    assert after == before(name)


def test_the_format_of_the_file_does_not_show(tmp_path):
    table = people()
    table.write_csv(tmp_path / "people.csv")
    table.write_csv(tmp_path / "people.tsv", separator="\t")
    table.write_parquet(tmp_path / "people.parquet")
    found = {
        ending: write(read_source(tmp_path / f"people.{ending}").frame, EVERY["GaussianDither"], tmp_path / ending)[0]
        for ending in ("csv", "tsv", "parquet")
    }
    assert found["csv"] == found["tsv"] == found["parquet"]


@pytest.mark.parametrize("name", EVERY)
def test_no_figure_has_more_than_three_digits(name, tmp_path):
    files, _ = write(people(), EVERY[name], tmp_path / "out")
    words = json.loads(files["manifest.json"])
    for number in numbers_in({part: words[part] for part in ("risk", "utility") if part in words}):
        assert number == float(f"{number:.3g}"), number


def numbers_in(words):
    if isinstance(words, dict | list):
        for item in words.values() if isinstance(words, dict) else words:
            yield from numbers_in(item)
    elif isinstance(words, float):
        yield words


def test_suppressed_people_do_not_come_back_from_sums(tmp_path):
    """The attack that gave age 97, cost 813377 and 61 visits to the last digit, with the published files only."""
    rng = np.random.default_rng(2)
    n = 401
    table = pl.DataFrame(
        {
            "age": [97, *(rng.integers(2, 8, n - 1) * 10)],
            "sex": ["f", *rng.choice(["f", "m"], n - 1)],
            "cost": [813_377, *rng.integers(1, 50_000, n - 1)],
            "visits": [61, *rng.integers(0, 9, n - 1)],
        }
    )
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["cost", "visits"])
    release = shoal.coarsen(table, schema, shoal.Generalize(k=5, suppression=0.02, limits={"age": 0, "sex": 0}))
    assert len(release.table) == n - 1
    release.write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    text = re.sub(r"[0-9a-f]{32,}", "", json.dumps(manifest) + (tmp_path / "out" / "report.html").read_text())
    shown = re.sub(r"<(style|svg|script).*?</\1>", "", text, flags=re.S)
    assert not re.search(r"(?<![\d.,])(401|813,?377|97)(?![\d%]|[.,]\d)", shown)
    released = pl.read_csv(tmp_path / "out" / "release.csv")
    for column in ("cost", "visits"):
        for bias in numbers_in(manifest["utility"]):
            total = released[column].mean() / (1 + bias) * n if bias != -1 else 0
            assert abs(total - released[column].sum() - table[column][0]) > 0.5, "a sum gives the person away"
