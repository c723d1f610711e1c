"""Words in column names, and what they say about a column.

Whole words count (``age`` but not ``stage``), and for longer ones their beginnings (``educ``) and endings (``dx``). A
name in one piece that is made of known words alone (``totmed``, ``illdays``) is taken apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

__all__ = [
    "BODY",
    "CLINICAL_SHORT",
    "CODED",
    "CONDITION",
    "COORDINATES",
    "COUNTS",
    "DESCRIBING",
    "DESIGN",
    "DESIGN_STARTS",
    "DIAGNOSIS",
    "EVENT",
    "FACILITIES",
    "GROUPED",
    "HEIGHTS",
    "HOUSEHOLD",
    "HOUSEHOLD_NUMBERS",
    "IDENTIFIERS",
    "INSTITUTIONS",
    "LENGTHS",
    "MEASURES",
    "MODIFIERS",
    "NAME_PARTS",
    "NOT_NUMBERED",
    "NOT_PLACES",
    "NO_DATES",
    "NUMBER",
    "NUMBERED",
    "OF_ACCOUNTS",
    "PEOPLE",
    "PERSON",
    "PERSON_NUMBERS",
    "PERSON_TRAITS",
    "PLACE_OR_THING",
    "QUASI",
    "SENSITIVE",
    "SURVEY",
    "UNORDERED",
    "VISITS",
    "WEIGHTS",
    "Topic",
    "Trait",
    "glued",
    "is_institution",
    "parts_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Words that say what a column is about: whole ones, beginnings, endings, and long ones anywhere (``exhealth``)."""

    about: str
    words: frozenset[str]
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    never: frozenset[str] = frozenset()  # words that only look like it

    def covers(self, word: str) -> bool:
        """Whether `word` belongs to the topic."""
        if word in self.never:
            return False
        by_end = word.startswith(self.starts) or word.endswith(self.ends)
        return word in self.words or by_end or any(part in word for part in self.inside)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _topic(about: str, words: str, starts: str = "", ends: str = "", inside: str = "", never: str = "") -> Topic:
    parts = [tuple(given.split()) for given in (starts, ends, inside)]
    return Topic(about=about, words=_set(words), starts=parts[0], ends=parts[1], inside=parts[2], never=_set(never))


