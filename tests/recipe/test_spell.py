import json
import shlex
import tomllib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from shoal import (
    MDAV,
    Ball,
    CellDither,
    Centroid,
    Crest,
    Flatten,
    GaussianDither,
    Generalize,
    KMember,
    MicroPerturb,
    Mondrian,
    PeGS,
    Recode,
    SafeHarbor,
    Schema,
    Shuffle,
    Suppress,
    TCloseMST,
)
from shoal.cli import anonymize, coarsen, synthesize
from shoal.cli.main import app
from shoal.cli.options import Reading
from shoal.compliance import LimitedDataSet
from shoal.errors import ParameterError
from shoal.recipe import Anonymization, Coarsening, Synthesis, command_line, read_recipe, recipe_toml
from shoal.synth import MarginalBootstrap


class Stop(Exception):  # noqa: N818  it is no error: the command has got that far
    pass


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a command line for real, up to the point where a table would be read; gives what it would have run."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("register")))
    seen = {}

    def opened(file, schema, to, reading, step, command):
        seen.update(file=str(file), schema=str(schema), out=str(to.out), reading=reading)
        return SimpleNamespace(path=str(tmp_path_factory.mktemp("none") / "people.csv"), single=False), Schema(())

    def made(source, rules, recipe, *, preset=None, accept=False, seed=None, **_others):
        seen.update(recipe=recipe, preset=preset, accept=accept, seed=seed)
        raise Stop

    for module in (anonymize, coarsen, synthesize):
        patch.setattr(module, "open_input", opened)
        patch.setattr(module, "make", made)
        patch.setattr(module, "expect", lambda *_given: None)

    command = get_command(app)  # made once: the whole command line is large

    def run(line):
        seen.clear()
        words = shlex.split(line)
        assert words[0] == "shoal"
        with pytest.raises(Stop):
            command.main(words[1:], standalone_mode=False)
        return dict(seen)

    yield run
    patch.undo()


def same(recipe, run, **options):
    ran = run(command_line(recipe, "my people.csv", "s.toml", "out", **options))
    assert ran["recipe"].to_dict() == recipe.to_dict()
    assert (ran["file"], ran["schema"], ran["out"]) == ("my people.csv", "s.toml", "out")
    return ran


NAMES = st.sampled_from(["age", "zip code", "größe", "it's", "x,y", "a=b", "a/b", "a:b", "-k", "none", "UPPER"])
UNSPOKEN = {"x,y", "a=b", "a/b", "none"}
KS = st.integers(2, 40)
POSITIVE = st.floats(0.001, 50, allow_nan=False)

GROUPS = st.one_of(
    st.builds(KMember, k=KS, response_weight=st.floats(0, 9)),
    st.builds(MDAV, k=KS),
    st.builds(TCloseMST, k=KS, t=st.floats(0, 1)),
    st.builds(
        Crest, k=KS, alpha=st.floats(0, 1), neighbours=st.none() | KS, scale=st.sampled_from(["published", "unit"])
    ),
    st.builds(
        Ball, radius=st.none() | st.floats(0, 1) | st.dictionaries(NAMES, st.integers(0, 9), min_size=1), minimum=KS
    ),
)
MASKS = st.one_of(
    st.just(Centroid()),
    st.builds(CellDither, weighted=st.booleans(), merge=st.booleans()),
    st.builds(GaussianDither, alpha=POSITIVE, exact=st.booleans(), inverse=st.sampled_from(["observed", "smooth"])),
    st.builds(MicroPerturb, noise=st.sampled_from(["published", "centred", "exact"])),
    st.builds(Flatten, columns=st.none() | st.lists(NAMES, min_size=1, max_size=3)),
    st.builds(Shuffle, columns=st.none() | st.lists(NAMES, min_size=1, max_size=3), change=st.floats(0, 1)),
)
DIVERSITY = st.sampled_from([None, 3, "entropy:2.5", "recursive:3,2"])
CLOSENESS = st.sampled_from([None, 0.2, "equal:0.2", "ordered:0.15"])
IMPORTANCE = st.none() | st.dictionaries(NAMES, POSITIVE, min_size=1, max_size=3)
COARSENERS = st.one_of(
    st.builds(Mondrian, k=KS, diversity=DIVERSITY, closeness=CLOSENESS, relaxed=st.booleans(), importance=IMPORTANCE),
    st.builds(
        Generalize,
        k=KS,
        diversity=DIVERSITY,
        suppression=st.floats(0, 0.9),
        limits=st.none() | st.dictionaries(NAMES, st.integers(0, 4), min_size=1, max_size=2),
        importance=IMPORTANCE,
    ),
    st.builds(Suppress, k=KS, records=st.floats(0, 0.9), importance=IMPORTANCE),
    st.builds(SafeHarbor, year=st.none() | st.integers(1990, 2030), allow=st.lists(NAMES, max_size=2).map(tuple)),
    st.just(LimitedDataSet()),
)
STEPS = st.sampled_from([{"kind": "cap", "high": 90}, {"kind": "prefix", "keep": 3}, {"kind": "date", "part": "year"}])
RECODES = st.builds(Recode, steps=st.dictionaries(NAMES, STEPS, min_size=1, max_size=2))
CHAINS = st.one_of(COARSENERS.map(lambda m: [m]), st.tuples(RECODES, COARSENERS).map(list), RECODES.map(lambda m: [m]))
SYNTHESES = st.builds(
    Synthesis.of,
    st.one_of(
        st.builds(PeGS, epsilon=POSITIVE, delta=st.none() | st.floats(1e-12, 0.1), bins=st.integers(1, 99)),
        st.builds(MarginalBootstrap, epsilon=st.none() | POSITIVE),
    ),
    st.none() | st.integers(1, 10**6),
)
RECIPES = st.one_of(
    st.builds(Anonymization.of, GROUPS, st.lists(MASKS, min_size=1, max_size=3)),
    CHAINS.map(Coarsening.of),
    SYNTHESES,
)


