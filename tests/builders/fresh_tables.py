"""Sixteen tables in ten languages, written before the rules were read.

Each column has its values and the labels that an expert gave it beforehand: identifier, person, household, visible,
fact, sensitive, harmless, free text. Several labels mean that each is acceptable, the first is the best.
"""

from __future__ import annotations

from tests.builders.blind_tables import FAMILY, GIVEN, HH, F, H, N, P, S, V, X, people
from tests.builders.made_up_columns import Draw

ROWS = 700


def ages(d: Draw, low: int = 18, high: int = 92) -> list[int]:
    """Ages of adults, most of them in the middle."""
    return [min(max(round(n), low), high) for n in d.normal((low + high) / 2 - 5, (high - low) / 5)]


def items(d: Draw, top: int, *absent: int) -> list[int]:
    """Answers on a scale, a few of them refused."""
    roll = d.random
    return [roll.choice(absent) if absent and roll.random() < 0.06 else roll.randint(1, top) for _ in range(d.rows)]


def attitudes(d: Draw) -> dict:
    """Survey of attitudes, English, item names of a questionnaire."""
    return {
        "RESPID": (d.keys(100234, 1), (N, P)),
        "WAVE": (d.words("7"), (H,)),
        "MODE": (d.words("CAWI", "CATI", "CAPI"), (H, F)),
        "INTDATE": (d.dates("%Y%m%d", 2021, 2022), (F, V, H)),
        "GOR": (d.words("London", "South East", "North West", "Wales", "Scotland", "Yorkshire and the Humber"), (V,)),
        "AGEGP7": (items(d, 7), (V,)),
        "RSEX": (items(d, 2), (V,)),
        "ETHGRP5": (d.words("White", "Asian", "Black", "Mixed", "Other"), (V, S)),
        "MARSTAT6": (items(d, 6, 98), (V,)),
        "HHINC10": (items(d, 10, 97, 98), (S,)),
        "TENURE3": (items(d, 3, 98), (V, F)),
        "NSSEC8": (items(d, 8), (V,)),
        "HEDQUAL": (items(d, 7, 98), (V,)),
        "q4_vote19": (d.words("Con", "Lab", "LD", "SNP", "Green", "Did not vote", "Refused"), (S,)),
        "q5_1": (items(d, 5, 98, 99), (S, F)),
        "q5_2": (items(d, 5, 98, 99), (S, F)),
        "q5_3": (items(d, 5, 98, 99), (S, F)),
        "q12_euref": (d.words("Remain", "Leave", "DNV", "DK"), (S,)),
        "F1a": (d.words("C of E", "None", "Roman Catholic", "Muslim", "Hindu", "Jewish"), (S,)),
        "F1b": (items(d, 7, 99), (S, F)),
        "LIFESAT": (d.whole(0, 10), (S, F)),
        "wt_core": (d.real(0.3, 3.2, 4), (H,)),
        "q40_oth": (
            d.with_gaps(d.sentences("I think", "the government", "should do", "more about", "prices"), 0.8),
            (X,),
        ),
    }


def mobile_contracts(d: Draw) -> dict:
    """Customers of a telecom company, German, camelCase."""
    return {
        "kundenNr": (d.keys(5500121, 3), (N, P)),
        "msisdn": ([f"49151{n}" for n in d.keys(2345678, 113)], (N,)),
        "anrede": (d.words("Herr", "Frau", "Firma"), (V,)),
        "kundeVorname": ([GIVEN["de"][n % 12] for n in d.whole(0, 9999)], (N,)),
        "kundeNachname": ([FAMILY["de"][n % 10] for n in d.whole(0, 9999)], (N,)),
        "rechnungsMail": ([f"{GIVEN['de'][n % 12].lower()}{n}@example.de" for n in d.whole(0, 99999)], (N,)),
        "gebJahr": ([2022 - a for a in ages(d)], (V,)),
        "plzRechnung": ([f"{n:05}" for n in d.whole(10115, 10199)], (V,)),
        "tarifBez": (d.words("Smart M", "Smart L", "Red S", "Prepaid", "Junge Leute XL"), (F, H)),
        "vertragsBeginn": (d.dates("%d.%m.%Y", 2014, 2022), (F, V)),
        "grundGebuehr": (d.words("9,99", "19,99", "29,99", "44,99"), (F, S, H)),
        "umsatz12M": ([f"{n:.2f}".replace(".", ",") for n in d.money(60, 1900)], (S, F)),
        "datenVolMB": (d.whole(120, 48000), (F, S)),
        "anzAnrufeAusl": (d.counts(4), (F, S)),
        "geraetTyp": (d.words("iPhone 12", "Galaxy S20", "Pixel 6", "Redmi 9", "ohne"), (F,)),
        "imei": (d.keys(356938035643809, 9173), (N,)),
        "mahnStufe": (d.words("0", "1", "2", "3"), (S,)),
        "schufaScore": (d.whole(71, 99), (S,)),
        "kuendDat": (d.with_gaps(d.dates("%d.%m.%Y", 2021, 2023), 0.8), (F, V)),
        "kuendGrund": (d.with_gaps(d.words("Preis", "Umzug", "Wechsel", "verstorben"), 0.8), (F, S)),
        "werbungErl": (d.marks("J", "N", 0.4), (F, H)),
        "ibanRE": ([f"DE{n}" for n in d.keys(89370400440532013000, 7919)], (N,)),
    }