PERSON = _set(
    "patient person member subject participant beneficiary bene enrollee insured client respondent respond resident "
    "employee student individual mother mom mum child kid infant baby woman pat"
)
EVENT = _set("encounter visit claim admission record case row sample specimen household hh family order")
HOUSEHOLD = _set("household hh family fam dwelling")
HOUSEHOLD_NUMBERS = _set("hid hhid hhnum hhno householdid famid familyid duid serialno")
FACILITIES = _set("hospital hospitals clinic clinics ward wards")
NUMBER = _set("id ids identifier nbr number num no nr key uuid guid code")
_PERSON_SHORT = _set("pt sub subj pers resp part indiv")
PERSON_NUMBERS = frozenset(
    f"{person}{number}" for person in PERSON | _PERSON_SHORT for number in ("id", "nbr", "num", "nr", "no", "key")
) | {*("pid", "uid", "dupersid", "seqn", "mrn", "ssn", "nhsnumber", "usubjid", "idcode", "idno", "idnum")}
NUMBERED = r"[a-z]{2,}(?:id|idno|nbr|key)"
NOT_NUMBERED = _set(
    "acid amid aid avoid bid braid carotid carotenoid covid did druid fluid grid humid hybrid invalid key kid lipid "
    "liquid medicaid mid monkey opioid paid plasmid prepaid rapid rigid said sarcoid solid steroid thyroid turkey "
    "unpaid valid void hid duid fluoroid"
)
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
    _topic(
        "age or birth",
        "age ages agep agelast agegroup agegrp agecat agegr dob yob birthday",
        "birth dateofbirth",
        never="birthcontrol",
    ),
    _topic("sex or gender", "sex female male woman", "gender"),
    _topic(
        "origin",
        "race racethx rac afam hisp hispanx native language migrant black white asian foreign",
        "ethnic hispan nation citizen immigr",
        never="national nationally nationwide nationalpride",
    ),
    _topic("faith", "faith church", "religi"),
    _topic(
        "a place",
        "zip zipcode postcode postal plz country county city town village state region province district puma fips "
        "tract msa urban rural urbrur area precinct north south east west northeast midwest southwest northwest "
        "southeast smsa cbsa latitude longitude lat lon location neighborhood neighbourhood density",
        "geogr",
    ),
    _topic(
        "family and marriage",
        "married marry maristat msp civil hhcivil spouse widowed divorced household family famsize children noc npf "
        "relat parity numdep ndep dependents",
        "marit relation",
    ),
    _topic("education", "edu school schooling degree hideg college highsch edrecode", "educ"),
    _topic(
        "work",
        "job industry indp workclass profession veteran dvet military unemp work worker working retired hours overtime",
        "occup employ unemploy indus",
    ),
    _topic(
        "income",
        "income salary wage wages earnings pincp povcat povpip poverty faminc hhinc pov ses socioeconomic "
        "pension pensions welfare benefit benefits",
        "depriv",
    ),
    _topic("housing or tenure", "housing own rent tenure roof walls dwelling"),
    _topic("body size", "height bmi ht hgt hght stature bodyheight"),
    _topic("a date", "date year month day admitted discharged", "", "date"),
)
CONDITION = _set("state states")
"""Words that name a place or how somebody is: numbers under them may be either."""
DIAGNOSIS = _set("diag dx diagnosis onset")
"""Words for what was found, and for the day on which it was."""
COORDINATES = _set("latitude longitude lat lon long lng")
NOT_PLACES = tuple(topic for topic in QUASI if topic.about != "a place")
NO_DATES = tuple(topic for topic in QUASI if topic.about != "a date")
SENSITIVE = (
    _topic(
        "costs, payments or amounts",
        "cost costs charge charges payment payments paid price spending bill totexp amount coverage premium premiums "
        "deductible copay coinsurance claims nclaims oop selfpay allowed billed liability pmt pymt pmts amt billing "
        "chg chgs dollars spend spent",
        "totexp expend expens reimburs deduct coinsur",
        "cost costs charges pmt pymt amt",
    ),
    _topic(
        "wealth or debt",
        "savings debt debts assets wealth loan loans credit mortgage default defaulted arrears overdraft collateral "
        "deny denied approve approved reject rejected worth networth liquid balance balances lender borrow borrowed "
        "owe owes owed stocks bonds investments holdings installment installments lien liens funded overdue",
        "bankrupt delinq derog foreclos creditor mortg",
    ),
    _topic(
        "illness or health",
        "dx diag disease condition conditions hiv aids cancer stroke asthma covid disorder illness symptom symptoms "
        "chronic health mental comorbidity comorbidities sti std phstat mnhpoor drem dphy deye dear disability mgus "
        "copd ckd esrd chf cad chd cvd cva tia htn ptsd adhd angina anemia anaemia arthritis allergy allergies "
        "migraine headache headaches dementia sepsis ulcer lesion lesions melanoma lymphoma leukemia leukaemia "
        "myeloma injury injuries fracture fractures heart anxiety autism suicide overdose relapse relapsed remission "
        "recurrence ill sick rash itch aeterm aedecod aesev mhterm ami stemi nstemi dvt vte afib ards aki arf ibd ibs "
        "gerd osa apnea apnoea gout lupus sle pcos bph ocd pad pvd niddm dka uti flu influenza rsv cmv ebv hbv "
        "hcv hpv hsv tb gvhd agvhd cgvhd mutant mutants carrier carriers stillbirth miscarriage gravida menopause "
        "menopausal postmenopausal premature preterm acne eczema psoriasis burn burns wound wounds poisoning trauma "
        "concussion coma "
        "delirium shock amnesia vomiting consciousness unconscious blind blindness deaf deafness hearing vision sight "
        "eyesight frail frailty falls wheelchair "
        "limitation limitations limited nervous hopeless restless worthless sad lonely loneliness stress stressed "
        "distress mood thrombosis embolism aneurysm arrhythmia hernia gallstones appendicitis cataract glaucoma "
        "effusion effusions aorta aortic "
        "retinopathy neuropathy nephropathy thyroid goiter kidney liver lung lungs stomach colon breast skin brain "
        "bowel morbid morbidity comorb comorbid charlson elixhauser cci underlying complication complications adverse "
        "aes sae teae toxicity",
        "diagnos diabet hypert depress psych infect tumor tumour cancer icd pregnan abort hiv disab epilep seizure "
        "schizo bipolar alzheim parkins carcin metasta malign cardi coronary infarct ischem ischaem fibrill pneumon "
        "tubercul malaria hepatit cirrho osteopor obes hlth recur bleed hemorrh haemorrh suicid diq mcq dpq cvd "
        "invasi thromb embol arrhyth complicat toxic comorb miscarr menopaus anaemi anemi allerg asthma copd stroke "
        "sepsis septic pneu",
        "dx chronic itis osis aemia emia inoma rcoma eloma phoma pathy algia plegia penia uria rrhea rrhoea hlth "
        "infct disease syndrome obese",
        "health cancer diabet asthma pregnan depress arthrit infect abortion copd",
        "psychotherapy psychotherapist",
    ),
    _topic(
        "a finding, score or risk",
        "result results lab labs iq iqscore glucose insulin cholesterol pressure bp pulse viral cd genotype snp "
        "mutation score "
        "severity risk adl glu chol ldl hdl vldl trig triglycerides albumin alb bili tbil bilirubin creat creatinine "
        "hgb hemoglobin haemoglobin hematocrit haematocrit hct platelet platelets plt protime inr ast alt alp ggt ldh "
        "alkphos phos sodium potassium calcium copper urea bun urate wbc rbc wcc rcc mcv mchc crp esr psa tsh fsh hcg "
        "estradiol gleason ferritin ferr bnp troponin ecg ekg ascites edema oedema fever cough pain nausea spiders "
        "node nodes karno karnofsky ecog er pgr her receptor celltype mspike egfr gfr hba1c a1c sbp dbp sysbp diabp "
        "heartrate spo fev fvc gcs phq gad bdi hamd hads mmse moca cesd kappa lambda flc igg iga igm ige cd4 "
        "fibrinogen lactate amylase lipase cortisol vitd biopsy residual resid lbtest lborres vsorres apgar sperm afp "
        "cea hbsag hbeag antihcv osmo osmolality osmolarity gravity conductivity fbs fbg fpg rbs ogtt ntprobnp ddimer "
        "procalcitonin homocysteine folate transferrin tibc aptt ptt rdw mch mpv anc neut eos baso fio pao paco hco "
        "bicarb bicarbonate hco3 pao2 paco2 fio2 spo2 o2sat sao2 uacr upcr albuminuria cystatin testosterone "
        "prolactin progesterone shbg igf tnf crph hscrp resprate temperature saturation sofa saps apache meld "
        "childpugh nyha nihss rankin barthel madrs phq9 gad7 sf36 eq5d euroqol hrqol qol qaly fev1 dlco lvef ejection "
        "qtc qrs bmd tscore zscore tnm tstage nstage mstage ajcc figo ki67 brca brca1 brca2 kras histology laterality "
        "metastatic mri xray imaging scan scans radiograph echo angiogram reaction reactions marker markers biomarker "
        "dexa gait grip cognition cognitive memory hrv vo2max hematology microalbumin sputum smear titer titre elisa "
        "pcr rna dna gene genes allele haplotype methylation",
        "genet genom hba chol hepato obstruct perfor adhere histol receptor hemato haemato leuko lympho neutro thrombo "
        "triglyc cholest systol diastol antibod apolipo antigen urin serum plasma ferrit bloodp bloods lbx lbd bpx "
        "mitos chromosom neovascul "
        "radiolog radiograph oocyt embryo vagin prostat phenotyp genotyp respirat oximet spirom ultraso",
        "result results pain",
        "glucose insulin cholest creatin hemoglob haemoglob virus viral",
    ),
    _topic(
        "care, treatment, drugs or insurance",
        "drug drugs procedure procedures proc visits nvisits ovisits novisits emergency stays los drg therapy "
        "insurance insure payer payor medicaid medicare inpatient outpatient dose dosage rx laser placebo regimen "
        "transplant dialysis steroid steroids aspirin warfarin heparin vaccine vaccinated icu arm actarm cmtrt hmo "
        "discharge disposition admit hosp hospstay stay edvisit edvisits ervisit ervisits ipvis opvis ventilator "
        "ventilation vent intubated intubation extubation oxygen stent bypass cabg pci tavr ablation biopsies "
        "catheter csection cesarean caesarean epidural ivf mammogram mammography papsmear pap colonoscopy checkup "
        "dental dentist doctor physician nurse therapist counseling counselling referral referred hospice rehab "
        "nursing prescribed refills refill supply dispensed ndc hcpcs cpt apc mdc ccsr mechvent vasopressor "
        "vasopressors antihypertensive insulinuse bpmeds meds pill pills tablet tablets injection infusion "
        "transfusion anesthesia anaesthesia operation operations operated amputation uninsured coverage ppo payertype "
        "medigap hplan healthplan caregiver homecare unmet forgone delayed",
        "medic prescri drug treat therap surg insur readmi hospitaliz hospitalis chemo radioth hormon transfus vaccin "
        "antibiot opioid contracep immun trt prenat antenat anesth anaesth rxd hiq ventilat intub dialys cathet mammo "
        "colonosc flushot pneumov hivtst screen radiat irradiat birthcontrol psychother "
        "prophyla",
        "ectomy plasty scopy resection "
        "formin statin pril olol sartan mycin cillin gliptin glitazone azole azolam azepam "
        "fentanil fentanyl oxacin dipine triptan oxetine cycline semide thiazide gliflozin glutide xaban profen "
        "codone docvis hospvis pharvis visit visits",
        "hospitalis hospitaliz medicaid medicare",
    ),
    _topic(
        "an outcome",
        "outcome outcomes death deaths died dead deceased mortality fatal expired alive vital vitalstatus progression "
        "progressed responder remitted recovered recovery readmit readmitted",
        "surviv mortal deathe expire",
    ),
    _topic(
        "a habit",
        "alcohol substance drinking nociga drinks drinker habit habits cig cigs cannabis marijuana cocaine heroin "
        "gambling affairs affair sexual sexrisk condom drink drnk binge beer beers wine liquor spirits packyears "
        "packyrs packs vape vaping ecig ecigs ecigarette chew snuff snus opiate opiates opioids methadone amphetamine "
        "ecstasy lsd inject injecting needle needles partners npartners sexpartners intercourse exercise exercises "
        "physact sleep addict addicted addiction",
        "smok smk tobac alc cigar marij cannab smq alq drinksp drnk cocain heroin addict ecig",
        "alc",
        "alcohol tobacco ethanol smoking drnk",
        "calc calcs",
    ),
    _topic(
        "a crime or its punishment",
        "crime crimes prison jail parole probation priors sentence sentenced recidivism recid recidivist incarcerated "
        "victim victims assault violence violent abuse abused neglect police custody inmate pubrec",
        "arrest convict offens offenc felon incarcer misdemean crimin",
    ),
    _topic(
        "an opinion",
        "vote votes voted voting party partyid partisan ideology polviews lrscale opinion opinions attitude attitudes "
        "satisfied satisfaction lifesat jobsat jsat wellbeing trust conservative liberal democrat republican",
        "attitud satisf politic ideolog prejudic",
    ),
    _topic(
        "personality",
        "personality temperament extraversion introversion neuroticism conscientiousness agreeableness openness "
        "esteem selfesteem rumination",
        "intellig",
    ),
)

