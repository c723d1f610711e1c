"""What every model promises as a scikit-learn classifier, as a file, and on bad input."""

import json
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal.score
from shoal import Schema
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import Account, Budget
from shoal.errors import ColumnError, FileError, GuaranteeError, InputError, ParameterError, SchemaError
from shoal.score import AlphaTree, CertifiedForest, CertifiedTree, StableForest, StableTree

TABLE = pima_like(240, seed=3)
X, Y = TABLE.drop("diabetes"), TABLE["diabetes"]
SCHEMA = pima_like_schema()
MODELS = {
    "alpha": AlphaTree(schema=SCHEMA),
    "stable": StableTree(schema=SCHEMA),
    "stable forest": StableForest((0.5, 2.0), schema=SCHEMA),
    "tree": CertifiedTree(schema=SCHEMA, max_depth=2),
    "histogram": CertifiedForest(schema=SCHEMA),
    "random": CertifiedForest(schema=SCHEMA, design="random", n_trees=3, max_depth=2),
    "private": CertifiedForest(schema=SCHEMA, design="private", n_trees=2, max_depth=2),
}
CERTIFIED = ("tree", "histogram", "random", "private")
EXACT = ("alpha", *CERTIFIED)  # the same answer twice


@pytest.fixture(params=list(MODELS))
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return clone(MODELS[name]).fit(X, Y)


with warnings.catch_warnings():  # its ancestors are not scikit-learn's, its conduct is
    warnings.filterwarnings("ignore", "Estimator AlphaTree does not inherit")
    every_check = parametrize_with_checks([AlphaTree()])


