"""Fifteen tables written before the rules were read.

Each column has its values and the labels that an expert gave it beforehand: identifier, person, household, visible,
fact, sensitive, harmless, free text. Several labels mean that each is acceptable, the first is the best.
"""

from __future__ import annotations

from tests.builders.made_up_columns import Draw

ROWS = 600
N, P, HH, V, F, S, H, X = "identifier", "person", "household", "visible", "fact", "sensitive", "harmless", "free text"
GIVEN = {
    "en": ("James", "Mary", "Robert", "Patricia", "John", "Linda", "Michael", "Susan", "David", "Karen",
            "Aisha", "Liam"),
    "de": ("Anna", "Peter", "Sabine", "Thomas", "Jürgen", "Heike", "Lukas", "Mia", "Fatma", "Stefan", "Ulrike",
            "Horst"),
    "fr": ("Camille", "Jean", "Marie", "Luc", "Élodie", "Pierre", "Nathalie", "Mehdi", "Chloé", "Alain",
            "Sylvie", "Théo"),
    "it": ("Giulia", "Marco", "Francesca", "Luca", "Paolo", "Chiara", "Antonio", "Rosa", "Matteo", "Elena",
            "Sara", "Ivan"),
    "nl": ("Sanne", "Daan", "Fleur", "Jeroen", "Bram", "Femke", "Sjoerd", "Anouk", "Kees", "Mohamed", "Lotte",
            "Pieter"),
    "pl": ("Anna", "Piotr", "Katarzyna", "Jan", "Małgorzata", "Tomasz", "Ewa", "Paweł", "Zofia", "Marek",
            "Agata", "Adam"),
    "es": ("María", "José", "Carmen", "Antonio", "Lucía", "Manuel", "Pilar", "Javier", "Ana", "Rafael", "Inés",
            "Diego"),
    "pt": ("Maria", "João", "Ana", "Tiago", "Inês", "Rui", "Sofia", "Pedro", "Beatriz", "Nuno", "Carla", "Vasco"),
}  # fmt: skip
FAMILY = {
    "en": ("Smith", "Johnson", "Williams", "Brown", "Jones", "Miller", "Davis", "Wilson", "Khan", "Taylor", "Moore"),
    "de": ("Müller", "Schmidt", "Schneider", "Fischer", "Weber", "Meyer", "Wagner", "Becker", "Yılmaz", "Hoffmann"),
    "fr": ("Martin", "Bernard", "Dubois", "Thomas", "Robert", "Petit", "Durand", "Leroy", "Moreau", "Benali", "Roux"),
    "it": ("Rossi", "Russo", "Ferrari", "Esposito", "Bianchi", "Romano", "Colombo", "Ricci", "Marino", "Greco"),
    "nl": ("de Jong", "Jansen", "de Vries", "van den Berg", "Bakker", "Visser", "Smit", "Meijer", "Mulder",
            "El Amrani"),
    "pl": ("Nowak", "Kowalski", "Wiśniewska", "Wójcik", "Kamińska", "Lewandowski", "Zielińska", "Szymański", "Woźniak"),
    "es": ("García", "Fernández", "González", "Rodríguez", "López", "Martínez", "Sánchez", "Pérez", "Gómez", "Ruiz"),
    "pt": ("Silva", "Santos", "Ferreira", "Pereira", "Oliveira", "Costa", "Rodrigues", "Martins", "Sousa", "Gomes"),
}  # fmt: skip


