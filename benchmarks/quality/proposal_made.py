"""Tables made by hand for the benchmark of proposals: nobody in them exists.

Exports of hospitals and surveys in German, French, Spanish, Dutch and Italian, and an American survey with a weight,
strata and incomes in bands. The labels stand in `proposal_fresh.py`. One person made the tables and the rules, so what
they show is that common words are known, not how many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from shoal.rng import stream

_ROWS = 600


def table(name: str) -> pl.DataFrame:
    """The table of this name."""
    return _MAKERS[name](stream(1, "proposal", name))


def _german(rng: np.random.Generator) -> pl.DataFrame:
    persons = rng.integers(0, 380, _ROWS)
    stays = rng.integers(1, 21, _ROWS)
    entered = rng.integers(18_300, 19_300, _ROWS)
    ages = (20 + (persons * 37) % 76).astype(int)
    bands = ("unter 18", "18 bis 34", "35 bis 49", "50 bis 64", "65 bis 79", "80 und älter")
    return pl.DataFrame(
        {
            "Fallnummer": [f"F{200_000 + 13 * i}" for i in rng.permutation(_ROWS)],
            "Patientennr": [f"P{10_000 + 7 * i:06d}" for i in persons],
            "Nachname": [
                ("Müller", "Schmidt", "Weiß", "Öztürk", "Kowalski")[i % 5] + ("", "er", "mann", "-Braun")[i % 4]
                for i in persons
            ],
            "Vorname": [("Anna", "Jürgen", "Elif", "Paul", "Ute", "Karl", "Mia")[i % 7] for i in persons],
            "Geburtsdatum": _days(rng, 3_000 - 365 * ages.clip(0, 95) + 14_000, unknown="unbekannt", share=0.03),
            "Alter": ages,
            "Altersgruppe": [bands[int(np.searchsorted((18, 35, 50, 65, 80), age, side="right"))] for age in ages],
            "Geschlecht": _words(rng, "w m d", (0.5, 0.47, 0.03)),
            "PLZ": [f"{4_000 + 97 * (i % 60):05d}" for i in persons],
            "Wohnort": _words(rng, "Leipzig Halle Dresden Chemnitz Torgau Wurzen"),
            "Staatsangehörigkeit": _words(rng, "deutsch türkisch polnisch syrisch", (0.85, 0.06, 0.05, 0.04)),
            "Familienstand": _words(rng, "ledig verheiratet geschieden verwitwet"),
            "Beruf": _words(rng, "Lehrerin Schlosser Rentner Angestellte arbeitslos"),
            "Krankenkasse": _words(rng, "AOK Barmer TK DAK privat"),
            "Versichertenstatus": [1 + 2 * int(i) for i in rng.integers(0, 3, _ROWS)],
            "Aufnahmedatum": _days(rng, entered, unknown="unbekannt", share=0.02),
            "Entlassung": _days(rng, entered + stays, unknown="k.A.", share=0.04),
            "Aufnahmegrund": _words(rng, "Notfall Einweisung Verlegung Geburt"),
            "Entlassungsart": _words(rng, "regulär verlegt verstorben Pflegeheim"),
            "Station": _words(rng, "3A 3B 4A ITS1 ITS2 5C"),
            "Fachabteilung": _words(rng, "Innere Chirurgie Gynäkologie Neurologie"),
            "Hauptdiagnose": [f"{'EIJKMN'[i % 6]}{10 + i % 80}.{i % 10}" for i in rng.integers(0, 900, _ROWS)],
            "Nebendiagnosen": [int(i) for i in rng.poisson(3, _ROWS)],
            "Eingriff": [f"5-{100 + i % 90}.{i % 10}" for i in rng.integers(0, 400, _ROWS)],
            "Verweildauer": stays,
            "Kosten": (300 * stays * rng.lognormal(0, 0.4, _ROWS)).round(2),
            "Zuzahlung": 10 * stays,
            "Erlös": (280 * stays * rng.lognormal(0, 0.3, _ROWS)).round(2),
            "Körpergröße": rng.normal(171, 9, _ROWS).round(0).astype(int),
            "Gewicht": rng.normal(78, 14, _ROWS).round(1),
            "Blutdruck_syst": rng.normal(132, 17, _ROWS).round(0).astype(int),
            "Raucher": _words(rng, "ja nein unbekannt", (0.25, 0.7, 0.05)),
            "Kinder": _numbers(rng.poisson(1.3, _ROWS), rng, unknown="keine Angabe"),
            "Einkommen": _words(
                rng,
                (
                    "unter 1.000",
                    "1.000 bis 1.999",
                    "2.000 bis 3.499",
                    "3.500 bis 4.999",
                    "5.000 und mehr",
                    "keine Angabe",
                ),
            ),
        }
    )


def _french(rng: np.random.Generator) -> pl.DataFrame:
    entered = rng.integers(18_300, 19_300, _ROWS)
    return pl.DataFrame(
        {
            "numero_patient": rng.permutation(_ROWS) + 40_001,
            "nom": [
                f"{a}{b}"
                for a, b in zip(
                    _words(rng, "Dub Mart Lef Rou Ber Gir Mor"),
                    _words(rng, "ois in ebvre ssel nard ard eau"),
                    strict=True,
                )
            ],
            "prenom": _words(rng, "Léa Hugo Chloé Adam Inès Jean Zoé Luc Anne Paul Eva Marc"),
            "sexe": _words(rng, "F H"),
            "age": rng.integers(18, 97, _ROWS),
            "tranche_age": _words(rng, ("moins de 25", "25 à 44", "45 à 64", "65 et plus")),
            "date_naissance": _days(rng, rng.integers(-9_000, 11_000, _ROWS), form="%d/%m/%Y"),
            "code_postal": [f"{1_000 * (1 + i % 95) + 10 * (i % 7):05d}" for i in rng.integers(0, 700, _ROWS)],
            "commune": _words(rng, "Lyon Nantes Rennes Dijon Brest Nancy"),
            "etat_civil": _words(rng, "célibataire marié divorcé veuf"),
            "profession": _words(rng, "ouvrier cadre employé retraité artisan"),
            "revenu": _words(rng, ("moins de 1000", "1000 à 1999", "2000 à 3999", "4000 et plus", "inconnu")),
            "date_entree": _days(rng, entered, form="%d/%m/%Y", unknown="inconnu", share=0.03),
            "date_sortie": _days(
                rng, entered + rng.integers(1, 20, _ROWS), form="%d/%m/%Y", unknown="inconnue", share=0.05
            ),
            "mutuelle": _words(rng, "MGEN Harmonie Aésio aucune"),
            "diagnostic": [f"{'EIJKMN'[i % 6]}{10 + i % 80}" for i in rng.integers(0, 900, _ROWS)],
            "traitement": _words(rng, "A B témoin"),
            "tabac": _words(rng, "jamais ancien actuel"),
            "cout_sejour": rng.lognormal(7, 0.6, _ROWS).round(2),
            "taille": rng.normal(170, 9, _ROWS).round(0).astype(int),
            "poids": rng.normal(74, 13, _ROWS).round(1),
            "nb_enfants": _numbers(rng.poisson(1.4, _ROWS), rng, unknown="non renseigné"),
        }
    )


def _spanish(rng: np.random.Generator) -> pl.DataFrame:
    entered = rng.integers(18_300, 19_300, _ROWS)
    return pl.DataFrame(
        {
            "historia_clinica": rng.permutation(_ROWS) * 3 + 100_000,
            "nombre": _words(rng, "Ana Luis Marta Pablo Elena Diego Sofía Javier Lucía Hugo Carmen Iván"),
            "apellido": _words(rng, "García Pérez López Ruiz Gómez Díaz Torres Vega Castro Ramos Ortiz Gil"),
            "sexo": _words(rng, "hombre mujer"),
            "edad": rng.integers(0, 97, _ROWS),
            "grupo_edad": _words(rng, ("menos de 15", "15 a 44", "45 a 64", "65 y más")),
            "fecha_nacimiento": _days(rng, rng.integers(-9_000, 18_000, _ROWS), form="%d/%m/%Y"),
            "provincia": _words(rng, "Madrid Sevilla Cádiz Teruel Soria"),
            "municipio": _words(rng, "Getafe Utrera Rota Alcañiz Almazán Leganés"),
            "estado_civil": _words(rng, "soltero casado viudo divorciado"),
            "ocupacion": _words(rng, "maestra albañil jubilado parado"),
            "ingresos": _words(rng, ("menos de 1000", "1000 a 1999", "2000 a 2999", "3000 y más", "no sabe")),
            "fecha_ingreso": _days(rng, entered, form="%d/%m/%Y", unknown="desconocido", share=0.03),
            "fecha_alta": _days(
                rng, entered + rng.integers(1, 20, _ROWS), form="%d/%m/%Y", unknown="desconocida", share=0.03
            ),
            "aseguradora": _words(rng, "Adeslas Sanitas Asisa ninguna"),
            "enfermedad": _words(rng, "asma gripe diabetes ictus ninguna"),
            "tratamiento": _words(rng, "A B control"),
            "coste": rng.lognormal(7, 0.6, _ROWS).round(2),
            "peso": rng.normal(72, 13, _ROWS).round(1),
            "talla": rng.normal(167, 9, _ROWS).round(0).astype(int),
            "fumador": _words(rng, "sí no"),
            "hijos": _numbers(rng.poisson(1.2, _ROWS), rng, unknown="no contesta"),
        }
    )


def _dutch(rng: np.random.Generator) -> pl.DataFrame:
    entered = rng.integers(18_300, 19_300, _ROWS)
    return pl.DataFrame(
        {
            "patientnummer": rng.permutation(_ROWS) + 70_000,
            "achternaam": _words(rng, "Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks"),
            "geslacht": _words(rng, "man vrouw"),
            "leeftijd": rng.integers(0, 97, _ROWS),
            "leeftijdsgroep": _words(rng, ("jonger dan 18", "18 tot 39", "40 tot 64", "65 en ouder")),
            "geboortedatum": _days(rng, rng.integers(-9_000, 18_000, _ROWS), form="%d-%m-%Y"),
            "gemeente": _words(rng, "Utrecht Zwolle Breda Assen Ede"),
            "burgerlijke_staat": _words(rng, "gehuwd ongehuwd weduwe gescheiden"),
            "opleiding": _words(rng, "laag midden hoog"),
            "beroep": _words(rng, "leraar bakker verpleger gepensioneerd"),
            "opnamedatum": _days(rng, entered, form="%d-%m-%Y", unknown="onbekend", share=0.03),
            "zorgverzekeraar": _words(rng, "CZ VGZ Menzis Achmea"),
            "diagnose": _words(rng, "astma griep diabetes beroerte"),
            "behandeling": _words(rng, "A B geen"),
            "kosten": rng.lognormal(7, 0.6, _ROWS).round(2),
            "lengte": rng.normal(174, 9, _ROWS).round(0).astype(int),
            "gewicht": rng.normal(77, 13, _ROWS).round(1),
            "roken": _words(rng, "ja nee"),
        }
    )


def _italian(rng: np.random.Generator) -> pl.DataFrame:
    entered = rng.integers(18_300, 19_300, _ROWS)
    return pl.DataFrame(
        {
            "codice_paziente": rng.permutation(_ROWS) + 70_000,
            "cognome": _words(rng, "Rossi Russo Ferrari Bianchi Romano Gallo Costa Fontana Conti Greco"),
            "sesso": _words(rng, "M F"),
            "eta": rng.integers(0, 97, _ROWS),
            "classe_eta": _words(rng, ("meno di 18", "18-39", "40-64", "65 e oltre")),
            "data_nascita": _days(rng, rng.integers(-9_000, 18_000, _ROWS), form="%d/%m/%Y"),
            "comune": _words(rng, "Torino Pavia Lecce Udine Siena"),
            "stato_civile": _words(rng, "celibe coniugato vedovo divorziato"),
            "titolo_studio": _words(rng, "elementare media diploma laurea"),
            "professione": _words(rng, "operaio impiegato pensionato medico"),
            "reddito": rng.lognormal(10, 0.5, _ROWS).round(0),
            "data_ricovero": _days(rng, entered, form="%d/%m/%Y", unknown="sconosciuto", share=0.03),
            "malattia": _words(rng, "asma influenza diabete ictus"),
            "terapia": _words(rng, "A B nessuna"),
            "costo": rng.lognormal(7, 0.6, _ROWS).round(2),
            "altezza": rng.normal(168, 9, _ROWS).round(0).astype(int),
            "peso": rng.normal(70, 13, _ROWS).round(1),
            "fumatore": _words(rng, "sì no"),
        }
    )


def _american(rng: np.random.Generator) -> pl.DataFrame:
    stratum = rng.integers(1, 25, _ROWS)
    visits = rng.poisson(3, _ROWS)
    charges = rng.lognormal(6, 1, _ROWS).round(2)
    return pl.DataFrame(
        {
            "RESPNO": rng.permutation(_ROWS) + 1,
            "Year": [(2019, 2021)[i % 2] for i in range(_ROWS)],
            "STRAT": stratum,
            "PSU": rng.integers(1, 3, _ROWS),
            "WEIGHT": (40 + 3 * stratum * rng.lognormal(0, 0.5, _ROWS)).round(2),
            "AGEBAND": _words(
                rng, ("<18", "18-34", "35-49", "50-64", "65+", "unknown"), (0.1, 0.25, 0.25, 0.2, 0.17, 0.03)
            ),
            "EDUC": _words(rng, ("less than 12 years", "12 years", "13-15 years", "16+ years")),
            "HHINC": _words(
                rng, (" 0-4999", " 5000-9999", " 10000-24999", " 25000-99999", "100,000 and over", "refused")
            ),
            "JOBYR": _words(rng, ("before 1990", "1990-1999", "2000-2009", "2010 or later")),
            "Yrs_exp": [(0, 1, 2, 5, 10, 20)[i % 6] for i in rng.integers(0, 600, _ROWS)],
            "TVday": [f"{i}_hrs" if i < 4 else str(i) for i in rng.integers(0, 9, _ROWS)],
            "account_visits": visits,
            "account_charges": charges,
            "account_paid": (0.8 * charges).round(2),
            "account_adj": (0.15 * charges).round(2),
            "account_self": (0.05 * charges).round(2),
            "account_disc": rng.lognormal(3, 1, _ROWS).round(2),
            "BMIGRP": _words(rng, ("under 18.5", "18.5 to 24.9", "25 to 29.9", "30 and above")),
            "CHOLGRP": _words(rng, ("< 200", "200 - 239", ">= 240")),
        }
    )


def _words(rng: np.random.Generator, words: str | Sequence[str], shares: Sequence[float] | None = None) -> list[str]:
    choices = words.split() if isinstance(words, str) else list(words)
    return [choices[i] for i in rng.choice(len(choices), _ROWS, p=shares)]


def _days(
    rng: np.random.Generator, days: np.ndarray, *, form: str = "%d.%m.%Y", unknown: str = "", share: float = 0.0
) -> list[str]:
    jitter = rng.integers(0, 300, len(days))
    texts = pl.Series((days + jitter).astype(np.int32)).cast(pl.Date).dt.strftime(form).to_list()
    return [unknown if rng.random() < share else text for text in texts]


def _numbers(numbers: np.ndarray, rng: np.random.Generator, *, unknown: str) -> list[str]:
    return [unknown if rng.random() < 0.05 else str(number) for number in numbers]


_MAKERS: dict[str, Callable[[np.random.Generator], pl.DataFrame]] = {
    "german": _german,
    "french": _french,
    "spanish": _spanish,
    "dutch": _dutch,
    "italian": _italian,
    "american": _american,
}
