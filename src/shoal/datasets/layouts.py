"""Schema packs for linked health tables of a known layout: the OMOP common data model, and CMS's synthetic claims.

A pack gives each known field its role, says which of them are codes though they look like numbers, and how dates are
written. Fields that the files lack are left out of the schema; fields that the pack doesn't know have no role, and the
run stops until somebody gives them one (`also`).

Of OMOP the tables person, visit_occurrence, condition_occurrence and drug_exposure (CDM 5.4); of the CMS Data
Entrepreneurs' Synthetic Public Use File (DE-SynPUF) the beneficiary summary and the inpatient and outpatient claims.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from shoal.errors import InputError
from shoal.frame import enter
from shoal.schema import LinkedSchema

__all__ = ["LAYOUTS", "omop_schema", "pack_schema", "synpuf_schema"]

_Roles = Mapping[str, Sequence[str]]
_Also = Mapping[str, Mapping[str, str]]
_Pack = Mapping[str, tuple[dict[str, Any], _Roles]]
_OMOP: _Pack = {
    "person": (
        {"key": "person_id"},
        {
            "quasi": ("gender_concept_id", "year_of_birth", "race_concept_id", "ethnicity_concept_id"),
            "identifier": (
                *("month_of_birth", "day_of_birth", "birth_datetime", "location_id", "provider_id", "care_site_id"),
                *("person_source_value", "gender_source_value", "gender_source_concept_id", "race_source_value"),
                *("race_source_concept_id", "ethnicity_source_value", "ethnicity_source_concept_id"),
            ),
        },
    ),
    "visit_occurrence": (
        {"key": "visit_occurrence_id", "parent": "person", "link": "person_id", "summaries": ["count"]},
        {
            "time": ("visit_start_date",),
            "quasi": ("visit_concept_id",),
            "other": ("visit_type_concept_id", "admitted_from_concept_id", "discharged_to_concept_id"),
            "identifier": (
                *("visit_start_datetime", "visit_end_date", "visit_end_datetime", "provider_id", "care_site_id"),
                *("visit_source_value", "visit_source_concept_id", "admitted_from_source_value"),
                *("discharged_to_source_value", "preceding_visit_occurrence_id"),
            ),
        },
    ),
    "condition_occurrence": (
        {"key": "condition_occurrence_id", "parent": "person", "link": "person_id"},
        {
            "time": ("condition_start_date",),
            "sensitive": ("condition_concept_id",),
            "other": ("condition_type_concept_id", "condition_status_concept_id"),
            "identifier": (
                *("condition_start_datetime", "condition_end_date", "condition_end_datetime", "stop_reason"),
                *("provider_id", "visit_occurrence_id", "visit_detail_id", "condition_source_value"),
                *("condition_source_concept_id", "condition_status_source_value"),
            ),
        },
    ),
    "drug_exposure": (
        {"key": "drug_exposure_id", "parent": "person", "link": "person_id"},
        {
            "time": ("drug_exposure_start_date",),
            "sensitive": ("drug_concept_id",),
            "other": ("drug_type_concept_id", "refills", "quantity", "days_supply", "route_concept_id"),
            "identifier": (
                *("drug_exposure_start_datetime", "drug_exposure_end_date", "drug_exposure_end_datetime"),
                *("verbatim_end_date", "stop_reason", "sig", "lot_number", "provider_id", "visit_occurrence_id"),
                *("visit_detail_id", "drug_source_value", "drug_source_concept_id", "route_source_value"),
                "dose_unit_source_value",
            ),
        },
    ),
}
_CLAIM: _Roles = {
    "time": ("CLM_FROM_DT",),
    "quasi": ("ADMTNG_ICD9_DGNS_CD",),
    "sensitive": (
        "CLM_PMT_AMT",
        *(f"ICD9_DGNS_CD_{i}" for i in range(1, 11)),
        *(f"ICD9_PRCDR_CD_{i}" for i in range(1, 7)),
        *(f"HCPCS_CD_{i}" for i in range(1, 46)),
    ),
    "other": (
        *("SEGMENT", "CLM_UTLZTN_DAY_CNT", "CLM_DRG_CD", "NCH_PRMRY_PYR_CLM_PD_AMT", "CLM_PASS_THRU_PER_DIEM_AMT"),
        *("NCH_BENE_IP_DDCTBL_AMT", "NCH_BENE_PTA_COINSRNC_LBLTY_AM", "NCH_BENE_BLOOD_DDCTBL_LBLTY_AM"),
        *("NCH_BENE_PTB_DDCTBL_AMT", "NCH_BENE_PTB_COINSRNC_AMT"),
    ),
    "identifier": (
        *("CLM_ID", "CLM_THRU_DT", "PRVDR_NUM", "AT_PHYSN_NPI", "OP_PHYSN_NPI", "OT_PHYSN_NPI"),
        *("CLM_ADMSN_DT", "NCH_BENE_DSCHRG_DT"),
    ),
}
_ILLNESSES = (
    *("SP_ALZHDMTA", "SP_CHF", "SP_CHRNKIDN", "SP_CNCR", "SP_COPD", "SP_DEPRESSN", "SP_DIABETES", "SP_ISCHMCHT"),
    *("SP_OSTEOPRS", "SP_RA_OA", "SP_STRKETIA"),
)
_OF_A_CLAIM: dict[str, Any] = {"parent": "beneficiaries", "link": "DESYNPUF_ID", "summaries": ["count"]}
_SYNPUF: _Pack = {
    "beneficiaries": (
        {"key": "DESYNPUF_ID"},
        {
            "quasi": ("BENE_BIRTH_DT", "BENE_SEX_IDENT_CD", "BENE_RACE_CD", "SP_STATE_CODE"),
            "sensitive": (
                *_ILLNESSES,
                "BENE_ESRD_IND",
                *(f"{what}_{where}" for where in ("IP", "OP", "CAR") for what in ("MEDREIMB", "BENRES", "PPPYMT")),
            ),
            "other": (
                *("BENE_HI_CVRAGE_TOT_MONS", "BENE_SMI_CVRAGE_TOT_MONS", "BENE_HMO_CVRAGE_TOT_MONS"),
                "PLAN_CVRG_MOS_NUM",
            ),
            "identifier": ("BENE_DEATH_DT", "BENE_COUNTY_CD"),
        },
    ),
    "inpatient": (_OF_A_CLAIM, _CLAIM),
    "outpatient": (_OF_A_CLAIM, _CLAIM),
}
LAYOUTS: Mapping[str, _Pack] = {"omop": _OMOP, "synpuf": _SYNPUF}
"""The packs by name: for each table its key and link, and its fields by role."""
_CODES = re.compile(r".*_concept_id|SP_.*|.*_(CD|IND)|(ICD9|HCPCS).*_\d+|SEGMENT")
_COMPACT_DATES = re.compile(r"(CLM|BENE)_.*_DT")


def omop_schema(tables: Mapping[str, Any], also: _Also | None = None) -> LinkedSchema:
    """The schema of OMOP tables: years of birth, concepts and start dates stay, sources and end dates go.

    Parameters
    ----------
    tables
        The tables by their OMOP names, of any dataframe type; ``person`` and at least one other.
    also
        Roles of further fields: ``{"person": {"region": "quasi"}}``.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> person = pl.DataFrame({"person_id": [1], "gender_concept_id": [8507], "year_of_birth": [1980]})
    >>> visits = pl.DataFrame({"visit_occurrence_id": [1], "person_id": [1], "visit_start_date": ["2020-01-01"]})
    >>> shoal.datasets.omop_schema({"person": person, "visit_occurrence": visits})["person"].known
    ('gender_concept_id', 'year_of_birth')
    """
    return _packed(_OMOP, _fields(tables), also or {})


def synpuf_schema(tables: Mapping[str, Any], also: _Also | None = None) -> LinkedSchema:
    """The schema of CMS's synthetic claims: ``beneficiaries``, ``inpatient``, ``outpatient``; see `omop_schema`."""
    return _packed(_SYNPUF, _fields(tables), also or {})