@every_check
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_answers(model, name):
    P = model.predict_proba(X)
    assert P.shape == (240, 2)
    assert ((P >= 0) & (P <= 1)).all()
    assert P.sum(axis=1) == pytest.approx(np.ones(240))
    assert model.classes_.tolist() == ["neg", "pos"]
    assert set(model.predict(X)) <= {"neg", "pos"}
    assert 0 <= model.score(X, Y.to_numpy()) <= 1
    assert model.feature_importances_.shape == (8,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    if name in EXACT:
        row = X.row(5, named=True)
        assert model.score(row) == pytest.approx(P[5, 1]) == model.risk(row)


def test_any_dataframe(make_frame):
    model = AlphaTree(schema=SCHEMA).fit(make_frame(X), Y)
    assert np.array_equal(model.predict_proba(make_frame(X)), AlphaTree(schema=SCHEMA).fit(X, Y).predict_proba(X))


def test_array_in_the_order_of_the_schema():
    array = X.to_numpy()
    model = AlphaTree(schema=SCHEMA).fit(array, Y)
    assert model.features.names == tuple(X.columns)
    assert model.predict_proba(array).shape == (240, 2)


def test_clone_pipeline_and_cross_validation(name):
    fresh = clone(MODELS[name])
    assert fresh.get_params() == MODELS[name].get_params()
    y = (Y == "pos").to_numpy().astype(int)
    found = cross_val_score(make_pipeline(FunctionTransformer(), fresh), X, y, cv=2, scoring="roc_auc")
    assert found.shape == (2,)
    assert np.isfinite(found).all()


def test_saved_and_read_again(model, name, tmp_path):
    file = tmp_path / "model.json"
    model.save(file, internal=True)
    again = shoal.score.load(file)
    assert again.claims == model.claims
    assert again.spent == model.spent
    assert again.cost == model.cost
    assert again.features.to_words() == model.features.to_words()
    assert again.to_text() == model.to_text()
    assert again.get_params().keys() == model.get_params().keys()
    if name in EXACT:
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.risk(X.row(0, named=True)) == model.risk(X.row(0, named=True))


def test_only_certified_models_leave(model, name, tmp_path):
    if name in CERTIFIED:
        model.save(tmp_path / "model.json")
    else:
        with pytest.raises(GuaranteeError, match="secure environment"):
            model.save(tmp_path / "model.json")


def test_tampered_files_are_refused(tmp_path):
    file = tmp_path / "model.json"
    CertifiedForest(schema=SCHEMA).fit(X, Y).save(file)
    words = json.loads(file.read_text())
    words["model"]["points"]["base"] += 0.5
    file.write_text(json.dumps(words))
    with pytest.raises(FileError, match="hash"):
        shoal.score.load(file)
    for text in ("", "[]", "{}", "no json", '{"format": "shoal risk score 1"}'):
        file.write_text(text)
        with pytest.raises(FileError):
            shoal.score.load(file)
    with pytest.raises(FileError):
        shoal.score.load(tmp_path / "absent.json")


def test_text_and_picture(model):
    text, svg = model.to_text(), model.to_svg()
    assert any(column in text for column in X.columns)
    assert svg.startswith("<svg")
    assert svg.endswith("</svg>")
    assert "<script" not in svg


def test_prices_and_words(model, name):
    assert len(model.words) > 40
    if name in CERTIFIED:
        assert model.spent == Budget(epsilon=1.0)
        assert model.cost.empty
        (claim,) = model.claims
        assert (claim.basis, claim.value, claim.scope) == ("proved", 1.0, "per data set")
    elif name == "alpha":
        assert model.claims == ()
        assert model.cost is None
    else:
        assert model.cost == Budget(epsilon=1.0)
        assert model.claims[0].basis == "published"
        assert model.spent is None


def test_account_is_charged_first(tmp_path):
    data = tmp_path / "table.csv"
    TABLE.write_csv(data)
    account = Account.open(data, limit=Budget(epsilon=1.5))
    model = CertifiedForest(1.0, SCHEMA)
    model.fit(X, Y, account=account)
    assert account.spent == Budget(epsilon=1.0)
    with pytest.raises(GuaranteeError):
        clone(model).fit(X, Y, account=account)
    assert account.spent == Budget(epsilon=1.0)
    assert len(account.entries) == 1
    with pytest.raises(ColumnError):  # bad input is found before anything is charged
        CertifiedForest(0.1, SCHEMA).fit(X.with_columns(age=pl.lit(None, dtype=pl.Float64)), Y, account=account)
    with pytest.raises(ParameterError):
        CertifiedForest(0.1, SCHEMA, weights={"nothing": 2.0}).fit(X, Y, account=account)
    assert len(account.entries) == 1


def test_one_persons_fields_are_checked():
    model = CertifiedForest(schema=SCHEMA).fit(X, Y)
    row = X.row(0, named=True)
    with pytest.raises(InputError, match="missing field age") as found:
        model.risk({k: v for k, v in row.items() if k != "age"} | {"colour": 1})
    assert "unknown field colour" in str(found.value)
    for bad in ("SENTINEL", None, float("nan"), float("inf"), True, [1]):
        with pytest.raises(ColumnError) as found:
            model.risk(row | {"age": bad})
        assert "SENTINEL" not in str(found.value)
        assert "age" in str(found.value)
    outside = row | {"age": 200}
    assert model.risk(outside) == model.risk(row | {"age": 85})
    assert "age" in model.features.clipped(outside)[0]
    assert model.features.clipped(row) == ()
    assert model.features.json_schema()["required"] == list(X.columns)


def test_missing_values_follow_the_schema():
    holes = X.with_columns(mass=pl.when(pl.int_range(240) < 20).then(None).otherwise(pl.col("mass")))
    with pytest.raises(ColumnError, match="missing"):
        CertifiedForest(schema=SCHEMA).fit(holes, Y)
    words = SCHEMA.to_dict()
    words["columns"]["mass"]["missing"] = 32.0
    filled = Schema.from_dict(words)
    assert CertifiedForest(schema=filled).fit(holes, Y).predict_proba(holes).shape == (240, 2)
    words["columns"]["mass"]["missing"] = "drop"
    dropped = AlphaTree(schema=Schema.from_dict(words)).fit(holes, Y)
    assert dropped.model_.counts[0].sum() == 220
    words["columns"]["mass"]["missing"] = "median"
    with pytest.raises(ColumnError, match="median"):
        CertifiedForest(schema=Schema.from_dict(words)).fit(holes, Y)


def test_missing_category_is_a_level():
    schema = Schema.of(quasi=["sex"], levels={"sex": ["f", "m"]}, kinds={"sex": "nominal"})
    table = pl.DataFrame({"sex": ["f", "m", None] * 30})
    model = CertifiedForest(5.0, schema).fit(table, [0, 1, 1] * 30)
    assert model.risk({"sex": None}) > model.risk({"sex": "f"})
    with pytest.raises(ColumnError, match="public levels"):
        model.risk({"sex": "x"})
    with pytest.raises(ColumnError, match="1 values outside"):
        model.predict_proba(pl.DataFrame({"sex": ["f", "SENTINEL"]}))


def test_levels_are_not_rounded_to_meet_a_value():
    schema = Schema.of(quasi=["grade"], levels={"grade": [1.5, 2]}, kinds={"grade": "nominal"})
    with pytest.raises(ColumnError, match="1 values outside"):
        CertifiedTree(schema=schema).fit(pl.DataFrame({"grade": [1, 2]}), [0, 1])
    model = CertifiedTree(schema=schema).fit(pl.DataFrame({"grade": [1.5, 2.0, None, float("nan")]}), [0, 1, 0, 1])
    feature = model.features.axes[0]
    values = [1.5, 2.0, None, float("nan")]
    assert feature.encode(pl.Series("grade", values, strict=False)).tolist() == [feature.code(v) for v in values]
    same = Schema.of(quasi=["code"], levels={"code": ["01", "1"]}, kinds={"code": "nominal"})
    with pytest.raises(ColumnError, match="equal as numbers"):
        CertifiedTree(schema=same).fit(pl.DataFrame({"code": [1, 1]}), [0, 1])
    absent = CertifiedTree(schema=same).fit(pl.DataFrame({"code": [None, None]}), [0, 1])  # a column without a type
    assert absent.risk({"code": None}) > 0


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1", None])
@pytest.mark.parametrize("cls", [CertifiedForest, CertifiedTree, StableTree, StableForest])
def test_wrong_epsilon(cls, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        cls(epsilon=epsilon, schema=SCHEMA).fit(X, Y)


@pytest.mark.parametrize(
    "wrong",
    [
        AlphaTree(alpha=float("nan")),
        AlphaTree(max_depth=0),
        AlphaTree(min_leaf=-1),
        AlphaTree(cuts=0),
        StableTree(alpha=0),
        StableForest(alphas=()),
        StableForest(alphas=(1.0, -1.0)),
        CertifiedTree(schema=SCHEMA, structure_share=1.0),
        CertifiedTree(schema=SCHEMA, max_depth=13),
        CertifiedTree(),
        CertifiedForest(),
        CertifiedForest(schema="s"),
        CertifiedForest(schema=SCHEMA, design="x"),
        CertifiedForest(schema=SCHEMA, n_trees=0),
        CertifiedForest(schema=SCHEMA, max_features=0),
        CertifiedForest(schema=SCHEMA, calibration_share=1.0),
        CertifiedForest(schema=SCHEMA, weights={"age": 0.0}),
        CertifiedForest(schema=SCHEMA, classes=("a",)),
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        wrong.fit(X, Y)


def test_targets():
    for bad in (np.arange(240), np.full(240, np.nan), np.zeros((240, 2)), np.zeros(3), np.linspace(0, 1, 240), None):
        with pytest.raises(InputError):
            CertifiedForest(schema=SCHEMA).fit(X, bad)
    with pytest.raises(InputError, match="classes must be public"):
        CertifiedForest(schema=SCHEMA).fit(X, np.full(240, "well"))
    only = CertifiedForest(schema=SCHEMA, classes=("well", "ill")).fit(X, np.full(240, "well"))
    assert only.classes_.tolist() == ["well", "ill"]
    assert only.predict_proba(X).shape == (240, 2)
    zeros = CertifiedForest(schema=SCHEMA).fit(X, np.zeros(240, dtype=int))  # a failure would tell
    assert zeros.classes_.tolist() == [0, 1]
    with pytest.raises(InputError):
        AlphaTree(schema=SCHEMA).fit(X, np.zeros(240, dtype=int))


def test_features_without_public_domain():
    schema = Schema.of(quasi=["age", "name"], bounds={"age": (0, 100)})
    table = pl.DataFrame({"age": [1.0, 2.0], "name": ["SENTINEL", "b"]})
    with pytest.raises(ColumnError, match="public domain") as found:
        CertifiedTree(schema=schema).fit(table, [0, 1])
    assert "SENTINEL" not in str(found.value)
    with pytest.raises(SchemaError, match="no entry"):
        CertifiedTree(schema=schema).fit(table.rename({"name": "other"}), [0, 1])
    named = Schema.of(quasi=["age"], identifier=["name"], bounds={"age": (0, 100)})
    with pytest.raises(SchemaError, match="identifier"):
        CertifiedTree(schema=named).fit(table, [0, 1])


def test_constant_features_and_few_records(name):
    constant = pl.DataFrame({c: [X[c][0]] * 6 for c in X.columns})
    fitted = clone(MODELS[name]).fit(constant, [0, 1, 0, 1, 1, 0])
    assert np.isfinite(fitted.predict_proba(constant)).all()


def test_weights():
    half = np.r_[np.ones(120), np.zeros(120)]
    assert CertifiedForest(schema=SCHEMA).fit(X, Y, sample_weight=half)
    with pytest.raises(ParameterError, match="0 or 1"):
        CertifiedForest(schema=SCHEMA).fit(X, Y, sample_weight=2 * half)
    kept = StableTree(schema=SCHEMA).fit(X, Y, sample_weight=half)
    assert kept.model_[0].structure() == StableTree(schema=SCHEMA).fit(X[:120], Y[:120]).model_[0].structure()


def test_unfitted(name):
    fresh = clone(MODELS[name])
    for ask in (lambda: fresh.predict(X), lambda: fresh.risk({}), fresh.to_text, lambda: fresh.features):
        with pytest.raises(NotFittedError):
            ask()


def test_schema_edges_and_feature_weights():
    words = SCHEMA.to_dict()
    words["columns"]["glucose"]["edges"] = [0, 100, 126, 200]
    model = CertifiedForest(50.0, Schema.from_dict(words), weights={"glucose": 3.0}).fit(X, Y)
    feature = next(f for f in model.features.axes if f.name == "glucose")
    assert feature.cuts == (100.0, 126.0)
    assert "100 to 126" in model.to_text()


def test_a_model_names_its_data_set_without_telling_of_it(tmp_path):
    from shoal.dp import Account, Budget

    table = pima_like(200, seed=1)
    table.write_csv(tmp_path / "data.csv")
    account = Account.open(tmp_path / "data.csv", limit=Budget(epsilon=5.0))
    X, y = table.drop("diabetes"), table["diabetes"]
    first, second = (
        shoal.CertifiedForest(epsilon=1.0, schema=pima_like_schema()).fit(X, y, account=account) for _ in range(2)
    )
    assert first.data_ == second.data_ == account.data_set
    first.save(tmp_path / "model.json")
    assert shoal.score.load(tmp_path / "model.json").data_ == account.data_set
    assert shoal.CertifiedForest(epsilon=1.0, schema=pima_like_schema()).fit(X, y).data_ is None


def test_a_notebook_shows_what_is_promised():
    shown = CertifiedTree(schema=SCHEMA, max_depth=2).fit(X, Y)._repr_html_()
    assert "epsilon-DP 1" in shown
    assert "proved" in shown
    assert "max_depth" in shown
    assert "Column(" not in shown  # a schema is a parameter, and long
    assert "not fitted" in AlphaTree()._repr_html_()
