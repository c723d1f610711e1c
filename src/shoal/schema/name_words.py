"""Words in column names, and what they say about a column.

Whole words count (``age`` but not ``stage``), and for longer ones their beginnings (``educ``) and endings (``dx``).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BODY",
    "CLINICAL_SHORT",
    "CODED",
    "COUNTS",
    "DESCRIBING",
    "EVENT",
    "GROUPED",
    "IDENTIFIERS",
    "LENGTHS",
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
    """Words that say what a column is about: whole ones, beginnings, endings, and long ones anywhere (``exhealth``)."""

    about: str
    words: frozenset[str]
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()

    def covers(self, word: str) -> bool:
        """Whether `word` belongs to the topic."""
        by_end = word.startswith(self.starts) or word.endswith(self.ends)
        return word in self.words or by_end or any(part in word for part in self.inside)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _topic(about: str, words: str, starts: str = "", ends: str = "", inside: str = "") -> Topic:
    parts = [tuple(given.split()) for given in (starts, ends, inside)]
    return Topic(about=about, words=_set(words), starts=parts[0], ends=parts[1], inside=parts[2])


PERSON = _set(
    "patient person member subject participant beneficiary bene enrollee insured client respondent respond resident "
    "employee student individual mother mom mum child kid infant baby woman pat"
)
EVENT = _set("encounter visit claim admission record case row sample specimen household hh family order")
NUMBER = _set("id ids identifier nbr number num no nr key uuid guid code")
PERSON_NUMBERS = frozenset(f"{person}{number}" for person in PERSON for number in ("id", "nbr", "no", "key")) | {
    *("pid", "dupersid", "seqn", "mrn", "ssn", "nhsnumber", "usubjid", "subjid", "idcode", "idno", "idnum")
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
        "cost costs charge charges payment payments paid price spending bill totexp amount coverage premium premiums "
        "deductible copay coinsurance claims nclaims",
        "totexp expend expens reimburs",
        "cost costs charges",
    ),
    _topic(
        "wealth or debt",
        "savings debt debts assets wealth loan loans credit mortgage default defaulted arrears overdraft collateral "
        "deny denied",
        "bankrupt delinq derog",
    ),
    _topic(
        "an illness",
        "dx diag disease condition conditions hiv aids cancer stroke asthma covid disorder illness symptom symptoms "
        "chronic health mental comorbidity comorbidities sti std phstat mnhpoor drem dphy deye dear disability mgus "
        "copd ckd esrd chf cad chd cvd cva tia htn ptsd adhd angina anemia anaemia arthritis allergy allergies "
        "migraine headache headaches dementia sepsis ulcer lesion lesions melanoma lymphoma leukemia leukaemia myeloma "
        "injury injuries fracture fractures heart anxiety autism suicide overdose relapse relapsed remission "
        "recurrence ill sick rash itch aeterm aedecod aesev mhterm",
        "diagnos diabet hypert depress psych infect tumor tumour cancer icd pregnan abort hiv disab epilep seizure "
        "schizo bipolar alzheim parkins carcin metasta malign cardi coronary infarct ischem ischaem fibrill pneumon "
        "tubercul malaria hepatit cirrho osteopor obes hlth recur bleed hemorrh haemorrh suicid diq mcq dpq cvd",
        "dx chronic itis osis aemia emia inoma rcoma eloma phoma pathy algia plegia penia uria rrhea rrhoea hlth "
        "infct disease syndrome obese",
        "health cancer diabet asthma pregnan depress arthrit infect abortion",
    ),
    _topic(
        "a finding",
        "result results lab labs glucose insulin cholesterol pressure bp pulse viral cd genotype snp mutation score "
        "severity risk adl glu chol ldl hdl vldl trig triglycerides albumin alb bili tbil bilirubin creat creatinine "
        "hgb hemoglobin haemoglobin hematocrit haematocrit hct platelet platelets plt protime inr ast alt alp ggt ldh "
        "alkphos phos sodium potassium calcium copper urea bun urate wbc rbc wcc rcc mcv mchc crp esr psa tsh fsh hcg "
        "estradiol gleason ferritin ferr bnp troponin ecg ekg ascites edema oedema fever cough pain nausea spiders "
        "node nodes karno karnofsky ecog er pgr her receptor celltype mspike egfr gfr hba1c a1c sbp dbp sysbp diabp "
        "heartrate spo fev fvc gcs phq gad bdi hamd hads mmse moca cesd kappa lambda flc igg iga igm ige cd4 "
        "fibrinogen lactate amylase lipase cortisol vitd biopsy residual resid lbtest lborres vsorres apgar sperm",
        "gene hba hepato obstruct perfor adhere histol receptor hemato haemato leuko lympho neutro thrombo "
        "triglyc cholest systol diastol antibod apolipo antigen urin serum plasma ferrit bloodp bloods lbx lbd bpx "
        "oocyt embryo vagin prostat",
        "result results pain",
        "glucose insulin cholest creatin hemoglob haemoglob virus viral",
    ),
    _topic(
        "care or treatment",
        "drug drugs procedure procedures proc visits nvisits ovisits novisits emergency stays los drg therapy "
        "insurance insure payer payor medicaid medicare inpatient outpatient dose dosage rx laser placebo regimen "
        "transplant dialysis steroid steroids aspirin warfarin heparin vaccine vaccinated icu arm actarm cmtrt hmo",
        "medic prescri treat therap surg insur readmi hospitaliz hospitalis chemo radio hormon transfus vaccin "
        "antibiot opioid contracep immun trt prenat antenat anesth anaesth rxd hiq",
        "ectomy plasty scopy formin statin pril olol sartan mycin cillin gliptin glitazone azole azolam azepam "
        "fentanil fentanyl oxacin dipine triptan oxetine cycline semide thiazide gliflozin glutide xaban profen "
        "codone docvis hospvis pharvis visit visits",
        "hospitalis hospitaliz medicaid medicare",
    ),
    _topic("an outcome", "outcome death died dead mortality fatal", "surviv mortal"),
    _topic(
        "a habit",
        "alcohol substance drinking nociga drinks drinker habit habits cig cigs cannabis marijuana cocaine heroin "
        "gambling affairs sexual condom",
        "smok tobac alc cigar marij cannab smq alq drinksp",
        "alc",
        "alcohol tobacco ethanol smoking",
    ),
    _topic(
        "a crime or its punishment",
        "crime crimes prison jail parole probation priors",
        "arrest convict offens offenc felon",
    ),
    _topic("a political opinion", "vote votes voted voting party partyid partisan ideology polviews lrscale"),
)
CLINICAL_SHORT = _topic("a finding", "hg hc hb na cl ca mg ph ck pt ptt temp hr rr map ef uric iron")
"""Short names of findings, which mean something else elsewhere: they count beside at least two plain ones."""
LENGTHS = _set("time times days weeks months duration dur followup futime survtime elapsed wait")
WEIGHTS = _topic("a survey weight", "perwt wtdper pwgtp wgtp fnlwgt afnlwgt sampwt finalwt", "perwt perwei wtmec wtint")
SURVEY = _set(
    "sampling sample survey person final household design analysis population replicate expansion probability "
    "sampled case"
)
BODY = _set("birth body kg kgs lb lbs pounds kilos gain loss height baby infant fetal molecular")
UNORDERED = _topic(
    "a code without order",
    "sex race rac afam hisp msp zip zipcode county state region puma fips tract msa urbrur relat code type id status "
    "industry indp workclass marry country language roof walls reasoncode hospital hospitals district commune village "
    "vill villnum cluster center centre site ward clinic provider provnum precinct occ stratum strata psu block "
    "institution inst comm community nr nbr",
    "gender ethnic hispan nation religi marit occup employ relation diagnos icd",
)
MEASURES = _set("age ages agep agelast income salary wage wages earnings height bmi pincp year years")
GROUPED = _set("group grp cat category class level band decile quintile quartile bin range bracket")
