"""Models of every outcome over REST, explanations, the Open Inference Protocol, and traces."""

import sys
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.ledger import Keys, Ledger
from shoal.score import CertifiedForest, CertifiedRegressor, StableTree
from shoal.service import Settings, create_app
from shoal.service.models import FileModel, Loaded
from shoal.service.tracing import Traces

SCHEMA = pima_like_schema()
TABLE = pima_like(300, seed=1)
X = TABLE.drop("mass", "diabetes", "glucose")
KINDS = ("low", "middle", "high")
PERSON = X.row(0, named=True)
OTHER = X.row(1, named=True)


@pytest.fixture(scope="module")
def models():
    mass = np.array(KINDS)[np.searchsorted([28.0, 34.0], TABLE["mass"].to_numpy())]
    return {
        "risk": CertifiedForest(2.0, SCHEMA).fit(X, TABLE["diabetes"]),
        "kinds": CertifiedForest(2.0, SCHEMA, classes=KINDS).fit(X, mass),
        "sugar": CertifiedRegressor(2.0, SCHEMA).fit(X, TABLE["glucose"]),
        "published": StableTree(epsilon=0.1, schema=SCHEMA).fit(X, TABLE["diabetes"]),
    }


@pytest.fixture
def stand(models, tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    _, token = Keys(ledger).add("ward", epsilon=1)
    loaded = [
        Loaded.of(FileModel(name=name, cost=model.cost, source=model), f"{name:0<64}") for name, model in models.items()
    ]
    spans, traces = recorded()
    app = create_app(loaded, ledger, Settings(rate=0.0, log=False, data_epsilon=100.0), traces)
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as http:
        http.spans, http.ledger = spans, ledger
        yield http


def recorded():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return spans, Traces(provider.get_tracer("test"))


def tensors(rows, names=tuple(PERSON), kind="FP64"):
    return [{"name": n, "shape": [len(rows)], "datatype": kind, "data": [row[n] for row in rows]} for n in names]


# ---- outcomes and explanations


def test_classes_numbers_and_risks_over_rest(stand, models):
    kinds = stand.post("/v1/models/kinds/score", json={"features": PERSON}).json()
    assert kinds["probabilities"] == pytest.approx(models["kinds"].probabilities(PERSON))
    assert kinds["score"] == pytest.approx(kinds["probabilities"]["high"])
    sugar = stand.post("/v1/models/sugar/score", json={"features": PERSON}).json()
    assert sugar["score"] == pytest.approx(models["sugar"].answer(PERSON))
    assert "probabilities" not in sugar
    card = stand.get("/v1/models/sugar").json()
    assert (card["outcome"], card["bounds"]) == ("glucose", list(models["sugar"].bounds_))
    assert stand.get("/v1/models/risk").json()["bounds"] is None
    many = stand.post("/v1/models/kinds/scores", json={"rows": [PERSON, OTHER]}).json()
    assert many["probabilities"][0] == kinds["probabilities"]
    assert len(many["probabilities"]) == 2


@pytest.mark.parametrize("name", ["risk", "kinds", "sugar"])
def test_explanations_are_free_and_those_of_the_model(stand, models, name):
    before = [balance.spent for balance in stand.ledger.balances()]
    reply = stand.post(f"/v1/models/{name}/explain", json={"features": {**PERSON, "age": 1000}})
    assert reply.status_code == 200, reply.text
    words = reply.json()
    expected = models[name].explain({**PERSON, "age": 1000})
    assert (words["outcome"], words["score"]) == (expected.outcome, expected.score)
    assert [part["feature"] for part in words["contributions"]] == [part.feature for part in expected.contributions]
    assert words["notes"] == ["age was above its public bound and counted as the bound"]
    assert [balance.spent for balance in stand.ledger.balances()] == before


def test_a_published_model_explains_nothing_and_charges_nothing(stand):
    reply = stand.post("/v1/models/published/explain", json={"features": PERSON})
    assert (reply.status_code, reply.json()["type"]) == (403, "/problems/not-explained")
    assert stand.ledger.balance("client", "ward").spent == 0
    assert stand.post("/v1/models/risk/explain", json={"features": {}}).status_code == 422


# ---- the Open Inference Protocol


def test_health_and_metadata(stand):
    assert stand.get("/v2/health/live", headers={"Authorization": ""}).json() == {"live": True}
    assert stand.get("/v2/health/ready", headers={"Authorization": ""}).json() == {"ready": True}
    assert stand.get("/v2").json()["name"] == "shoal"
    about = stand.get("/v2/models/kinds").json()
    assert {one["name"]: one["datatype"] for one in about["inputs"]} == dict.fromkeys(PERSON, "FP64")
    (version,) = about["versions"]
    assert stand.get(f"/v2/models/kinds/versions/{version}/ready").json() == {"name": "kinds", "ready": True}
    wrong = stand.get("/v2/models/kinds/versions/7/ready")
    assert (wrong.status_code, wrong.json()["error"]) == (404, "The model is not served in that version.")
    for path in ("/v2/models/kinds", "/v2/models/kinds/ready"):
        assert stand.get(path, headers={"Authorization": ""}).status_code == 401


def test_inference_is_one_batch_at_one_price(stand, models):
    body = {"id": "a-17", "inputs": tensors([PERSON, OTHER])}
    reply = stand.post("/v2/models/published/infer", json=body).json()
    assert (reply["model_name"], reply["id"]) == ("published", "a-17")
    assert reply["parameters"] == {"epsilon_charged": "0.2", "cached": 0}
    (output,) = reply["outputs"]
    assert (output["name"], output["shape"], output["datatype"]) == ("score", [2], "FP64")
    again = stand.post("/v2/models/published/infer", json=body).json()
    assert again["outputs"] == reply["outputs"]  # the same answers, and free
    assert again["parameters"] == {"epsilon_charged": "0", "cached": 2}
    one = stand.post("/v1/models/published/score", json={"features": PERSON}).json()
    assert (one["score"], one["cached"]) == (output["data"][0], True)
    many = stand.post("/v2/models/kinds/infer", json={"inputs": tensors([PERSON, OTHER])}).json()
    names = [tensor["name"] for tensor in many["outputs"]]
    assert names == ["score", "probabilities"]
    assert many["outputs"][1]["shape"] == [2, 3]
    assert many["outputs"][1]["data"][:3] == pytest.approx(list(models["kinds"].probabilities(PERSON).values()))
    assert many["parameters"]["classes"] == "\n".join(KINDS)
    column = [{**t, "shape": [1, 1], "data": [[t["data"][0]]]} for t in tensors([PERSON])]
    asked = {"inputs": column, "outputs": [{"name": "score"}]}
    assert [t["name"] for t in stand.post("/v2/models/kinds/infer", json=asked).json()["outputs"]] == ["score"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"inputs": []}, 400),
        ({"inputs": [1]}, 400),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "FP64"}]}, 400),
        ({"inputs": [{"name": "age", "shape": [2], "datatype": "FP64", "data": [1]}]}, 400),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "FP65", "data": [1]}]}, 400),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "FP64", "data": [{}]}]}, 400),
        ({"inputs": tensors([PERSON]) * 2}, 400),
        ({"inputs": [*tensors([PERSON]), {"name": "x", "shape": [2], "datatype": "FP64", "data": [1, 2]}]}, 400),
        ({"inputs": tensors([PERSON]), "outputs": [{"name": "SENTINEL"}]}, 400),
        ({"inputs": tensors([PERSON]), "outputs": 7}, 400),
        ({"inputs": tensors([PERSON], names=("age",))}, 422),
        ({"inputs": tensors([{**PERSON, "age": "SENTINEL"}])}, 422),
    ],
)
def test_tensors_that_do_not_fit_are_told_and_not_charged(stand, body, status):
    reply = stand.post("/v2/models/published/infer", json=body)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["error"] == reply.json()["detail"]
    assert "SENTINEL" not in reply.text
    assert stand.ledger.balance("client", "ward").spent == 0