def people(d: Draw, language: str, form: str = "{given} {family}") -> list[str]:
    """Names of people, many of them unlike another."""
    rolls = d.whole(0, 10**6)
    given, family = GIVEN[language], FAMILY[language]
    return [form.format(given=given[n % len(given)], family=family[n // 97 % len(family)]) for n in rolls]


def admissions(d: Draw) -> dict:
    """Admissions to a hospital, German; several stays of a patient."""
    case = d.whole(0, 399)
    born = [f"{1 + n % 28:02}.{1 + n % 12:02}.{1928 + n * 7 % 90}" for n in case]
    return {
        "FALLNR": (d.keys(70011200, 3), (N,)),
        "PATNR": ([f"P{330017 + 13 * n}" for n in case], (P,)),
        "NACHN": ([FAMILY["de"][n % 10] for n in case], (N,)),
        "VORN": ([GIVEN["de"][n % 12] for n in case], (N,)),
        "GEBDAT": (born, (V,)),
        "GESCHL": (["MWMW"[n % 4] for n in case], (V,)),
        "PLZ": ([f"{30159 + n % 40}" for n in case], (V,)),
        "WOHNORT": ([("Hannover", "Laatzen", "Garbsen", "Langenhagen")[n % 4] for n in case], (V,)),
        "KK": ([("AOK", "TK", "Barmer", "DAK", "privat")[n % 5] for n in case], (F, V, S)),
        "AUFDAT": (d.dates("%d.%m.%Y %H:%M", 2021, 2023), (V,)),
        "ENTLDAT": (d.dates("%d.%m.%Y %H:%M", 2021, 2023), (V,)),
        "FACHABT": (d.words("0100", "1500", "2900", "2400", "0300"), (S,)),
        "HDIAG": (d.words("I50.14", "F10.2", "O80", "C50.4", "J18.9", "S72.01"), (S,)),
        "OPS1": (d.with_gaps(d.words("5-820.00", "8-930", "9-649.0", "5-511.11"), 0.4), (S,)),
        "BEATMSTD": (d.with_gaps(d.counts(20), 0.7), (S,)),
        "ENTLGRD": (d.words("011", "012", "079", "041"), (S, F)),
        "VERWEILD": (d.counts(6), (F, V, S)),
        "HAUSARZT": (d.words("Dr. Brandt", "Dr. Pohl", "Praxis Mitte", "Dr. Celik"), (F, N, V, S)),
        "EPIKRISE": (d.sentences("Patient", "stellt sich vor mit", "seit Tagen Fieber", "Entlassung in"), (X,)),
    }  # fmt: skip


def laboratory(d: Draw) -> dict:
    """Export of a laboratory, English, one row per sample."""
    case = d.whole(0, 349)
    return {
        "accession": (d.keys(2300481, 1, "L"), (N,)),
        "mrn": ([f"{8841002 + 17 * n}" for n in case], (P,)),
        "pt_name": ([f"{FAMILY['en'][n % 11].upper()}, {GIVEN['en'][n % 12].upper()}" for n in case], (N,)),
        "dob": ([f"{1 + n % 12}/{1 + n % 28}/{1930 + n * 3 % 85}" for n in case], (V,)),
        "sx": (["FM"[n % 2] for n in case], (V,)),
        "ordering_md": (d.words("Patel R", "Cho S", "Garcia L", "Osei K"), (F, N, V, S)),
        "coll_dt": (d.dates("%Y-%m-%dT%H:%M:%S", 2020, 2022), (V, F)),
        "hgb": (d.normal(13.6, 1.6), (S,)),
        "plt": (d.whole(120, 440), (S,)),
        "crea": (d.normal(1.0, 0.3, 2), (S,)),
        "egfr": (d.whole(25, 120), (S,)),
        "alt_sgpt": (d.whole(8, 120), (S,)),
        "hba1c": (d.normal(6.1, 1.1), (S,)),
        "tsh": (d.real(0.2, 8.0, 2), (S,)),
        "hiv_ab": (d.marks("reactive", "non-reactive", 0.05), (S,)),
        "hcv": (d.marks("POS", "NEG", 0.06), (S,)),
        "utox_thc": (d.with_gaps(d.marks("POS", "NEG", 0.1), 0.5), (S,)),
        "hemolyzed": (d.marks("Y", "N", 0.04), (H, F, S)),
        "analyzer": (d.words("COBAS-1", "COBAS-2", "XN1000"), (H, F)),
    }  # fmt: skip


def payroll(d: Draw) -> dict:
    """Payroll of a company, Dutch, run together."""
    return {
        "persnr": (d.keys(10482, 3), (N, P)),
        "medewerker": (people(d, "nl"), (N,)),
        "bsn": (d.keys(120345678, 1117), (N,)),
        "gebdatum": (d.dates("%d-%m-%Y", 1957, 2004), (V,)),
        "mv": (d.words("M", "V", even=True), (V,)),
        "burgstaat": (d.words("gehuwd", "ongehuwd", "samenwonend", "gescheiden"), (V,)),
        "woonplaats": (d.words("Utrecht", "Zeist", "Amersfoort", "Houten", "Nieuwegein"), (V,)),
        "afdeling": (d.words("Logistiek", "Verkoop", "HR", "ICT", "Productie"), (V,)),
        "functie": (d.words("magazijnmedewerker", "teamleider", "planner", "adviseur"), (V,)),
        "indienst": (d.dates("%d-%m-%Y", 1990, 2023), (V,)),
        "fte": (d.words("1", "0.8", "0.6", "0.5"), (V, F)),
        "schaal": (d.words("5", "6", "7", "8", "10"), (S, V, F)),
        "brutoloon": (d.money(1900, 8200), (S,)),
        "loonheffing": (d.money(200, 3200), (S,)),
        "pensprem": (d.money(40, 420), (S,)),
        "loonbeslag": (d.marks("J", "N", 0.03), (S,)),
        "ziektedgn": (d.counts(7), (S,)),
        "iban": ([f"NL{n % 90 + 10}INGB{n:010}" for n in d.whole(10**6, 10**9)], (N,)),
        "kostenplaats": (d.words("4100", "4200", "4300", "4400"), (F, H, V)),
    }  # fmt: skip


def marks_of_pupils(d: Draw) -> dict:
    """Marks of a school, Italian."""
    return {
        "matricola": (d.keys(55010, 2), (N, P)),
        "alunno": (people(d, "it", "{family} {given}"), (N,)),
        "cf": ([f"RSSMRA{n % 90 + 10:02}A{n % 28 + 1:02}H{n % 900 + 100}X" for n in d.whole(0, 10**6)], (N,)),
        "datanasc": (d.dates("%d/%m/%Y", 2004, 2010), (V,)),
        "comune_res": (d.words("Modena", "Carpi", "Sassuolo", "Formigine"), (V,)),
        "cittadin": (d.words("italiana", "marocchina", "rumena", "albanese"), (V,)),
        "classe_sez": (d.words("1A", "2B", "3C", "4A", "5D", even=True), (V,)),
        "indirizzo_studi": (d.words("scientifico", "linguistico", "classico"), (V,)),
        "ita_scr": (d.whole(3, 9), (S,)),
        "mat": (d.whole(2, 10), (S,)),
        "ing": (d.whole(3, 10), (S,)),
        "condotta": (d.whole(6, 10), (S,)),
        "debiti": (d.words("nessuno", "matematica", "latino", "fisica"), (S,)),
        "ore_assenza": (d.counts(30), (S, F)),
        "dsa_104": (d.words("no", "DSA", "L.104", "BES"), (S,)),
        "irc": (d.marks("si", "no", 0.8), (S,)),
        "isee": (d.money(4000, 60000, 0), (S,)),
        "note_docente": (d.sentences("si distrae", "molto migliorato", "deve impegnarsi", "in classe", "spesso"), (X,)),
    }  # fmt: skip


def welfare(d: Draw) -> dict:
    """Recipients of social assistance, French, survey-like."""
    home = d.whole(0, 279)
    return {
        "num_alloc": (d.keys(1180045, 7), (N, P)),
        "num_foyer": ([f"F{20011 + n}" for n in home], (HH, N)),
        "nir": ([f"{1 + n % 2} {60 + n % 39} {1 + n % 12:02} 75 {n % 900 + 100} {n % 800 + 100}"
            for n in d.whole(0, 10**6)], (N,)),
        "nom_us": (people(d, "fr", "{family}"), (N,)),
        "dtnais": (d.dates("%Y%m%d", 1945, 2004), (V,)),
        "sx": (d.words("1", "2", even=True), (V,)),
        "codcom": ([f"{75101 + n % 20}" for n in home], (V,)),
        "sitfam": (d.words("CEL", "MAR", "DIV", "VEU", "ISO"), (V,)),
        "nbenf": (d.words("0", "1", "2", "3", "4"), (V,)),
        "natio": (d.words("F", "UE", "HUE"), (V,)),
        "typlog": (d.words("HLM", "privé", "hébergé", "SDF"), (V, S, F)),
        "rsa_mt": (d.with_gaps(d.money(80, 900), 0.3), (S,)),
        "apl_mt": (d.with_gaps(d.money(50, 400), 0.4), (S,)),
        "aah": (d.marks("O", "N", 0.12), (S,)),
        "ressmens": (d.money(0, 2200), (S,)),
        "dettes": (d.marks("oui", "non", 0.3), (S,)),
        "viol_conj": (d.marks("oui", "non", 0.05), (S,)),
        "addict": (d.words("aucune", "alcool", "jeu", "opiacés"), (S,)),
        "suivi_as": (d.words("Mme Petit", "M. Roux", "Mme Benali"), (F, N, H, V)),
        "dtouvdr": (d.dates("%Y%m%d", 2015, 2023), (F, V, S)),
    }  # fmt: skip


def stops(d: Draw) -> dict:
    """Stops by police, English."""
    return {
        "stop_no": (d.keys(990013, 1), (N,)),
        "stop_ts": (d.dates("%m/%d/%Y %I:%M %p", 2021, 2022), (V,)),
        "beat": (d.words("1121", "1034", "0712", "0611", "2533", even=True), (V,)),
        "lat": (d.real(41.7, 42.0, 5), (V,)),
        "lon": (d.real(-87.8, -87.5, 5), (V,)),
        "subj_race": (d.words("BLK", "WHT", "WWH", "API", "I"), (V,)),
        "subj_sex": (d.words("M", "F"), (V,)),
        "subj_age": (d.whole(15, 78), (V,)),
        "hgt_in": (d.whole(58, 78), (V,)),
        "build": (d.words("medium", "thin", "heavy", "muscular"), (V,)),
        "eye_clr": (d.words("BRO", "BLU", "GRN", "HAZ"), (V,)),
        "veh_plate": ([f"{'ABCDEFGH'[n % 8]}{'KLMNPR'[n % 6]}{n % 90000 + 10000}" for n in d.whole(0, 10**6)], (N,)),
        "officer_badge": (d.words(*[str(11200 + 37 * n) for n in range(60)], even=True), (N, F, V)),
        "frisked": (d.marks("Y", "N", 0.3), (S, V, F)),
        "contraband": (d.words("none", "drugs", "weapon", "alcohol"), (S,)),
        "warrant_hit": (d.marks("1", "0", 0.08), (S,)),
        "gang_flag": (d.marks("1", "0", 0.06), (S,)),
        "disposition": (d.words("no action", "citation", "arrest", "warning"), (S,)),
        "narrative": (d.sentences("subject was observed", "fled on foot", "matched description", "at corner of"), (X,)),
    }  # fmt: skip


def insurance(d: Draw) -> dict:
    """Claims of an insurer, Spanish, several rows of a policy holder."""
    case = d.whole(0, 379)
    return {
        "num_siniestro": (d.keys(2023000112, 3), (N,)),
        "num_poliza": ([f"POL-{440021 + 3 * n}" for n in case], (P, N)),
        "tomador": ([f"{GIVEN['es'][n % 12]} {FAMILY['es'][n // 12 % 10]}" for n in case], (N,)),
        "nif": ([f"{20011234 + 7919 * n}{'TRWAGMYFPDXBNJZSQVHLCKE'[(20011234 + 7919 * n) % 23]}" for n in case], (N,)),
        "fnac": ([f"{1940 + n % 60}-{1 + n % 12:02}-{1 + n % 28:02}" for n in case], (V,)),
        "cpostal": ([f"{46001 + n % 25}" for n in case], (V,)),
        "provincia": ([("Valencia", "Castellón", "Alicante")[n % 3] for n in case], (V,)),
        "matricula": ([f"{1000 + 7 * n} {'BCDFGH'[n % 6]}{'JKLMN'[n % 5]}{'PRST'[n % 4]}" for n in case], (N,)),
        "marca_veh": ([("SEAT", "Renault", "Ford", "Toyota")[n % 4] for n in case], (V, F)),
        "f_siniestro": (d.dates("%d/%m/%Y", 2020, 2023), (V,)),
        "tipo_sin": (d.words("colisión", "robo", "lunas", "incendio"), (F, V, S)),
        "lesiones": (d.words("ninguna", "leve", "grave", "mortal"), (S,)),
        "culpa": (d.marks("S", "N", 0.5), (S, F)),
        "imp_indemn": (d.money(100, 24000), (S,)),
        "prima_anual": (d.money(220, 1400), (S, F)),
        "fraude_sosp": (d.marks("1", "0", 0.05), (S,)),
        "alcoholemia": (d.with_gaps(d.real(0, 1.2, 2), 0.8), (S,)),
        "perito": (d.words("J. Soto", "M. Vidal", "P. Rey"), (F, N, H, V)),
        "descripcion": (d.sentences("el vehículo contrario", "circulaba por", "golpe por detrás", "en la calle"), (X,)),
    }  # fmt: skip


def bank(d: Draw) -> dict:
    """Customers of a bank, English, run-together headers."""
    return {
        "CUSTNO": (d.keys(40010023, 11), (N, P)),
        "CUSTNM": (people(d, "en"), (N,)),
        "EMAILADDR": ([f"{GIVEN['en'][n % 12].lower()}.{n}@mail.example" for n in d.whole(1, 10**6)], (N,)),
        "MOBNO": ([f"07{n:09}" for n in d.whole(10**8, 10**9 - 1)], (N,)),
        "BRTHDT": (d.dates("%d%b%Y", 1940, 2004), (V,)),
        "GNDRCD": (d.words("1", "2", "9"), (V,)),
        "MRTLSTS": (d.words("S", "M", "D", "W"), (V,)),
        "OCCUPCD": (d.words("203", "117", "450", "332", "801"), (V,)),
        "PSTCD": ([f"LS{n % 28 + 1} {n % 9 + 1}{'ABDEFG'[n % 6]}{'HJLNP'[n % 5]}" for n in d.whole(0, 10**6)], (V,)),
        "RESDNCTRY": (d.words("GB", "IE", "PL", "IN"), (V,)),
        "ACCTOPNDT": (d.dates("%d%b%Y", 2001, 2023), (F, V)),
        "ANNINC": (d.money(9000, 140000, 0), (S,)),
        "CURRBAL": (d.money(-900, 60000), (S,)),
        "CRSCORE": (d.whole(300, 850), (S,)),
        "OVDRFTFLG": (d.marks("Y", "N", 0.2), (S,)),
        "DELINQ30": (d.counts(0.4), (S,)),
        "BNKRPTCY": (d.marks("Y", "N", 0.02), (S,)),
        "PEPFLG": (d.marks("Y", "N", 0.01), (S,)),
        "CHNLPREF": (d.words("APP", "BRANCH", "WEB", "PHONE"), (F, H)),
        "RMCODE": (d.words("RM01", "RM02", "RM07"), (F, H)),
    }  # fmt: skip


def library(d: Draw) -> dict:
    """Loans of a library, Portuguese, several rows of a reader."""
    case = d.whole(0, 199)
    return {
        "n_leitor": ([f"{10023 + 7 * n}" for n in case], (P,)),
        "leitor": ([f"{GIVEN['pt'][n % 12]} {FAMILY['pt'][n // 12 % 10]}" for n in case], (N,)),
        "telem": ([f"9{n % 3 + 1}{n * 7919 % 10**7:07}" for n in case], (N,)),
        "ano_nasc": ([1940 + n * 7 % 75 for n in case], (V,)),
        "sexo": (["FM"[n % 2] for n in case], (V,)),
        "freguesia": ([("Benfica", "Alvalade", "Arroios", "Lumiar")[n % 4] for n in case], (V,)),
        "profissao": ([("professor", "estudante", "reformado", "enfermeira", "motorista")[n % 5] for n in case], (V,)),
        "habilit": ([("9º ano", "12º ano", "licenciatura", "mestrado")[n // 4 % 4] for n in case], (V,)),
        "dt_emprest": (d.dates("%d-%m-%Y", 2021, 2023), (F, V)),
        "dt_devol": (d.dates("%d-%m-%Y", 2021, 2023), (F, V)),
        "cota": ([f"{n % 900 + 100}.{n % 10} {'ABCDE'[n % 5]}{n % 300}" for n in d.whole(0, 5000)], (F, S, H, N)),
        "titulo": (d.words("Os Maias", "Memorial do Convento", "Livro do Desassossego", "Mensagem"), (F, S)),
        "tema": (d.words("romance", "saúde mental", "religião", "sexualidade", "política"), (F, S)),
        "multa_eur": (d.with_gaps(d.money(0, 12), 0.6), (S, F)),
        "renov": (d.words("0", "1", "2"), (F, H)),
    }  # fmt: skip


def parish(d: Draw) -> dict:
    """Register of a parish, Polish."""
    return {
        "lp": ([str(n + 1) for n in range(d.rows)], (N, H)),
        "imie": (people(d, "pl", "{given}"), (N,)),
        "nazwisko": (people(d, "pl", "{family}"), (N,)),
        "pesel": ([f"{n:011}" for n in d.whole(40 * 10**9, 99 * 10**9)], (N,)),
        "ulica": (d.words("Lipowa 3", "Polna 12", "Kościelna 7", "Szkolna 21", "Leśna 9", even=True), (N, V)),
        "data_ur": (d.dates("%d.%m.%Y", 1930, 2020), (V,)),
        "stan_cyw": (d.words("żonaty", "panna", "wdowa", "kawaler", "rozwiedziony"), (V,)),
        "wyznanie": (d.words("rzymskokatolickie", "prawosławne", "ewangelickie", "brak"), (S,)),
        "data_chrztu": (d.dates("%d.%m.%Y", 1931, 2021), (V, S, F)),
        "bierzm": (d.marks("tak", "nie", 0.6), (S, F)),
        "slub_kosc": (d.marks("tak", "nie", 0.5), (S, F, V)),
        "praktyki": (d.words("co tydzień", "w święta", "rzadko", "nigdy"), (S,)),
        "ofiara_pln": (d.money(0, 500, 0), (S, F)),
        "kolęda_uwagi": (d.sentences("rodzina", "prosi o rozmowę", "mąż wyjechał", "chora matka", "przyjęto"), (X,)),
    }  # fmt: skip


def union(d: Draw) -> dict:
    """Members of a union, German."""
    return {
        "mitgl_nr": (d.keys(88100, 3), (N, P)),
        "anrede": (d.words("Herr", "Frau", even=True), (V,)),
        "mitglied": (people(d, "de", "{family}, {given}"), (N,)),
        "gebjahr": (d.whole(1953, 2006), (V,)),
        "kreis": (d.words("Bochum", "Herne", "Essen", "Hattingen"), (V,)),
        "betrieb": (d.words("Stahlwerk", "Opel", "Klinikum", "Stadtwerke"), (V,)),
        "taetigk": (d.words("Schlosser", "Pflegekraft", "Bürokauffrau", "Lagerist"), (V,)),
        "eintritt": (d.dates("%m/%Y", 1975, 2023), (V, S, F)),
        "gewerksch": (d.words("IG Metall", "ver.di", "IG BCE"), (S,)),
        "beitrag_mtl": (d.money(9, 60), (S,)),
        "bruttoverd": (d.money(1800, 6400, 0), (S,)),
        "streikgeld": (d.with_gaps(d.money(50, 900), 0.8), (S,)),
        "betr_rat": (d.marks("ja", "nein", 0.06), (V, S, F)),
        "parteimitgl": (d.words("keine", "SPD", "Die Linke", "CDU"), (S,)),
        "schwerbeh": (d.marks("ja", "nein", 0.08), (S,)),
        "kontoinh": (people(d, "de"), (N,)),
    }  # fmt: skip


def genetics(d: Draw) -> dict:
    """Study of genes and body, English, coded."""
    return {
        "IID": (d.keys(100233, 1, "UKX"), (N, P)),
        "FID": ([f"FAM{n:04}" for n in d.whole(0, 220)], (HH, N)),
        "recr_site": (d.words("Leeds", "Hull", "York"), (V,)),
        "yob": (d.whole(1936, 1995), (V,)),
        "sex_f31": (d.words("0", "1", even=True), (V,)),
        "ethn_bg": (d.words("1001", "1002", "3001", "4002"), (V,)),
        "ht_cm": (d.normal(169, 9), (V, S)),
        "wt_kg": (d.normal(77, 14), (S, V)),
        "waist": (d.normal(90, 12), (S, V)),
        "grip_l": (d.whole(12, 60), (S, F)),
        "fev1": (d.normal(2.9, 0.7, 2), (S,)),
        "rs429358": (d.words("TT", "CT", "CC"), (S,)),
        "rs7412": (d.words("CC", "CT", "TT"), (S,)),
        "APOE": (d.words("e3/e3", "e3/e4", "e2/e3", "e4/e4"), (S,)),
        "BRCA1_carrier": (d.marks("1", "0", 0.02), (S,)),
        "PC1": (d.normal(0, 0.01, 5), (S, F, H)),
        "PC2": (d.normal(0, 0.01, 5), (S, F, H)),
        "fh_dementia": (d.marks("1", "0", 0.2), (S,)),
        "alc_units_wk": (d.counts(9), (S,)),
        "smk_pkyrs": (d.counts(8), (S,)),
        "phq9": (d.whole(0, 27), (S,)),
        "batch": (d.words("b1", "b2", "b3"), (H, F)),
    }  # fmt: skip


def refugees(d: Draw) -> dict:
    """Cases of an office for refugees, English."""
    case = d.whole(0, 249)
    return {
        "case_no": ([f"JOR-{23000 + n}" for n in case], (HH, P, N)),
        "indiv_ref": (d.keys(7712001, 1, "I-"), (N, P)),
        "full_nm_latin": (people(d, "en"), (N,)),
        "mother_nm": (people(d, "en", "{given}"), (N,)),
        "coo": (d.words("SYR", "IRQ", "SDN", "YEM"), (V,)),
        "arr_date": (d.dates("%d-%b-%y", 2014, 2023), (V,)),
        "dob_est": (d.dates("%d-%b-%y", 1972, 2020), (V,)),
        "sx": (d.words("M", "F", even=True), (V,)),
        "camp_blk": ([f"D{n % 9 + 1}-B{n % 4 + 1}" for n in case], (V,)),
        "rel_to_hoh": (d.words("self", "spouse", "son", "daughter", "parent"), (V,)),
        "ethnic_grp": (d.words("Arab", "Kurd", "Turkmen", "Yazidi"), (V, S)),
        "faith": (d.words("Sunni", "Shia", "Christian", "Yazidi"), (S,)),
        "legal_stat": (d.words("recognized", "asylum seeker", "rejected", "pending"), (S, V)),
        "sgbv_surv": (d.marks("1", "0", 0.04), (S,)),
        "unacc_minor": (d.marks("1", "0", 0.05), (V, S)),
        "torture": (d.marks("1", "0", 0.06), (S,)),
        "spec_needs": (d.words("", "DS-BD", "SM-MI", "WR-PY"), (S,)),
        "cash_usd": (d.money(0, 400, 0), (S,)),
        "resettle_ctry": (d.with_gaps(d.words("CA", "DE", "SE", "US"), 0.8), (F, V, S)),
        "cw_remarks": (d.sentences("family reports", "father detained", "needs follow up", "fears return"), (X,)),
    }  # fmt: skip


def dating(d: Draw) -> dict:
    """Profiles of a dating application, English."""
    return {
        "uid": ([f"{n:08x}" for n in d.random.sample(range(16**7, 16**8), d.rows)], (N, P)),
        "handle": ([f"{GIVEN['en'][n % 12].lower()}_{n % 9973}" for n in d.whole(0, 10**6)], (N,)),
        "last_ip": ([f"84.{n % 250}.{n // 7 % 250}.{n // 77 % 250}" for n in d.whole(0, 10**6)], (N,)),
        "device_os": (d.words("iOS", "Android"), (F, H)),
        "signup": (d.dates("%Y-%m-%d %H:%M:%S", 2019, 2023), (F, V)),
        "age": (d.whole(18, 67), (V,)),
        "gender": (d.words("woman", "man", "nonbinary"), (V, S)),
        "seeking": (d.words("men", "women", "everyone"), (S,)),
        "orient": (d.words("straight", "gay", "bi", "queer"), (S,)),
        "body_type": (d.words("average", "athletic", "curvy", "slim"), (V,)),
        "height_in": (d.whole(58, 77), (V,)),
        "city": (d.words("Portland", "Salem", "Eugene", "Bend"), (V,)),
        "edu": (d.words("college", "high school", "masters", "phd"), (V,)),
        "job": (d.words("nurse", "engineer", "teacher", "barista"), (V,)),
        "kinks": (d.words("none", "prefer not to say", "bdsm", "roleplay"), (S,)),
        "sti_last_test": (d.words("never", "<3 months", "<1 year"), (S,)),
        "drugs": (d.words("never", "sometimes", "often"), (S,)),
        "relig_views": (d.words("agnostic", "christian", "atheist", "muslim"), (S,)),
        "pol_lean": (d.words("liberal", "moderate", "conservative"), (S,)),
        "swipes_30d": (d.counts(120), (F, H)),
        "bio": (d.sentences("love hiking", "dog person", "looking for something real", "ask me about", "tacos"), (X,)),
    }  # fmt: skip


def prison(d: Draw) -> dict:
    """Prisoners of a country, French, coded headers."""
    return {
        "ECROU": (d.keys(61200, 3), (N, P)),
        "NOMDET": (people(d, "fr", "{family}"), (N,)),
        "PRENDET": (people(d, "fr", "{given}"), (N,)),
        "DNAIS": (d.dates("%d/%m/%y", 1955, 2003), (V,)),
        "SEXE": (d.words("H", "F"), (V,)),
        "NATIO": (d.words("FRA", "DZA", "ROU", "MAR"), (V,)),
        "ETAB": (d.words("MA Fresnes", "CD Melun", "CP Lille"), (V,)),
        "DTECROU": (d.dates("%d/%m/%y", 2010, 2022), (V,)),
        "DTLIB": (d.with_gaps(d.dates("%d/%m/%y", 2023, 2035), 0.2), (V, S, F)),
        "CATPEN": (d.words("prévenu", "condamné", "appelant"), (S,)),
        "INFRA1": (d.words("vol", "stupéfiants", "violences", "viol", "escroquerie"), (S,)),
        "QUANTUM": (d.whole(1, 300), (S,)),
        "RECID": (d.marks("O", "N", 0.4), (S,)),
        "ISOL": (d.marks("O", "N", 0.05), (S, F)),
        "RISQSUIC": (d.words("faible", "moyen", "élevé"), (S,)),
        "TRTPSY": (d.marks("O", "N", 0.2), (S,)),
        "REGALIM": (d.words("normal", "sans porc", "végétarien"), (S,)),
        "PARLOIR": (d.counts(3), (F, S)),
        "TATOU": (d.marks("O", "N", 0.3), (V,)),
        "NIVSCOL": (d.words("primaire", "collège", "CAP", "bac"), (V,)),
    }  # fmt: skip


TABLES = (
    admissions, laboratory, payroll, marks_of_pupils, welfare, stops, insurance, bank, library, parish, union,
    genetics, refugees, dating, prison,
)  # fmt: skip
