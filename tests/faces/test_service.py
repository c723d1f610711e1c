"""The service over HTTP: routes, problems, keys, limits, logs; schemathesis over the OpenAPI document."""

import asyncio
import json
import logging
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from toy_service import QUERY, Toy, toys

from shoal.domain import Axis
from shoal.dp import Budget
from shoal.errors import FileError, GuaranteeError, InputError
from shoal.ledger import Keys, Ledger
from shoal.ledger.amount import UNITS
from shoal.service import Settings, create_app, load_folder
from shoal.service.authentication import Guard, Rate, place_of
from shoal.service.errors import KINDS
from shoal.service.middleware import logger
from shoal.service.models import Loaded

ALWAYS = {"type", "title", "status", "detail", "request_id"}


class Stand:
    """A service with one client."""

    def __init__(self, folder, models=None, epsilon=1, scopes=("*",), **words):
        self.ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}", patience=0.2)
        self.key, self.token = Keys(self.ledger).add("ward", epsilon=epsilon, models=scopes)
        settings = Settings(**{"rate": 0.0, "key_seconds": 0.0, **words})
        self.app = create_app(toys() if models is None else models, self.ledger, settings)
        self.http = TestClient(self.app, raise_server_exceptions=False)
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def get(self, path, **headers):
        return self.http.get(path, headers=self.headers | headers)

    def score(self, model="priced", features=None, key=None, **more):
        headers = self.headers | ({"Idempotency-Key": key} if key else {})
        query = {"features": QUERY if features is None else features}
        return self.http.post(f"/v1/models/{model}/score", headers=headers, **({"json": query} | more))

    def spent(self):
        return self.ledger.balance("client", "ward").to_dict()["spent"]


@pytest.fixture
def stand(tmp_path):
    made = Stand(tmp_path)
    with made.http:
        yield made


def problem(reply, name):
    """The reply is that problem, of the one shape."""
    words = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert (words["type"], words["status"], reply.status_code) == (
        f"/problems/{name}",
        KINDS[name].status,
        KINDS[name].status,
    ), words
    assert set(words) >= ALWAYS
    assert words["request_id"] == reply.headers["x-request-id"]
    return words


def test_a_free_model_answers_and_charges_nothing(stand):
    reply = stand.score("free")
    assert reply.status_code == 200
    assert reply.json() == {"model": "free", "score": 0.205, "epsilon_charged": "0", "cached": False, "notes": []}
    assert stand.spent() == "0"
    assert stand.ledger.balance("data", "toy data").to_dict()["spent"] == "1"  # its fit, once


def test_a_priced_model_is_charged_and_the_same_query_is_not_charged_again(stand):
    first, second = stand.score().json(), stand.score(features={"visits": 3.0, "sex": "f", "age": 41.0}).json()
    assert (first["epsilon_charged"], first["cached"]) == ("0.1", False)
    assert (second["epsilon_charged"], second["cached"]) == ("0", True)
    assert first["score"] == second["score"]
    assert stand.spent() == "0.1"


def test_beneath_another_application(stand):
    outer = Starlette(routes=[Mount("/scores", app=stand.app)])
    with TestClient(outer) as http:
        reply = http.post("/scores/v1/models/free/score", headers=stand.headers, json={"features": QUERY})
        assert (reply.status_code, reply.json()["model"]) == (200, "free")
        assert http.get("/scores/v1/models/free/score", headers=stand.headers).status_code == 405


def test_a_number_outside_its_bounds_is_moved_and_said(stand):
    first = stand.score(features={**QUERY, "age": 130}).json()
    assert first["notes"] == ["age was above its public bound and counted as the bound"]
    assert stand.score(features={**QUERY, "age": 120}).json()["score"] == first["score"]  # one question, one noise
    assert stand.score(features={**QUERY, "visits": None}).status_code == 200  # the schema has a rule for it