def emergencies(d: Draw) -> dict:
    """Visits of an emergency ward, French; several visits of a patient."""
    owner = d.whole(0, 520)
    age = [(n * 37 + 11) % 95 for n in owner]
    return {
        "NUMPASS": (d.keys(22000417, 1), (N,)),
        "IPP": ([f"{800000 + 31 * n}" for n in owner], (P,)),
        "NOMNAISS": ([FAMILY["fr"][n % 11].upper() for n in owner], (N,)),
        "PRENOM1": ([GIVEN["fr"][n % 12] for n in owner], (N,)),
        "DTNAISS": ([f"{1 + n % 28:02}/{1 + n % 12:02}/{2022 - a}" for n, a in zip(owner, age, strict=True)], (V,)),
        "SEXEPAT": (["MF"[n % 2] for n in owner], (V,)),
        "CPRES": ([f"{69001 + n % 9}" for n in owner], (V,)),
        "COMRES": ([("Lyon", "Villeurbanne", "Bron", "Vénissieux")[n % 4] for n in owner], (V,)),
        "DHENTREE": (d.dates("%d/%m/%Y %H:%M", 2021, 2022), (V, F)),
        "MODENT": (d.words("8", "7", "6"), (F, S)),
        "TRANSP": (d.words("PERSO", "AMBU", "VSAV", "SMUR", "FO"), (F, V, S)),
        "MOTIFREC": (
            d.words(
                "Douleur thoracique", "Traumatisme", "Dyspnée", "Intoxication alcoolique", "Fièvre", "Idées suicidaires"
            ),
            (S,),
        ),
        "CCMU": (d.words("2", "3", "1", "4", "5", "P"), (S,)),
        "DP": (d.words("R074", "S610", "J180", "F100", "I489", "F329", "N390"), (S,)),
        "TAS": (d.whole(88, 190), (S,)),
        "FC": (d.whole(52, 140), (S,)),
        "SAO2": (d.with_gaps(d.whole(84, 100), 0.1), (S,)),
        "EVADOUL": (d.with_gaps(d.whole(0, 10), 0.2), (S, F)),
        "DHSORTIE": (d.dates("%d/%m/%Y %H:%M", 2021, 2022), (V, F)),
        "DESTSORT": (d.words("DOM", "MCO", "PSY", "REA", "DCD"), (S, F)),
        "OBSIAO": (
            d.sentences("patient adressé", "par médecin traitant", "chute à domicile", "vit seul", "fille prévenue"),
            (X,),
        ),
    }


def municipal_staff(d: Draw) -> dict:
    """Employees of a municipality, Swedish."""
    return {
        "personnummer": (
            [f"{1955 + n % 48}{1 + n % 12:02}{1 + n % 28:02}-{1000 + n * 13 % 9000}" for n in d.whole(0, 99999)],
            (N, P),
        ),
        "anst_nr": (d.keys(3041, 3), (N, P)),
        "fornamn": (
            [("Erik", "Anna", "Lars", "Karin", "Johan", "Elin", "Ahmed", "Ingrid")[n % 8] for n in d.whole(0, 999)],
            (N,),
        ),
        "efternamn": (
            [("Andersson", "Johansson", "Karlsson", "Nilsson", "Svensson", "Öberg")[n % 6] for n in d.whole(0, 999)],
            (N,),
        ),
        "kon": (d.words("K", "M"), (V,)),
        "alder": (ages(d, 19, 67), (V,)),
        "forvaltning": (d.words("Omsorg", "Skola", "Teknik", "Kultur", "Stab"), (V,)),
        "befattning": (d.words("undersköterska", "lärare", "handläggare", "barnskötare", "ingenjör", "chef"), (V,)),
        "anstform": (d.words("tillsvidare", "vikariat", "timanställd"), (V, F)),
        "sysselsgrad": (d.words("100", "75", "80", "50"), (F, V)),
        "manadslon": ([24_000 + 100 * n for n in d.whole(0, 280)], (S,)),
        "lonetillagg": (d.with_gaps([500 * n for n in d.whole(1, 8)], 0.7), (S,)),
        "anst_datum": (d.dates("%Y-%m-%d", 1990, 2022), (V,)),
        "sjukfranvaro_dgr": (d.counts(9), (S,)),
        "foraldraledig": (d.marks("1", "0", 0.08), (F, V, S)),
        "semesterdgr_kvar": (d.whole(0, 40), (F, H)),
        "facklig_tillh": (d.words("Kommunal", "Vision", "Lärarförbundet", "ingen"), (S,)),
        "rehabarende": (d.marks("ja", "nej", 0.06), (S,)),
        "utbniva": (d.words("gymnasium", "eftergymnasial", "grundskola"), (V,)),
        "hemkommun": (d.words("Lund", "Malmö", "Eslöv", "Kävlinge"), (V,)),
        "bankkonto": ([f"8{n}-{int(n) % 7}" for n in d.keys(1054321, 17)], (N,)),
    }


