"""German: three genders, four cases, and the verb last in a subordinate clause."""

from helpers.corpora.language.lexicon import ATTRIBUTES, BEASTS, PERSONS
from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State

CODE = "de"
PRONOUNS = ("er", "sie", "es")

# A second word is the form of all cases but the nominative.
NOUNS = """
m: boy Junge Jungen; man Mann; knight Ritter; king König; prince Prinz Prinzen
m: father Vater; brother Bruder; uncle Onkel; grandfather Großvater; dog Hund
m: donkey Esel; fox Fuchs; wolf Wolf; bear Bär Bären; bird Vogel; frog Frosch
m: river Fluss; square Platz; stream Bach; garden Garten; forest Wald; market Markt
m: station Bahnhof; lake See; tree Baum; apple Apfel; cake Kuchen; cheese Käse
m: fish Fisch; coffee Kaffee; tea Tee; letter Brief; suitcase Koffer; chair Stuhl
m: table Tisch; cart Karren; key Schlüssel; ring Ring; coat Mantel; hat Hut
m: ball Ball; plate Teller
f: woman Frau; witch Hexe; queen Königin; princess Prinzessin; mother Mutter
f: sister Schwester; aunt Tante; grandmother Großmutter; cat Katze; mouse Maus
f: cow Kuh; goat Ziege; hen Henne; street Straße; bridge Brücke; meadow Wiese
f: kitchen Küche; barn Scheune; church Kirche; wall Mauer; soup Suppe
f: carrot Karotte; nut Nuss; milk Milch; newspaper Zeitung; story Geschichte
f: door Tür; box Kiste; clock Uhr; lamp Lampe; cup Tasse; bottle Flasche
n: girl Mädchen; horse Pferd; sheep Schaf; pig Schwein; animal Tier; field Feld
n: house Haus; castle Schloss; village Dorf; bread Brot; egg Ei; meat Fleisch
n: water Wasser; book Buch; poem Gedicht; window Fenster; car Auto
n: bicycle Fahrrad; boat Boot
"""
# present, past, participle, infinitive; then "sein" for the perfect, "dative", a prefix
VERBS = """
cross: überquert überquerte überquert überqueren
eat: isst aß gegessen essen
feed: frisst fraß gefressen fressen
drink: trinkt trank getrunken trinken
read: liest las gelesen lesen
write: schreibt schrieb geschrieben schreiben
open: öffnet öffnete geöffnet öffnen
close: schließt schloss geschlossen schließen
repair: repariert reparierte repariert reparieren
wash: wäscht wusch gewaschen waschen
buy: kauft kaufte gekauft kaufen
sell: verkauft verkaufte verkauft verkaufen
look_for: sucht suchte gesucht suchen
find: findet fand gefunden finden
lose: verliert verlor verloren verlieren
carry: trägt trug getragen tragen
pull: zieht zog gezogen ziehen
chase: jagt jagte gejagt jagen
see: sieht sah gesehen sehen
hear: hört hörte gehört hören
love: liebt liebte geliebt lieben
help: hilft half geholfen helfen dative
follow: folgt folgte gefolgt folgen sein dative
wake: weckt weckte aufgeweckt aufwecken auf
call: ruft rief gerufen rufen
invite: lädt lud eingeladen einladen ein
look_at: sieht sah angesehen ansehen an
regard: betrachtet betrachtete betrachtet betrachten
build: baut baute gebaut bauen
hide: versteckt versteckte versteckt verstecken
steal: stiehlt stahl gestohlen stehlen
break: zerbricht zerbrach zerbrochen zerbrechen
cut: schneidet schnitt geschnitten schneiden
leave: verlässt verließ verlassen verlassen
give: gibt gab gegeben geben
show: zeigt zeigte gezeigt zeigen
bring: bringt brachte gebracht bringen
sleep: schläft schlief geschlafen schlafen
wait: wartet wartete gewartet warten
stay: bleibt blieb geblieben bleiben sein
sing: singt sang gesungen singen
dance: tanzt tanzte getanzt tanzen
play: spielt spielte gespielt spielen
work: arbeitet arbeitete gearbeitet arbeiten
swim: schwimmt schwamm geschwommen schwimmen sein
laugh: lacht lachte gelacht lachen
arrive: kommt kam angekommen ankommen sein an
come_back: kommt kam zurückgekommen zurückkommen sein zurück
go: geht ging gegangen gehen sein
come: kommt kam gekommen kommen sein
"""
# A second word is the stem that endings are added to.
ADJECTIVES = """
tired müde müd; happy glücklich; sad traurig; sick krank; nervous nervös
hungry hungrig; thirsty durstig; small klein; young jung; brave mutig
curious neugierig; old alt; big groß; black schwarz; white weiß; lazy faul
fast schnell; strong stark; weak schwach; slow langsam; dirty schmutzig; red rot
green grün; blue blau; wide breit; narrow schmal; long lang; quiet ruhig
steep steil; deep tief; cold kalt; new neu; muddy schlammig; beautiful schön
dark dunkel dunkl; sweet süß; sour sauer saur; hard hart; good gut; fresh frisch
dry trocken; hot heiß; salty salzig; bitter bitter; boring langweilig
difficult schwierig; funny lustig; short kurz; heavy schwer; expensive teuer teur
poor arm
"""
FRONTS = {
    "yesterday": "gestern",
    "last_week": "letzte Woche",
    "today": "heute",
    "now": "jetzt",
    "in_the_evening": "am Abend",
    "in_the_morning": "am Morgen",
    "every_day": "jeden Tag",
    "sometimes": "manchmal",
}
THE = {  # case -> gender -> the article
    "nom": {"m": "der", "f": "die", "n": "das"},
    "acc": {"m": "den", "f": "die", "n": "das"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
EIN = {  # the ending of ein, kein, mein
    "nom": {"m": "", "f": "e", "n": ""},
    "acc": {"m": "en", "f": "e", "n": ""},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
DIES = {  # the ending of dieser
    "nom": {"m": "er", "f": "e", "n": "es"},
    "acc": {"m": "en", "f": "e", "n": "es"},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
WEAK = {  # of an adjective behind der, dieser
    "nom": {"m": "e", "f": "e", "n": "e"},
    "acc": {"m": "en", "f": "e", "n": "e"},
    "dat": {"m": "en", "f": "en", "n": "en"},
}
MIXED = {  # behind ein, kein, mein
    "nom": {"m": "er", "f": "e", "n": "es"},
    "acc": {"m": "en", "f": "e", "n": "es"},
    "dat": {"m": "en", "f": "en", "n": "en"},
}
STRONG = {  # without a determiner
    "nom": {"m": "er", "f": "e", "n": "es"},
    "acc": {"m": "en", "f": "e", "n": "es"},
}
STEMS = {"a": "ein", "no": "kein", "my": "mein"}
PREPOSITIONS = {
    "in": "in",
    "under": "unter",
    "behind": "hinter",
    "next_to": "neben",
    "to": "zu",
}
WATERS = frozenset({"river", "lake", "stream"})  # one is not beside them but at them
SHORT = {
    ("an", "dem"): "am",
    ("in", "dem"): "im",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}
MODALS = {"can": ("kann", "konnte"), "want": ("will", "wollte")}
BE = {"present": "ist", "past": "war"}
SAYS = {"say": "sagt", "know": "weiß", "believe": "glaubt"}


def _nouns() -> dict[str, tuple[str, str, str]]:
    found = {}
    for line in NOUNS.strip().splitlines():
        gender, rest = line.split(":")
        for entry in rest.split(";"):
            key, word, *other = entry.split()
            found[key] = (gender, word, *(other or [word]))
    return found


def _verbs() -> dict[str, tuple[tuple[str, ...], set[str], str]]:
    found = {}
    for line in VERBS.strip().splitlines():
        key, rest = line.split(":")
        forms, more = rest.split()[:4], rest.split()[4:]
        prefix = [word for word in more if word not in ("sein", "dative")]
        found[key] = (tuple(forms), set(more), "".join(prefix))
    return found


def _adjectives() -> dict[str, tuple[str, str]]:
    entries = ADJECTIVES.replace("\n", ";").strip(";").split(";")
    return {
        key: (word, *(stem or [word])) for key, word, *stem in map(str.split, entries)
    }


NOUN, VERB, ADJECTIVE = _nouns(), _verbs(), _adjectives()


def pronoun(noun: str) -> str:
    """What stands for a noun: its gender decides, and a girl is neuter."""
    return {"m": "er", "f": "sie", "n": "es"}[NOUN[noun][0]]


def phrase(one: Phrase, case: str) -> list[str]:
    """Determiner, adjective, noun, all three in a case: nom, acc or dat."""
    gender, nominative, oblique = NOUN[one.noun]
    if one.determiner == "the":
        words, endings = [THE[case][gender]], WEAK
    elif one.determiner == "this":
        words, endings = ["dies" + DIES[case][gender]], WEAK
    elif one.determiner in STEMS:
        words, endings = [STEMS[one.determiner] + EIN[case][gender]], MIXED
    else:
        words, endings = [], STRONG
    if one.adjective:
        words.append(ADJECTIVE[one.adjective][1] + endings[case][gender])
    return [*words, nominative if case == "nom" else oblique]


def place(preposition: str, where: Phrase) -> list[str]:
    """A preposition with the dative; in dem is im, zu der is zur."""
    at = preposition == "next_to" and where.noun in WATERS
    words = ["an" if at else PREPOSITIONS[preposition], *phrase(where, "dat")]
    short = SHORT.get((words[0], words[1]))
    return [short, *words[2:]] if short else words


def without(one: Clause) -> Phrase | None:
    """The object under negation: not a dog is kein Hund."""
    thing = one.object
    if thing and one.negated and thing.determiner in ("a", ""):
        return thing._replace(determiner="no")
    return thing


def _middle(one: Clause) -> list[str]:
    """What stands between the two parts of the verb: dative, accusative, not, place."""
    thing = without(one)
    words = phrase(one.recipient, "dat") if one.recipient else []
    if thing:
        words += phrase(thing, "dat" if "dative" in VERB[one.verb][1] else "acc")
    if one.negated and thing == one.object:
        words.append("nicht")
    return words + (place(*one.place) if one.place else [])


def _named(one: Clause) -> str:
    """The entry of `VERBS`: animals fressen, and one looks at a castle otherwise."""
    if one.verb == "eat" and one.subject.noun in BEASTS:
        return "feed"
    if one.verb == "look_at" and one.object.noun not in BEASTS | PERSONS:
        return "regard"
    return one.verb


def _verb(one: Clause) -> tuple[str, str]:
    """The finite verb, and what ends a main clause: infinitive, participle, prefix."""
    forms, more, prefix = VERB[_named(one)]
    present, past, participle, infinitive = forms
    if one.modal:
        return MODALS[one.modal][one.tense == "past"], infinitive
    if one.tense == "perfect":
        return ("ist" if "sein" in more else "hat"), participle
    return (past if one.tense == "past" else present), prefix


def _subject(one: Clause | State) -> list[str]:
    return [pronoun(one.subject.noun)] if one.pronoun else phrase(one.subject, "nom")


def _parts(one: Clause | State) -> tuple[str, list[str], str]:
    """The finite verb, the middle, and the second part of the verb."""
    if isinstance(one, State):
        middle = ["nicht"] * one.negated + ["zu"] * one.too
        return BE[one.tense], [*middle, ADJECTIVE[one.adjective][0]], ""
    finite, last = _verb(one)
    return finite, _middle(one), last


def main(one: Clause | State, subject: list[str], inverted: bool) -> list[str]:
    """The finite verb second, or first in a question; the rest of it last."""
    finite, middle, last = _parts(one)
    start = [finite, *subject] if inverted else [*subject, finite]
    return [*start, *middle, *last.split()]


def verb_last(one: Clause | State, subject: list[str]) -> list[str]:
    """A subordinate clause: the finite verb last, and joined to its prefix."""
    finite, middle, last = _parts(one)
    if isinstance(one, Clause) and last == VERB[one.verb][2]:
        return [*subject, *middle, last + finite]
    return [*subject, *middle, *last.split(), finite]


def relative(one: Clause) -> list[str]:
    """A relative clause: its pronoun has the gender of the noun before."""
    return [",", *verb_last(one, [THE["nom"][NOUN[one.subject.noun][0]]]), ","]


def write(one: Sentence) -> list[str]:
    """The words of a sentence, with commas and the mark at the end."""
    subject = _subject(one.main)
    if one.relative:
        subject += relative(one.relative)
    if one.saying:
        who, verb = one.saying
        words = [*phrase(who, "nom"), SAYS[verb], ",", "dass"]
        words += verb_last(one.main, subject)
    elif one.when:
        conjunction = "als" if one.when.tense == "past" else "wenn"
        words = [conjunction, *verb_last(one.when, _subject(one.when)), ","]
        words += main(one.main, subject, inverted=True)
    else:
        words = FRONTS[one.front].split() if one.front else []
        words += main(one.main, subject, bool(one.front) or one.main.asked)
    if one.because:
        words += [",", "weil", *verb_last(one.because, _subject(one.because))]
    return [*words, "?" if one.main.asked else "."]


def vocabulary() -> set[str]:
    """Every word that a sentence can have."""
    words = set(". , ? nicht zu dass weil als wenn ist war hat".split())
    words |= {word for _, *forms in NOUN.values() for word in forms}
    for forms, _, prefix in VERB.values():
        words |= {*forms, *prefix.split(), *(prefix + word for word in forms[:2])}
    inflected = {name for some in ATTRIBUTES.values() for name in some}
    for name, (word, stem) in ADJECTIVE.items():
        endings = ("e", "er", "es", "en") if name in inflected else ()
        words |= {word, *(stem + ending for ending in endings)}
    for case in THE:
        words |= {*THE[case].values()}
        words |= {stem + end for stem in STEMS.values() for end in EIN[case].values()}
        words |= {"dies" + ending for ending in DIES[case].values()}
    words |= {word for text in FRONTS.values() for word in text.split()}
    words |= {*PREPOSITIONS.values(), *SHORT.values(), *PRONOUNS, *SAYS.values()}
    return words | {word for both in MODALS.values() for word in both}