@pytest.mark.parametrize(
    ("features", "errors"),
    [
        ({}, {"age": "is missing", "sex": "is missing", "visits": "is missing"}),
        ({**QUERY, "weight": 1}, {"weight": "is not a field of this model"}),
        ({**QUERY, "age": "SENTINEL"}, {"age": "must be a number"}),
        ({**QUERY, "age": True}, {"age": "must be a number"}),
        ({**QUERY, "age": None}, {"age": "must not be missing"}),
        ({**QUERY, "age": 10**400}, {"age": "must be a finite number"}),
        ({**QUERY, "sex": "SENTINEL"}, {"sex": "must be one of 2 public levels; see the model's card"}),
        ({**QUERY, "sex": ["f"]}, {"sex": "must be one of 2 public levels; see the model's card"}),
    ],
)
def test_fields_that_do_not_fit_are_named_and_not_charged(stand, features, errors):
    words = problem(stand.score(features=features), "bad-features")
    assert {error["field"]: error["rule"] for error in words["errors"]} == errors
    assert "SENTINEL" not in json.dumps(words)
    assert stand.spent() == "0"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"features": 3}', b'{"features": {}, "more": 1}', b"\xff\xfe", b"[" * 60_000,
     b'{"features": {"age": NaN}}', b'{"features": {"age": Infinity}}', b'{"features": {"age": ' + b"9" * 5000 + b"}}"],
)  # fmt: skip
def test_malformed_json(stand, body):
    headers = stand.headers | {"Content-Type": "application/json"}
    problem(stand.http.post("/v1/models/priced/score", headers=headers, content=body), "bad-json")
    assert stand.spent() == "0"


@pytest.mark.parametrize(
    "body",
    [
        b'{"features": {"age": 41, "sex": "f", "visits": 3, "age": 42}}',
        b'{"features": {}, "features": {"age": 41, "sex": "f", "visits": 3}}',
    ],
    ids=["field", "features"],
)
def test_a_member_named_twice_is_refused_as_readers_differ_on_which_counts(stand, body):
    headers = stand.headers | {"Content-Type": "application/json"}
    words = problem(stand.http.post("/v1/models/priced/score", headers=headers, content=body), "bad-json")
    assert "twice" in words["detail"]
    assert stand.spent() == "0"


def test_names_that_no_reply_can_hold_are_shown_without_the_parts_that_can_not_be(stand):
    headers = stand.headers | {"Content-Type": "application/json"}
    body = b'{"features": {"half \\ud800": 1, "line\\nbreak\\u0000": 1, "' + "ü".encode() * 300 + b'": 1}}'
    words = problem(stand.http.post("/v1/models/priced/score", headers=headers, content=body), "bad-features")
    names = [error["field"] for error in words["errors"]]
    assert names[:3] == ["half \ufffd", "line\ufffdbreak\ufffd", "ü" * 100]
    body = b'{"features": {"age": "\\ud800", "sex": "\\ud800", "visits": 3}}'
    words = problem(stand.http.post("/v1/models/priced/score", headers=headers, content=body), "bad-features")
    assert [error["field"] for error in words["errors"]] == ["age", "sex"]


def test_oversized_headers_and_addresses_with_a_slash_too_many(stand):
    problem(stand.get("/v1/models", **{"X-Long": "x" * 20_000}), "headers-too-large")
    problem(stand.get("/v1/models/"), "not-found")  # no redirect: its address would come from the client's Host
    problem(stand.score("x" * 5000), "no-such-model")


def test_oversized_bodies_with_and_without_a_length(stand):
    headers = stand.headers | {"Content-Type": "application/json"}
    large = b'{"features": {"age": "' + b"x" * 70_000 + b'"}}'
    problem(stand.http.post("/v1/models/priced/score", headers=headers, content=large), "too-large")
    chunks = (large[i : i + 1000] for i in range(0, len(large), 1000))
    problem(stand.http.post("/v1/models/priced/score", headers=headers, content=chunks), "too-large")
    problem(
        stand.http.post("/v1/models/free/score", headers=headers | {"Content-Type": "text/csv"}), "wrong-media-type"
    )


def test_keys_missing_wrong_revoked_and_out_of_scope(tmp_path):
    stand = Stand(tmp_path, scopes=["free"])
    other = stand.token[:-4] + ("aaaa" if stand.token[-4:] != "aaaa" else "bbbb")
    for headers in (
        {},
        {"Authorization": "Basic x"},
        {"Authorization": f"Bearer {other}"},
        {"Authorization": "Bearer"},
    ):
        reply = stand.http.post("/v1/models/free/score", headers=headers, json={"features": QUERY})
        problem(reply, "unauthorized")
        assert reply.headers["www-authenticate"].startswith("Bearer")
    problem(stand.score("priced"), "out-of-scope")
    problem(stand.get("/v1/models/priced"), "out-of-scope")
    problem(stand.get("/v1/models/none"), "no-such-model")
    assert [model["name"] for model in stand.get("/v1/models").json()["models"]] == ["free"]
    assert {a["kind"] for a in stand.get("/v1/budget").json()["accounts"]} == {"client", "model", "data"}
    Keys(stand.ledger).revoke(stand.key.id)
    problem(stand.score("free"), "unauthorized")
    problem(stand.get("/v1/models"), "unauthorized")
    stand.ledger.close()