def crime_reports(d: Draw) -> dict:
    """Reports to the police, Spanish."""
    return {
        "num_atestado": (d.keys(202100345, 1, "AT-"), (N,)),
        "fec_hecho": (d.dates("%d/%m/%Y", 2020, 2022), (V,)),
        "hora_hecho": ([f"{n // 60:02}:{n % 60:02}" for n in d.whole(0, 1439)], (V, F)),
        "distrito": (d.words("Centro", "Chamberí", "Tetuán", "Usera", "Vallecas"), (V,)),
        "lat": (d.real(40.36, 40.49, 5), (V,)),
        "lon": (d.real(-3.78, -3.60, 5), (V,)),
        "tipo_delito": (d.words("Hurto", "Robo con violencia", "Lesiones", "Violencia de género", "Estafa"), (S,)),
        "cod_penal_art": (d.words("234", "242", "147", "153", "248"), (S,)),
        "nif_denunciante": (
            [f"{n}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}" for n in d.whole(10_000_000, 79_999_999)],
            (N, P),
        ),
        "nom_denunciante": (people(d, "es"), (N,)),
        "edad_victima": (ages(d), (V,)),
        "sexo_victima": (d.words("M", "H"), (V,)),
        "nacionalidad_vict": (d.words("España", "Ecuador", "Rumanía", "Marruecos", "China"), (V, S)),
        "rel_autor": (d.with_gaps(d.words("pareja", "expareja", "desconocido", "familiar", "vecino"), 0.3), (S, F)),
        "autor_detenido": (d.marks("S", "N", 0.2), (S, F)),
        "antecedentes": (d.with_gaps(d.counts(1), 0.5), (S,)),
        "uso_arma": (d.words("ninguna", "blanca", "fuego"), (S, F)),
        "importe_perj": (d.with_gaps(d.money(10, 9000), 0.4), (S, F)),
        "orden_alejam": (d.marks("1", "0", 0.1), (S,)),
        "tfno": ([f"6{n}" for n in d.whole(10_000_000, 99_999_999)], (N,)),
        "relato": (
            d.sentences("la denunciante manifiesta que", "sobre las diez", "un varón", "le sustrajo", "en la calle"),
            (X,),
        ),
    }


def mortgages(d: Draw) -> dict:
    """Mortgages of a bank, Italian, names of a data warehouse."""
    return {
        "COD_PRATICA": (d.keys(90012, 7, "MU"), (N,)),
        "NDG": (d.keys(4410021, 13), (N, P)),
        "COD_FISC": (
            [
                f"RSSMRA{50 + n % 49}{'ABCDEHLMPRST'[n % 12]}{1 + n % 28:02}H{n % 900 + 100}{'QWERTZ'[n % 6]}"
                for n in d.whole(0, 99999)
            ],
            (N,),
        ),
        "DT_NASC": (d.dates("%Y-%m-%d", 1945, 2000), (V,)),
        "FLG_SESSO": (d.words("M", "F"), (V,)),
        "CAP_RES": ([f"{n:05}" for n in d.whole(20121, 20162)], (V,)),
        "PROV_RES": (d.words("MI", "MB", "BG", "VA", "CO"), (V,)),
        "STATO_CIV": (d.words("CON", "NUB", "CEL", "DIV", "VED"), (V,)),
        "N_FIGLI": (d.counts(0.9), (V, F)),
        "PROFESS": (d.words("Impiegato", "Operaio", "Libero professionista", "Pensionato", "Dirigente"), (V,)),
        "TIT_STUD": (d.words("Diploma", "Laurea", "Licenza media"), (V,)),
        "REDD_LORDO": (d.money(9_000, 140_000, 0), (S,)),
        "IMP_EROG": ([1000 * n for n in d.whole(40, 400)], (S,)),
        "DUR_MESI": (d.words("240", "300", "180", "360"), (F, S)),
        "TASSO": (d.real(0.6, 4.2, 2), (F, S, H)),
        "LTV": (d.real(0.3, 0.95, 2), (S, F)),
        "RATA": (d.money(210, 2100), (S,)),
        "GG_SCONF": (d.counts(3), (S,)),
        "FLG_SOFF": (d.marks("1", "0", 0.03), (S,)),
        "RATING_INT": (d.words("A2", "B1", "B3", "C1", "D"), (S,)),
        "DT_EROG": (d.dates("%Y-%m-%d", 2008, 2022), (F, V)),
        "FILIALE": (d.words("00312", "00417", "01120", "00018"), (F, V, H)),
    }