OF_ACCOUNTS = tuple(
    topic
    for topic in (*QUASI, *SENSITIVE)
    if topic.about in ("a place", "costs, payments or amounts", "wealth or debt", "care, treatment, drugs or insurance")
)
"""What may be said of an address or an account, which then is neither."""
_GLUED = {  # stems that mean something only as parts of a name in one piece
    "illness or health": "inj hyp dep anx ill sick dis diag cond symp lim limit",
    "a finding, score or risk": "glu ins gluc chol trig creat hemo plat bld sbp dbp lab",
    "care, treatment, drugs or insurance": "treat med meds vis hosp surg trt proc doc dent vacc shot ther presc",
    "wealth or debt": "loan mort cred debt asset",
    "costs, payments or amounts": "cost chrg pay pmt paid amt bill",
    "a habit": "drink alc cig smk tob subst",
}
MODIFIERS = _set(
    "tot total num number count cnt amt type cat grp group class days day dys yr yrs year years mon mons months wk "
    "wks weeks hrs max min mean avg med std log ln any ever never cur curr now prev prior past post pre base baseline "
    "fu first last fast test lev level levl stat status score scr index idx ind flag flg bin new old high low hi lo "
    "sys dia dur freq freqs time times age1 reason res per pct perc rate ratio change chg diff sum self fam mom dad "
    "hist phys ment gen soc sa code cd desc dt date own other oth add non w h n l m p f q"
)
_WHOLE = _set("current currently different parent parents")  # words that only seem to be made of others (cur, rent)
_LETTERS = frozenset("nlqmfpwh")  # of one letter, which begin a name: number of, logarithm of, mother's


