"""Tables to try things on: a simulated health survey, and loaders for real public-use files.

Each table has its schema in a function of the same name that ends in ``_schema``. Modules are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.datasets.american_community import acs, acs_schema
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
    "acs",
    "acs_schema",
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

__getattr__, __dir__ = on_demand(__name__)
