"""Words of names in German, French, Spanish, Dutch and Italian, by the English word that says the same.

A name is put into English word by word, so every rule about words holds in all languages (``Aufnahmedatum``: admission,
date). German and Dutch write words in one piece, which are taken apart if nothing is left over. A word that means
something else in English (``alter``, ``data``, ``kind``) or in two of the languages (``nombre``) is read only beside
others of its language: in the same name, or in at least two other columns of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from shoal.schema.judgement.spelling import unaccented

__all__ = ["FOREIGN_ABSENCES", "in_english", "languages_of"]

_WORDS = {
    "de": """
        sex=geschlecht; age=lebensalter; group=gruppe klasse stufe; birth=geburt geb geboren; birth date=gebdat
        gebdatum; birth year=gebjahr; birthplace=geburtsort; date=datum; year=jahr jahre jahrgang; month=monat
        monate; week=woche wochen; day=tage; hours=stunde stunden; time=uhrzeit zeitpunkt zeit; duration=dauer;
        admission=aufnahme; discharge=entlassung entlass; nr=nummer; count=anzahl; patient=patienten;
        person=personen; last name=nachname familienname; first name=vorname; maiden name=geburtsname;
        description=bezeichnung; address=adresse anschrift; street=strasse; phone=telefon telefonnummer;
        postcode=postleitzahl; town=wohnort stadt; district=gemeinde bezirk stadtteil; county=landkreis kreis;
        state=bundesland; country=herkunftsland geburtsland; nationality=staatsangehorigkeit staatsburgerschaft
        nationalitat; migrant=migrationshintergrund herkunft; marital=familienstand zivilstand; children=kinder;
        household=haushalt; education=bildung schulabschluss ausbildung abschluss; occupation=beruf tatigkeit;
        work=arbeit arbeitslos arbeitgeber erwerbstatig erwerbsstatus; income=einkommen gehalt lohn verdienst;
        pension=rente; religion=konfession; housing=wohnung; rent=miete; body height=korpergrosse koerpergroesse
        korperlange; body weight=korpergewicht koerpergewicht; weight=gewicht; sampling weight=gewichtung
        hochrechnungsfaktor; diagnosis=diagnose diagnosen hauptdiagnose nebendiagnose nebendiagnosen;
        illness=krankheit erkrankung; treatment=behandlung therapie; medication=medikament medikamente arznei
        arzneimittel; dose=dosis; procedure=eingriff eingriffe prozedur prozeduren; result=befund laborwert;
        pressure=blutdruck; pulse=puls; pain=schmerz schmerzen; symptom=symptome; allergy=allergie; los=verweildauer
        aufenthaltsdauer liegedauer; stay=aufenthalt; costs=kosten; price=preis; payment=zahlung zuzahlung
        eigenanteil; charges=erlos erlose entgelt; amount=betrag; bill=rechnung; spending=ausgaben; wealth=vermogen;
        debt=schulden; insurance=krankenkasse krankenversicherung versicherung kasse krankenkassen;
        insured=versicherter versicherten versicherte; smoking=raucher rauchen raucht; alcohol=alkohol;
        death=verstorben sterbe todesursache todes; hospital=krankenhaus klinik spital; comment=bemerkung kommentar
        anmerkung freitext; severity=schweregrad; nursing=pflegegrad pflegestufe; satisfaction=zufriedenheit;
        health=gesundheit; disability=behinderung; pregnancy=schwanger schwangerschaft; cancer=krebs
    """,
    "fr": """
        sex=sexe; group=tranche classe; birth=naissance; year=annee annees; month=mois; day=jour jours;
        duration=duree; admission=entree; discharge=sortie; stay=sejour; number=numero; id=identifiant;
        forename=prenom; address=adresse; email=courriel; town=ville; county=departement; nationality=nationalite;
        marital=matrimoniale matrimonial; family=familiale; children=enfant enfants; household=menage foyer;
        occupation=metier emploi; income=revenu revenus salaire; rent=loyer; housing=logement; education=etudes
        diplome scolarite; weight=poids; height=taille; bmi=imc; sampling weight=ponderation sondage;
        stratum=strate; cluster=grappe; illness=maladie; treatment=traitement; medication=medicament medicaments;
        cost=cout couts; charges=frais; spending=depense depenses; price=prix; amount=montant;
        reimbursement=remboursement; insurance=mutuelle; smoking=tabac fumeur; alcohol=alcool; death=deces decede;
        hospital=hopital; pain=douleur; pregnancy=grossesse; health=sante; surgery=chirurgie; comment=commentaire
        remarque
    """,
    "es": """
        sex=sexo; gender=genero; age=edad; group=grupo; date=fecha; birth=nacimiento; year=ano anos; month=meses;
        day=dias; admission=ingreso; stay=estancia; record=historia; mrn=nhc; number=numero; code=codigo;
        id=identificador; surname=apellido apellidos; address=direccion domicilio; street=calle; phone=telefono;
        email=correo; province=provincia; district=municipio; city=ciudad; country=pais; nationality=nacionalidad;
        children=hijos hijas; household=hogar; occupation=ocupacion profesion empleo; work=trabajo; income=ingresos
        salario sueldo; education=estudios escolaridad educacion; housing=vivienda; rent=alquiler; height=estatura
        altura talla; bmi=imc; sampling weight=ponderacion; stratum=estrato; cluster=conglomerado;
        illness=enfermedad; diagnosis=diagnostico diagnosticos; treatment=tratamiento; medication=medicamento
        medicamentos farmaco; procedure=procedimiento; cost=coste costo costos; spending=gasto gastos; price=precio;
        payment=pago pagos; amount=importe; insurance=seguro aseguradora; smoking=fumador tabaco; death=muerte
        defuncion fallecido; pain=dolor; pregnancy=embarazo; health=salud; disability=discapacidad; surgery=cirugia;
        comment=observaciones comentario comentarios; satisfaction=satisfaccion; patient=paciente
    """,
    "nl": """
        sex=geslacht; age=leeftijd; group=groep; birth=geboorte; date=datum; year=jaar jaren; month=maand maanden;
        day=dagen; hours=uren; admission=opname; discharge=ontslag; stay=ligduur verblijf; nr=nummer; count=aantal;
        patient=patienten; last name=achternaam; first name=voornaam; address=adres; street=straat;
        town=woonplaats; district=gemeente; province=provincie; nationality=nationaliteit; civil=burgerlijke;
        children=kinderen; household=huishouden; education=opleiding onderwijs; occupation=beroep; work=werk;
        income=inkomen salaris loon; rent=huur; housing=woning; height=lengte; weight=gewicht; sampling
        weight=weging; illness=ziekte; diagnosis=diagnose; treatment=behandeling; medication=medicijn medicijnen
        geneesmiddel; operation=operatie; costs=kosten; price=prijs; amount=bedrag; payment=betaling;
        insurance=verzekering verzekeraar zorgverzekeraar; smoking=roken roker; death=overleden overlijden sterfte;
        hospital=ziekenhuis; pressure=bloeddruk; pain=pijn; pregnancy=zwanger zwangerschap; health=gezondheid;
        comment=opmerking opmerkingen; satisfaction=tevredenheid
    """,
    "it": """
        sex=sesso; group=classe; birth=nascita; year=anno anni; month=mese mesi; day=giorno giorni;
        admission=ricovero; discharge=dimissione; stay=degenza; number=numero; code=codice; patient=paziente;
        surname=cognome; forename=nome; address=indirizzo; phone=telefono; province=provincia; district=comune;
        city=citta; country=paese; nationality=nazionalita cittadinanza; civil=civile; children=figli;
        household=famiglia; degree=titolo; education=istruzione; occupation=professione occupazione; work=lavoro;
        income=reddito stipendio; rent=affitto; height=altezza; illness=malattia; diagnosis=diagnosi;
        treatment=terapia trattamento; medication=farmaco farmaci; procedure=intervento; cost=costo costi;
        spending=spesa spese; price=prezzo; amount=importo; payment=pagamento; insurance=assicurazione;
        smoking=fumatore fumo; alcohol=alcol; death=morte decesso deceduto; hospital=ospedale; pressure=pressione;
        pain=dolore; pregnancy=gravidanza; health=salute
    """,
}
_MEANS_MORE = {  # words that say something else in English, or in two of the languages
    "de": """
        age=alter alters; kind=art; child=kind; day=tag; country=land; case=fall; reason=grund; town=ort;
        ward=station; lab=labor; death=tod; height=grosse groesse; status=stand
    """,
    "fr": """
        surname=nom; admission=entree; insurance=assurance; number=nombre; country=pays; year=an ans; street=rue;
        death=mort; district=commune; reason=motif
    """,
    "es": "forename=nombre; weight=peso; discharge=alta; month=mes; day=dia; lab=laboratorio",
    "nl": "place=plaats; country=land; day=dag; child=kind",
    "it": "age=eta; group=fascia; date=data; weight=peso; education=studio; treatment=cura",
}
_JOINED = ("de", "nl")  # languages that write words in one piece
_NOT_INSIDE = frozenset(("grosse", "groesse"))  # as part of a word, the size of something else
_SAME = {word: (word,) for word in ("status", "name", "id", "nr", "patient", "region", "index")}  # as parts of a word
_LINKS = ("", "s", "n", "en", "es")
_SHORTEST_JOINED = 7
_NUMBERED_FIRST = frozenset(("number", "code", "id"))  # numero de paciente: said the other way round
_ENOUGH_COLUMNS = 2


def in_english(words: Sequence[str], spoken: Collection[str] = ()) -> tuple[str, ...]:
    """Return the words of one name in English, as far as they are known; `spoken` are languages of the table.

    Examples
    --------
    >>> in_english(["aufnahmedatum"]), in_english(["numero", "paciente"]), in_english(["data", "nascita"])
    (('admission', 'date'), ('patient', 'number'), ('date', 'birth'))
    >>> in_english(["data"]), in_english(["data"], spoken=["it"])
    (('data',), ('date',))
    """
    here = {*spoken, *(language for word in words for language in _languages(word))}
    found = [_translated(word, here) for word in words]
    said = [one or (word,) for one, word in zip(found, words, strict=True)]
    if len(found) > 1 and found[0] and found[0][0] in _NUMBERED_FIRST:
        said.append(said.pop(0))
    return tuple(part for parts in said for part in parts)


def languages_of(names: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return the languages of which at least two columns of a table, each given by its words, have a sure word."""
    spoken = [{language for word in words for language in _languages(word)} for words in names]
    every = {language for languages in spoken for language in languages}
    return frozenset(one for one in every if sum(one in languages for languages in spoken) >= _ENOUGH_COLUMNS)


