"""Eight tables of kinds and languages that no rule was written for.

Each column has its values and the labels that an expert gave it before any draft was looked at: identifier, person,
visible, fact, sensitive, harmless, free text. Several labels mean that each is acceptable, the first is the best.
"""

from __future__ import annotations

from tests.builders.made_up_columns import Draw

ROWS = 900
N, P, V, F, S, H, X = "identifier", "person", "visible", "fact", "sensitive", "harmless", "free text"


def clinic(d: Draw) -> dict:
    """List of an outpatient clinic, Spanish."""
    return {
        "nhc": (d.keys(401200, 3), (N, P)),
        "apellidos": (d.words("García López", "Martín Ruiz", "Sánchez Gil", "Pérez Soto", even=True), (N,)),
        "f_nac": (d.dates("%d/%m/%Y", 1930, 2015), (V,)),
        "sexo": (d.words("Mujer", "Hombre", even=True), (V,)),
        "cp": ([f"{n:05}" for n in d.whole(28001, 28055)], (V,)),
        "nacionalidad": (d.words("España", "Rumanía", "Marruecos", "Ecuador", "Perú"), (V,)),
        "fec_ingreso": (d.dates("%d/%m/%Y", 2021, 2023), (V,)),
        "servicio": (d.words("Cardiología", "Psiquiatría", "Urología", "Digestivo", "Oncología"), (S,)),
        "motivo_alta": (d.words("domicilio", "traslado", "exitus", "voluntaria"), (S, F)),
        "dx_ppal": (d.words("I10", "E11.9", "F32.1", "K21.0", "C61", "J44.1"), (S,)),
        "alergias": (d.words("no", "penicilina", "AINE", "látex"), (S,)),
        "tabaq": (d.words("nunca", "exfumador", "fumador"), (S, F)),
        "ta_sist": (d.whole(95, 185), (S,)),
        "imc": (d.normal(26.5, 4.2), (S,)),
        "dias_estancia": (d.counts(4), (F, V, S)),
        "observ": (d.sentences("paciente", "refiere dolor", "desde hace días", "sin fiebre", "control en"), (X,)),
    }  # fmt: skip


