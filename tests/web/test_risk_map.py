"""The map of the workbench: no number lies on the text beside a line."""

import re

from shoal.web.pages.risk_map import Dot, risk_map


def numbers(drawn):
    """(x, y, alignment) of each dot's number, in the order of the dots."""
    shape = r'class="dot[^"]*" transform="translate\(([\d.]+),([\d.]+)\)".*?<text x="(-?\d+)" y="(-?\d+)" class="(\w+)"'
    found = re.findall(shape, drawn)
    return [(float(x) + float(dx), float(y) + float(dy), kind) for x, y, dx, dy, kind in found]


def test_a_number_keeps_clear_of_the_texts_beside_the_lines():
    places = [(0.05 + 0.001 * i, 0.924 + 0.002 * j) for i in range(140) for j in (-1, 0, 1)]
    for risk, utility in places:
        dots = [
            Dot(risk=risk, utility=utility, number="17", family=0, words="a recipe", name="a"),
            Dot(risk=0.2, utility=0.6, number="1", family=0, words="another", name="b", chosen=True),
        ]
        drawn = str(risk_map(dots, "a map", limit=0.05, mark=0.924))
        line = re.search(r'<text x="([\d.]+)" y="([\d.]+)" class="start soft">another sample', drawn)
        start, base = float(line[1]), float(line[2])
        x, y, kind = numbers(drawn)[0]
        left = x - (14 if kind == "end" else 0)
        assert left + 18 <= start or left >= start + 6 * 31 or abs(y - base) >= 11, (risk, utility)