def test_the_protocol_knows_the_end_of_the_budget(stand):
    rows = [{**PERSON, "age": 20 + i} for i in range(11)]
    reply = stand.post("/v2/models/published/infer", json={"inputs": tensors(rows)})
    assert (reply.status_code, reply.json()["type"]) == (429, "/problems/budget-exhausted")
    assert "epsilon" in reply.json()["error"]
    assert stand.ledger.balance("client", "ward").spent == 0


# ---- traces


def test_a_request_is_a_span_of_the_callers_trace_and_tells_no_value(stand):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"traceparent": parent, "X-Request-ID": "proxy-4711"}
    stand.post("/v1/models/published/score", json={"features": {**PERSON, "age": 33}}, headers=headers)
    spans = {span.name: span for span in stand.spans.get_finished_spans()}
    assert {"charge", "compute", "store", "POST /v1/models/{name}/score"} <= set(spans)
    request = spans["POST /v1/models/{name}/score"]
    assert format(request.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert format(request.parent.span_id, "016x") == "b7ad6b7169203331"
    assert all(spans[name].parent.span_id == request.context.span_id for name in ("charge", "store"))
    assert request.attributes["shoal.model"] == "published"
    assert request.attributes["shoal.epsilon"] == "0.1"
    assert request.attributes["http.request_id"] == "proxy-4711"
    assert "33" not in str(dict(request.attributes)).replace("4711", "")
    stand.spans.clear()
    stand.get("/livez", headers={"traceparent": "nonsense"})
    (alone,) = stand.spans.get_finished_spans()
    assert alone.parent is None


def test_traces_that_can_not_be_sent_hold_up_nobody(monkeypatch, tmp_path):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    with TestClient(create_app([], ledger, Settings(log=False, traces=True))) as http:
        assert http.get("/livez").status_code == 200


def test_the_age_of_the_ledger_is_a_gauge(stand):
    text = stand.get("/metrics").text
    line = next(line for line in text.splitlines() if line.startswith("shoal_ledger_age_seconds "))
    assert 0 <= float(line.split()[1]) < 600
    assert "shoal_budget_left" in text