def wrong(number):
    return {"Authorization": f"Bearer shoal_{number:012x}_{'a' * 43}"}


def test_wrong_keys_are_limited_by_address_and_valid_keys_are_not_held_up(tmp_path):
    stand = Stand(tmp_path, wrong_keys=0.01, wrong_keys_burst=3.0)
    _, fresh = Keys(stand.ledger).add("new", epsilon=1)
    with stand.http:
        assert stand.score("free").status_code == 200
        statuses = [stand.http.get("/v1/models", headers=wrong(i)).status_code for i in range(6)]
        assert statuses == [401, 401, 401, 429, 429, 429]
        reply = stand.http.get("/v1/models", headers=wrong(9))
        assert problem(reply, "rate-limited")["detail"].startswith("Too many wrong keys")
        assert int(reply.headers["retry-after"]) >= 90
        assert stand.score("free").status_code == stand.score().status_code == 200
        fresh_one = stand.http.get("/v1/models", headers={"Authorization": f"Bearer {fresh}"})
        assert fresh_one.status_code == 200  # new to this process, and from the same address
        problem(stand.http.get("/v1/models"), "unauthorized")  # no key at all is no guess


def test_a_flood_of_wrong_keys_is_looked_up_together_and_holds_up_no_valid_one(tmp_path, monkeypatch):
    stand = Stand(tmp_path)
    readings = []
    by_ids = Keys.by_ids
    monkeypatch.setattr(Keys, "by_ids", lambda self, numbers: readings.append(list(numbers)) or by_ids(self, numbers))
    guard = Guard(stand.ledger, Settings(wrong_keys=0.01, wrong_keys_burst=1.0))

    async def ask(header):
        try:
            return await guard.admit(header, "192.0.2.1")
        except Exception as error:
            return error.kind.status

    async def everybody():
        flood = [asyncio.create_task(ask(wrong(i)["Authorization"])) for i in range(300)]
        await asyncio.sleep(0)
        return await ask(f"Bearer {stand.token}"), await asyncio.gather(*flood)

    key, statuses = asyncio.run(everybody())
    assert key.name == "ward"
    assert Counter(statuses) == {401: 1, 429: 299}
    assert len(readings) <= 4
    stand.ledger.close()


def test_a_forwarded_address_is_believed_from_declared_proxies_only():
    from shoal.service.worker import server_config

    assert not server_config(None, Settings()).proxy_headers
    trusting = server_config(None, Settings(proxies="10.0.0.1"))
    assert (trusting.proxy_headers, trusting.forwarded_allow_ips) == (True, "10.0.0.1")


def test_a_wrong_secret_for_a_key_that_is_known_and_a_revoked_key_use_up_the_allowance(tmp_path):
    stand = Stand(tmp_path, key_seconds=60.0, wrong_keys=0.01, wrong_keys_burst=2.0)
    with stand.http:
        assert stand.score("free").status_code == 200
        guess = {"Authorization": f"Bearer {stand.token[:19]}{'a' * 43}"}
        assert [stand.http.get("/v1/models", headers=guess).status_code for _ in range(3)] == [401, 401, 429]
        assert stand.score("free").status_code == 200
    (tmp_path / "two").mkdir()
    stand = Stand(tmp_path / "two", wrong_keys=0.01, wrong_keys_burst=2.0)
    with stand.http:
        assert stand.score("free").status_code == 200
        Keys(stand.ledger).revoke(stand.key.id)
        assert [stand.score("free").status_code for _ in range(4)] == [401, 401, 429, 429]


def test_many_keys_that_are_new_at_once_are_not_mistaken_for_guesses(tmp_path):
    stand = Stand(tmp_path, wrong_keys=0.01, wrong_keys_burst=1.0)
    tokens = [Keys(stand.ledger).add(f"ward {i}", epsilon=0)[1] for i in range(8)]

    async def everybody():
        await asyncio.gather(*(guard.admit(f"Bearer {token}", "192.0.2.1") for token in tokens))

    guard = Guard(stand.ledger, Settings(wrong_keys=0.01, wrong_keys_burst=1.0))
    asyncio.run(everybody())
    stand.ledger.close()


