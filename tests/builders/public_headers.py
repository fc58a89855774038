"""Headers of public tables, with values that are made up.

They were written from memory before the rules were read.

A line is the name of a column, the labels that an expert gave it (identifier N, person P, household B, visible V, fact
F, sensitive S, harmless H, free text X; each is acceptable, the first is the best), and how its values are drawn.
"""

from __future__ import annotations

from tests.builders.blind_tables import FAMILY, GIVEN
from tests.builders.made_up_columns import Draw

ROWS = 700
LABELS = {
    "N": "identifier",
    "P": "person",
    "B": "household",
    "V": "visible",
    "F": "fact",
    "S": "sensitive",
    "H": "harmless",
    "X": "free text",
}

SEEN = {
    "telco churn, English": """
        customerID        NP  key %d-QPYBK
        gender            V   of Female Male
        SeniorCitizen     V   flag .16
        Partner           VF  of No Yes
        Dependents        VF  of No Yes
        tenure            F   whole 0 72
        PhoneService      F   of Yes No
        MultipleLines     F   of No Yes No_phone_service
        InternetService   F   of Fiber_optic DSL No
        OnlineSecurity    F   of No Yes No_internet_service
        StreamingTV       F   of No Yes No_internet_service
        Contract          F   of Month-to-month Two_year One_year
        PaperlessBilling  FH  of Yes No
        PaymentMethod     F   of Electronic_check Mailed_check Bank_transfer_(automatic) Credit_card_(automatic)
        MonthlyCharges    FS  real 18 118 2
        TotalCharges      FS  money 18 8600 2
        Churn             FS  of No Yes
    """,
    "pupils, English codes of a Portuguese study": """
        school     V   of GP MS
        sex        V   of F M
        age        V   whole 15 22
        address    V   of U R
        famsize    V   of GT3 LE3
        Pstatus    VF  of T A
        Medu       V   whole 0 4
        Fedu       V   whole 0 4
        Mjob       V   of other services at_home teacher health
        Fjob       V   of other services teacher at_home health
        guardian   VF  of mother father other
        traveltime VF  whole 1 4
        studytime  F   whole 1 4
        failures   S   of 0 1 2 3
        schoolsup  FS  of no yes
        famsup     FS  of yes no
        paid       F   of no yes
        activities F   of yes no
        higher     F   of yes no
        romantic   FS  of no yes
        famrel     SF  whole 1 5
        goout      F   whole 1 5
        Dalc       S   whole 1 5
        Walc       S   whole 1 5
        health     S   whole 1 5
        absences   SF  count 5
        G1         S   whole 3 19
        G2         S   whole 0 19
        G3         S   whole 0 20
    """,
    "diabetes in hospitals, English": """
        encounter_id             N   key %d
        patient_nbr              P   person 86%05d
        race                     VS  of Caucasian AfricanAmerican ? Hispanic Asian Other
        gender                   V   of Female Male
        age                      V   of [70-80) [60-70) [50-60) [80-90) [40-50) [30-40)
        weight                   FVS of ? [75-100) [50-75)
        admission_type_id        FS  of 1 3 2 6 5
        discharge_disposition_id SF  of 1 3 6 18 11 2
        time_in_hospital         FVS whole 1 14
        payer_code               FVS of ? MC HM SP BC
        medical_specialty        SF  of ? InternalMedicine Emergency/Trauma Cardiology Surgery-General
        num_lab_procedures       SF  whole 1 110
        num_medications          S   whole 1 60
        number_emergency         SF  count 0.3
        diag_1                   S   of 428 414 786 410 V57 250.13
        diag_2                   S   of 276 428 250 427 E888
        max_glu_serum            S   of None Norm >200 >300
        A1Cresult                S   of None >8 Norm >7
        metformin                S   of No Steady Up Down
        insulin                  S   of No Steady Down Up
        glyburide-metformin      S   of No Steady
        change                   SFH of No Ch
        diabetesMed              S   of Yes No
        readmitted               S   of NO >30 <30
    """,
    "European survey, codes": """
        idno     NP  key %d
        cntry    V   of DE FR GB PL SE ES
        gndr     V   of 1 2
        yrbrn    V   whole 1930 2005
        agea     V   whole 15 92
        hhmmb    V   of 2 1 3 4 5 77
        domicil  V   of 3 4 1 2 5
        region   V   of DE1 DE2 FR10 UKI PL22 SE11
        eisced   V   of 3 4 7 5 2 1 55
        isco08   V   of 5223 2341 9112 4110 66666 3343
        maritalb V   of 1 6 4 5 2 77
        ctzcntr  V   of 1 2
        brncntr  V   of 1 2
        polintr  SF  whole 1 4
        trstplt  SF  whole 0 10
        trstprl  SF  whole 0 10
        vote     SF  of 1 2 3
        prtvtde1 S   of 1 2 3 66 4 5
        lrscale  S   whole 0 10
        stflife  SF  whole 0 10
        happy    SF  whole 0 10
        rlgblg   S   of 1 2
        rlgdnm   S   of 1 66 2 6 3
        pray     S   whole 1 7
        health   S   whole 1 5
        hlthhmp  S   of 3 2 1
        hinctnta S   whole 1 10
        mbtru    S   of 3 1 2
        dscrgrp  S   of 2 1
        pspwght  H   real .2 3.5 4
        dweight  H   real .4 2.1 4
    """,
    "severe respiratory illness, Portuguese": """
        NU_NOTIFIC NP  key %d
        DT_NOTIFIC VF  date %d/%m/%Y 2020 2021
        DT_SIN_PRI FVS date %d/%m/%Y 2020 2021
        SG_UF_NOT  V   of SP RJ MG PR BA
        ID_MUNICIP V   of SAO_PAULO CAMPINAS SANTOS OSASCO
        CS_SEXO    V   of M F I
        DT_NASC    V   date %d/%m/%Y 1930 2015
        NU_IDADE_N V   whole 1 96
        CS_GESTANT SV  of 6 5 9 1 2 3
        CS_RACA    VS  of 1 4 9 2 3 5
        CS_ESCOL_N V   of 9 2 3 1 4 5
        CS_ZONA    V   of 1 2 9
        FEBRE      S   of 1 2 9
        TOSSE      S   of 1 2 9
        DISPNEIA   S   of 1 2 9
        CARDIOPATI S   of 1 2 9
        OBESIDADE  S   of 2 1 9
        VACINA     SF  of 2 1 9
        UTI        S   of 2 1 9
        SUPORT_VEN S   of 2 3 1 9
        PCR_RESUL  S   of 1 2 4 5
        CLASSI_FIN S   of 5 4 1
        EVOLUCAO   S   of 1 2 9
        DT_EVOLUCA SFV date %d/%m/%Y 2020 2021
        NM_UN_INTE FVN of HOSPITAL_SAO_PAULO SANTA_CASA HC_UNICAMP UPA_CENTRO
    """,
    "human resources, English": """
        Employee_Name       N   name en
        EmpID               NP  key 1%d
        MarriedID           V   flag .4
        GenderID            V   flag .43
        DeptID              V   of 5 3 1 6
        PerfScoreID         S   of 3 4 2 1
        FromDiversityJobFairID FSV flag .1
        Salary              S   money 45000 250000 0
        Termd               VFS flag .33
        Position            V   of Production_Technician_I Area_Sales_Manager Data_Analyst Software_Engineer IT_Support
        State               V   of MA CT TX VT
        Zip                 V   of 01960 02148 01810 02458 06040
        DOB                 V   date %m/%d/%y 1955 1992
        Sex                 V   of F M
        MaritalDesc         V   of Single Married Divorced Widowed
        CitizenDesc         VS  of US_Citizen Eligible_NonCitizen
        HispanicLatino      VS  of No Yes
        RaceDesc            VS  of White Black_or_African_American Asian
        DateofHire          V   date %m/%d/%Y 2009 2018
        DateofTermination   VF  gap .6 date %m/%d/%Y 2012 2019
        TermReason          SF  of N/A-StillEmployed Another_position unhappy more_money gross_misconduct medical_issues
        ManagerName         VNF of Michael_Albert Kissy_Sullivan Kelley_Spirea Elijiah_Gray
        RecruitmentSource   F   of Indeed LinkedIn Google_Search Employee_Referral
        PerformanceScore    S   of Fully_Meets Exceeds Needs_Improvement PIP
        EngagementSurvey    SF  real 1 5 2
        EmpSatisfaction     SF  whole 1 5
        DaysLateLast30      S   count .4
        Absences            S   whole 1 20
    """,
    "stops by police, English": """
        raw_row_number       N   key %d
        date                 V   date %Y-%m-%d 2014 2018
        time                 VF  date %H:%M:%S 2014 2018
        location             V   number %d_Main_St
        lat                  V   real 35.9 36.3 6
        lng                  V   real -87 -86.5 6
        precinct             V   of 8 3 5 1 2
        subject_age          V   whole 16 85
        subject_race         VS  of white black hispanic asian/pacific_islander
        subject_sex          V   of male female
        officer_id_hash      NFV hash 120
        type                 HF  of vehicular
        violation            SF  of moving_traffic_violation vehicle_equipment_violation registration seatbelt_violation
        arrest_made          S   of FALSE TRUE
        citation_issued      S   of FALSE TRUE
        outcome              S   of warning citation arrest
        contraband_found     S   gap .9 of FALSE TRUE
        frisk_performed      S   of FALSE TRUE
        search_basis         S   gap .9 of consent probable_cause other
        reason_for_stop      SF  of speeding tail_light expired_tag
        vehicle_registration_state VF of TN KY AL GA
        notes                X   gap .8 text
    """,
    "road accidents, French codes": """
        Num_Acc  N   key 2021%08d
        id_usager NP key %d
        num_veh  HF  of A01 B01 C01
        place    FV  of 1 2 10 4 3
        catu     FV  of 1 2 3
        grav     S   of 1 4 3 2
        sexe     V   of 1 2
        an_nais  V   whole 1930 2015
        trajet   FV  of 5 1 4 0 2 9
        secu1    FS  of 1 2 8 0 3
        actp     FS  of 0 3 A B
        jour     V   whole 1 31
        mois     V   whole 1 12
        hrmn     V   date %H:%M 2014 2018
        lum      FVH of 1 5 3 2
        dep      V   of 75 93 13 69 59
        com      V   of 75112 93066 13055 69383
        agg      VF  of 2 1
        atm      FVH of 1 2 8 3
        catv     VF  of 7 33 1 2 10 50
        alcool   S   of 0 1
    """,
}