def pupil_records(d: Draw) -> dict:
    """Pupils of a primary school, Dutch."""
    return {
        "leerlingnr": (d.keys(2201, 1), (N, P)),
        "pgn": (d.keys(123456782, 991), (N,)),
        "roepnaam": ([GIVEN["nl"][n % 12] for n in d.whole(0, 999)], (N,)),
        "achternaam": ([FAMILY["nl"][n % 10] for n in d.whole(0, 999)], (N,)),
        "gebdat": (d.dates("%d-%m-%Y", 2009, 2017), (V,)),
        "jm": (d.words("J", "M", even=True), (V,)),
        "groep": (d.words("3", "4", "5", "6", "7", "8", even=True), (V,)),
        "postc4": (d.whole(3511, 3584), (V,)),
        "geboorteland_ouder": (d.words("Nederland", "Marokko", "Turkije", "Syrië", "Polen"), (V, S)),
        "thuistaal": (d.words("Nederlands", "Turks", "Arabisch", "Pools"), (V, F, S)),
        "schoolgewicht": (d.words("0", "0.3", "1.2"), (S, F)),
        "cito_rek": (d.whole(20, 140), (S,)),
        "cito_tbl": (d.whole(20, 140), (S,)),
        "avi": (d.words("M3", "E3", "M4", "E4", "M5", "Plus"), (S, F)),
        "dyslexie": (d.marks("ja", "nee", 0.1), (S,)),
        "diagn_overig": (d.with_gaps(d.words("ADHD", "ASS", "TOS", "hoogbegaafd"), 0.85), (S,)),
        "medicatie": (d.with_gaps(d.words("Ritalin", "Ventolin", "geen"), 0.5), (S,)),
        "verzuim_ongeoorl": (d.counts(1.5), (S, F)),
        "zorgarr": (d.marks("1", "0", 0.12), (S,)),
        "gezinssit": (d.words("beide ouders", "co-ouderschap", "eenouder", "pleeggezin"), (V, S, F)),
        "adviesVO": (d.with_gaps(d.words("havo", "vmbo-t", "vwo", "vmbo-b"), 0.7), (S,)),
        "opm_ib": (
            d.with_gaps(d.sentences("gesprek met", "moeder over", "thuissituatie", "Jeugdzorg betrokken"), 0.6),
            (X,),
        ),
    }


def gym_app(d: Draw) -> dict:
    """Members of a chain of gyms, English, camelCase of an application."""
    return {
        "memberGuid": (
            [
                f"{n:08x}-{n * 7 % 65536:04x}-4{n % 4096:03x}-a{n * 3 % 4096:03x}-{n * 977:012x}"
                for n in d.random.sample(range(10**6, 10**8), d.rows)
            ],
            (N, P),
        ),
        "displayName": ([f"{GIVEN['en'][n % 12].lower()}_{n % 1000}" for n in d.whole(0, 99999)], (N,)),
        "birthYr": ([2023 - a for a in ages(d, 16, 80)], (V,)),
        "gndr": (d.words("f", "m", "x"), (V,)),
        "homeClub": (d.words("Leeds City", "Headingley", "Bradford", "York", "Harrogate"), (V, F)),
        "pcSector": (d.words("LS6 2", "LS1 4", "BD7 1", "YO10 3", "HG1 5", "LS8 1"), (V,)),
        "joinedOn": (d.dates("%Y-%m-%d", 2015, 2023), (V, F)),
        "plan": (d.words("OffPeak", "Anytime", "Student", "Corporate"), (F, V)),
        "corpCode": (d.with_gaps(d.words("NHS", "LCC", "ASDA", "UNI"), 0.8), (V, F)),
        "mthlyFee": (d.words("24.99", "32.99", "19.99", "44.00"), (F, S, H)),
        "visits90d": (d.counts(12), (F,)),
        "lastVisitAt": (d.dates("%Y-%m-%dT%H:%M:%SZ", 2022, 2023), (F, V)),
        "htCm": (d.normal(172, 9, 0), (V, F)),
        "wtKg": (d.normal(79, 14), (S, F, V)),
        "bodyFatPct": (d.normal(26, 7), (S,)),
        "restHr": (d.whole(44, 92), (S,)),
        "vo2max": (d.normal(38, 7), (S,)),
        "parqFlag": (d.marks("true", "false", 0.09), (S,)),
        "injuryNote": (d.with_gaps(d.words("knee", "lower back", "shoulder", "ankle"), 0.7), (S, X)),
        "goal": (d.words("lose weight", "build muscle", "rehab", "general"), (F, S)),
        "failedPmts": (d.counts(0.3), (S,)),
        "emergContact": ([f"07{n}" for n in d.whole(700_000_000, 999_999_999)], (N,)),
        "pushOptIn": (d.marks("true", "false", 0.5), (H, F)),
    }