def test_buckets_are_bounded_and_an_ipv6_network_is_one_address():
    rate = Rate(rate=1.0, burst=1.0)
    for caller in range(10_050):
        rate.wait(caller, at=0.0)
    assert len(rate._buckets) == 10_000
    for _ in range(50):
        rate.take("x", at=0.0)  # a debt is bounded too
    assert rate.due("x", at=0.0) == 2.0
    assert place_of("2001:db8::1") == place_of("2001:db8::ffff") != place_of("2001:db8:0:1::1")
    assert place_of("::ffff:192.0.2.1") != place_of("::ffff:192.0.2.2")
    assert place_of("testclient") == "testclient"


def test_a_revocation_reaches_charges_at_once_though_the_key_is_remembered(tmp_path):
    stand = Stand(tmp_path, key_seconds=60.0)
    assert stand.score().status_code == 200
    Keys(stand.ledger).revoke(stand.key.id)
    problem(stand.score(features={**QUERY, "age": 50}), "unauthorized")
    assert stand.spent() == "0.1"
    stand.ledger.close()


def test_over_budget_is_429_with_what_is_left_and_a_retry_is_never_charged(tmp_path):
    stand = Stand(tmp_path, epsilon=0.25)
    with stand.http:
        for age in (1, 2):
            assert stand.score(features={**QUERY, "age": age}).status_code == 200
        for _ in range(3):
            words = problem(stand.score(features={**QUERY, "age": 3}, key="k"), "budget-exhausted")
            assert (words["cost"], words["short"]) == ("0.1", ["client"])
            assert words["left"] == {"client": "0.05", "model": None, "data": "8.8"}
        assert stand.score(features={**QUERY, "age": 1}).json()["cached"]  # what was paid for stays answered
        assert stand.score("free").status_code == 200
        assert stand.spent() == "0.2"


def test_idempotency_keys(stand):
    first = stand.score(key="one").json()
    assert stand.score(key="one").json() == first | {"epsilon_charged": "0", "cached": True}
    problem(stand.score(features={**QUERY, "age": 9}, key="one"), "key-reuse")
    problem(stand.score(key="two words"), "bad-header")
    problem(stand.score(key="x" * 201), "bad-header")
    assert stand.spent() == "0.1"


def test_a_ledger_that_is_down_gives_503_no_answer_and_no_lost_charge(stand):
    assert stand.score().status_code == 200
    with stand.ledger.engine.connect().execution_options(writes=True) as connection, connection.begin():
        reply = stand.score(features={**QUERY, "age": 50})
        problem(reply, "ledger-down")
        assert reply.headers["retry-after"] == "2"
        assert "score" not in reply.json()
    assert stand.score(features={**QUERY, "age": 50}).json()["epsilon_charged"] == "0.1"
    assert stand.spent() == "0.2"


def test_ready_means_that_a_charge_can_be_made(stand, monkeypatch):
    monkeypatch.setattr("shoal.service.ledger_calls._SECONDS", 0.0)
    for path in ("/livez", "/readyz", "/healthz"):
        assert stand.http.get(path).json() == {"status": "ok"}
    with stand.ledger.engine.connect().execution_options(writes=True) as connection, connection.begin():
        problem(stand.http.get("/healthz"), "ledger-down")  # it could be read all the same
        problem(stand.http.get("/readyz"), "ledger-down")
        assert stand.http.get("/livez").status_code == 200
    assert stand.http.get("/readyz").status_code == 200


class Broken(Toy):
    """Fails on the people it was fitted to: an error that would tell."""

    def score(self, values):
        if values["age"] == 41:
            raise InputError("SENTINEL", "the leaf is empty")
        return float("nan") if values["age"] == 42 else 0.5