def _translated(word: str, spoken: Collection[str]) -> tuple[str, ...]:
    """The English words for a word; none where it is unknown, or means two things in the languages that are spoken."""
    if (sure := _sure().get(word)) is not None:
        return sure[0]
    if joined := _joined(word):
        return joined
    meant = {said for language in spoken for said in (_unsure(language).get(word),) if said is not None}
    return meant.pop() if len(meant) == 1 else ()


def _languages(word: str) -> frozenset[str]:
    """The languages of which a word surely is."""
    sure = _sure().get(word)
    if sure is not None:
        return sure[1]
    return frozenset(_JOINED) if _joined(word) else frozenset()


@cache
def _sure() -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    """Word to what it says, and the languages in which it does."""
    found: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
    for language, text in _WORDS.items():
        for word, said in _entries(text):
            others = found[word][1] if word in found else frozenset()
            found[word] = (said, others | {language})
    return found


@cache
def _unsure(language: str) -> dict[str, tuple[str, ...]]:
    return dict(_entries(_MEANS_MORE[language]))


def _entries(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for entry in text.split(";"):
        said, _, words = entry.partition("=")
        yield from ((word, tuple(said.split())) for word in words.split())


@cache
def _parts() -> dict[str, tuple[str, ...]]:
    """What words in one piece are made of."""
    joined = {
        word: said
        for language in _JOINED
        for text in (_WORDS[language], _MEANS_MORE[language])
        for word, said in _entries(text)
        if len(word) > 1 and word not in _NOT_INSIDE
    }
    return joined | _SAME | {"typ": ("type",)}


@cache
def _joined(word: str) -> tuple[str, ...]:
    """What a word in one piece says, if it is made of known parts alone, one of which is surely no English."""
    if len(word) < _SHORTEST_JOINED:
        return ()
    found = _split(word)
    sure = _sure()
    return tuple(said for part in found for said in _parts()[part]) if any(part in sure for part in found) else ()


def _split(word: str) -> tuple[str, ...]:
    """The known parts of which a word is made, the longest first; none if anything is left over."""
    parts = _parts()
    for end in range(len(word) - 2, 1, -1):
        if word[:end] not in parts:
            continue
        for link in _LINKS:
            rest = word[end + len(link) :]
            if not word[end:].startswith(link) or not rest:
                continue
            tail = (rest,) if rest in parts else _split(rest)
            if tail:
                return (word[:end], *tail)
    return ()


_ABSENCES = {  # what is meant, and how the five languages say it
    "unknown": "unbekannt; nicht bekannt; unklar; fehlt; fehlend; weiß nicht; weiss nicht; inconnu; inconnue; "
    "manquant; ne sait pas; nsp; ignoré; desconocido; desconocida; no sabe; sin datos; sin dato; se "
    "ignora; onbekend; niet bekend; weet niet; ontbreekt; sconosciuto; sconosciuta; ignoto; ignota; non "
    "noto; non nota; non so; mancante; n.d.",
    "not stated": "keine angabe; keine angaben; k.a.; k. a.; k.a; ohne angabe; nicht angegeben; nicht erfasst; nicht "
    "erhoben; non renseigné; non renseignée; non précisé; non précisée; no consta; no especificado; geen "
    "opgave; niet opgegeven; niet vermeld; non indicato; non specificato; non disponibile; non disponible",
    "no answer": "keine antwort; sans réponse; pas de réponse; no contesta; ns/nc; no responde; geen antwoord; non "
    "risponde; nessuna risposta",
    "not applicable": "entfällt; trifft nicht zu; nicht zutreffend; nicht anwendbar; non applicable; sans objet; "
    "no aplica; no procede; niet van toepassing; n.v.t.; nvt; non applicabile",
    "refused": "verweigert; refus; rechazado; rehúsa; geweigerd; rifiutato; rifiuta",
}
FOREIGN_ABSENCES = {
    form: meaning
    for meaning, words in _ABSENCES.items()
    for word in words.split("; ")
    for form in {word, unaccented(word)}
}
"""Words for an absence, with and without their accents, and what each means."""