@cache
def _stems() -> frozenset[str]:
    """What a name in one piece may be made of and is about something."""
    plain = {word for topic in (*QUASI, *SENSITIVE) for word in topic.words if len(word) >= 3}
    return frozenset(plain | {word for text in _GLUED.values() for word in text.split()})


def parts_of(word: str) -> tuple[str, ...]:
    """The known words that `word` is made of, if it is made of two or more and of nothing else; else none.

    Examples
    --------
    >>> parts_of("illdays"), parts_of("stage")
    (('ill', 'days'), ())
    """
    found = _split(word) if 5 <= len(word) <= 20 and word not in _WHOLE else None
    return found if found is not None and any(part in _stems() for part in found) else ()


@cache
def _split(word: str) -> tuple[str, ...] | None:
    """The fewest known parts, the longest first; None if there is something else."""
    best: tuple[str, ...] | None = None
    for end in range(len(word) - 1, 0, -1):
        head, tail = word[:end], word[end:]
        if not (head in _stems() or (head in MODIFIERS and (len(head) > 1 or head in _LETTERS))):
            continue
        rest = (tail,) if len(tail) > 1 and (tail in _stems() or tail in MODIFIERS) else _split(tail)
        if rest is not None and (best is None or 1 + len(rest) < len(best)):
            best = (head, *rest)
    return best


