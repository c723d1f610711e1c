"""Words in column names, and what they say about a column.

Whole words count (``age`` but not ``stage``), and for longer ones their beginnings (``educ``) and endings (``dx``).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BODY",
    "CODED",
    "COUNTS",
    "DESCRIBING",
    "EVENT",
    "GROUPED",
    "IDENTIFIERS",
    "MEASURES",
    "NAME_PARTS",
    "NUMBER",
    "PERSON",
    "PERSON_NUMBERS",
    "PLACE_OR_THING",
    "QUASI",
    "SENSITIVE",
    "SURVEY",
    "UNORDERED",
    "WEIGHTS",
    "Topic",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Words that say what a column is about: whole ones, beginnings and endings."""

    about: str
    words: frozenset[str]
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def covers(self, word: str) -> bool:
        """Whether `word` belongs to the topic."""
        return word in self.words or word.startswith(self.starts) or word.endswith(self.ends)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _topic(about: str, words: str, starts: str = "", ends: str = "") -> Topic:
    return Topic(about=about, words=_set(words), starts=tuple(starts.split()), ends=tuple(ends.split()))


PERSON = _set(
    "patient person member subject participant beneficiary bene enrollee insured client respondent resident "
    "employee student individual mother child pat"
)
EVENT = _set("encounter visit claim admission record case row sample specimen household hh family order")
NUMBER = _set("id ids identifier nbr number num no key uuid guid code")
PERSON_NUMBERS = frozenset(f"{person}{number}" for person in PERSON for number in ("id", "nbr", "no", "key")) | {
    *("pid", "dupersid", "seqn", "mrn", "ssn", "nhsnumber")
}
NAME_PARTS = _set("first last middle given maiden family sur fore")
DESCRIBING = _set("description descriptions desc descr label text name meaning reasondescription codedescription title")
CODED = _set("code codes cd reasoncode")
COUNTS = _set("number num count counts n no")
PLACE_OR_THING = _set(
    "hospital facility provider drug medication plan payer insurer county state city region test lab school clinic "
    "ward column file variable product device"
)
IDENTIFIERS = (
    _topic("a person's name", "surname firstname lastname fullname fname lname forename", "", "givenname familyname"),
    _topic("a number that names a person", "ssn sin mrn nhs passport licence license account policy iban", "socialsec"),
    _topic("a way to reach a person", "email mail phone telephone tel mobile cell fax address street addr url ip"),
    _topic("an account or a device", "username userid login uuid guid serial vin plate imei mac"),
    _topic("free text", "notes note comment comments narrative remark remarks freetext description"),
    _topic(
        "a household or record number", "id pid hid duid eid rowid rownum rownames recordid caseid hhid encounterid"
    ),
)
QUASI = (
    _topic("a place of birth", "birthplace", "birthcountry birthcity birthstate placeofbirth"),
    _topic("age or birth", "age ages agep agelast agegroup agegrp agecat agegr dob yob birthday", "birth dateofbirth"),
    _topic("sex or gender", "sex", "gender"),
    _topic(
        "origin", "race racethx rac afam hisp hispanx native language migrant country", "ethnic hispan nation citizen"
    ),
    _topic("faith", "faith church", "religi"),
    _topic(
        "a place",
        "zip zipcode postcode postal plz county city town village state region province district puma fips tract msa "
        "urban rural urbrur area latitude longitude lat lon location neighborhood neighbourhood density",
        "geogr",
    ),
    _topic(
        "family and marriage",
        "married marry maristat msp civil hhcivil spouse widowed divorced household family famsize children noc npf "
        "relat parity",
        "marit relation",
    ),
    _topic("education", "edu school schooling degree hideg college highsch edrecode", "educ"),
    _topic("work", "job industry indp workclass profession veteran dvet military", "occup employ unemploy indus"),
    _topic("income", "income salary wage wages earnings pincp povcat povpip poverty faminc", "depriv"),
    _topic("housing", "housing own rent tenure roof walls dwelling"),
    _topic("body size", "height bmi"),
    _topic("a date", "date year month day admitted discharged", "", "date"),
)
SENSITIVE = (
    _topic(
        "costs or payments",
        "cost costs charge charges payment payments paid price spending bill totexp amount coverage",
        "totexp expend expens reimburs",
        "cost costs charges",
    ),
    _topic("wealth", "savings debt debts assets"),
    _topic(
        "an illness",
        "dx diag disease condition conditions hiv aids cancer stroke asthma covid disorder illness symptom symptoms "
        "chronic health mental comorbidity sti std phstat mnhpoor drem dphy deye dear disability",
        "diagnos diabet hypert depress psych infect tumor tumour cancer icd pregnan abort hiv disab",
        "dx",
    ),
    _topic(
        "a finding",
        "result results lab labs glucose insulin cholesterol pressure bp pulse viral cd genotype snp mutation score "
        "severity risk adl glu chol ldl hdl trig triglycerides albumin alb bili bilirubin creat creatinine hgb "
        "hemoglobin haemoglobin hematocrit platelet platelets protime inr ast alt alkphos phos sodium potassium "
        "calcium copper urea bun wbc rbc crp esr psa tsh ferritin bnp troponin ecg ascites edema oedema fever cough "
        "pain nausea spiders nodes",
        "gene hba hepato obstruct perfor adhere node",
        "result results",
    ),
    _topic(
        "care or treatment",
        "drug drugs procedure procedures proc visits nvisits ovisits novisits emergency stays los drg therapy "
        "insurance insure payer medicaid medicare inpatient outpatient dose trt rx",
        "medic prescri treat therap surg insur readmi hospitaliz hospitalis chemo",
        "formin statin pril olol sartan mycin cillin gliptin glitazone azole",
    ),
    _topic("an outcome", "outcome death died dead mortality", "surviv mortal"),
    _topic("a habit", "alcohol substance drinking nociga drinks", "smok tobac alc cigar", ""),
)
WEIGHTS = _topic("a survey weight", "perwt wtdper pwgtp wgtp wgt fnlwgt afnlwgt sampwt finalwt", "perwt wtmec wtint")
SURVEY = _set(
    "sampling sample survey person final household design analysis population replicate expansion probability "
    "sampled case"
)
BODY = _set("birth body kg kgs lb lbs pounds kilos gain loss height baby infant fetal molecular")
UNORDERED = _topic(
    "a code without order",
    "sex race rac afam hisp msp zip zipcode county state region puma fips tract msa urbrur relat code type id status "
    "industry indp workclass marry country language roof walls reasoncode",
    "gender ethnic hispan nation religi marit occup employ relation diagnos icd",
)
MEASURES = _set("age ages agep agelast income salary wage wages earnings height bmi pincp year years")
GROUPED = _set("group grp cat category class level band decile quintile quartile bin range bracket")