LATER = {
    "credit cards, English": """
        ID          NP  key %d
        LIMIT_BAL   S   money 10000 800000 0
        SEX         V   of 2 1
        EDUCATION   V   of 2 1 3 4
        MARRIAGE    V   of 2 1 3
        AGE         V   whole 21 75
        PAY_0       S   of 0 -1 1 -2 2
        PAY_2       S   of 0 -1 2 -2 1
        BILL_AMT1   S   money -2000 300000 0
        BILL_AMT2   S   money -2000 300000 0
        PAY_AMT1    S   money 0 90000 0
        PAY_AMT2    S   money 0 90000 0
        default.payment.next.month S flag .22
    """,
    "examination survey, English codes": """
        SEQN     NP  key %d
        RIAGENDR V   of 1 2
        RIDAGEYR V   whole 0 80
        RIDRETH3 VS  of 3 4 1 6 2 7
        DMDBORN4 V   of 1 2
        DMDEDUC2 V   gap .3 of 4 5 3 2 1
        DMDMARTL V   gap .3 of 1 5 3 6 2
        INDFMPIR S   real 0 5 2
        BMXWT    VFS normal 79 20 1
        BMXHT    VF  normal 167 10 1
        BMXBMI   SF  normal 29 6 1
        BPXSY1   S   normal 124 18 0
        LBXGH    S   normal 5.8 1 1
        LBXTC    S   normal 180 40 0
        LBXBPB   S   real .1 5 2
        DIQ010   S   of 2 1 3
        MCQ220   S   of 2 1
        SMQ020   SF  of 2 1
        ALQ130   S   gap .4 count 2
        DPQ020   S   gap .3 of 0 1 2 3
        SXQ251   S   gap .5 of 1 2 3 4 5
        WTMEC2YR H   real 3000 250000 6
        SDMVPSU  HF  of 1 2
        SDMVSTRA HF  whole 119 133
    """,
    "social survey, English": """
        id       NP  key %d
        wrkstat  V   of working_fulltime retired working_parttime keeping_house school
        occ10    V   number %d
        marital  V   of married never_married divorced widowed separated
        sibs     VF  count 3
        childs   V   count 1.6
        age      V   whole 18 89
        educ     V   whole 0 20
        padeg    VF  of high_school lt_high_school bachelor graduate
        sex      V   of female male
        race     VS  of white black other
        reg16    VF  of middle_atlantic pacific south_atlantic foreign
        partyid  S   of independent strong_democrat not_str_republican strong_republican
        polviews S   of moderate conservative liberal slghtly_liberal
        relig    S   of protestant catholic none jewish
        attend   S   of never every_week once_a_year
        abany    S   gap .3 of no yes
        homosex  S   gap .3 of always_wrong not_wrong_at_all
        grass    S   gap .3 of legal not_legal
        happy    SF  of pretty_happy very_happy not_too_happy
        health   S   of good excellent fair poor
        income16 S   of $25000-29999 $90000-109999 $170000_or_over $60000-74999
        union    S   of neither r_belongs spouse_belongs
        sexfreq  S   gap .4 of weekly not_at_all monthly
        wtssall  H   real .4 4 4
    """,
    "profiles of a dating site, English": """
        age         V   whole 18 69
        body_type   V   of average fit athletic thin curvy
        diet        F   gap .4 of mostly_anything vegetarian mostly_vegan
        drinks      SF  of socially rarely often not_at_all
        drugs       S   gap .2 of never sometimes often
        education   V   of graduated_from_college/university graduated_from_masters_program working_on_college
        ethnicity   VS  gap .1 of white asian hispanic_/_latin black
        height      VF  whole 58 80
        income      S   of -1 20000 50000 100000 1000000
        job         V   of other student science_/_tech computer_/_hardware
        last_online FVH date %Y-%m-%d-%H-%M 2011 2012
        location    V   of san_francisco,_california oakland,_california berkeley,_california
        offspring   VF  gap .4 of doesn't_have_kids has_kids
        orientation S   of straight gay bisexual
        pets        VF  gap .3 of likes_dogs has_cats
        religion    S   gap .3 of agnosticism atheism christianity judaism
        sex         V   of m f
        sign        VF  of leo virgo libra
        smokes      SF  of no sometimes yes
        speaks      VF  of english english,_spanish english,_french
        status      V   of single available seeing_someone
        essay0      X   gap .1 text
        essay1      X   gap .2 text
    """,
    "infections of Mexico, Spanish": """
        FECHA_ACTUALIZACION HF of 2021-06-30
        ID_REGISTRO      NP  key z%x
        SECTOR           FVS of 12 4 6 9
        ENTIDAD_UM       V   of 09 15 14 21
        SEXO             V   of 1 2
        ENTIDAD_RES      V   of 09 15 14 21
        MUNICIPIO_RES    V   whole 1 120
        TIPO_PACIENTE    S   of 1 2
        FECHA_INGRESO    VF  date %Y-%m-%d 2020 2021
        FECHA_SINTOMAS   FSV date %Y-%m-%d 2020 2021
        FECHA_DEF        SVF gap .9 date %Y-%m-%d 2020 2021
        INTUBADO         S   of 97 2 1
        NEUMONIA         S   of 2 1
        EDAD             V   whole 0 97
        NACIONALIDAD     V   of 1 2
        EMBARAZO         SV  of 97 2 1
        HABLA_LENGUA_INDIG VS of 2 1
        DIABETES         S   of 2 1 98
        EPOC             S   of 2 1 98
        INMUSUPR         S   of 2 1 98
        TABAQUISMO       S   of 2 1 98
        RESULTADO_LAB    S   of 1 2 97
        UCI              S   of 97 2 1
        MIGRANTE         SV  of 99 1 2
        PAIS_ORIGEN      VS  of 97 Honduras Venezuela
    """,
    "customers of a bank, English": """
        age       V   whole 18 90
        job       V   of blue-collar management technician admin. retired student
        marital   V   of married single divorced
        education V   of secondary tertiary primary unknown
        default   S   of no yes
        balance   S   money -800 20000 0
        housing   SF  of yes no
        loan      SF  of no yes
        contact   HF  of cellular unknown telephone
        day       HFV whole 1 31
        month     HFV of may jul aug jun
        duration  HF  whole 4 2500
        campaign  HF  count 3
        pdays     HF  of -1 92 182 183
        poutcome  HF  of unknown failure success
        y         FHS of no yes
    """,
    "stroke and heart, English": """
        id                NP  key %d
        gender            V   of Female Male Other
        age               V   whole 1 82
        hypertension      S   flag .1
        heart_disease     S   flag .05
        ever_married      V   of Yes No
        work_type         V   of Private Self-employed children Govt_job
        Residence_type    V   of Urban Rural
        avg_glucose_level S   real 55 270 2
        bmi               SF  normal 28.9 7 1
        smoking_status    SF  of never_smoked Unknown formerly_smoked smokes
        cigsPerDay        SF  gap .1 of 0 20 15 10 5
        BPMeds            S   flag .03
        prevalentStroke   S   flag .01
        totChol           S   normal 236 44 0
        sysBP             S   normal 132 22 1
        glucose           S   normal 82 20 0
        TenYearCHD        S   flag .15
        stroke            S   flag .05
    """,
    "social survey, German": """
        respid  NP  key %d
        land    V   of Bayern Hessen NRW Sachsen Berlin
        bik     V   of 10 9 7 8 4
        geschl  V   of Mann Frau
        alter   V   whole 18 93
        german  VS  of ja nein
        famst   V   of verheiratet ledig geschieden verwitwet
        iscd11  V   of 3 5 6 8 2
        work    V   of ganztags nicht_erwerbst. halbtags
        siops88 VF  whole 13 78
        hhgr    V   of 2 1 3 4
        hheink  S   gap .1 money 400 9000 0
        eink    S   gap .2 money 200 7000 0
        konf    S   of evangelisch keine katholisch muslimisch
        kirchg  S   of nie selten monatlich
        gewerk  S   of nein ja
        wahlabs S   of CDU SPD Grüne AfD FDP Linke
        lire    S   whole 1 10
        gesund  S   of gut zufriedenst. sehr_gut schlecht
        pv19    SF  whole 1 7
        pv20    SF  whole 1 7
        pv21    SF  whole 1 7
        intdat  FVH date %d.%m.%Y 2018 2019
        intnr   HFN of 204 317 411 118
        wghtpew H   real .3 2 5
    """,
    "examinations of pupils, Spanish": """
        ESTU_TIPODOCUMENTO      HFV of TI CC CE
        ESTU_CONSECUTIVO        NP  key SB1120%d
        ESTU_GENERO             V   of F M
        ESTU_FECHANACIMIENTO    V   date %d/%m/%Y 1999 2004
        ESTU_NACIONALIDAD       V   of COLOMBIA VENEZUELA
        ESTU_MCPIO_RESIDE       V   of MEDELLIN CALI BOGOTA PASTO
        ESTU_ETNIA              VS  gap .8 of Afro Indigena Raizal
        ESTU_DISCAPACIDAD       S   gap .9 of Visual Motriz
        FAMI_ESTRATOVIVIENDA    VFS of Estrato_2 Estrato_1 Estrato_3
        FAMI_PERSONASHOGAR      V   of 3_a_4 5_a_6 1_a_2
        FAMI_EDUCACIONPADRE     VF  of Secundaria Primaria Ninguno
        FAMI_TIENEINTERNET      F   of Si No
        FAMI_TIENEAUTOMOVIL     VF  of No Si
        ESTU_HORASSEMANATRABAJA FV  of 0 Menos_de_10_horas
        COLE_NOMBRE_SEDE        V   of IE_SAN_JOSE COL_LA_SALLE IE_RURAL
        COLE_NATURALEZA         VF  of OFICIAL NO_OFICIAL
        PUNT_LECTURA_CRITICA    S   whole 20 95
        PUNT_MATEMATICAS        S   whole 15 95
        PUNT_GLOBAL             S   whole 120 430
        DESEMP_INGLES           S   of A1 A- A2 B1
        PERCENTIL_GLOBAL        S   whole 1 100
    """,
    "deaths by police, English": """
        id                      NP  key %d
        name                    N   name en
        date                    V   date %Y-%m-%d 2015 2021
        manner_of_death         S   of shot shot_and_Tasered
        armed                   S   of gun knife unarmed vehicle
        age                     V   whole 14 85
        gender                  V   of M F
        race                    VS  of W B H A
        city                    V   of Los_Angeles Phoenix Houston Las_Vegas
        state                   V   of CA TX AZ NV
        signs_of_mental_illness S   of False True
        threat_level            S   of attack other undetermined
        flee                    S   of Not_fleeing Car Foot
        body_camera             FS  of False True
        longitude               V   real -118 -80 3
        latitude                V   real 28 45 3
    """,
    "patients with cancer, English": """
        bcr_patient_barcode   NP  key TCGA-A1-%04X
        form_completion_date  HF  date %Y-%m-%d 2011 2013
        birth_days_to         V   whole -32000 -11000
        gender                V   of FEMALE MALE
        menopause_status      SV  of Post Pre Indeterminate
        race                  VS  of WHITE BLACK_OR_AFRICAN_AMERICAN ASIAN
        vital_status          SV  of Alive Dead
        last_contact_days_to  F   whole 0 4000
        death_days_to         SVF gap .85 whole 100 3500
        tumor_status          S   of TUMOR_FREE WITH_TUMOR
        ajcc_pathologic_stage S   of Stage_IIA Stage_IIB Stage_I Stage_IIIA
        er_status_by_ihc      S   of Positive Negative
        her2_status           S   of Negative Positive Equivocal
        lymph_nodes_examined_count S whole 1 40
        histological_type     S   of Infiltrating_Ductal_Carcinoma Infiltrating_Lobular_Carcinoma
        tissue_source_site    FVH of A1 BH E2 D8
        radiation_therapy     S   of YES NO
        TP53_mut              S   flag .3
        MB_score              SFH real 0 30 2
    """,
    "journey survey, Dutch": """
        OPID     NP  key %d
        HHEID    B   person %d
        Geslacht V   of 1 2
        Leeftijd V   whole 6 95
        HerkLand VS  of 1 3 2
        WoGem    V   of 344 363 518 599 34
        Sted     V   of 2 1 3 4 5
        Prov     V   of 9 8 7 6
        HHPers   V   of 2 1 3 4
        HHGestInkG S whole 1 10
        OpleidingV V of 4 3 2 1
        BetWerk  V   of 2 0 1 3
        OPRijbewijsAu VF of 1 0
        HHAuto   V   of 1 2 0
        Doel     F   of 1 4 8 5
        VertPC   V   whole 3511 3584
        AankPC   V   whole 3511 3584
        VertUur  VF  whole 5 23
        AfstV    F   count 70
        KHvm     F   of 1 5 6 3
        FactorP  H   real 100 2000 4
    """,
}