def rehabilitation(d: Draw) -> dict:
    """Patients of a rehabilitation clinic, Polish, names as in SAS."""
    return {
        "NRHIST": (d.keys(11023, 1), (N, P)),
        "PESEL": (d.keys(55010112345, 9_871_233), (N,)),
        "NAZWPAC": (people(d, "pl"), (N,)),
        "PLEC": (d.words("K", "M"), (V,)),
        "WIEKLAT": (ages(d, 20, 95), (V,)),
        "MIEJZAM": (d.words("miasto", "wieś"), (V,)),
        "WOJEW": (d.words("mazowieckie", "śląskie", "łódzkie", "lubelskie"), (V,)),
        "WYKSZT": (d.words("średnie", "wyższe", "zawodowe", "podstawowe"), (V,)),
        "STCYW": (d.words("żonaty/zamężna", "wdowa/wdowiec", "panna/kawaler", "rozwiedziony/a"), (V,)),
        "DATPRZYJ": (d.dates("%Y-%m-%d", 2019, 2022), (V, F)),
        "ROZP1": (d.words("I63.9", "S72.0", "M16.1", "G35", "I69.3"), (S,)),
        "ROZP2": (d.with_gaps(d.words("E11.9", "I10", "F32.1", "N18.3"), 0.4), (S,)),
        "BARTHEL0": ([5 * n for n in d.whole(0, 20)], (S,)),
        "BARTHEL1": ([5 * n for n in d.whole(4, 20)], (S,)),
        "MMSE": (d.whole(12, 30), (S,)),
        "BMI_PRZ": (d.normal(27, 4.6), (S,)),
        "PALI": (d.words("nie", "tak", "dawniej"), (S, F)),
        "ALKO": (d.words("nie", "okazjonalnie", "często"), (S,)),
        "LEKI_N": (d.counts(4), (S,)),
        "STNIEP": (d.with_gaps(d.words("umiarkowany", "znaczny", "lekki"), 0.3), (S,)),
        "RENTA": (d.marks("tak", "nie", 0.3), (S,)),
        "LEKPROW": (d.words("dr Wolska", "dr Maj", "dr Sikora"), (F, N, S, V)),
        "UWAGI": (
            d.with_gaps(d.sentences("pacjentka zgłasza", "ból", "córka odbiera", "po wypisie", "kontrola"), 0.5),
            (X,),
        ),
    }


def web_orders(d: Draw) -> dict:
    """Orders of a shop, Brazilian; several orders of a customer."""
    owner = d.whole(0, 430)
    return {
        "pedido_id": (d.keys(7000451, 3), (N,)),
        "cliente_hash": ([f"{n * 2654435761 % 2**32:08x}" for n in owner], (P,)),
        "nome_dest": ([f"{GIVEN['pt'][n % 12]} {FAMILY['pt'][n % 10]}" for n in owner], (N,)),
        "cpf": (
            [f"{n * 7919 % 1000:03}.{n * 104729 % 1000:03}.{n * 1299709 % 1000:03}-{n % 100:02}" for n in owner],
            (N,),
        ),
        "cep": ([f"{1000 + n * 37 % 900:05}-{n * 13 % 999:03}" for n in owner], (V,)),
        "cidade": ([("São Paulo", "Campinas", "Santos", "Osasco")[n % 4] for n in owner], (V,)),
        "uf": ([("SP", "SP", "SP", "SP", "RJ")[n % 5] for n in owner], (V,)),
        "dt_compra": (d.dates("%Y-%m-%d %H:%M:%S", 2021, 2022), (V, F)),
        "dt_nasc_cli": ([f"{1950 + n % 55}-{1 + n % 12:02}-{1 + n % 28:02}" for n in owner], (V,)),
        "genero_cli": (["FM"[n % 2] for n in owner], (V,)),
        "sku": (d.words("BB-1021", "FA-0093", "EL-4410", "AD-0666", "LI-2001", "FA-0121"), (F, H, S)),
        "categoria": (d.words("bebês", "farmácia", "eletrônicos", "sex shop", "livros", "religião"), (S, F)),
        "qtd": (d.words("1", "2", "3", "5"), (F, H)),
        "vl_total": (d.money(12, 2400), (F, S)),
        "vl_frete": (d.money(0, 60), (H, F)),
        "forma_pgto": (d.words("cartao", "boleto", "pix"), (F,)),
        "parcelas": (d.words("1", "3", "6", "10", "12"), (F, S)),
        "bin_cartao": (d.with_gaps([str(400000 + n * 613 % 99999) for n in owner], 0.4), (N, F)),
        "nota_aval": (d.with_gaps(d.whole(1, 5), 0.5), (F, H)),
        "coment_aval": (
            d.with_gaps(d.sentences("chegou rápido", "gostei muito", "para minha mãe", "produto ruim"), 0.7),
            (X,),
        ),
        "ip_compra": ([f"177.{n % 255}.{n * 7 % 255}.{n * 13 % 255}" for n in d.whole(0, 10**6)], (N,)),
    }


