"""The 18 identifiers of the Safe Harbor rule: how each shows in the name of a column and in its values.

The list is that of 45 CFR 164.514(b)(2)(i), letters A to R. Beside it stand ages over 89, which C names too, and free
text, which can hold any of them. A name speaks for an identifier by its words (``home_phone`` holds the word *phone*,
``phoneme`` doesn't); a value by its form. Some identifiers have no form of their own (a record number is digits), so a
name is all there is to go by; and pictures or fingerprints are no text at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from shoal.schema.judgement.dates import speak_of_dates
from shoal.schema.judgement.us_places import STATES
from shoal.schema.name_words import EVENT, NUMBER, PERSON, PERSON_NUMBERS, PLACE_OR_THING

__all__ = [
    *(
        "AGES",
        "DATES",
        "FREE_TEXT",
        "GEOGRAPHIC",
        "IDENTIFIERS",
        "NAMES",
        "OTHER_CODES",
        "PLACES_OF_ANY_SIZE",
        "SOCIAL_SECURITY",
    ),
    *("Identifier", "named"),
]

NAMES, GEOGRAPHIC, DATES, AGES, OTHER_CODES, FREE_TEXT = (
    *("names", "geographic subdivisions", "dates", "ages over 89", "other unique codes", "free text"),
)
SOCIAL_SECURITY = "social security numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """One class of identifiers.

    Parameters
    ----------
    letter
        Its letter in the rule.
    title
        What it is called.
    words, starts, alone
        Words, or beginnings of words, in the name of a column that speak for it; and one that does as the whole name.
    form
        What a whole value looks like, as a regular expression; empty where it has no form of its own.
    inside
        What it looks like within a longer text; empty where that says too little.
    least_share
        Share of the filled cells of a column that must have the form before it is worth a word.
    """

    letter: str
    title: str
    words: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    alone: str = ""
    form: str = ""
    inside: str = ""
    least_share: float = 0.0

    def in_name(self, words: tuple[str, ...]) -> bool:
        """Whether the words of a column's name speak for it."""
        if self.alone and set(words) == {self.alone}:
            return True
        return any(word in self.words or (bool(self.starts) and word.startswith(self.starts)) for word in words)


def _one(letter: str, title: str, words: str = "", starts: str = "", **forms: str | float) -> Identifier:
    made = frozenset(words.split())
    return Identifier(letter=letter, title=title, words=made, starts=tuple(starts.split()), **forms)  # type: ignore[arg-type]


_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_PHONE = r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
_EMAIL = r"[^@\s,;<>]+@[^@\s,;<>]+\.[A-Za-z]{2,}"
_URL = r"(?:https?://|www\.)[^\s]+"
_POINT = (
    r"-?\d{1,2}\.\d{4,} ?[,; ] ?-?\d{1,3}\.\d{4,}|(?i:point) ?\(.+\)|.*\d° ?\d{1,2}(?:\.\d+)?['′’].*[NSEWO].*"
    r"|[2-9CFGHJMPQRVWX]{8}\+[2-9CFGHJMPQRVWX]{2,3}"  # latitude and longitude, and plus codes
)
_POSTCODE = (
    r"[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]\d[A-Z] \d[A-Z]\d|\d{4} [A-Z]{2}|〒 ?\d{3}-?\d{4}"
    # of Britain, Canada, the Netherlands, Japan
)
_COUNTED = ("number", "num", "no", "nbr", "id", "code")