def test_3_a_fault_after_the_charge_is_constant_and_stays_charged(tmp_path, caplog):
    stand = Stand(tmp_path, [Loaded.of(Broken(name="broken", cost=Budget(epsilon=0.1)), "d")])
    with stand.http:
        said = [problem(stand.score("broken", {**QUERY, "age": age}), "answer-failed") for age in (41, 42)]
        assert {k: v for k, v in said[0].items() if k != "request_id"} == {
            k: v for k, v in said[1].items() if k != "request_id"
        }
        assert stand.spent() == "0.2"
        problem(stand.score("broken"), "answer-failed")
        assert stand.spent() == "0.2"  # asked again it costs nothing
        assert stand.score("broken", {**QUERY, "age": 43}).status_code == 200


def test_2_the_charge_is_durable_before_the_model_is_asked(tmp_path):
    seen = []

    class Watching(Toy):
        def score(self, values):
            other = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
            seen.append(other.balance("client", "ward").to_dict()["spent"])
            other.close()
            return 0.5

    stand = Stand(tmp_path, [Loaded.of(Watching(name="watching", cost=Budget(epsilon=0.1)), "d")])
    with stand.http:
        assert stand.score("watching").status_code == 200
    assert seen == ["0.1"]


def test_rate_limits(tmp_path):
    stand = Stand(tmp_path, rate=0.01, burst=2.0)
    with stand.http:
        assert [stand.score("free").status_code for _ in range(2)] == [200, 200]
        reply = stand.score("free")
        problem(reply, "rate-limited")
        assert 50 < int(reply.headers["retry-after"]) <= 100  # less where the machine is busy
    rate = Rate(rate=10.0, burst=1.0)
    assert [rate.wait(1, at=0.0), rate.wait(2, at=0.0), rate.wait(1, at=0.05) > 0, rate.wait(1, at=0.2)] == [
        0,
        0,
        True,
        0,
    ]


def test_cards_and_lists(stand):
    assert [m["name"] for m in stand.get("/v1/models").json()["models"]] == ["free", "priced"]
    card = stand.get("/v1/models/priced").json()
    assert card["epsilon_per_query"] == "0.1"
    assert [field["name"] for field in card["features"]] == ["age", "sex", "visits"]
    assert card["claims"][0]["basis"] == "published"
    assert stand.score("priced", card["example"]["features"]).status_code == 200
    accounts = {(a["kind"], a["name"]): a for a in stand.get("/v1/budget").json()["accounts"]}
    assert accounts["client", "ward"]["left"] == "0.9"
    assert accounts["data", "toy data"]["spent"] == "1.1"


def test_wrong_routes_and_methods_have_the_same_shape(stand):
    problem(stand.get("/v3"), "not-found")
    problem(stand.get("/problems/nothing"), "not-found")
    reply = stand.get("/v1/models/free/score")
    problem(reply, "method-not-allowed")
    assert "POST" in reply.headers["allow"]
    for name, kind in KINDS.items():
        assert stand.http.get(f"/problems/{name}").json()["title"] == kind.title


def test_an_unforeseen_fault_says_nothing(tmp_path, monkeypatch):
    stand = Stand(tmp_path)
    monkeypatch.setattr(stand.ledger, "balances", lambda: 1 / 0)
    words = problem(stand.get("/v1/budget"), "internal")
    assert "Zero" not in json.dumps(words)
    stand.ledger.close()


def test_logs_are_json_lines_without_values(stand, monkeypatch):
    lines = []

    class Collect(logging.Handler):
        def emit(self, record):
            lines.append(json.loads(record.getMessage()))

    handler = Collect()
    logger().addHandler(handler)
    try:
        stand.score(features={**QUERY, "age": 77.125})
        stand.score(features={**QUERY, "sex": "SENTINEL"})
        stand.get("/v1/models?age=77.125")
    finally:
        logger().removeHandler(handler)
    assert [line["status"] for line in lines] == [200, 422, 200]
    assert lines[0]["route"] == "/v1/models/{name}/score"
    assert (lines[0]["client"], lines[0]["model"], lines[0]["epsilon"]) == ("ward", "priced", "0.1")
    assert lines[0]["head"] == str(stand.ledger.head())  # an anchor in the log
    text = json.dumps(lines)
    assert not any(secret in text for secret in ("SENTINEL", "77.125", stand.token))