def trial(d: Draw) -> dict:
    """Adverse events of a clinical trial; several rows of a subject."""
    owner = d.whole(0, 260)
    return {
        "STUDYID": (d.words("ABC-301"), (H, N)),
        "USUBJID": ([f"ABC-301-{n % 14 + 1:03}-{1000 + n}" for n in owner], (P,)),
        "SUBJINIT": ([f"{GIVEN['en'][n % 12][0]}{FAMILY['en'][n % 11][0]}" for n in owner], (N,)),
        "SITEID": ([f"{n % 14 + 1:03}" for n in owner], (V, F)),
        "INVNAM": ([f"Dr {FAMILY['en'][n % 11]}" for n in owner], (F, N, V)),
        "COUNTRY": ([("USA", "DEU", "POL", "JPN")[n % 4] for n in owner], (V,)),
        "AGE": ([20 + n * 7 % 60 for n in owner], (V,)),
        "SEX": (["MF"[n % 2] for n in owner], (V,)),
        "RACE": ([("WHITE", "BLACK OR AFRICAN AMERICAN", "ASIAN", "WHITE")[n % 4] for n in owner], (V, S)),
        "ARMCD": ([("A", "B", "P")[n % 3] for n in owner], (F, S, H)),
        "RFSTDTC": ([f"2021-{1 + n % 12:02}-{1 + n % 28:02}" for n in owner], (V, F)),
        "HEIGHTBL": ([150 + n % 45 for n in owner], (V, F)),
        "WEIGHTBL": ([48 + n * 3 % 62 for n in owner], (V, F, S)),
        "AETERM": (d.words("HEADACHE", "NAUSEA", "DEPRESSED MOOD", "RASH", "ALOPECIA", "VOMITING"), (S,)),
        "AESEV": (d.words("MILD", "MODERATE", "SEVERE"), (S,)),
        "AESER": (d.marks("Y", "N", 0.07), (S,)),
        "AEREL": (d.words("NOT RELATED", "POSSIBLE", "PROBABLE"), (S, F)),
        "AESTDY": (d.whole(1, 180), (F, S)),
        "AEOUT": (d.words("RECOVERED", "NOT RECOVERED", "FATAL"), (S,)),
        "CMTRT": (d.with_gaps(d.words("PARACETAMOL", "SERTRALINE", "METFORMIN", "IBUPROFEN"), 0.4), (S,)),
        "APOE": ([("e3/e3", "e3/e4", "e2/e3", "e4/e4")[n % 4] for n in owner], (S,)),
        "DTHFL": ([("", "", "", "Y")[n % 4] if n % 9 == 0 else "" for n in owner], (S, V)),
    }


def flats(d: Draw) -> dict:
    """Tenants of a housing association, German compounds."""
    return {
        "Mietvertragsnummer": (d.keys(100231, 3), (N,)),
        "Hauptmieter": (people(d, "de", "{family}, {given}"), (N,)),
        "Mieterkonto": (d.keys(880012, 11), (N, P)),
        "Objektstrasse": (d.words("Lindenallee", "Am Markt", "Goethestr.", "Bergweg", "Hafenstr."), (V, N)),
        "Hausnr": (d.whole(1, 60), (V, N)),
        "Stockwerk": (d.words("EG", "1", "2", "3", "DG"), (V, F)),
        "Wohnflaeche": (d.normal(64, 17), (V, F)),
        "Zimmerzahl": (d.words("2", "3", "1", "4"), (V, F)),
        "Einzugsdatum": (d.dates("%d.%m.%Y", 1985, 2022), (V,)),
        "Personenzahl": (d.words("1", "2", "3", "4", "5"), (V,)),
        "Geburtsjahrgang": ([2022 - a for a in ages(d)], (V,)),
        "Staatsangeh": (d.words("deutsch", "türkisch", "syrisch", "polnisch", "ukrainisch"), (V, S)),
        "Kaltmiete": (d.money(240, 900), (S, F)),
        "Nebenkostenvorauszahlung": (d.whole(60, 240), (F, S, H)),
        "Mietrueckstand": (d.with_gaps([f"{n:.2f}".replace(".", ",") for n in d.money(0, 2800)], 0.7), (S,)),
        "Mahnkennzeichen": (d.words("0", "M1", "M2", "K"), (S,)),
        "Wohnberechtigungsschein": (d.marks("ja", "nein", 0.35), (S,)),
        "Leistungsbezug": (d.with_gaps(d.words("SGB II", "SGB XII", "Wohngeld"), 0.6), (S,)),
        "Haustier": (d.with_gaps(d.words("Hund", "Katze"), 0.7), (F, V)),
        "Pflegegrad": (d.with_gaps(d.words("2", "3", "1", "4"), 0.88), (S,)),
        "Raeumungsklage": (d.marks("x", "", 0.03), (S,)),
        "Sachbearb": (d.words("Kö", "Br", "Le"), (H, F, N)),
        "Bemerkung": (
            d.with_gaps(d.sentences("Mieter meldet", "Schimmel im Bad", "Nachbar beschwert sich", "Ruhestörung"), 0.6),
            (X,),
        ),
    }