def glued(part: str) -> str | None:
    """What a stem that counts only within a longer name is about."""
    return next((about for about, text in _GLUED.items() if part in text.split()), None)


def is_institution(word: str) -> bool:
    """Whether a word is one for an institution, a plan or an area, also with a word for numbers behind it."""
    stem = re.sub(r"(?:idno|id|nbr|num|nr|no|key|code)$", "", word)
    return bool({word, stem} & INSTITUTIONS) or any(len(part) >= _LONG and part in word for part in INSTITUTIONS)


_LONG = 6  # letters from which on a word counts within another

CLINICAL_SHORT = _topic("a finding, score or risk", "hg hc hb na cl ca mg ph ck pt ptt temp hr rr map ef uric iron")
"""Short names of findings, which mean something else elsewhere: they count beside at least two plain ones."""
LENGTHS = _set("time times days weeks months duration dur followup futime survtime elapsed wait")
WEIGHTS = _topic("a survey weight", "perwt wtdper pwgtp wgtp fnlwgt afnlwgt sampwt finalwt", "perwt perwei wtmec wtint")
SURVEY = _set(
    "sampling sample survey person final household design analysis population replicate expansion probability sampled "
    "case"
)
HEIGHTS = _set("height bmi hgt ht hght stature")
DESIGN = _set("psu strat strata stratum")
DESIGN_STARTS = ("psu", "strat", "vstra", "varstr", "varpsu", "sdmv")
"""Names of strata and sampling units, beside which a weight is the survey's."""
BODY = _set("birth body kg kgs lb lbs pounds kilos gain loss height baby infant fetal molecular")
UNORDERED = _topic(
    "a code without order",
    "sex race rac afam hisp msp zip zipcode county state region puma fips tract msa urbrur relat code type id status "
    "industry indp workclass marry country language roof walls reasoncode hospital hospitals district commune village "
    "vill villnum cluster center centre site ward clinic provider provnum precinct occ stratum strata psu block "
    "institution inst comm community nr nbr",
    "gender ethnic hispan nationality religi marit occup employ relation diagnos icd",
    "psu strata stratum vstra",
)
MEASURES = _set("age ages agep agelast income salary wage wages earnings height bmi pincp year years")
GROUPED = _set("group grp cat category class level band decile quintile quartile bin range bracket")
Trait = Literal["sex", "birth", "origin", "age"]
PERSON_TRAITS: dict[Trait, frozenset[str]] = {
    "sex": _set("sex gender geschlecht geschl sexe genre sexo genero sesso genere geslacht plec kon"),
    "birth": _set(
        "dob yob birth birthday birthdate birthyear dateofbirth yearofbirth geburt geburtsdatum geburtsjahr gebdat "
        "gebjahr naissance nacimiento nascimento nascita geboorte geboortedatum geboortejaar urodzenia fodelse"
    ),
    "origin": _set("race racethx ethnicity ethnic ethnie raza etnia hautfarbe"),
    "age": _set("age ages agep agelast alter lebensalter edad idade eta leeftijd wiek alder"),
}
"""What one person keeps from row to row, or nearly; without accents."""
INSTITUTIONS = _set(
    "hospital hosp facility ward provider clinic insurer payer payor school practice region plan site center centre "
    "organization organisation "
    "institution institute department dept unit pharmacy physician doctor surgeon nurse employer company agency "
    "county district area store branch laboratory lab "
    "krankenhaus klinik klinikum station praxis kasse krankenkasse versicherer schule einrichtung zentrum standort "
    "bezirk landkreis arzt abteilung apotheke "
    "hopital clinique etablissement assureur mutuelle ecole cabinet medecin pharmacie "
    "clinica centro aseguradora escuela consultorio medico farmacia "
    "ospedale reparto assicurazione assicuratore scuola ambulatorio asl regione "
    "ziekenhuis afdeling praktijk verzekeraar zorgverzekeraar huisarts apotheek regio "
    "escola seguradora regiao szpital oddzial przychodnia szkola sjukhus vardcentral avdelning skola sygehus sykehus "
    "afdelning sairaala"
)
"""Those who treat, insure, teach or employ people, and areas; without accents."""
VISITS = _set(
    "visit visits encounter encounters episode episodes admission admissions stay stays claim claims order "
    "prescription specimen sample discharge referral appointment "
    "fallnr fallnummer fallid besuch aufenthalt sejour visite visita ingreso ricovero opname bezoek"
)
"""What happens to a person, and may be numbered; without accents."""
PEOPLE = PERSON | _set(
    "patienten patientin patientennr versicherte versicherten versicherter mitglied proband probanden teilnehmer "
    "patiente assure assuree paciente asegurado paziente assistito deelnemer verzekerde pacjent pacjenta pessoa "
    "persona personne people persons patients members subjects participants"
)