def test_without_a_key_nobody_learns_which_models_there_are(stand):
    for path in ("/openapi.json", "/", "/problems/bad-json", "/livez", "/readyz"):
        text = stand.http.get(path).text
        assert not any(word in text for word in ("visits", "priced", "toy data")), path
    problem(stand.http.get("/v1/openapi.json"), "unauthorized")
    known = stand.get("/v1/openapi.json").json()["paths"]
    fields = known["/v1/models/priced/score"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(fields["properties"]["features"]["properties"]) == {"age", "sex", "visits"}


def test_a_batch_has_one_price_and_is_charged_whole_or_not_at_all(stand):
    def ask(ages, model="priced"):
        rows = [{**QUERY, "age": age} for age in ages]
        return stand.http.post(f"/v1/models/{model}/scores", headers=stand.headers, json={"rows": rows})

    first = ask([1, 2, 3, 2]).json()
    assert (first["epsilon_charged"], first["cached"], stand.spent()) == ("0.3", 0, "0.3")
    assert first["scores"][1] == first["scores"][3]
    assert stand.score(features={**QUERY, "age": 2}).json()["score"] == first["scores"][1]  # one question, one noise
    again = ask([3, 2, 1, 4]).json()
    assert (again["epsilon_charged"], again["cached"]) == ("0.1", 3)
    assert again["scores"][:3] == [first["scores"][i] for i in (2, 1, 0)]
    words = problem(ask(range(10, 20)), "budget-exhausted")
    assert (words["short"], words["cost"], stand.spent()) == (["client"], "1", "0.4")
    assert ask([10, 11, 12, 13, 14, 15]).json()["epsilon_charged"] == "0.6"
    assert ask([1, 2], "free").json() == {
        "model": "free", "scores": [0.005, 0.01], "epsilon_charged": "0", "cached": 0, "notes": []
    }  # fmt: skip
    bad = problem(ask([1, "SENTINEL"]), "bad-features")
    assert (bad["row"], "SENTINEL" in json.dumps(bad)) == (1, False)
    for rows in ([], "x", [1]):
        reply = stand.http.post("/v1/models/priced/scores", headers=stand.headers, json={"rows": rows})
        assert reply.status_code == 400
    stand.ledger.check()


def test_auditors_see_every_account_and_ask_no_model(stand):
    _, token = Keys(stand.ledger).add("office", role="auditor")
    Keys(stand.ledger).add("other", epsilon=7)
    headers = {"Authorization": f"Bearer {token}"}
    accounts = stand.http.get("/v1/budget", headers=headers).json()["accounts"]
    assert {a["name"] for a in accounts if a["kind"] == "client"} == {"ward", "office", "other"}
    assert {a["name"] for a in stand.get("/v1/budget").json()["accounts"] if a["kind"] == "client"} == {"ward"}
    problem(stand.http.post("/v1/models/free/score", headers=headers, json={"features": QUERY}), "out-of-scope")


def test_keys_end_and_are_rotated_with_an_overlap(stand):
    keys = Keys(stand.ledger)
    new, token = keys.rotate(stand.key.id, hours=1)
    assert stand.score().status_code == 200  # the old one holds for an hour more
    headers = {"Authorization": f"Bearer {token}"}
    assert stand.http.get("/v1/models", headers=headers).status_code == 200
    assert new.client == stand.key.client
    keys.rotate(new.id, hours=0)
    problem(stand.http.get("/v1/models", headers=headers), "unauthorized")
    assert keys.by_id(stand.key.id).used is not None
    with pytest.raises(InputError, match="no active key"):
        keys.rotate(new.id)


def test_a_request_keeps_the_number_that_a_proxy_gave(stand):
    assert stand.get("/v1/models", **{"X-Request-ID": "proxy-12345678"}).headers["x-request-id"] == "proxy-12345678"
    assert (
        stand.get("/v1/models", **{"X-Request-ID": "no spaces allowed"}).headers["x-request-id"] != "no spaces allowed"
    )


def test_what_the_operator_gives_for_known_accounts_is_not_ignored(tmp_path):
    stand = Stand(tmp_path, data_epsilon=5.0)
    create_app(toys(), stand.ledger, Settings(data_epsilon=2.0, model_epsilon=3.0))
    balance = stand.ledger.balance("data", "toy data")
    assert (balance.cap, balance.share) == (5 * UNITS, 2 * UNITS)
    assert stand.ledger.balance("model", "priced").cap == 3 * UNITS
    with pytest.raises(GuaranteeError, match="cover what is reserved"):  # 1 is spent on the fit of the free model
        create_app(toys(), stand.ledger, Settings(data_epsilon=4.5))
    stand.ledger.close()


def test_metrics(stand):
    stand.score(), stand.score(), stand.score("free"), stand.score("no SENTINEL")
    text = stand.http.get("/metrics").text
    assert 'shoal_scores_total{model="priced",outcome="charged"} 1.0' in text
    assert 'shoal_scores_total{model="priced",outcome="cached"} 1.0' in text
    assert 'shoal_epsilon_charged_total{model="priced"} 0.1' in text
    assert 'shoal_requests_total{method="POST",route="/v1/models/{name}/score",status="200"} 3.0' in text
    assert "SENTINEL" not in text
    assert 'shoal_budget_limit{kind="data",name="toy data"} 10.0' in text
    assert 'shoal_budget_left{kind="data",name="toy data"} 8.9' in text
    assert "shoal_build_info" in text


def test_the_page_runs_its_own_script_only(stand):
    reply = stand.http.get("/")
    assert "default-src 'none'; script-src 'sha256-" in reply.headers["content-security-policy"]
    assert "http://" not in reply.text
    assert "https://" not in reply.text
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_models_that_can_not_be_served(sqlite_file):
    with pytest.raises(GuaranteeError, match="cover what the fit cost"):
        create_app(toys(), sqlite_file, Settings(data_epsilon=0.5))
    with pytest.raises(InputError, match="different names"):
        create_app([*toys(), *toys()], sqlite_file)
    with pytest.raises(InputError, match="letters, digits"):
        create_app([Loaded.of(Toy(name="a/b"), "d")], sqlite_file)


@pytest.fixture
def sqlite_file(tmp_path):
    made = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield made
    made.close()


def test_schemathesis_finds_nothing(tmp_path):
    import schemathesis
    from schemathesis.core.failures import FailureGroup
    from schemathesis.openapi.checks import RejectedPositiveData

    stand = Stand(tmp_path, epsilon=100, log=False, data_epsilon=1000.0, wrong_keys=0.0)  # it tries many
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", stand.app, headers=stand.headers)
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        tried.append(operation.path)

        @settings(
            max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True
        )
        @given(case=operation.as_strategy())
        def check(case):
            try:
                case.call_and_validate(headers=stand.headers)
            except FailureGroup as group:
                # The path for any model has no schema of its own; and a key drawn twice with another body is refused.
                known = case.operation.path == "/v1/models/{name}/score" or "/problems/key-reuse" in str(group)
                if not known or not all(isinstance(e, RejectedPositiveData) for e in group.exceptions):
                    raise

        check()
    assert len(tried) == 13
    stand.ledger.close()


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """Two real models: one free, one that pays by query."""
    from shoal.datasets.pima import pima_like, pima_like_schema
    from shoal.score import CertifiedForest, StableTree

    folder, table = tmp_path_factory.mktemp("models"), pima_like(300, seed=1)
    people, ill = table.drop("diabetes"), table["diabetes"]
    CertifiedForest(epsilon=1.0, schema=pima_like_schema()).fit(people, ill).save(folder / "certified.json")
    StableTree(epsilon=0.5, schema=pima_like_schema()).fit(people, ill).save(folder / "published.json", internal=True)
    return folder


def test_real_models_are_served(tmp_path, model_folder):
    stand = Stand(tmp_path, load_folder(model_folder), epsilon=1, data_epsilon=2.0)
    with stand.http:
        card = stand.get("/v1/models/certified").json()
        assert card["epsilon_per_query"] == "0"
        assert card["claims"][0]["basis"] == "proved"
        assert card["outcome"] == "pos"
        query = card["example"]["features"]
        assert stand.score("certified", query).json()["score"] == stand.score("certified", query).json()["score"]
        first = stand.score("published", query).json()
        assert first["epsilon_charged"] == "0.5"
        assert stand.score("published", query).json() == first | {"epsilon_charged": "0", "cached": True}
        for name in card["example"]["features"]:
            assert stand.score("published", {**query, name: 1e9}).status_code in (200, 422, 429)
        left = {a["kind"]: a["left"] for a in stand.get("/v1/budget").json()["accounts"] if a["kind"] != "model"}
        assert left == {"client": "0", "data": "0"}  # 1 for the fit, twice 0.5 for answers


def test_a_model_file_that_was_tampered_with_or_promises_nothing_is_refused(tmp_path, model_folder):
    from shoal.datasets.pima import pima_like, pima_like_schema
    from shoal.score import AlphaTree

    with pytest.raises(FileError, match="at least one model file"):
        load_folder(tmp_path)
    text = (model_folder / "certified.json").read_text()
    (tmp_path / "changed.json").write_text(text.replace('"classes": [', '"classes": [ 7, ', 1))
    with pytest.raises(FileError, match="hash"):
        load_folder(tmp_path)
    table = pima_like(100, seed=2)
    tree = AlphaTree(schema=pima_like_schema()).fit(table.drop("diabetes"), table["diabetes"])
    tree.save(tmp_path / "changed.json", internal=True)
    with pytest.raises(InputError, match="must have a price"):
        load_folder(tmp_path)


def test_commands_for_keys_and_ledger(tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    url, run = f"sqlite:///{tmp_path / 'ledger.db'}", CliRunner().invoke
    assert run(app, ["ledger", "create", "--ledger", url]).exit_code == 0
    made = run(app, ["keys", "add", "ward 7", "--epsilon", "2", "--model", "risk", "--ledger", url])
    token = next(line for line in made.output.splitlines() if line.startswith("shoal_"))
    listed = run(app, ["keys", "list", "--ledger", url]).output
    number = token.split("_")[1]
    assert number in listed
    assert token.split("_", 2)[2] not in listed
    assert "revoked" in run(app, ["keys", "revoke", number, "--ledger", url]).output
    assert isinstance(run(app, ["keys", "revoke", number, "--ledger", url]).exception, InputError)
    assert run(app, ["ledger", "limit", "client", "ward 7", "--epsilon", "3", "--ledger", url]).exit_code == 0
    accounts = json.loads(run(app, ["ledger", "show", "--json", "--ledger", url]).output)["accounts"]
    assert accounts == [{"kind": "client", "name": "ward 7", "limit": "3", "spent": "0", "reserved": "0", "left": "3"}]
    assert "ward 7" in run(app, ["ledger", "show", "--ledger", url]).output
    for name in ("journal.csv", "journal.jsonl"):
        assert run(app, ["ledger", "export", "--out", str(tmp_path / name), "--ledger", url]).exit_code == 0
    assert (tmp_path / "journal.csv").read_text().count("ward 7") == 2
    assert json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[1])["epsilon"] == "3"
    again = run(app, ["ledger", "export", "--out", str(tmp_path / "journal.csv"), "--ledger", url])
    assert isinstance(again.exception, FileError)
    assert isinstance(run(app, ["ledger", "show", "--ledger", f"sqlite:///{tmp_path / 'no.db'}"]).exception, InputError)


def test_what_was_charged_to_clients_is_priced_in_money(stand, tmp_path):
    from decimal import Decimal

    from typer.testing import CliRunner

    from shoal.cli.main import app
    from shoal.errors import ParameterError

    assert stand.score().status_code == 200
    url, file = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "bill.jsonl"
    done = CliRunner().invoke(app, ["ledger", "export", "-o", str(file), "--rate", "0.1", "--ledger", url])
    wrong = CliRunner().invoke(app, ["ledger", "export", "-o", str(file), "--rate", "nan", "--ledger", url])
    assert isinstance(wrong.exception, ParameterError)
    owed = Decimal(stand.spent()) * Decimal("0.1")
    assert f"ward owes {owed}" in done.output
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["money"] for line in lines if line["kind"] == "charge" and line["client"]] == [str(owed)]
    assert not any("money" in line for line in lines if line["kind"] != "charge")
    plain = CliRunner().invoke(app, ["ledger", "export", "-o", str(tmp_path / "plain.csv"), "--ledger", url])
    assert "owes" not in plain.output
    assert "money" not in (tmp_path / "plain.csv").read_text()


def test_a_query_is_read_once_by_the_axes_of_the_model(tmp_path, model_folder, monkeypatch):
    loaded = next(item for item in load_folder(model_folder) if item.model.name == "certified")
    stand, features = Stand(tmp_path, [loaded]), loaded.model.features
    read, seen = Axis.read, []
    monkeypatch.setattr(Axis, "read", lambda axis, value: (seen.append(axis.name), read(axis, value))[1])
    reply = stand.score("certified", features.example())
    assert sorted(seen) == sorted(features.names)
    assert reply.json()["score"] == loaded.model.source.risk(features.example())