def labour_survey(d: Draw) -> dict:
    """Labour force survey, Polish; several people of a household."""
    home = d.whole(0, 379)
    regions = ("mazowieckie", "śląskie", "małopolskie", "lubelskie", "pomorskie")
    sizes = ("wieś", "miasto do 20 tys.", "miasto 20-100 tys.", "miasto pow. 100 tys.")
    return {
        "nr_gosp": ([10001 + n for n in home], ("household", N)),
        "plec": (d.words("kobieta", "mężczyzna", even=True), (V,)),
        "rok_ur": (d.whole(1938, 2006), (V,)),
        "woj": ([regions[n % 5] for n in home], (V,)),
        "klm": ([sizes[n // 7 % 4] for n in home], (V,)),
        "wykszt": (d.words("średnie", "wyższe", "zawodowe", "podstawowe"), (V,)),
        "st_cyw": (d.words("żonaty/zamężna", "kawaler/panna", "wdowiec/wdowa", "rozwiedziony/a"), (V,)),
        "zawod_isco": (d.words("5223", "2341", "7231", "9112", "4110"), (V,)),
        "sekcja_pkd": (d.words("G", "C", "P", "F", "Q"), (V,)),
        "forma_zatr": (d.words("umowa o pracę", "własna działalność", "zlecenie", "bezrobotny"), (V,)),
        "wynagr_netto": (d.with_gaps(d.money(1800, 14000, 0), 0.3), (S,)),
        "godz_tyg": (d.words("40", "20", "30", "45", "0"), (F, V)),
        "orzecz_niepeln": (d.marks("tak", "nie", 0.1), (S,)),
        "zwiazek_zaw": (d.marks("tak", "nie", 0.12), (S,)),
        "zasilek": (d.marks("tak", "nie", 0.08), (S,)),
        "waga_os": (d.real(310, 2900, 4), (H,)),
    }  # fmt: skip


def grades(d: Draw) -> dict:
    """Marks of pupils, French."""
    return {
        "INE": ([f"{n}{chr(65 + n % 26)}{chr(65 + n % 17)}" for n in d.whole(100000000, 199999999)], (N, P)),
        "nom_eleve": (d.words("Lefèvre", "Moreau", "Girard", "Faure", "Blanc", even=True), (N,)),
        "prenom": (d.words("Camille", "Hugo", "Inès", "Louis", even=True), (N,)),
        "date_naiss": (d.dates("%d/%m/%Y", 2004, 2009), (V,)),
        "commune_resid": (d.words("Lyon", "Villeurbanne", "Bron", "Vénissieux"), (V,)),
        "pcs_parent": (d.words("ouvrier", "cadre", "employé", "sans activité"), (V,)),
        "boursier": (d.marks("oui", "non", 0.25), (S, F)),
        "moy_math": (d.normal(11.5, 3.2, 2), (S,)),
        "moy_fr": (d.normal(11.9, 2.9, 2), (S,)),
        "moy_hist": (d.normal(12.2, 2.8, 2), (S,)),
        "nb_abs": (d.counts(5), (S, F)),
        "redoublant": (d.marks("oui", "non", 0.1), (S, F, V)),
        "sanction": (d.words("aucune", "avertissement", "exclusion"), (S,)),
        "pap_pai": (d.marks("oui", "non", 0.07), (S,)),
        "lv2": (d.words("espagnol", "allemand", "italien"), (F, V)),
        "cantine": (d.marks("oui", "non", 0.6), (F,)),
        "appreciation": (d.sentences("élève sérieux", "doit progresser", "bon trimestre", "bavardages"), (X,)),
    }  # fmt: skip


def club(d: Draw) -> dict:
    """Members of a sports club, German."""
    return {
        "MitglNr": (d.keys(1001, 1), (N, P)),
        "Anrede": (d.words("Herr", "Frau", even=True), (V,)),
        "Nachname": (d.words("Schulze", "Krause", "Vogel", "Lang", "Busch", "Horn", even=True), (N,)),
        "Strasse": ([f"{('Hauptstr.', 'Am Anger', 'Lindenweg')[n % 3]} {n}" for n in d.whole(1, 90)], (N,)),
        "PLZ_Ort": (d.words("04103 Leipzig", "04109 Leipzig", "04416 Markkleeberg", "04425 Taucha"), (V,)),
        "GebDatum": (d.dates("%d.%m.%Y", 1940, 2016), (V,)),
        "Eintritt": (d.dates("%d.%m.%Y", 1995, 2023), (V,)),
        "Sparte": (d.words("Fußball", "Turnen", "Tischtennis", "Reha-Sport"), (V, F)),
        "BeitrKl": (d.words("Erwachsene", "Kinder", "Ermäßigt", "Familie"), (F, V, S)),
        "Beitrag_Eur": (d.words("12,00", "6,00", "8,50", "20,00"), (F, S)),
        "Rueckstand": (d.with_gaps(d.money(6, 240), 0.8), (S,)),
        "IBAN": ([f"DE{n:020}" for n in d.whole(10**18, 10**19)], (N,)),
        "EMail": ([f"mitglied{n}@example.org" for n in d.whole(1, 10**6)], (N,)),
        "Attest": (d.marks("liegt vor", "fehlt", 0.3), (S, F)),
        "Notfallkontakt": (d.keys(1510000000, 97, "0"), (N,)),
        "Trikotgr": (d.words("M", "L", "S", "XL"), (F, V)),
        "Bemerkung": (d.sentences("Beitrag gestundet", "zahlt bar", "hilft beim Fest", "Knie operiert"), (X,)),
    }  # fmt: skip


def claims(d: Draw) -> dict:
    """Claims of a health insurer, Dutch; several rows per person."""
    people = [f"{100000000 + 71 * n}" for n in range(220)]
    owner = [people[n] for n in d.whole(0, 219)]
    born = {one: str(1935 + n % 75) for n, one in enumerate(people)}
    sex = {one: ("V", "M")[n % 2] for n, one in enumerate(people)}
    return {
        "relatienr": (owner, (P,)),
        "gebjr": ([born[one] for one in owner], (V,)),
        "gesl": ([sex[one] for one in owner], (V,)),
        "pc4": ([str(1011 + int(one) % 89) for one in owner], (V,)),
        "dat_beh": (d.dates("%Y-%m-%d", 2022, 2023), (V,)),
        "agb_zorgverl": (d.words("01012345", "01054321", "94057788", "03011223"), (V, F, H)),
        "specialisme": (d.words("huisarts", "GGZ", "fysiotherapie", "apotheek", "gynaecologie"), (S,)),
        "dbc_code": (d.words("15A12", "15B07", "09C33", "22D01"), (S,)),
        "atc": (d.words("N06AB04", "C09AA02", "A10BA02", "J01CA04"), (S,)),
        "bedrag": (d.money(9, 3400), (S,)),
        "eigen_risico": (d.money(0, 385), (S, F)),
        "gecontr": (d.marks("J", "N", 0.9), (H, F)),
        "polis": (d.words("basis", "basis+aanvullend", "basis+tand"), (F, S)),
    }  # fmt: skip


def taxes(d: Draw) -> dict:
    """Extract of tax returns, Italian."""
    return {
        "cod_fiscale": (
            [f"RSSMRA{n % 90 + 10}A{n % 30 + 10}H{501 + n % 400}{chr(65 + n % 26)}" for n in d.whole(0, 10**6)],
            (N, P),
        ),
        "anno_nascita": (d.whole(1935, 2002), (V,)),
        "genere": (d.words("F", "M", even=True), (V,)),
        "comune": (d.words("Torino", "Moncalieri", "Rivoli", "Collegno"), (V,)),
        "stato_civ": (d.words("coniugato", "celibe/nubile", "vedovo", "separato"), (V,)),
        "fam_carico": (d.words("0", "1", "2", "3"), (V,)),
        "cod_ateco": (d.words("47.11", "56.10", "69.20", "43.21"), (V,)),
        "redd_compl": (d.money(0, 120000), (S,)),
        "redd_fabbr": (d.with_gaps(d.money(0, 20000), 0.5), (S,)),
        "irpef_netta": (d.money(0, 40000), (S,)),
        "add_reg": (d.money(0, 1900), (S,)),
        "otto_mille": (d.words("Chiesa cattolica", "Stato", "nessuna scelta", "Valdesi", "UCEI"), (S,)),
        "spese_mediche": (d.with_gaps(d.money(130, 6000), 0.4), (S,)),
        "mutuo": (d.marks("si", "no", 0.3), (S, F)),
        "tipo_dich": (d.words("730", "Redditi PF"), (F, H, V)),
    }  # fmt: skip


def personnel(d: Draw) -> dict:
    """Export of a personnel system, English, run-together abbreviations."""
    return {
        "EMPLID": (d.keys(880012, 11), (N, P)),
        "LNAME": (d.words("Okafor", "Nguyen", "Peterson", "Kaur", "Walsh", even=True), (N,)),
        "DOBYR": (d.whole(1958, 2003), (V,)),
        "SEXCD": (d.words("F", "M", "X"), (V,)),
        "RACEETH": (d.words("White", "Black", "Hispanic", "Asian", "Two or more"), (V,)),
        "HIREDT": (d.dates("%m/%d/%Y", 1998, 2023), (V,)),
        "TERMDT": (d.with_gaps(d.dates("%m/%d/%Y", 2019, 2023), 0.8), (V,)),
        "DEPTNM": (d.words("Warehouse", "Finance", "Support", "Legal"), (V,)),
        "JOBTTL": (d.words("Associate", "Analyst", "Manager", "Counsel"), (V,)),
        "WRKZIP": (d.words("30301", "30305", "30318", "30009"), (V,)),
        "ANNSAL": (d.money(31000, 190000, 0), (S,)),
        "BONUSPCT": (d.words("0", "5", "10", "15"), (S,)),
        "PERFRTG": (d.words("3", "4", "2", "5", "1"), (S,)),
        "DISCPLN": (d.words("none", "verbal", "written", "final"), (S,)),
        "SICKHRS": (d.counts(22), (S,)),
        "VETSTAT": (d.marks("Y", "N", 0.07), (S, V, F)),
        "DISABFLG": (d.marks("Y", "N", 0.06), (S,)),
        "FMLALV": (d.marks("Y", "N", 0.05), (S,)),
        "UNIONMBR": (d.marks("Y", "N", 0.2), (S,)),
        "GARNISH": (d.marks("Y", "N", 0.04), (S,)),
        "MEDPLAN": (d.words("PPO", "HMO", "Waived", "HDHP"), (S, F)),
        "CMNTS": (d.sentences("spoke with manager", "requests transfer", "late twice", "good quarter"), (X,)),
    }  # fmt: skip


def events(d: Draw) -> dict:
    """Log of a web shop, several rows per person, English and technical."""
    users = [f"u_{7919 * n % 99991:05}" for n in range(150)]
    owner = [users[n] for n in d.whole(0, 149)]
    country = {one: ("DE", "AT", "CH", "NL")[n % 4] for n, one in enumerate(users)}
    band = {one: ("18-24", "25-34", "35-49", "50+")[n // 5 % 4] for n, one in enumerate(users)}
    return {
        "event_id": (d.keys(10**9, 17), (N, H)),
        "user_id": (owner, (P,)),
        "session": ([f"{one}-{n}" for one, n in zip(owner, d.whole(1, 6), strict=True)], (N,)),
        "ts": (d.dates("%Y-%m-%dT%H:%M:%SZ", 2022, 2023), (V,)),
        "ip_addr": ([f"84.{n % 250}.{n // 7 % 250}.{n // 97 % 250}" for n in d.whole(1, 10**6)], (N,)),
        "ua_os": (d.words("Android", "iOS", "Windows", "macOS"), (V, F)),
        "geo_ctry": ([country[one] for one in owner], (V,)),
        "age_band": ([band[one] for one in owner], (V,)),
        "evt_type": (d.words("view", "cart", "purchase", "return"), (F, H, V)),
        "sku_cat": (d.words("shoes", "maternity", "books", "pharmacy"), (F, S)),
        "basket_eur": (d.with_gaps(d.money(4, 600), 0.6), (S, F)),
        "pay_meth": (d.words("card", "invoice", "instalments", "voucher"), (F, S)),
        "risk_score": (d.real(0, 1, 3), (S,)),
        "ab_group": (d.words("A", "B", even=True), (H, F)),
    }  # fmt: skip


TABLES = (clinic, labour_survey, grades, club, claims, taxes, personnel, events)


def household_panel(d: Draw) -> dict:
    """Panel of households, Czech."""
    return {
        "cislo_domac": (d.keys(3001, 1), ("household", N, P)),
        "pohlavi": (d.words("žena", "muž", even=True), (V,)),
        "rok_nar": (d.whole(1940, 2005), (V,)),
        "kraj": (d.words("Praha", "Jihomoravský", "Ústecký", "Plzeňský"), (V,)),
        "vzdelani": (d.words("střední", "základní", "vysokoškolské"), (V,)),
        "rod_stav": (d.words("ženatý/vdaná", "svobodný/á", "rozvedený/á", "ovdovělý/á"), (V,)),
        "pocet_deti": (d.words("0", "1", "2", "3"), (V,)),
        "povolani": (d.words("dělník", "úředník", "učitel", "řidič"), (V,)),
        "cisty_prijem": (d.money(9000, 80000, 0), (S,)),
        "dluhy": (d.marks("ano", "ne", 0.2), (S,)),
        "nemoc_chron": (d.marks("ano", "ne", 0.25), (S,)),
        "invalid_duchod": (d.marks("ano", "ne", 0.06), (S,)),
        "vira": (d.words("bez vyznání", "katolík", "evangelík"), (S,)),
        "volby21": (d.words("ANO", "SPOLU", "Piráti", "SPD", "nevolil"), (S,)),
        "vaha_vyb": (d.real(0.3, 3, 4), (H,)),
    }  # fmt: skip


def social_services(d: Draw) -> dict:
    """Cases of a social service, Portuguese."""
    return {
        "num_processo": (d.keys(20230001, 1), (N, P)),
        "nome": (d.words("Ana Silva", "Rui Costa", "Marta Lopes", "Nuno Dias", even=True), (N,)),
        "dt_nasc": (d.dates("%d-%m-%Y", 1935, 2020), (V,)),
        "sexo": (d.words("F", "M", even=True), (V,)),
        "freguesia": (d.words("Campanhã", "Bonfim", "Paranhos", "Ramalde"), (V,)),
        "nacionalid": (d.words("portuguesa", "brasileira", "ucraniana", "cabo-verdiana"), (V,)),
        "escolaridade": (d.words("1.º ciclo", "3.º ciclo", "secundário", "superior"), (V,)),
        "agreg_fam": (d.words("1", "2", "3", "4", "5"), (V,)),
        "rsi": (d.marks("sim", "não", 0.35), (S,)),
        "violencia_dom": (d.marks("sim", "não", 0.12), (S,)),
        "toxicodep": (d.marks("sim", "não", 0.1), (S,)),
        "rendim_mensal": (d.money(0, 1400), (S,)),
        "apoio_renda": (d.with_gaps(d.money(50, 400), 0.7), (S,)),
        "tecnico": (d.words("T01", "T02", "T03", "T04"), (H, F, V)),
        "dt_abertura": (d.dates("%d-%m-%Y", 2021, 2023), (V,)),
        "relatorio": (d.sentences("utente vive só", "pediu apoio", "filhos menores", "reavaliar em"), (X,)),
    }  # fmt: skip


def pupils_health(d: Draw) -> dict:
    """School nurses' records, Swedish."""
    return {
        "personnr": ([f"{n}-{1000 + n % 9000}" for n in d.whole(20050101, 20141231)], (N, P)),
        "skola": (d.words("Norra skolan", "Västra skolan", "Lindskolan"), (V,)),
        "arskurs": (d.words("4", "5", "6", "7", "8"), (V,)),
        "kon": (d.words("flicka", "pojke", even=True), (V,)),
        "fodelseland": (d.words("Sverige", "Syrien", "Somalia", "Finland"), (V,)),
        "langd_cm": (d.normal(150, 14), (V,)),
        "vikt_kg": (d.normal(44, 11), (V, S)),
        "bmi_sds": (d.normal(0.2, 1.1, 2), (S,)),
        "syn_ho": (d.real(0.3, 1.2), (S,)),
        "syn_va": (d.real(0.3, 1.2), (S,)),
        "horsel": (d.words("ua", "nedsatt"), (S,)),
        "astma": (d.marks("ja", "nej", 0.1), (S,)),
        "adhd_utr": (d.marks("ja", "nej", 0.07), (S,)),
        "vaccinerad": (d.marks("ja", "nej", 0.93), (S, F)),
        "psyk_maende": (d.words("bra", "ok", "dåligt"), (S,)),
        "anteckning": (d.sentences("ont i magen", "samtal med", "kontakt hemmet", "ny tid om"), (X,)),
    }  # fmt: skip


def tenants(d: Draw) -> dict:
    """Tenants of a housing association, English, abbreviated."""
    return {
        "TENREF": (d.keys(550100, 9, "T"), (N, P)),
        "SURNM": (d.words("Hughes", "Begum", "Clarke", "Osei", "Murphy", even=True), (N,)),
        "DOB": (d.dates("%d/%m/%Y", 1935, 2004), (V,)),
        "PCODE": (d.words("LS6 2AB", "LS7 4QT", "LS8 1PL", "LS9 6HH"), (V,)),
        "PROPTYP": (d.words("flat", "house", "bedsit", "maisonette"), (V, F)),
        "BEDS": (d.words("1", "2", "3", "0"), (V, F)),
        "TENSTRT": (d.dates("%d/%m/%Y", 1999, 2023), (V,)),
        "HHSIZE": (d.words("1", "2", "3", "4", "5"), (V,)),
        "ETHORIG": (d.words("White British", "Pakistani", "Black African", "Irish"), (V,)),
        "RENTPW": (d.money(72, 210), (S, F)),
        "ARRS": (d.with_gaps(d.money(10, 2400), 0.7), (S,)),
        "HBENEFIT": (d.marks("Y", "N", 0.45), (S,)),
        "ASBFLAG": (d.marks("Y", "N", 0.06), (S,)),
        "VULNIND": (d.marks("Y", "N", 0.15), (S,)),
        "MENTALHLTH": (d.marks("Y", "N", 0.12), (S,)),
        "DISABADAPT": (d.marks("Y", "N", 0.09), (S,)),
        "NXTKIN": (d.keys(7700900000, 13, "0"), (N,)),
        "VISITNOTES": (d.sentences("no reply", "repair reported", "spoke to son", "damp in bathroom"), (X,)),
    }  # fmt: skip


LATER_TABLES = (household_panel, social_services, pupils_health, tenants)
"""Tables that were written after the rules had been mended for the first ones, to see whether the mending carries."""