def values(d: Draw, words: list[str]) -> list:
    """Draw the values that one specification asks for."""
    kind, *given = words
    plain = [word.replace("_", " ") for word in given]
    roll = d.random
    match kind:
        case "of":
            return d.words(*plain)
        case "flag":
            return d.marks(share=float(given[0]))
        case "whole":
            return d.whole(int(given[0]), int(given[1]))
        case "count":
            return d.counts(float(given[0]))
        case "real":
            return d.real(float(given[0]), float(given[1]), int(given[2]))
        case "normal":
            return d.normal(float(given[0]), float(given[1]), int(given[2]))
        case "money":
            return d.money(float(given[0]), float(given[1]), int(given[2]))
        case "date":
            return d.dates(given[0], int(given[1]), int(given[2]))
        case "key":
            return [given[0] % n for n in roll.sample(range(10_000, 10_000 + 9 * d.rows), d.rows)]
        case "person":
            return [given[0] % (10_000 + 7 * n) for n in d.whole(0, d.rows // 2)]
        case "number":
            return [plain[0] % (100 * n) for n in d.whole(1, 60)]
        case "hash":
            return [f"{n * 2654435761 % 2**40:010x}" for n in d.whole(1, int(given[0]))]
        case "name":
            return [f"{FAMILY[given[0]][n % 10]}, {GIVEN[given[0]][n % 11]}" for n in d.whole(0, 9999)]
        case "text":
            return d.sentences("he said", "that", "he was coming", "from work", "i like to", "laugh")
        case "gap":
            return d.with_gaps(values(d, given[1:]), float(given[0]))
    raise ValueError(kind)


def table_of(lines: str, d: Draw) -> dict:
    """Return the columns of one table: values and labels by name."""
    split = [line.split() for line in lines.strip().splitlines()]
    return {name: (values(d, words), tuple(LABELS[one] for one in labels)) for name, labels, *words in split}