def pack_schema(
    layout: str, fields: Mapping[str, Collection[str]] | None = None, also: _Also | None = None
) -> LinkedSchema:
    """The schema of a layout by its name, for tables with these fields; of all tables and fields, where none are given.

    Raises
    ------
    InputError
        Tables have fields that the pack doesn't know and `also` gives no role: all of them are named.
    """
    pack, roles = LAYOUTS[layout], also or {}
    there = {name: _known(pack[name][1], {}) for name in pack} if fields is None else fields
    undecided = [*_undecided(pack, there, roles)]
    if undecided:
        hint = "Give each a role: TABLE.FIELD=ROLE."
        raise InputError(layout, f"nobody decided about {', '.join(undecided)}", hint=hint)
    return _packed(pack, there, roles)


def _fields(tables: Mapping[str, Any]) -> dict[str, Collection[str]]:
    return {name: enter(table).columns for name, table in tables.items()}


def _known(roles: _Roles, also: Mapping[str, str]) -> dict[str, str]:
    """The role of each field of a table."""
    return {field: role for role, fields in roles.items() for field in fields} | dict(also)


def _packed(pack: _Pack, fields: Mapping[str, Collection[str]], also: _Also) -> LinkedSchema:
    """The known fields that the tables have, and those that somebody decided on."""
    made = {}
    for name in (name for name in pack if name in fields):
        links, roles = pack[name]
        known = _known(roles, also.get(name, {}))
        columns = {field: _words(field, known[field]) for field in known if field in fields[name]}
        made[name] = {**links, "columns": columns}
    return LinkedSchema.of(**made)


def _undecided(pack: _Pack, fields: Mapping[str, Collection[str]], also: _Also) -> Iterator[str]:
    """What the tables have and nobody gave a role."""
    for name in (name for name in pack if name in fields):
        links, roles = pack[name]
        known = {*_known(roles, also.get(name, {})), links.get("key"), links.get("link")}
        yield from (f"{name}.{field}" for field in fields[name] if field not in known)


def _words(field: str, role: str) -> dict[str, Any]:
    """Role of a field; a code is no number though it looks like one, and CMS writes dates as 20080131."""
    if role == "identifier":
        return {"role": role}
    if _CODES.fullmatch(field):
        return {"role": role, "kind": "nominal"}
    return {"role": role} | ({"format": "YYYYMMDD"} if _COMPACT_DATES.fullmatch(field) else {})
