"""The states of the USA, the divisions and regions of its census that they lie in, and their ZIP codes.

Postal and FIPS codes of states, the nine divisions and four regions as the Bureau of the Census draws them (territories
lie in none), and the first three digits of ZIP codes by state as the Postal Service assigns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["ARMED_FORCES", "DIVISIONS", "REGIONS", "STATES", "STATE_NAMES", "STATE_OF_FIPS", "STATE_OF_ZIP3"]

_BY_DIVISION = {
    "New England": "CT 09 Connecticut, ME 23 Maine, MA 25 Massachusetts, NH 33 New Hampshire, RI 44 Rhode Island, "
    "VT 50 Vermont",
    "Middle Atlantic": "NJ 34 New Jersey, NY 36 New York, PA 42 Pennsylvania",
    "East North Central": "IL 17 Illinois, IN 18 Indiana, MI 26 Michigan, OH 39 Ohio, WI 55 Wisconsin",
    "West North Central": "IA 19 Iowa, KS 20 Kansas, MN 27 Minnesota, MO 29 Missouri, NE 31 Nebraska, "
    "ND 38 North Dakota, SD 46 South Dakota",
    "South Atlantic": "DE 10 Delaware, DC 11 District of Columbia, FL 12 Florida, GA 13 Georgia, MD 24 Maryland, "
    "NC 37 North Carolina, SC 45 South Carolina, VA 51 Virginia, WV 54 West Virginia",
    "East South Central": "AL 01 Alabama, KY 21 Kentucky, MS 28 Mississippi, TN 47 Tennessee",
    "West South Central": "AR 05 Arkansas, LA 22 Louisiana, OK 40 Oklahoma, TX 48 Texas",
    "Mountain": "AZ 04 Arizona, CO 08 Colorado, ID 16 Idaho, MT 30 Montana, NV 32 Nevada, NM 35 New Mexico, "
    "UT 49 Utah, WY 56 Wyoming",
    "Pacific": "AK 02 Alaska, CA 06 California, HI 15 Hawaii, OR 41 Oregon, WA 53 Washington",
    "Territories": "AS 60 American Samoa, GU 66 Guam, MP 69 Northern Mariana Islands, PR 72 Puerto Rico, "
    "VI 78 Virgin Islands",
}
REGIONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("New England", "Middle Atlantic"), "Northeast"),
        **dict.fromkeys(("East North Central", "West North Central"), "Midwest"),
        **dict.fromkeys(("South Atlantic", "East South Central", "West South Central"), "South"),
        **dict.fromkeys(("Mountain", "Pacific"), "West"),
        "Territories": "Territories",
    }
)
"""The region of each division."""

_STATES = [(*one.split(" ", 2), division) for division, text in _BY_DIVISION.items() for one in text.split(", ")]

STATES: Mapping[str, str] = MappingProxyType({postal: division for postal, _, _, division in _STATES})
"""The division of each state, by its postal code."""
STATE_NAMES: Mapping[str, str] = MappingProxyType({name: postal for postal, _, name, _ in _STATES})
"""The postal code of each state, by its name."""
STATE_OF_FIPS: Mapping[str, str] = MappingProxyType({fips: postal for postal, fips, _, _ in _STATES})
"""The postal code of each state, by its two digits of FIPS."""
DIVISIONS = tuple(_BY_DIVISION)[:-1]

ARMED_FORCES = "Armed Forces"
"""Where post of the armed forces lies, which is in no state, instead of a division and region."""

_ZIPS = (
    "MA 010-027 055, RI 028-029, NH 030-038, ME 039-049, VT 050-054 056-059, CT 060-069, NJ 070-089, "
    "NY 005 100-149, PA 150-196, DE 197-199, DC 200 202-205 569, VA 201 220-246, MD 206-212 214-219, WV 247-268, "
    "NC 270-289, SC 290-299, GA 300-319 398-399, FL 320-339 341-342 344 346-347 349, AL 350-352 354-369, TN 370-385, "
    "MS 386-397, KY 400-418 420-427, OH 430-459, IN 460-479, MI 480-499, IA 500-516 520-528, "
    "WI 530-532 534-535 537-549, "
    "MN 550-551 553-567, SD 570-577, ND 580-588, MT 590-599, IL 600-620 622-629, MO 630-631 633-641 644-658, "
    "KS 660-662 664-679, NE 680-681 683-693, LA 700-701 703-708 710-714, AR 716-729, OK 730-731 734-741 743-749, "
    "TX 733 750-770 772-799 885, CO 800-816, WY 820-831, ID 832-838, UT 840-847, AZ 850-853 855-857 859-860 863-865, "
    "NM 870-875 877-884, NV 889-891 893-895 897-898, CA 900-908 910-928 930-961, HI 967-968, GU 969, OR 970-979, "
    "WA 980-986 988-994, AK 995-999, PR 006-007 009, VI 008, AE 090-099, AA 340, AP 962-966"
)


def _zip3() -> dict[str, str]:
    made: dict[str, str] = {}
    for entry in _ZIPS.split(", "):
        state, *ranges = entry.split()
        for text in ranges:
            low, _, high = text.partition("-")
            made |= {f"{number:03d}": state for number in range(int(low), int(high or low) + 1)}
    return made


STATE_OF_ZIP3: Mapping[str, str] = MappingProxyType(_zip3())
"""The state of the first three digits of a ZIP code, or AE, AA and AP for the post of the armed forces.

A few areas lie in two states; the larger part counts."""