IDENTIFIERS: tuple[Identifier, ...] = (
    _one(
        *(
            "A",
            NAMES,
            "surname firstname lastname fullname fname lname forename givenname familyname maidenname initials "
            "vorname nachname familienname zuname prenom nomdefamille patronyme nombre apellido apellidos cognome "
            "voornaam achternaam fornavn etternavn fornamn efternamn imie nazwisko jmeno prijmeni etunimi sukunimi "
            "sobrenome 姓名 氏名 名前 名字 이름 성명 имя фамилия отчество фио الاسم اسم שם όνομα επώνυμο नाम ชื่อ",
        ),
    ),
    _one("E", "fax numbers", "fax faxnumber"),
    _one(
        *("F", "e-mail addresses", "email mail emailaddress"),
        form=r"^\s*[^@\s,;<>]+\s*@\s*[^@\s,;<>]+\s*\.\s*[A-Za-z]{2,}\s*$",
        inside=_EMAIL,
    ),
    _one(
        *("D", "telephone numbers", "telephone tel mobile cellphone handy mobil", "phone homephone workphone telefon"),
        form=rf"^(?:{_PHONE}|\+\d[\d ()./-]{{7,18}}\d|0\d(?: \d\d){{4}})$",
        inside=rf"(?:^|[^\d-]){_PHONE}(?:$|[^\d-])",
    ),
    _one(
        *("G", SOCIAL_SECURITY, "ssn sin nino", "socialsec"),
        form=r"^\d{3}-\d{2}-\d{4}$",
        inside=r"(?:^|[^\d-])\d{3}-\d{2}-\d{4}(?:$|[^\d-])",
    ),
    _one("H", "medical record numbers", "mrn nhs nhsnumber chartno", "medicalrec medrec chartnum"),
    Identifier(
        letter="I",
        title="health plan beneficiary numbers",
        words=frozenset(f"{who}{what}" for who in ("member", "bene", "beneficiary", "subscriber") for what in _COUNTED)
        | {"mbi", "hicn", "policy"},
        starts=("healthplan", "policyn", "insuranceid", "insuranceno"),
    ),
    _one("J", "account numbers", "account acct iban accountno accountid konto kontonr"),
    _one(
        *("L", "vehicle identifiers and plates", "vin plate vehicle", "licenseplate licenceplate vehicleid"),
        form=r"^[A-HJ-NPR-Z0-9]{17}$",
        least_share=0.5,
    ),
    _one("K", "certificate and licence numbers", "license licence drivers passport certificate npi dea"),
    _one(
        *("M", "device identifiers and serial numbers", "serial imei udi mac", "serialn deviceid deviceserial"),
        form=r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
    ),
    _one("N", "web addresses", "url website homepage weblink", form=f"^{_URL}$", inside=_URL),
    _one(
        *("O", "IP addresses", "ipaddress ipaddr clientip userip sourceip remoteip loginip"),
        alone="ip",  # elsewhere it is short for inpatient
        form=rf"^(?:(?:{_BYTE}\.){{3}}(?:{_BYTE}(?:/\d\d?)?|x{{1,3}}|\*)|(?:[0-9A-Fa-f]{{1,4}}:){{7}}[0-9A-Fa-f]{{1,4}}|[0-9A-Fa-f:]*::[0-9A-Fa-f:]*)$",
        inside=rf"(?:^|[^\d.])(?:{_BYTE}\.){{3}}{_BYTE}(?:$|[^\d.])",
    ),
    _one("P", "biometric identifiers", "iris retina", "biometric fingerprint voiceprint faceprint retinal"),
    _one(
        *("Q", "photographs and images", "photo image picture portrait", "photo"),
        form=r"(?i)^(?:data:image/.+|\S+\.(?:jpe?g|png|gif|tiff?|bmp|dcm))$",
    ),
    _one(
        *("B", GEOGRAPHIC),
        "zip zipcode postcode postal plz county city town village district puma tract msa fips lat lon parish borough "
        "municipality precinct ward locality suburb hamlet commune canton hsa hrr cbsa metro geoid geohash barrio "
        "quartier arrondissement kommun kommune gmina powiat lga lsoa msoa datazone fsa pincode pcode cnty nuts3 sa1 "
        "sa2 sa1code sa2code pc4 pc6",
        "address addr street neighb geocod latitude longitude birthplace birthcity birthcounty placeofbirth "
        "healthservicearea blockgroup censusblock",
        form=rf"^(?:\d{{5}}-\d{{4}}|{_POSTCODE}|{_POINT}|"
        rf".+ (?:County|Parish|Borough|Township)|.+, ?(?:{'|'.join(STATES)})(?: \d{{5}})?)$",
        least_share=0.2,
    ),
    _one("C", DATES),
    _one(
        *("R", OTHER_CODES, "uuid guid pid hid duid rowid recordid caseid username userid login"),
        form=r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
    ),
)
"""The 18 classes; where two speak for one name, the first counts."""

PLACES_OF_ANY_SIZE = frozenset(
    [
        "region",
        "area",
        "province",
        "location",
        "place",
        "zone",
        "site",
        "territory",
        "catchment",
        "sector",
        "division",
        "geography",
        "residence",
        "hometown",
        "domicile",
        "wohnsitz",
        "lieu",
        "loc",
    ]
)
"""Words for places that may be smaller than a state or larger: the values decide, or a person."""

_PARTS_OF_NAMES = {"first", "last", "middle", "maiden"}


def named(words: tuple[str, ...]) -> Identifier | None:
    """The identifier that the words of a column's name speak for, pairs of words included (``medical_record``)."""
    joined = tuple(a + b for a, b in pairwise(words[:-1]))
    everything = (*joined, *words)
    for identifier in IDENTIFIERS:
        if identifier.title == GEOGRAPHIC and words[-2:-1] == ("type",):
            continue  # of which type a place is, not which
        if identifier.in_name(everything) or (identifier.title == NAMES and _ends_in_name(words)):
            return identifier
        if identifier.title == DATES and speak_of_dates(words):
            return identifier
    return _person_number(words)


def _ends_in_name(words: tuple[str, ...]) -> bool:
    """``patient_name`` and ``LAST``, but not ``drug_name``."""
    if words[-1] in _PARTS_OF_NAMES:
        return True
    speaks = any(word.endswith(("name", "names")) for word in words)
    return speaks and not any(word.startswith(tuple(PLACE_OR_THING)) for word in words)


def _person_number(words: tuple[str, ...]) -> Identifier | None:
    pairs = pairwise(words)
    found = any(a in PERSON | EVENT and b in NUMBER for a, b in pairs) or any(w in PERSON_NUMBERS for w in words)
    return IDENTIFIERS[-1] if found else None
