"""Tables to try things on: a simulated health survey, and loaders for real public-use files.

Each table has its schema in a function of the same name that ends in ``_schema``. Modules are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.datasets.bulk_data import fhir, fhir_schema, write_fhir
    from shoal.datasets.discharges import discharge, discharge_schema
    from shoal.datasets.inpatients import inpatient, inpatient_schema
    from shoal.datasets.layouts import omop_schema, synpuf_schema
    from shoal.datasets.nmes import nmes1988, nmes1988_schema
    from shoal.datasets.outpatients import clinic, clinic_schema
    from shoal.datasets.panel import meps, meps_schema
    from shoal.datasets.pima import pima_like, pima_like_schema
    from shoal.datasets.survey import health_survey, health_survey_schema

__all__ = [
    "clinic",
    "clinic_schema",
    "discharge",
    "discharge_schema",
    "fhir",
    "fhir_schema",
    "health_survey",
    "health_survey_schema",
    "inpatient",
    "inpatient_schema",
    "meps",
    "meps_schema",
    "nmes1988",
    "nmes1988_schema",
    "omop_schema",
    "pima_like",
    "pima_like_schema",
    "synpuf_schema",
    "write_fhir",
]

_HOME = {
    "synpuf_schema": "layouts",
    "omop_schema": "layouts",
    "write_fhir": "bulk_data",
    "fhir_schema": "bulk_data",
    "fhir": "bulk_data",
    "clinic": "outpatients",
    "clinic_schema": "outpatients",
    "health_survey": "survey",
    "health_survey_schema": "survey",
    "discharge": "discharges",
    "discharge_schema": "discharges",
    "inpatient": "inpatients",
    "inpatient_schema": "inpatients",
    "meps": "panel",
    "meps_schema": "panel",
    "nmes1988": "nmes",
    "nmes1988_schema": "nmes",
    "pima_like": "pima",
    "pima_like_schema": "pima",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal.datasets' has no attribute '{name}'")
    value = getattr(import_module(f"shoal.datasets.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