@given(RECIPES)
def test_the_command_runs_the_same_recipe_or_says_it_cannot(run, recipe):
    options = {"account": False} if isinstance(recipe, Synthesis) else {}
    if not names_of(recipe) & UNSPOKEN:
        same(recipe, run, **options)
        return
    try:
        command_line(recipe, "f", "s", "o")
    except ParameterError:
        return
    same(recipe, run, **options)  # where it is given out, it is right


def names_of(recipe):
    """Every column name that a recipe holds."""
    methods = [part for part in recipe.to_dict().values() if isinstance(part, list)]
    values = [value for part in recipe.to_dict().values() if isinstance(part, dict) for value in part.values()]
    values += [value for part in methods for method in part for value in method.values()]
    return {name for value in values if isinstance(value, dict | list) for name in value}


@given(RECIPES)
def test_words_come_back(recipe):
    assert read_recipe(json.loads(json.dumps(recipe.to_dict()))).to_dict() == recipe.to_dict()


@given(RECIPES)
def test_toml_comes_back(recipe):
    entries = tomllib.loads(recipe_toml(recipe))["recipe"]
    assert [read_recipe(words).to_dict() for words in entries] == [recipe.to_dict()]


def test_a_strange_column_name_stays_in_its_comment():
    recipe = Coarsening.of(Recode(steps={"age\n[[recipe]]": {"kind": "cap", "high": 90.0}}))
    assert [read_recipe(words) for words in tomllib.loads(recipe_toml(recipe))["recipe"]] == [recipe]


def test_seed_format_and_reading(run):
    recipe = Anonymization.of(MDAV(k=3), Centroid())
    reading = {"delimiter": ";", "encoding": "cp1252", "decimal": ","}
    ran = same(recipe, run, seed=7, format="parquet", reading=reading)
    assert (ran["seed"], ran["reading"]) == (7, Reading(**reading))
    plain = command_line(recipe, "f.csv", "s", "o", reading={"delimiter": None, "encoding": None, "decimal": "."})
    assert plain == "shoal anonymize f.csv --schema s --out o --group mdav:k=3 --mask centroid"
    assert " ./-f.csv " in command_line(recipe, "-f.csv", "s", "o")


def test_presets(run):
    ran = same(Coarsening.of(SafeHarbor(allow=("site",))), run, preset="safe-harbor", accept=True)
    assert (ran["preset"].name, ran["accept"]) == ("safe-harbor", True)
    ran = same(Coarsening.of([Recode(steps={"age": {"kind": "cap", "high": 90}}), Mondrian(k=11)]), run, preset="cms")
    assert ran["preset"].name == "cms"
    same(Coarsening.of(SafeHarbor(year=2020)), run, preset="safe-harbor")
    ran = same(Anonymization.of(MDAV(k=11), Centroid()), run, preset="ema-0070", accept=True)
    assert (ran["preset"].name, ran["accept"]) == ("ema-0070", True)
    ran = same(Synthesis.of(PeGS()), run, preset="safe-harbor", account=False)
    assert ran["preset"].name == "safe-harbor"
    same(Coarsening.of([SafeHarbor(), Mondrian(k=5)]), run, preset="safe-harbor")
    for methods, preset in (
        ([SafeHarbor(small_zips=("036",))], "safe-harbor"),
        ([Mondrian(k=5)], "safe-harbor"),
        ([Mondrian(k=5), Suppress(k=5)], None),
    ):
        with pytest.raises(ParameterError, match="can't express"):
            command_line(Coarsening.of(methods), "f", "s", "o", preset=preset)


def test_a_synthesis_has_no_seed():
    with pytest.raises(ParameterError, match="TOML"):
        command_line(Synthesis.of(PeGS()), "f", "s", "o", seed=1)


def test_defaults_of_the_workbench_are_the_commands(run):
    from shoal.web.catalogue import goals

    for goal in goals():
        recipe = read_recipe(goal.recipe)
        options = {"account": False} if isinstance(recipe, Synthesis) else {"preset": goal.preset}
        same(recipe, run, **options)
