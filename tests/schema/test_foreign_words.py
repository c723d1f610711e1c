"""Names in German, French, Spanish, Dutch and Italian are read as English ones are."""

import polars as pl
import pytest

from shoal.schema.evidence import words_in
from shoal.schema.foreign_words import languages_of
from shoal.schema.infer import propose

N = 240


def proposed(**columns):
    return propose(pl.DataFrame(columns))


NUMBERS = [i % 7 + 0.5 for i in range(N)]
WORDS = ["qab", "qcd", "qef"] * 80


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "quasi") for name in ("Geschlecht", "Staatsangehörigkeit", "Familienstand", "Beruf", "Wohnort")),
        *((name, "sensitive") for name in ("Krankenkasse", "Versichertenstatus", "Hauptdiagnose", "Raucher")),
        *((name, "quasi") for name in ("sexe", "etat_civil", "ville", "revenu", "naissance", "nationalité")),
        *((name, "sensitive") for name in ("mutuelle", "traitement", "tabac", "maladie", "décès")),
        *((name, "quasi") for name in ("sexo", "edad", "municipio", "ocupación", "país")),
        *((name, "sensitive") for name in ("aseguradora", "enfermedad", "tratamiento", "fumador")),
        *((name, "quasi") for name in ("geslacht", "leeftijd", "leeftijdsgroep", "gemeente", "beroep")),
        *((name, "sensitive") for name in ("zorgverzekeraar", "ziekte", "behandeling", "roken")),
        *((name, "quasi") for name in ("sesso", "comune", "cittadinanza", "reddito")),
        *((name, "sensitive") for name in ("malattia", "terapia", "fumatore")),
    ],
)
def test_words_of_five_languages_give_the_role(name, role):
    proposal = proposed(**{name: WORDS})
    assert proposal.schema[name].role == role
    assert not proposal.undecided


@pytest.mark.parametrize(
    "name", ["Kosten", "Zuzahlung", "Erlös", "coût_séjour", "coste", "kosten_eur", "costo", "spesa"]
)
def test_amounts_of_money_are_sensitive(name):
    assert proposed(**{name: NUMBERS}).schema[name].role == "sensitive"


def test_numbers_and_names_of_persons_are_found():
    proposal = proposed(
        Fallnummer=[f"F{1000 + i}" for i in range(N)],
        Patientennr=[f"P{1000 + i // 2}" for i in range(N)],
        Nachname=["Meier", "Kern", "Lang"] * 80,
        cognome=["Rossi", "Gallo", "Conti"] * 80,
    )
    assert proposal.schema.identifier == ("Fallnummer", "Nachname", "cognome")
    assert proposal.schema.unit == "Patientennr"


def test_words_written_in_one_piece_are_taken_apart_if_nothing_is_left_over():
    assert words_in("Aufnahmedatum")[:2] == ("admission", "date")
    assert words_in("leeftijdsgroep")[:2] == ("age", "group")
    assert words_in("Datenart") == ("datenart", "datenart")


def test_number_of_a_person_may_stand_first():
    assert words_in("numero_paciente")[:2] == ("patient", "number")
    assert words_in("codice_postale")[:2] == ("postale", "code")
    assert words_in("number_patients")[:2] == ("number", "patients")


def test_words_of_two_languages_count_only_beside_others_of_theirs():
    assert words_in("alter") == ("alter", "alter")
    assert words_in("data")[0] == "data"
    assert words_in("data_nascita")[:2] == ("date", "birth")
    assert words_in("nombre", ["es"])[0] == "forename"
    assert words_in("nombre", ["fr"])[0] == "number"
    assert words_in("nombre", ["es", "fr"])[0] == "nombre"
    german = proposed(Alter=[20 + i % 60 for i in range(N)], Geschlecht=["m", "w"] * 120, Beruf=WORDS)
    assert "age or birth" in german.reasons["Alter"]
    assert "alter" in proposed(alter=[20 + i % 60 for i in range(N)], sex=["m", "w"] * 120).undecided


def test_one_foreign_column_makes_no_foreign_table():
    assert languages_of([["geschlecht"], ["alter"], ["patient"]]) == frozenset()
    assert languages_of([["geschlecht"], ["beruf"]]) == {"de"}


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("unbekannt", "unknown"),
        ("keine Angabe", "not stated"),
        ("k.A.", "not stated"),
        ("inconnu", "unknown"),
        ("non renseigné", "not stated"),
        ("desconocido", "unknown"),
        ("no contesta", "no answer"),
        ("onbekend", "unknown"),
        ("n.v.t.", "not applicable"),
        ("sconosciuto", "unknown"),
    ],
)
def test_words_for_an_absence_among_dates_and_numbers_are_codes(word, meaning):
    dates = [f"{1 + i % 28:02}.{1 + i % 12:02}.{1990 + i % 9}" for i in range(N - 6)] + [word] * 6
    proposal = proposed(seen=dates, size=[*(str(i % 90) for i in range(N - 6)), *[word] * 6])
    assert (proposal.schema["seen"].kind, proposal.schema["seen"].format) == ("ordinal", "DD.MM.YYYY")
    assert proposal.schema["size"].kind == "numeric"
    assert proposal.schema["seen"].missing_codes == proposal.schema["size"].missing_codes == {word: meaning}


def test_short_names_of_states_are_no_words_for_an_absence():
    assert not proposed(state=["NC", "ND", "NS", "NY", "OH", "TX"] * 40).doubtful
