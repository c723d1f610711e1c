"""Codes of clinical classifications, by the form of their values: diagnoses, drugs, services, tests.

Codes repeat: a few make up most cells. Where (nearly) all cells differ, such a form proves nothing: ``C001``, ``C002``,
``C003`` are numbers of charts as well as they could be diagnoses.
"""

from __future__ import annotations

import polars as pl

from shoal.schema.judgement.spelling import tidied

__all__ = ["clinical_codes"]

_FEWEST = 10  # different values, below which a form says nothing
_CELLS, _NEARLY_ALL = (
    20,
    0.9,
)  # cells from which on codes repeat, and the share of them that differ in no column of codes
_CLINICAL = {  # what it is, its shape, and the share of values that must have it: tags are rarer and prove more
    "drugs of ATC": (r"^[A-DGHJLMNPRSV]\d\d[A-Z]{2}(?:\d\d)?$", 0.8),
    "services of CPT or HCPCS": (r"^(?:[A-V]\d{4}|\d{4}[FTU])$", 0.95),
    "diagnoses of ICD-10": (r"^[A-TV-Z]\d[0-9AB](?:\.?[0-9A-Z]{1,4})?$", 0.8),
    "clinical terms of SNOMED CT": (
        r" \((?:disorder|finding|situation|procedure|morphologic abnormality|regime/therapy|person|event)\)$",
        0.4,
    ),
    "tests of LOINC": (r"^\d{3,5}-\d$", 0.8),
    "drugs of NDC": (r"^\d{4,5}-\d{3,4}-\d{1,2}$", 0.8),
    "procedures of ICD-10-PCS": (r"^[0-9BCDFGHX][0-9A-HJ-NP-Z]{6}$", 0.95),
    "codes of CCSR": (r"^[A-Z]{3}\d{3}$", 0.9),
    "illnesses or operations": (
        r"(?i)(?:itis|osis|emia|oma|opathy|algia|ectomy|plasty|oscopy|uria|plegia|failure|disease|disorder|syndrome|"
        r"infection|fracture|cancer|neoplasm|diabetes|hypertension|pneumonia|stroke|asthma|sepsis|injury|pregnancy)\b",
        0.4,
    ),
    "drugs": (
        r"(?i)(?:statin|pril|olol|sartan|mycin|cillin|gliptin|azole|azepam|azolam|oxacin|dipine|triptan|oxetine|"
        r"cycline|semide|thiazide|gliflozin|glutide|xaban|profen|codone|mab|tinib|ciclovir|vudine|insulin|metformin|"
        r"aspirin|warfarin|heparin|acetaminophen|paracetamol|prednisone|morphine)\b",
        0.4,
    ),
    "drugs with their strength": (r"(?i)\b\d+(?:\.\d+)? (?:mg|ml|mcg|unt|meq|actuat|hr)\b", 0.4),
}
_ICD9, _ICD9_MARKED = r"^(?:\d{3}|V\d\d|E\d{3})(?:\.\d{1,2})?$", r"^[VE]\d|\.\d"


def clinical_codes(distinct: pl.DataFrame) -> tuple[str, float] | None:
    """Which code system or kind of term most of the different texts are shaped like, and their share.

    None where (nearly) all cells differ.
    """
    values, rows = distinct["value"], int(distinct["count"].sum())
    if values.dtype != pl.String or len(values) < _FEWEST or (rows >= _CELLS and len(values) >= _NEARLY_ALL * rows):
        return None
    texts = tidied(values)
    for what, (pattern, enough) in _CLINICAL.items():
        share = _share(texts, pattern)
        if share >= enough:
            return what, share
    share = _share(texts, _ICD9)
    marked = share >= 0.8 and _share(texts, _ICD9_MARKED) >= 0.1  # three digits alone prove nothing
    return ("diagnoses of ICD-9", share) if marked else None


def _share(texts: pl.Series, pattern: str) -> float:
    return float(texts.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]
