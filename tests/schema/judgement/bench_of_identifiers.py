"""Columns that name people and columns that don't, labelled by hand before the rules for them were written.

`NAMING` are numbers of people and records, names, and ways to reach somebody, made by hand: under telling names in
several languages and under a name that says nothing. `NAMING_SETS` are columns of the data sets of R packages that hold
numbers of people or names. `OTHERS` and `OTHER_SETS` hold what looks like it and is none: codes of classifications,
drugs, hospitals, products, occupations, countries, diagnoses, towns, amounts, counts, dates, levels.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from shoal.rng import stream

__all__ = ["NAMING", "NAMING_SETS", "OTHERS", "OTHER_SETS"]

N = 400


def _words(text: str) -> list[str]:
    return text.split()


GIVEN = _words(
    "Elif Chinedu Maria João Łukasz Anneliese Björn Priya Kwame Siobhán Giulia Mehmet Fatima Oluwaseun Ingrid "
    "Rajesh Nguyen Dmitri Svetlana Ahmed Leila Thandiwe Carlos Beatriz Hans Gertrud Pierre Amélie Niamh Yuki "
    "Haruto Wei Min-jun Aisha Tomasz Zofia Lars Freja Mateo Lucía Deborah Jerome Latisha Brandon Margaret Walter "
    "Edith Harold Simone Pavel"
)
FAMILY = _words(
    "Okafor Smith Müller Novák Fernández da-Silva O'Connor Yılmaz Kowalczyk Nilsson Patel Mensah Rossi Dubois "
    "Nakamura Kim Nguyen Ivanova Haddad Dlamini Johnson Garcia Schneider Jansen van-Dijk Petrov Papadopoulos "
    "Horvat Popescu Andersen Virtanen Murphy Campbell Baker Washington Hernandez Lopez Weber Fischer Moreau "
    "Lefebvre Costa Santos Ali Hussein Chowdhury Sharma Gupta Tanaka Sato"
)
CYRILLIC = _words("Иван Мария Дмитрий Светлана Алексей Ольга Николай Елена Сергей Анна")
CYRILLIC_FAMILY = _words("Иванов Петрова Смирнов Кузнецова Попов Васильев Соколова Михайлов Новикова Фёдоров")
GREEK = _words("Γιώργος Μαρία Νίκος Ελένη Δημήτρης Κατερίνα Κώστας Άννα Παναγιώτης Σοφία")
GREEK_FAMILY = _words(
    "Παπαδόπουλος Γεωργίου Νικολάου Δημητρίου Ιωάννου Παππάς Βασιλείου Αντωνίου Οικονόμου Καραγιάννης"
)
ARABIC = _words("محمد فاطمة أحمد عائشة علي خديجة عمر مريم خالد ليلى")
ARABIC_FAMILY = _words("حداد منصور النجار الخطيب الشامي العلي السيد حسن إبراهيم يوسف")
CHINESE = _words(
    "王伟 李娜 张敏 刘洋 陈静 杨帆 赵磊 黄丽 周杰 吴芳 徐强 孙婷 "
    "胡军 朱琳 高峰 林雪 何勇 郭涛 马超 罗兰 梁晨 宋佳 郑爽 谢娜"
)
KOREAN = _words(
    "김민준 이서연 박지훈 최수빈 정하은 강도윤 조예린 윤지호 장서준 임지우 한유진 오세훈 서동현 신미경 권상우 황정민"
)


def _draw(n: int, low: int, high: int, what: str) -> list[int]:
    """Different whole numbers in no order."""
    return [int(low + i) for i in stream(35, what).permutation(high - low)[:n]]


def _spread(n: int, low: int, high: int, what: str) -> list[int]:
    """Different whole numbers out of many."""
    return sorted(set(stream(35, what).integers(low, high, size=2 * n).tolist()), key=lambda i: i * 7919 % 104_729)[:n]


def _people(
    n: int, write: Callable[[str, str], str], given: list[str] = GIVEN, family: list[str] = FAMILY
) -> list[str]:
    """Names of different people."""
    pairs = [(given[i % len(given)], family[(i * 7 + i // len(given)) % len(family)]) for i in range(n)]
    return [write(one.replace("-", " "), other.replace("-", " ")) for one, other in pairs]


def _check_digit(i: int) -> int:
    return (10 - sum(int(d) * (1 + (k % 2) * 2) for k, d in enumerate(str(i)))) % 10


def _hex(i: int, length: int) -> str:
    return f"{i * 0x9E3779B97F4A7C15 % 2**128 ^ (i + 1) ** 5 * 0xC2B2AE3D27D4EB4F165667B19E3779F9 % 2**128:032x}"[
        :length
    ]


def _base64(i: int) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(bytes.fromhex(_hex(i + 3, 24))).decode()


LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
SAID = ("was ok", "seen, no change", "called back", "not at home", "feels better", "came late")

NAMING: dict[str, tuple[str, list[object]]] = {
    # numbers of people, cases and records
    "German patients": ("Patientennr", [f"P{i:05d}" for i in _draw(N, 1, 401, "a")]),
    "German cases": ("Fallnummer", [f"F{i:04d}" for i in _draw(N, 1, 401, "b")]),
    "charts": ("chart", [f"C{i:03d}" for i in range(1, 401)]),
    "charts, two visits each": ("chart", [f"C{i:03d}" for i in range(1, 201)] * 2),
    "charts under no name, two visits": ("x7", [f"C{i:04d}" for i in range(1, 201)] * 2),
    "German files": ("Aktenzeichen", [f"{i:04d}/{19 + i % 5}" for i in _draw(N, 1, 4000, "c")]),
    "German insured": ("Versichertennummer", [f"{LETTERS[i % 23]}{i:09d}" for i in _spread(N, 10**8, 10**9, "d")]),
    "German insured, short": ("VersNr", [str(i) for i in _spread(N, 10**9, 10**10, "d2")]),
    "French files": ("n_dossier", _draw(N, 10_000, 99_999, "e")),
    "French files, spelled": ("Numéro de dossier", [f"{i:06d}" for i in _draw(N, 1, 9_999, "e2")]),
    "Spanish histories": ("historia", _draw(N, 1_000, 90_000, "f")),
    "Spanish histories, short": ("NHC", _draw(N, 1_000, 900_000, "f2")),
    "Spanish files": ("expediente", [f"EXP-{i}" for i in _draw(N, 100, 9_000, "f3")]),
    "French staff": ("matricule", [f"{i:07d}" for i in _spread(N, 0, 10**7, "g")]),
    "Dutch patients": ("patiëntnummer", _draw(N, 200_000, 300_000, "h")),
    "Dutch citizens": ("BSN", _spread(N, 10**8, 10**9, "h2")),
    "Italian charts": ("cartella_clinica", [f"{i}" for i in _draw(N, 1, 50_000, "h3")]),
    "Portuguese users": ("numero_utente", _spread(N, 10**8, 10**9, "h4")),
    "Swedish persons": ("personnummer", [f"{500101 + i % 28}-{i:04d}" for i in _draw(N, 1, 9_999, "h5")]),
    "Polish persons": ("PESEL", [f"{i:011d}" for i in _spread(N, 10**9, 10**11, "h6")]),
    "numbers as floats": ("patient_id", [float(i) for i in _draw(N, 10_000, 99_999, "i")]),
    "numbers as floats, no name": ("x7", [float(i) for i in _spread(N, 10**6, 10**7, "i2")]),
    "numbers of mixed length": ("pat_no", _draw(N, 1, 90_000, "j")),
    "numbers of a study": ("subject_id", [f"S-{i % 4 + 1:02d}-{i:04d}" for i in range(1, N + 1)]),
    "three visits each": ("PATNO", [i for i in _draw(130, 1_000, 9_999, "k") for _ in range(3)]),
    "ten visits each": ("patient_id", [i for i in _draw(40, 1_000, 9_999, "k2") for _ in range(10)]),
    "a run under no name": ("x7", _draw(N, 100_001, 100_401, "l")),
    "a run from one, in no order": ("x7", _draw(N, 1, 401, "l2")),
    "eight digits under no name": ("x7", _spread(N, 10**7, 10**8, "m")),
    "digits with zeros in front": ("x7", [f"{i:08d}" for i in _spread(N, 0, 10**8, "m2")]),
    "digits with a check digit": ("x7", [f"{i}-{_check_digit(i)}" for i in _draw(N, 10_000, 99_999, "n")]),
    "dashes": ("mrn", [f"{i // 1000:03d}-{i % 1000:03d}" for i in _spread(N, 10_000, 900_000, "o")]),
    "dashes under no name": ("x7", [f"{i // 1000:03d}-{i % 1000:03d}" for i in _spread(N, 10_000, 900_000, "o2")]),
    "site and number": ("x7", [f"BER/{2019 + i % 4}/{i:05d}" for i in _draw(N, 1, 9_000, "p")]),
    "accessions": ("Accession", [f"A{19 + i % 4}-{i:05d}" for i in _draw(N, 1, 90_000, "p2")]),
    "specimens": ("sample_no", [f"{LETTERS[i % 23]}{LETTERS[i * 3 % 23]}{i}" for i in _draw(N, 1_000, 9_999, "p3")]),
    "licence plates": ("x7", [f"B-{LETTERS[i % 23]}{LETTERS[i // 23 % 23]} {i}" for i in _draw(N, 100, 9_999, "q")]),
    "UUID": ("x7", [str(UUID(int=int(_hex(i, 32), 16))) for i in range(N)]),
    "UUID without dashes": ("x7", [_hex(i, 32) for i in range(N)]),
    "UUID, two visits": ("x7", [_hex(i, 32) for i in range(N // 2)] * 2),
    "short hashes": ("x7", [_hex(i, 10) for i in range(N)]),
    "SHA-1 in capitals": ("key", [(_hex(i, 32) + _hex(i + 9, 8)).upper() for i in range(N)]),
    "base64": ("x7", [_base64(i) for i in range(N)]),
    "IBAN": ("x7", [f"DE{i % 90 + 10}{i:018d}" for i in _spread(N, 10**16, 10**17, "r")]),
    "IBAN with blanks": (
        "konto",
        [f"GB{i % 90 + 10} WEST {i // 10**4 % 10**4:04d} {i % 10**4:04d} 00" for i in _spread(N, 1, 10**8, "r2")],
    ),
    "user names": ("login", [f"{FAMILY[i % 50].lower()}{i}" for i in range(N)]),
    # ways to reach somebody
    "e-mail": ("x7", [f"p{i}@clinic.org" for i in range(N)]),
    "e-mail with blanks": ("x7", [f" p{i} @ clinic.org " for i in range(N)]),
    "e-mail, a few": ("x7", [f"p{i}@clinic.org" for i in range(N // 2)] * 2),
    "telephone": ("x7", [f"(617) 555-{1000 + i}" for i in range(N)]),
    "telephone abroad": ("x7", [f"+49 30 {901820 + i}" for i in range(N)]),
    "telephone as floats": ("phone", [float(6_175_550_000 + i * 37) for i in range(N)]),
    "German telephone": ("Telefon", [f"030/{4_500_000 + i * 911}" for i in range(N)]),
    "French telephone": (
        "x7",
        [f"06 {i % 90 + 10} {i * 7 % 90 + 10} {i * 3 % 90 + 10} {i // 4 % 90 + 10}" for i in range(N)],
    ),
    # names of people
    "names": ("x7", _people(80, lambda g, f: f"{g} {f}")),
    "names, German": ("Name", _people(80, lambda g, f: f"{g} {f}")),
    "names, several visits": ("x7", _people(80, lambda g, f: f"{g} {f}") * 5),
    "family name first": ("x7", _people(80, lambda g, f: f"{f.upper()}, {g}")),
    "names in capitals": ("x7", _people(80, lambda g, f: f"{g} {f}".upper())),
    "names in small letters": ("x7", _people(80, lambda g, f: f"{g} {f}".lower())),
    "names with a title": ("x7", _people(80, lambda g, f: f"Dr. {g[0]}. {f}")),
    "names with an initial": ("x7", _people(80, lambda g, f: f"{g[0]}. {f}")),
    "family name and initial": ("x7", _people(80, lambda g, f: f"{f}, {g[0]}.")),
    "names with two given names": ("x7", _people(80, lambda g, f: f"{g} {g[0]}. {f}")),
    "Mr and Mrs": ("doctor", _people(40, lambda g, f: f"{'Mr' if len(g) % 2 else 'Mrs'} {f}")),
    "Frau und Herr": ("x7", _people(40, lambda g, f: f"{'Herr' if len(g) % 2 else 'Frau'} {f}")),
    "Cyrillic names": ("x7", _people(80, lambda g, f: f"{f} {g}", CYRILLIC, CYRILLIC_FAMILY)),
    "Greek names": ("x7", _people(80, lambda g, f: f"{g} {f}", GREEK, GREEK_FAMILY)),
    "Arabic names": ("x7", _people(80, lambda g, f: f"{g} {f}", ARABIC, ARABIC_FAMILY)),
    "Chinese names": ("x7", CHINESE * 3),
    "Korean names": ("x7", KOREAN * 3),
    "given names": ("Vorname", GIVEN * 4),
    "given names under no name": ("x7", GIVEN * 2),
    "family names": ("Nachname", FAMILY * 3),
    "family names, French": ("nom_de_famille", FAMILY * 3),
    "names and years": ("x7", _people(80, lambda g, f: f"{g} {f} {1930 + len(g) * len(f) % 60}")),
    "initials and year of birth": ("x7", [f"{LETTERS[i % 23]}{LETTERS[i * 5 % 23]}{1930 + i % 60}" for i in range(N)]),
    # names within texts
    "short texts with names": ("remark", _people(80, lambda g, f: f"Mr {f} {SAID[len(g) % 6]}")),
    "texts that repeat": ("x7", _people(60, lambda g, f: f"pt {f} {SAID[len(f) % 6]}") * 2),
    "texts with a title": ("x7", _people(60, lambda g, f: f"seen by Dr {f}")),
    "texts with whole names": ("x7", _people(80, lambda g, f: f"{g} {f} {SAID[len(g) % 6]}")),
    "some texts with names": ("x7", [*_people(60, lambda g, f: f"Mrs {f} {SAID[len(g) % 6]}"), *SAID * 30]),
    "German texts": ("Bemerkung", _people(60, lambda g, f: f"Frau {f} war da")),
    # others
    "plain notes": ("x7", [f"The person number {i} came on foot, and went home again" for i in range(40)]),
}
"""Each with the name of its column and its cells; numbers of people must be judged so whatever else is beside them."""

NAMING_SETS: tuple[tuple[str, str, str], ...] = (
    ("gt", "rx_adsl", "USUBJID"),
    ("gt", "rx_addv", "USUBJID"),
    ("carData", "MplsStops", "idNum"),
    ("openintro", "seattlepets", "license_number"),
    ("Stat2Data", "BlueJays", "BirdID"),
    ("Stat2Data", "Hawks", "BandNumber"),
    ("Stat2Data", "Titanic", "Name"),
    ("Stat2Data", "AHCAvote2017", "Member"),
    ("Stat2Data", "ThomasConfirmation", "Senator"),
    ("Stat2Data", "AlitoConfirmation", "Senator"),
    ("Stat2Data", "CAFE", "Senator"),
    ("Stat2Data", "Kershaw", "Batter"),
    ("Stat2Data", "SampleFG", "FirstName"),
    ("Stat2Data", "SampleFG", "LastName"),
    ("stevedata", "Presidents", "president"),
    ("stevedata", "fakeAPI", "uid"),
    ("stevedata", "anes_prochoice", "caseid"),
    ("openintro", "piracy", "name"),
    ("openintro", "mlbbat10", "name"),
    ("openintro", "mlb_players_18", "name"),
    ("openintro", "mlb", "player"),
    ("openintro", "nyc_marathon", "name"),
    ("openintro", "oscars", "name"),
    ("openintro", "president", "potus"),
    ("openintro", "nba_players_19", "first_name"),
    ("openintro", "nba_players_19", "last_name"),
    ("openintro", "get_it_dunn_run", "first_name"),
    ("openintro", "london_murders", "forename"),
    ("openintro", "resume", "firstname"),
    ("bakeoff", "bakers", "baker_full"),
    ("bakeoff", "bakers", "baker_last"),
    ("fpp3", "boston_marathon", "Champion"),
    ("modeldata", "tate_text", "artist"),
    ("mosaicData", "KidsFeet", "name"),
    ("lmec", "UTIdata", "Patid"),
    ("medicaldata", "covid_testing", "subject_id"),
    ("medicaldata", "supraclavicular", "subject"),
    ("wooldridge", "voucher", "studyid"),
    ("mlmRev", "Chem97", "student"),
    ("openintro", "duke_forest", "url"),
    ("gt", "towny", "website"),
)
"""Package, data set and column."""


def _codes(form: Callable[[int], str], n_codes: int, n: int = 3 * N) -> list[object]:
    """Codes as diagnoses are: a few that most people have and many that few have."""
    made = [form(i) for i in range(n_codes)]
    at = stream(36, form(1)).pareto(1.1, size=n)
    return [made[min(int(i * 3), n_codes - 1)] for i in at]


def _skewed(n: int, middle: float, what: str) -> list[object]:
    return [int(middle * x) for x in stream(36, what).lognormal(0, 0.9, size=n)]


def _pick(words: str, times: int = 4) -> list[object]:
    return [word.strip() for word in words.split(";")] * times


DRUGS = (
    "Metformin; Atorvastatin; Lisinopril; Amlodipine; Omeprazole; Losartan; Gabapentin; Sertraline; Simvastatin; "
    "Montelukast; Escitalopram; Rosuvastatin; Bupropion; Furosemide; Pantoprazole; Trazodone; Duloxetine; "
    "Fluoxetine; Citalopram; Prednisone; Tamsulosin; Clopidogrel; Warfarin; Allopurinol; Carvedilol; Meloxicam; "
    "Clonazepam; Lyrica"
)
DRUGS_OF_TWO_WORDS = (
    "Insulin Glargine; Insulin Lispro; Metoprolol Succinate; Metoprolol Tartrate; Potassium Chloride; Folic Acid; "
    "Valproic Acid; Albuterol Sulfate; Ferrous Sulfate; Magnesium Oxide; Calcium Carbonate; Vitamin D; Sodium "
    "Chloride; Lithium Carbonate; Morphine Sulfate; Zinc Oxide; Hyoscine Butylbromide; Isosorbide Mononitrate; "
    "Amoxicillin Clavulanate; Losartan Potassium; Diclofenac Sodium; Tiotropium Bromide; Fluticasone Propionate; "
    "Mometasone Furoate"
)
HOSPITALS = (
    "St. Mary's Hospital; Mercy General Hospital; Charité Berlin; Mount Sinai; Johns Hopkins Hospital; Mayo "
    "Clinic; Cleveland Clinic; Saint Thomas Hospital; Rush University Medical Center; Lincoln Medical Center; "
    "King's College Hospital; Royal Victoria Infirmary; Good Samaritan Hospital; Jackson Memorial Hospital; "
    "Hôpital Saint-Louis; Klinikum Rechts der Isar; Marienhospital; Elisabeth Krankenhaus; Princess Margaret "
    "Hospital; Queen Elizabeth Hospital; Brigham Hospital; Duke Regional Hospital; Albert Einstein Medical "
    "Center; San Juan de Dios"
)
OCCUPATIONS = (
    "Registered Nurse; Truck Driver; Software Engineer; Primary School Teacher; Police Officer; Sales Manager; "
    "Civil Engineer; Farm Worker; Office Clerk; Bus Driver; Retail Salesperson; Physician; Lawyer; Carpenter; "
    "Electrician; Chef; Accountant; Social Worker; Pharmacist; Dental Assistant; Fire Fighter; Data Analyst; "
    "Security Guard; Hair Dresser"
)
DIAGNOSES = (
    "Acute Bronchitis; Chronic Bronchitis; Heart Failure; Atrial Fibrillation; Type 2 Diabetes; Essential "
    "Hypertension; Hip Fracture; Graves Disease; Crohn Disease; Parkinson Disease; Alzheimer Disease; Hodgkin "
    "Lymphoma; Down Syndrome; Turner Syndrome; Bell Palsy; Acute Pancreatitis; Renal Failure; Iron Deficiency; "
    "Breast Cancer; Wilson Disease; Addison Disease; Kidney Stone; Lyme Disease; Viral Hepatitis; Back Pain; "
    "Raynaud Syndrome"
)
COMPANIES = (
    "Johnson & Johnson; Pfizer; Novartis; Merck; Eli Lilly; Abbott Laboratories; Bristol Myers Squibb; Boehringer "
    "Ingelheim; Baxter; Becton Dickinson; Boston Scientific; Stryker; Blue Cross; Kaiser Permanente; United "
    "Health; Cigna; Humana; Aetna; Allianz; Techniker Krankenkasse; Barmer; Philip Morris; Procter & Gamble; "
    "General Electric"
)
CARS = (
    "Ford Focus; Ford Fiesta; Honda Civic; Honda Accord; Toyota Corolla; Toyota Camry; Nissan Leaf; Renault Clio; "
    "Renault Megane; Opel Astra; Opel Corsa; Fiat Panda; Alfa Romeo; Aston Martin; Seat Leon; Skoda Octavia; "
    "Mercedes Benz; Kia Rio; Chevrolet Malibu; Dodge Charger; Lancia Delta; Volvo Amazon; Audi Quattro; Mazda "
    "Miata"
)
TOWNS = (
    "New York; Los Angeles; San Francisco; Berlin; Hamburg; Köln; Frankfurt am Main; Lyon; Marseille; Saint "
    "Louis; Salt Lake City; Baton Rouge; Buenos Aires; São Paulo; Rio de Janeiro; Kuala Lumpur; Addis Ababa; Port "
    "Harcourt; Cape Town; Bad Homburg; Den Haag; Stoke Newington; Milton Keynes; Santa Barbara; San Antonio; "
    "Corpus Christi"
)
COUNTRIES = (
    "United States; United Kingdom; South Africa; Saudi Arabia; Sierra Leone; El Salvador; Costa Rica; Sri Lanka; "
    "New Zealand; Burkina Faso; Cabo Verde; San Marino; Dominican Republic; Czech Republic; Puerto Rico; Hong "
    "Kong; North Macedonia; Papua New Guinea; Solomon Islands; Viet Nam; Chad; Jordan; Israel; Georgia; Kenya; "
    "Malta"
)
PROCEDURES = (
    "Hip Replacement; Knee Replacement; Cardiac Catheterization; Coronary Bypass; Whipple Procedure; Nissen "
    "Fundoplication; Caesarean Section; Cataract Surgery; Hernia Repair; Skin Graft; Tonsillectomy; Appendectomy; "
    "Roux Y; Billroth Two; Hartmann Procedure; Bone Marrow; Lung Transplant; Spinal Fusion; Swan Ganz; Holter "
    "Monitor"
)
SPECIES = (
    "Escherichia coli; Staphylococcus aureus; Klebsiella pneumoniae; Pseudomonas aeruginosa; Candida albicans; "
    "Enterococcus faecalis; Proteus mirabilis; Serratia marcescens; Salmonella enterica; Helicobacter pylori; "
    "Neisseria meningitidis; Borrelia burgdorferi; Listeria monocytogenes; Clostridium difficile; Haemophilus "
    "influenzae"
)
DEGREES = (
    "Bachelor of Arts; Bachelor of Science; Master of Arts; Doctor of Medicine; High School; Some College; "
    "Associate Degree; No Schooling; Trade School; Law School; Middle School; Primary School; Fachabitur; "
    "Realschule; Gymnasium; Lycée; Licenciatura; Doctorate; Post Doctorate; Vocational Training"
)
WARDS = (
    "Ward A1; Ward A2; Ward B1; ICU North; ICU South; Cardiology; Day Surgery; Emergency Room; Station 3; Station "
    "4; Paul Ward; Mary Wing; Recovery Room; Labour Ward; Dialysis Unit; Stroke Unit; Outpatient Clinic; Burn "
    "Unit; Trauma Bay; Elizabeth Wing"
)
RACES = "White; Black or African American; American Indian; Asian; Pacific Islander; Other; Unknown; Two or more"
CONTRACTS = "Gold Plus; Silver Plan; Bronze Plan; Platinum 90; Blue Choice; Basic; Premium; Family Plus; Senior Care"

OTHERS: dict[str, tuple[str, list[object]]] = {
    # codes of classifications
    "ICD-10": ("x7", _codes(lambda i: f"{'ABCEFGIJKMNR'[i * 7 % 12]}{i * 13 % 90 + 10}.{i % 10}", 300)),
    "ICD-10, three places": ("diag", _codes(lambda i: f"{'ABCEFGIJKMNR'[i * 7 % 12]}{i * 13 % 90 + 10}", 200)),
    "ICD-10 of a cancer register": ("x7", _codes(lambda i: f"C{i:02d}{i * 3 % 10}", 97)),
    "ICD-9": ("x7", _codes(lambda i: f"{i * 3 + 250}.{i % 10}{i % 3}", 200)),
    "ATC": ("x7", _codes(lambda i: f"{'ABCDGJLMNRS'[i % 11]}{i % 9 + 1:02d}A{'ABCDE'[i % 5]}{i % 20:02d}", 200)),
    "CPT": ("x7", _codes(lambda i: f"{99_201 - i * 37}", 150)),
    "HCPCS": ("x7", _codes(lambda i: f"J{1_000 + i * 11}", 120)),
    "LOINC": ("x7", _codes(lambda i: f"{2_000 + i * 37}-{i % 10}", 150)),
    "NDC": ("x7", _codes(lambda i: f"{i * 97 % 90_000 + 10_000:05d}-{i * 7 % 1_000:03d}-{i % 90 + 10}", 200)),
    "DRG": ("DRG", _codes(lambda i: f"{'BDEFGHIJ'[i % 8]}{i % 90 + 10}{'ABCZ'[i % 4]}", 100)),
    "SNOMED": ("x7", _codes(lambda i: f"{73_211_009 + i * 911}", 150)),
    "NUTS": (
        "nuts",
        _pick("DE111; DE112; DE113; DE114; FR101; FR102; FR103; ES300; ES411; ITC11; ITC12; AT130; AT211", 30),
    ),
    "NAICS": ("industry", _codes(lambda i: f"{i * 37 % 8_000 + 1_110:04d}", 100)),
    "genes": (
        "gene",
        _pick("BRCA1; BRCA2; TP53; EGFR; KRAS; ALK; HER2; PIK3CA; APC; MLH1; MSH2; CDKN2A; FLT3; JAK2; NPM1", 20),
    ),
    "rooms": ("room", [f"{i % 4 + 1}{i * 7 % 20:02d}" for i in range(N)]),
    "airports": (
        "x7",
        _pick("FRA; JFK; LHR; CDG; AMS; MUC; ZRH; VIE; MAD; BCN; FCO; LIS; OSL; ARN; CPH; HEL; WAW; PRG", 20),
    ),
    "blood pressure": ("bp", [f"{110 + i * 7 % 60}/{60 + i * 3 % 40}" for i in range(N)]),
    "tyres": ("x7", [f"{175 + i % 8 * 10}/{55 + i % 5 * 5} R{14 + i % 4}" for i in range(N)]),
    "doses": ("dose", [f"{(i % 30 + 1) * 5} mg" for i in range(N)]),
    "ranges": ("band", [f"{i % 40 * 500}-{i % 40 * 500 + 499}" for i in range(N)]),
    "times of day": ("x7", [f"{i % 24:02d}:{i * 7 % 60:02d}" for i in range(N)]),
    "times with seconds": ("x7", [f"{i % 24:02d}:{i * 7 % 60:02d}:{i * 11 % 60:02d}" for i in range(N)]),
    "decimal texts": ("x7", [f"{i * 37 % 997 / 100:.3f}" for i in range(N)]),
    "texts with thousands": ("x7", [f"{i * 37 % 90 + 1},{i * 91 % 1000:03d}" for i in range(N)]),
    "colours": ("colour", [f"#{i * 40503 % 2**24:06X}" for i in range(N)]),
    "versions": ("software", [f"{i % 4}.{i % 7}.{i % 13}" for i in range(N)]),
    # words
    "drugs": ("x7", _pick(DRUGS)),
    "drugs of two words": ("x7", _pick(DRUGS_OF_TWO_WORDS)),
    "drugs once each": ("x7", _pick(DRUGS_OF_TWO_WORDS, 1)),
    "hospitals": ("x7", _pick(HOSPITALS)),
    "occupations": ("x7", _pick(OCCUPATIONS)),
    "diagnoses": ("x7", _pick(DIAGNOSES)),
    "diagnoses in capitals": ("x7", [str(text).upper() for text in _pick(DIAGNOSES)]),
    "companies": ("x7", _pick(COMPANIES)),
    "cars": ("x7", _pick(CARS)),
    "towns": ("x7", _pick(TOWNS)),
    "countries": ("x7", _pick(COUNTRIES)),
    "procedures": ("x7", _pick(PROCEDURES)),
    "species": ("x7", _pick(SPECIES)),
    "degrees": ("x7", _pick(DEGREES)),
    "wards": ("x7", _pick(WARDS)),
    "races": ("x7", _pick(RACES, 20)),
    "plans": ("x7", _pick(CONTRACTS, 20)),
    "months": (
        "x7",
        _pick("January; February; March; April; May; June; July; August; September; October; November; December", 9),
    ),
    "short texts": ("x7", list(SAID) * 20),
    "texts of care": (
        "remark",
        _pick("Dr called; pt seen; Patient stable; Mr and Mrs both ill; patient Refused; Doctor on leave", 20),
    ),
    "yes and no": ("x7", ["Yes", "No"] * 40),
    "relations": (
        "x7",
        _pick("Father; Mother; Spouse; Son; Daughter; Grand Mother; Step Son; Uncle; Half Brother", 20),
    ),
    # numbers
    "costs": ("cost", _skewed(N, 3_000, "cost")),
    "costs under no name": ("x7", _skewed(N, 9_000, "cost2")),
    "incomes": ("income", _spread(N, 10_000, 99_999, "income")),
    "incomes, rounded": ("x7", [i // 100 * 100 for i in _spread(N, 10_000, 99_999, "income2")]),
    "populations": ("x7", _skewed(N, 60_000, "population")),
    "steps": ("steps", [int(7_000 + 2_000 * x) for x in stream(36, "steps").normal(size=N)]),
    "cells": ("wbc", [int(7_000 + 2_000 * x) for x in stream(36, "wbc").normal(size=N)]),
    "platelets": ("x7", [int(250_000 + 60_000 * x) for x in stream(36, "platelets").normal(size=N)]),
    "days": ("los", [i % 30 for i in range(N)]),
    "survival": ("time", _skewed(N, 700, "survival")),
    "ages": ("age", [18 + i * 7 % 80 for i in range(N)]),
    "years": ("x7", [1930 + i % 80 for i in range(N)]),
    "percent": ("x7", [i * 37 % 101 for i in range(N)]),
    "measurements": ("glucose", [float(x) for x in stream(36, "glucose").normal(100, 20, size=N)]),
    "weights of a survey": ("perwt", [int(1_000 + 700 * x) for x in stream(36, "perwt").lognormal(0, 0.5, size=N)]),
    "body weights": ("weight", [round(float(x), 1) for x in stream(36, "body").normal(75, 12, size=N)]),
    "grams at birth": ("bwt", [int(3_300 + 500 * x) for x in stream(36, "bwt").normal(size=N)]),
    "visits": ("n_visits", [i % 9 for i in range(N)]),
    "visit numbers": ("visit_number", [i % 6 + 1 for i in range(N)]),
    "children": ("child_number", [i % 5 + 1 for i in range(N)]),
    "seconds": ("x7", [float(i * 37 % 10_007) for i in range(N)]),
    "dates": ("x7", [f"{2000 + i % 20}-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(N)]),
    "packed dates": ("x7", [(2000 + i % 20) * 10_000 + (i % 12 + 1) * 100 + i % 28 + 1 for i in range(N)]),
    "types": ("admission_type_id", [i % 8 + 1 for i in range(N)]),
    "sources": ("source_code", [f"S{i % 25:02d}" for i in range(N)]),
    "sites": ("site_id", [f"S{i % 12:02d}" for i in range(N)]),
}

OTHER_SETS: tuple[tuple[str, str, str], ...] = (
    *(("vcd", "Bundesliga", c) for c in ("HomeTeam", "AwayTeam")),
    ("vcd", "Baseball", "team86"),
    ("vcd", "Bundestag2005", "Bundesland"),
    *(("modeldata", "ames", c) for c in ("MS_SubClass", "Neighborhood", "Exterior_1st", "Sale_Price")),
    *(
        ("modeldata", "lending_club", c)
        for c in ("sub_grade", "addr_state", "total_bal_il", "total_il_high_credit_limit")
    ),
    *(("modeldata", "hotel_rates", c) for c in ("country", "company", "arrival_date")),
    *(("modeldata", "Sacramento", c) for c in ("city", "price", "sqft")),
    ("modeldata", "grants_other", "sponsor_code"),
    ("modeldata", "biomass", "sample"),
    ("modeldata", "Smithsonian", "name"),
    ("modeldata", "leaf_id_flavia", "species"),
    *(("modeldata", "cells", c) for c in ("total_inten_ch_1", "total_inten_ch_2", "total_inten_ch_3")),
    ("HLMdiag", "radon", "county.name"),
    *(("gt", "constants", c) for c in ("name", "units")),
    *(("gt", "metro", c) for c in ("name", "caption", "lines", "location")),
    *(("gt", "towny", c) for c in ("name", "census_div")),
    *(("gt", "illness", c) for c in ("test", "units")),
    *(("gt", "countrypops", c) for c in ("country_name", "country_code_3")),
    *(("gt", "gtcars", c) for c in ("mfr", "model", "trim", "msrp")),
    ("gt", "pizzaplace", "name"),
    *(("nlme", "Wheat2", c) for c in ("variety", "yield")),
    *(("gapminder", "gapminder", c) for c in ("country", "pop", "gdpPercap")),
    *(("carData", "MplsDemo", c) for c in ("neighborhood", "population", "hhIncome")),
    ("carData", "Greene", "nation"),
    ("carData", "Ornstein", "assets"),
    ("sandwich", "InstInnovation", "company"),
    ("tidyr", "us_rent_income", "NAME"),
    ("tidyr", "cms_patient_experience", "org_nm"),
    *(("tidyr", "billboard", c) for c in ("track", "date.entered")),
    *(("stevedata", "sweden_counties", c) for c in ("iso", "nuts", "county", "centre")),
    *(("stevedata", "wvs_usa_regions", c) for c in ("x048wvsmeaning", "statename")),
    *(("stevedata", "steves_clothes", c) for c in ("brand", "color")),
    ("stevedata", "inglehart03", "state_year"),
    ("stevedata", "scb_regions", "region"),
    *(("AER", "Journals", c) for c in ("title", "publisher", "field", "citations", "subs")),
    *(("AER", "CASchools", c) for c in ("school", "county", "students", "income")),
    *(("AER", "Fatalities", c) for c in ("state", "fatal", "pop")),
    ("AER", "MASchools", "municipality"),
    *(("medicaldata", "opt", c) for c in ("OAA1", "OCR1", "O1B1", "BL.CR", "V5.FN")),
    ("medicaldata", "covid_testing", "clinic_name"),
    ("medicaldata", "smartpill", "Colon.Contractions"),
    ("survival", "flchain", "chapter"),
    ("survival", "jasa", "birth.dt"),
    ("survival", "mgus", "futime"),
    ("survival", "uspop2", "female.2000"),
    ("bakeoff", "bakers", "occupation"),
    *(("bakeoff", "episodes_raw", c) for c in ("signature", "showstopper")),
    *(("rpart", "car90", c) for c in ("Tires", "Weight", "Eng.Rev")),
    *(("causaldata", "scorecard", c) for c in ("inst_name", "state_abbr")),
    ("causaldata", "auto", "make"),
    ("causaldata", "auto", "weight"),
    ("causaldata", "restaurant_inspections", "business_name"),
    ("causaldata", "social_insure", "village"),
    *(("mosaicData", "HELPfull", c) for c in ("A14G_T", "C3F_T", "U7A_T")),
    ("mosaicData", "Alcohol", "country"),
    ("mosaicData", "Births2015", "births"),
    *(("fpp3", "us_employment", c) for c in ("Title", "Month")),
    ("dragracer", "rpdr_ep", "runwaytheme"),
    *(("nycflights13", "airports", c) for c in ("faa", "name", "alt")),
    *(("nycflights13", "planes", c) for c in ("manufacturer", "model")),
    *(("Stat2Data", "CountyHealth", c) for c in ("County", "Beds")),
    ("Stat2Data", "Cereal", "Cereal"),
    ("Stat2Data", "Fitch", "Species"),
    ("Stat2Data", "BirdNest", "Common"),
    ("Stat2Data", "MLB2007Standings", "Team"),
    ("Stat2Data", "HighPeaks", "Peak"),
    ("Stat2Data", "RacialAnimus", "MediaMarket"),
    ("Stat2Data", "Marathon", "Pace"),
    ("Stat2Data", "PalmBeach", "Bush"),
    ("Stat2Data", "WalkTheDogs", "StepCount"),
    *(("ratdat", "complete", c) for c in ("species_id", "genus", "species")),
    ("HistData", "DrinksWages", "trade"),
    *(("HistData", "Guerry", c) for c in ("Department", "Crime_pers", "Suicides")),
    *(("pscl", "UKHouseOfCommons", c) for c in ("constituency", "county")),
    ("pscl", "partycodes", "party"),
    ("ggplot2movies", "movies", "title"),
    *(("openintro", "cpu", c) for c in ("name", "codename", "socket")),
    *(("openintro", "mn_police_use_of_force", c) for c in ("problem", "primary_offense", "neighborhood")),
    *(("openintro", "seattlepets", c) for c in ("primary_breed", "zip_code")),
    *(("openintro", "epa2021", c) for c in ("carline", "division", "transmission_speed")),
    *(("openintro", "textbooks", c) for c in ("dept_abbr", "course")),
    *(("openintro", "birds", c) for c in ("operator", "atype", "species")),
    *(("openintro", "loans_full_schema", c) for c in ("emp_title", "sub_grade", "total_credit_limit")),
    ("openintro", "blizzard_salary", "current_title"),
    ("openintro", "fastfood", "item"),
    ("openintro", "starbucks", "item"),
    ("openintro", "climber_drugs", "substance"),
    ("openintro", "sp500", "ent_value"),
    ("openintro", "mlb_teams", "ball_park"),
    ("openintro", "oscars", "movie"),
    ("openintro", "earthquakes", "area"),
    ("openintro", "hfi", "countries"),
    ("openintro", "world_pop", "year_1990"),
    *(("ISLR", "College", c) for c in ("Accept", "Apps", "F.Undergrad", "Expend")),
    *(("ISLR", "Hitters", c) for c in ("CAtBat", "CHits", "CRBI")),
    ("ISLR", "Auto", "name"),
    *(("validate", "nace_rev2", c) for c in ("Description", "Code")),
    *(("MASS", "Cars93", c) for c in ("Manufacturer", "Model", "Make")),
    *(("DAAG", "rockArt", c) for c in ("Site.Name", "District", "Island")),
    *(("HSAUR", "Forbes2000", c) for c in ("name", "category")),
    *(("dslabs", "movielens", c) for c in ("title", "genres")),
    ("dslabs", "polls_us_election_2016", "pollster"),
    ("dslabs", "stars", "star"),
    *(("ggplot2", "midwest", c) for c in ("county", "poptotal")),
    ("ggplot2", "mpg", "model"),
    ("ggplot2", "msleep", "name"),
    ("Ecdat", "HHSCyberSecurityBreaches", "Name.of.Covered.Entity"),
    ("Ecdat", "BudgetFood", "totexp"),
    ("Ecdat", "Caschool", "district"),
    *(("wooldridge", "slp75_81", c) for c in ("totwrk75", "slpnap75")),
    *(("wooldridge", "vote2", c) for c in ("chexp88", "chexp90")),
    ("wooldridge", "meap93", "totcomp"),
    ("wooldridge", "mathpnl", "avgsal"),
    ("robustbase", "education", "X2"),
    ("heplots", "Diabetes", "sspg"),
)
"""Package, data set and column: what is measured, counted, dated, or named and is no person."""