def registers(d: Draw) -> dict:
    """Linked registers of a statistical office, Danish, codes of the office."""
    return {
        "PNR": (
            [
                f"{1 + n % 28:02}{1 + n % 12:02}{n % 100:02}{1000 + n * 17 % 9000}"
                for n in d.random.sample(range(90000), d.rows)
            ],
            (N, P),
        ),
        "FAMILIE_ID": ([f"F{4000 + n}" for n in d.whole(0, 300)], (HH,)),
        "KOEN": (d.words("1", "2", even=True), (V,)),
        "ALDER": (ages(d, 0, 97), (V,)),
        "KOM": (d.words("101", "751", "461", "851", "157", "265"), (V,)),
        "IE_TYPE": (d.words("1", "2", "3"), (V, S)),
        "OPR_LAND": (d.words("5100", "5170", "5750", "5180", "5436"), (V, S)),
        "CIVST": (d.words("G", "U", "F", "E"), (V,)),
        "ANTBOERNF": (d.counts(1), (V,)),
        "HFAUDD": (d.words("4110", "5120", "6530", "1009", "3315"), (V,)),
        "SOCIO13": (d.words("131", "132", "210", "322", "134", "330"), (V, S)),
        "DISCO08": (d.with_gaps([f"{n}" for n in d.words("2341", "5120", "7115", "2221", "9112")], 0.3), (V,)),
        "ERHVERVSINDK": (d.with_gaps(d.money(0, 720_000, 0), 0.2), (S,)),
        "DISPON": (d.money(80_000, 560_000, 0), (S,)),
        "FORMREST": (d.money(-300_000, 2_500_000, 0), (S,)),
        "DAGPENGE_UGER": (d.counts(2), (S,)),
        "KONTHJ": (d.marks("1", "0", 0.05), (S,)),
        "C_ADIAG": (d.with_gaps(d.words("DF32", "DI21", "DC50", "DJ44"), 0.8), (S,)),
        "ATC_N05": (d.marks("1", "0", 0.1), (S,)),
        "DOM_STRAF": (d.marks("1", "0", 0.03), (S,)),
        "BOPKOM_FRA": (d.dates("%d%b%Y", 1995, 2021), (V, F)),
        "REFTID": (d.words("31DEC2021"), (H,)),
    }


def shared_bikes(d: Draw) -> dict:
    """Trips with shared bicycles, French; several trips of a rider."""
    owner = d.whole(0, 300)
    start = [
        f"2022-0{1 + n % 9}-{1 + n % 28:02} {n % 24:02}:{n * 7 % 60:02}:{n * 13 % 60:02}" for n in d.whole(0, 99999)
    ]
    stations = ("Gare Part-Dieu", "Bellecour", "Hôtel de Ville", "Croix-Rousse", "Perrache", "Confluence", "Gerland")
    return {
        "idTrajet": (d.keys(9001200, 1), (N,)),
        "idAbonne": ([f"AB{20000 + 17 * n}" for n in owner], (P,)),
        "carteTCL": ([f"{3100000000 + 99991 * n}" for n in owner], (N,)),
        "hDebut": (start, (V,)),
        "hFin": (start[::-1], (V,)),
        "stDepart": (d.words(*stations), (V,)),
        "stArrivee": (d.words(*stations), (V,)),
        "latDep": (d.real(45.73, 45.79, 4), (V,)),
        "lngDep": (d.real(4.80, 4.89, 4), (V,)),
        "dureeSec": ([60 * n for n in d.whole(2, 70)], (V, F)),
        "distKm": (d.real(0.4, 9, 2), (F, V)),
        "noVelo": (d.whole(10001, 11999), (H, F, V, N)),
        "typeAbo": ([("annuel", "24h", "jeune", "solidaire")[n % 4] for n in owner], (F, V, S)),
        "anNais": ([1950 + n * 7 % 55 for n in owner], (V,)),
        "civ": ([("M.", "Mme")[n % 2] for n in owner], (V,)),
        "cpAbo": ([f"{69001 + n % 9}" for n in owner], (V,)),
        "penalite": (d.with_gaps(d.money(1, 150), 0.9), (S, F)),
        "modePaie": ([("CB", "prélèvement", "espèces")[n % 3] for n in owner], (F, H)),
    }


