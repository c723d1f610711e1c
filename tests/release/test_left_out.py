"""Few people left out can't be counted from what goes outside: neither told nor worked out, up to k − 1 of them."""

import json
import re
from fractions import Fraction
from html import unescape

import polars as pl
import pytest

from shoal import MDAV, Generalize, Resample, Schema, anonymize, coarsen

K = 5
N_OUT = 97  # a prime, so that shares of what came in and of what went out differ


def suppressed(n_left):
    """A coarsening that leaves out `n_left` people of rare places."""
    rare = [f"rare {i}" for i in range(n_left)]
    table = pl.DataFrame({"place": ["common"] * N_OUT + rare, "ill": (["no", "no", "yes"] * 99)[: N_OUT + n_left]})
    schema = Schema.of(quasi=["place"], sensitive=["ill"])
    return coarsen(table, schema, Generalize(k=K, suppression=0.2, limits={"place": 0}), seed=1)


def dropped(n_left):
    """A release without the `n_left` people whose age is not known."""
    ages = [float(20 + i % 60) for i in range(N_OUT)] + [None] * n_left
    table = pl.DataFrame({"age": ages, "ill": (["no", "no", "yes"] * 99)[: N_OUT + n_left]})
    schema = Schema.of(quasi=["age"], sensitive=["ill"], missing={"age": "drop"})
    return anonymize(table, schema, group=MDAV(k=K), mask=Resample(), seed=1)


def numbers(words):
    """Every number in JSON words, and every one that stands in a text of them."""
    if isinstance(words, dict):
        return [number for item in words.values() for number in numbers(item)]
    if isinstance(words, list):
        return [number for item in words for number in numbers(item)]
    if isinstance(words, str):
        return spoken(words)
    return [] if words is None or isinstance(words, bool) else [float(words)]


def spoken(text):
    """Numbers of a text: not those inside of hashes, names or versions."""
    return [float(n.replace(",", "")) for n in re.findall(r"(?<![\w.:#-])\d[\d,]*(?:\.\d+)?(?![\w:.-]*\w)", text)]


def tells_of(number, n_in):
    """Whether a number is the number of rows that came in, or a share with it below the line and not with 97."""
    if number == n_in:
        return True
    share = Fraction(number).limit_denominator(n_in) if 0 < number < 1 else Fraction(0)
    return share.denominator == n_in and abs(float(share) - number) < 1e-9


FEW = [1, K - 1]


@pytest.mark.parametrize("make", [suppressed, dropped])
@pytest.mark.parametrize("n_left", FEW)
def test_fewer_than_k_left_out_are_not_told(make, n_left, tmp_path):
    make(n_left).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert N_OUT + n_left not in numbers(manifest)
    page = (tmp_path / "out/report.html").read_text()
    text = unescape(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", page, flags=re.S))
    titles = " ".join(unescape(found) for found in re.findall(r'(?:title|data-[a-z]+|aria-label)="([^"]*)"', page))
    for said in (text, titles, json.dumps(manifest)):
        assert N_OUT + n_left not in spoken(said)
        assert not re.search(rf"\b{n_left} (?:\w+ ){{0,3}}(?:left out|suppressed|dropped|removed)", said)
        assert not re.search(rf"(?:left out|suppressed|dropped|removed)\W+{n_left}\b", said)


@pytest.mark.parametrize("make", [suppressed, dropped])
@pytest.mark.parametrize("n_left", FEW)
def test_fewer_than_k_left_out_can_not_be_worked_out_from_a_share(make, n_left, tmp_path):
    make(n_left).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [n for n in numbers(manifest) if tells_of(n, N_OUT + n_left)] == []


def test_the_search_sees_a_number_that_is_told():
    words = {"a": {"n_original": 101}, "b": ["of 101 rows"], "c": 33 / 101, "d": 33 / 97, "e": "sha 101ab", "f": 101.5}
    assert [n for n in numbers(words) if tells_of(n, 101)] == [101, 101, 33 / 101]