def enrolments(d: Draw) -> dict:
    """Students of a university, Spanish (Mexico), abbreviated."""
    return {
        "matricula": (d.keys(201900123, 1), (N, P)),
        "curp": (
            [
                f"{'GARLOPEZMARTINHE'[n % 12 : n % 12 + 4]}{n % 100:02}{1 + n % 12:02}28{'HM'[n % 2]}DFRRN{n % 100:02}"
                for n in d.random.sample(range(10**6), d.rows)
            ],
            (N,),
        ),
        "ap_pat": ([FAMILY["es"][n % 10] for n in d.whole(0, 999)], (N,)),
        "nombres": ([GIVEN["es"][n % 12] for n in d.whole(0, 999)], (N,)),
        "correo_inst": ([f"a{n}@example.mx" for n in d.keys(201900123, 1)], (N,)),
        "fnac": (d.dates("%d/%m/%Y", 1994, 2004), (V,)),
        "sx": (d.words("F", "M"), (V,)),
        "edo_civ": (d.words("soltero", "casado", "unión libre"), (V,)),
        "lengua_indig": (d.with_gaps(d.words("náhuatl", "maya", "zapoteco"), 0.9), (V, S)),
        "prepa_proc": (d.words("pública", "privada", "incorporada"), (V, F)),
        "mpio_res": (d.words("Puebla", "Cholula", "Atlixco", "Tehuacán"), (V,)),
        "carr": (d.words("LIC DERECHO", "ING CIVIL", "MEDICINA", "LIC ENFERMERIA", "ARQ"), (V,)),
        "sem": (d.words("1", "3", "5", "7", "9"), (V,)),
        "trabaja": (d.marks("SI", "NO", 0.3), (V, F)),
        "ing_fam_mens": (d.money(3_000, 60_000, 0), (S,)),
        "beca_tipo": (d.with_gaps(d.words("Manutención", "Excelencia", "Deportiva"), 0.6), (S, F)),
        "discap": (d.with_gaps(d.words("visual", "motriz", "auditiva"), 0.95), (S,)),
        "nss_imss": (d.keys(32159901234, 7177), (N,)),
        "prom_gral": (d.real(6.0, 10.0, 2), (S,)),
        "mat_reprob": (d.counts(1.2), (S,)),
        "adeudo": (d.with_gaps(d.money(100, 20_000), 0.8), (S,)),
        "baja_causa": (d.with_gaps(d.words("económica", "académica", "salud", "personal"), 0.85), (S,)),
    }


def health_interview(d: Draw) -> dict:
    """Health interview survey, Italian; several people of a family."""
    family = d.whole(0, 280)
    return {
        "PROFAM": ([50001 + n for n in family], (HH,)),
        "PROIND": (d.words("1", "2", "3", "4"), (H, F, N)),
        "REGMF": ([f"{10 * (1 + n % 20):03}" for n in family], (V,)),
        "DOMCOM": ([1 + n % 6 for n in family], (V,)),
        "NCOMP": ([1 + n % 5 for n in family], (V,)),
        "SESSO": (d.words("1", "2", even=True), (V,)),
        "ETACLA": (items(d, 15), (V,)),
        "STCIVMI": (items(d, 6), (V,)),
        "ISTRMI": (d.words("1", "7", "9", "10", "99"), (V,)),
        "CITTMI": (d.words("1", "2", "3"), (V, S)),
        "CONDMI": (items(d, 7, 99), (V, S)),
        "SALUTE": (items(d, 5), (S,)),
        "DIABETE": (d.words("1", "2", "3"), (S,)),
        "IPERTENS": (d.words("1", "2", "3"), (S,)),
        "TUMORE": (d.words("1", "2", "3"), (S,)),
        "DEPRESS": (d.words("1", "2", "3"), (S,)),
        "FARMA2G": (d.marks("2", "1", 0.4), (S,)),
        "PESO": (d.normal(70, 13, 0), (V, F, S)),
        "STATURA": (d.normal(168, 9, 0), (V, F)),
        "FUMO": (items(d, 4), (S, F)),
        "VINO": (items(d, 6, 99), (S, F)),
        "SITEC": (items(d, 4), (S,)),
        "SODDISF": (d.whole(0, 10), (S, F)),
        "COEFIN": (d.whole(801_234, 91_234_567), (H,)),
    }


SEEN = (
    attitudes,
    mobile_contracts,
    emergencies,
    municipal_staff,
    crime_reports,
    mortgages,
    pupil_records,
    gym_app,
)
"""Tables that the rules were mended with."""

LATER = (
    rehabilitation,
    web_orders,
    trial,
    flats,
    registers,
    shared_bikes,
    enrolments,
    health_interview,
)
"""Tables that were looked at once, after the last rule had been mended."""
