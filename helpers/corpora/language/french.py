"""French: two genders, elision, ne ... pas, and a past with avoir or être."""

from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State

CODE = "fr"
PRONOUNS = ("il", "elle")

NOUNS = """
m: boy garçon; man homme; knight chevalier; king roi; prince prince; father père
m: brother frère; uncle oncle; grandfather grand-père; dog chien; cat chat
m: horse cheval; sheep mouton; pig cochon; donkey âne; fox renard; wolf loup
m: bear ours; bird oiseau; animal animal; bridge pont; field champ; meadow pré
m: stream ruisseau; garden jardin; castle château; village village; market marché
m: lake lac; tree arbre; wall mur; bread pain; cake gâteau; egg œuf; cheese fromage
m: fish poisson; milk lait; coffee café; tea thé; book livre; newspaper journal
m: poem poème; bicycle vélo; boat bateau; coat manteau; hat chapeau; ball ballon
f: girl fille; woman femme; witch sorcière; queen reine; princess princesse
f: mother mère; sister sœur; aunt tante; grandmother grand-mère; mouse souris
f: cow vache; goat chèvre; hen poule; frog grenouille; street rue; river rivière
f: square place; house maison; forest forêt; kitchen cuisine; barn grange
f: church église; station gare; apple pomme; soup soupe; meat viande; carrot carotte
f: nut noix; water eau; letter lettre; story histoire; door porte; window fenêtre
f: box boîte; suitcase valise; car voiture; clock horloge; chair chaise; table table
f: lamp lampe; cart charrette; key clé; ring bague; cup tasse; plate assiette
f: bottle bouteille
"""
# infinitive, present, participle; then "être" if the past is not made with avoir, or
# an imperfect that says it better
VERBS = """
cross: traverser traverse traversé
eat: manger mange mangé
drink: boire boit bu
read: lire lit lu
write: écrire écrit écrit
open: ouvrir ouvre ouvert
close: fermer ferme fermé
repair: réparer répare réparé
wash: laver lave lavé
buy: acheter achète acheté
sell: vendre vend vendu
look_for: chercher cherche cherché
find: trouver trouve trouvé
lose: perdre perd perdu
carry: porter porte porté
pull: tirer tire tiré
chase: poursuivre poursuit poursuivi
see: voir voit vu
hear: entendre entend entendu
love: aimer aime aimé aimait
help: aider aide aidé
follow: suivre suit suivi
wake: réveiller réveille réveillé
call: appeler appelle appelé
invite: inviter invite invité
look_at: regarder regarde regardé
build: construire construit construit
hide: cacher cache caché
steal: voler vole volé
break: casser casse cassé
cut: couper coupe coupé
leave: quitter quitte quitté
give: donner donne donné
show: montrer montre montré
bring: apporter apporte apporté
sleep: dormir dort dormi
wait: attendre attend attendu
stay: rester reste resté être
sing: chanter chante chanté
dance: danser danse dansé
play: jouer joue joué
work: travailler travaille travaillé
swim: nager nage nagé
laugh: rire rit ri
arrive: arriver arrive arrivé être
come_back: revenir revient revenu être
go: aller va allé être
come: venir vient venu être
"""
# masculine, feminine, then "<" if it stands before the noun, and the form that the
# masculine has before a vowel
ADJECTIVES = """
tired fatigué fatiguée; happy heureux heureuse; sad triste triste
sick malade malade; nervous nerveux nerveuse; hungry affamé affamée
thirsty assoiffé assoiffée; small petit petite <; young jeune jeune <
brave courageux courageuse; curious curieux curieuse; old vieux vieille < vieil
big grand grande <; black noir noire; white blanc blanche
lazy paresseux paresseuse; fast rapide rapide; strong fort forte
weak faible faible; slow lent lente; dirty sale sale; red rouge rouge
green vert verte; blue bleu bleue; wide large large; narrow étroit étroite
long long longue <; quiet calme calme; steep pentu pentue; deep profond profonde
cold froid froide; new nouveau nouvelle < nouvel; muddy boueux boueuse
beautiful beau belle < bel; dark sombre sombre; sweet sucré sucrée
sour acide acide; hard dur dure; good bon bonne <; fresh frais fraîche
dry sec sèche; hot chaud chaude; salty salé salée; bitter amer amère
boring ennuyeux ennuyeuse; difficult difficile difficile; funny drôle drôle
short court courte; heavy lourd lourde; expensive cher chère; poor pauvre pauvre
"""
SAID_OF = {"new": ("neuf", "neuve")}  # a nouveau livre that is neuf
HAVING = {"hungry": "faim", "thirsty": "soif"}  # one has hunger, one is not hungry
FRONTS = {
    "yesterday": "hier",
    "last_week": "la semaine dernière",
    "today": "aujourd' hui",
    "now": "maintenant",
    "in_the_evening": "le soir",
    "in_the_morning": "le matin",
    "every_day": "chaque jour",
    "sometimes": "parfois",
}
DETERMINERS = {  # masculine, feminine, before a vowel (masculine, feminine)
    "the": ("le", "la", "l'", "l'"),
    "a": ("un", "une", "un", "une"),
    "this": ("ce", "cette", "cet", "cette"),
    "my": ("mon", "ma", "mon", "mon"),
    "": ("du", "de la", "de l'", "de l'"),  # some
    "no": ("de", "de", "d'", "d'"),  # not any
}
PREPOSITIONS = {
    "in": "dans",
    "under": "sous",
    "behind": "derrière",
    "next_to": "à côté de",
    "to": "à",
}
MODALS = {"can": ("peut", "pouvait"), "want": ("veut", "voulait")}
SKILLS = frozenset({"swim", "dance", "sing"})  # who can do these knows how to
KNOW_HOW = ("sait", "savait")
BE = {"present": "est", "past": "était"}
HAVE = {"present": "a", "past": "avait"}
SAYS = {"say": "dit", "know": "sait", "believe": "croit"}
QUESTION = "\xa0?"  # the mark and the space before it
VOWELS = "aeiouyhâàéèêëîïôœûu"  # no h of these words is aspirated


def _table(text: str) -> dict[str, tuple[str, ...]]:
    entries = text.replace("\n", ";").strip(";").split(";")
    return {key: tuple(rest) for key, *rest in map(str.split, entries)}


NOUN = {
    key: (line[0], word)
    for line in NOUNS.strip().splitlines()
    for key, word in map(str.split, line[2:].split(";"))
}
VERB = {
    line.split(":")[0]: tuple(line.split(":")[1].split())
    for line in VERBS.strip().splitlines()
}
ADJECTIVE = _table(ADJECTIVES)


def vowel(word: str) -> bool:
    """Whether a word before this one is elided."""
    return word[0] in VOWELS


def pronoun(noun: str) -> str:
    """What stands for a noun: its gender decides."""
    return "elle" if NOUN[noun][0] == "f" else "il"


def adjective(name: str, gender: str, following: str = "") -> str:
    """An adjective that agrees; some have a form of their own before a vowel."""
    masculine, feminine, *more = ADJECTIVE[name]
    if gender == "f":
        return feminine
    return more[1] if len(more) == 2 and following and vowel(following) else masculine


def phrase(one: Phrase) -> list[str]:
    """Determiner, noun, and the adjective on its side of it."""
    gender, noun = NOUN[one.noun]
    words = [noun]
    if one.adjective and "<" in ADJECTIVE[one.adjective]:
        words = [adjective(one.adjective, gender, noun), noun]
    elif one.adjective:
        words = [noun, adjective(one.adjective, gender)]
    forms = DETERMINERS[one.determiner]
    chosen = forms[2 * vowel(words[0]) + (gender == "f")]
    return [*chosen.split(), *words]


def contracted(words: list[str]) -> list[str]:
    """De le is du, à le is au."""
    short = {("de", "le"): "du", ("à", "le"): "au"}
    for place, pair in enumerate(zip(words, words[1:], strict=False)):
        if pair in short:
            return [*words[:place], short[pair], *words[place + 2 :]]
    return words


def elided(word: str, following: str) -> str:
    """Ne, que and de lose their e before a vowel."""
    return word[:-1] + "'" if vowel(following) else word


def _verb(one: Clause) -> tuple[str, list[str]]:
    """The finite verb, and the participle or infinitive behind it."""
    infinitive, present, participle, *more = VERB[one.verb]
    if one.modal:
        skill = one.modal == "can" and one.verb in SKILLS and not one.place
        forms = KNOW_HOW if skill else MODALS[one.modal]
        return forms[one.tense == "past"], [infinitive]
    if one.tense in ("present", "progressive"):
        return present, []
    if more and one.tense == "past" and more != ["être"]:
        return more[0], []
    if more == ["être"]:
        agrees = participle + "e" * (NOUN[one.subject.noun][0] == "f")
        return "est", [agrees]
    return "a", [participle]


def _object(one: Clause) -> list[str]:
    thing = one.object
    if thing and one.negated and thing.determiner in ("a", ""):
        thing = thing._replace(determiner="no")
    return phrase(thing) if thing else []


def _behind(one: Clause) -> list[str]:
    words = _object(one)
    if one.place:
        preposition, where = one.place
        words += contracted([*PREPOSITIONS[preposition].split(), *phrase(where)])
    if one.recipient:
        words += contracted(["à", *phrase(one.recipient)])
    return words


def negation(finite: str) -> list[str]:
    """Ne before the verb and pas behind it."""
    return [elided("ne", finite), finite, "pas"]


def predicate(one: Clause | State) -> list[str]:
    """All but the subject."""
    if isinstance(one, State):
        having = HAVING.get(one.adjective)
        gender = NOUN[one.subject.noun][0]
        finite = (HAVE if having else BE)[one.tense]
        words = SAID_OF.get(one.adjective, ADJECTIVE[one.adjective])
        rest = ["trop"] * one.too + [having or words[gender == "f"]]
    else:
        finite, rest = _verb(one)
        rest = rest + _behind(one)
    return [*(negation(finite) if one.negated else [finite]), *rest]


def _subject(one: Clause | State) -> list[str]:
    return [pronoun(one.subject.noun)] if one.pronoun else phrase(one.subject)


def clause(one: Clause | State) -> list[str]:
    """Subject and predicate: the order is that of English."""
    return [*_subject(one), *predicate(one)]


def joined(conjunction: str, words: list[str]) -> list[str]:
    """A conjunction that ends in que, and its clause."""
    *before, que = conjunction.split()
    return [*before, elided(que, words[0]), *words]


def write(one: Sentence) -> list[str]:
    """The words of a sentence, with commas and the mark at the end."""
    words = clause(one.main)
    if one.relative:
        relative = ["qui", *predicate(one.relative)]
        words = [*_subject(one.main), *relative, *predicate(one.main)]
    if one.saying:
        who, verb = one.saying
        words = [*phrase(who), SAYS[verb], *joined("que", words)]
    if one.main.asked:
        words = joined("est-ce que", words)
    if one.when:
        words = ["quand", *clause(one.when), ",", *words]
    if one.front:
        words = [*FRONTS[one.front].split(), ",", *words]
    if one.because:
        words += joined("parce que", clause(one.because))
    return [*words, QUESTION if one.main.asked else "."]


def vocabulary() -> set[str]:
    """Every word that a sentence can have."""
    words = {QUESTION} | set(
        ". , ne n' pas trop qui que qu' quand parce est-ce".split()
    )
    words |= {
        "au",
        *KNOW_HOW,
        *HAVING.values(),
        *BE.values(),
        *HAVE.values(),
        *SAYS.values(),
    }
    words |= {word for _, word in NOUN.values()} | set(PRONOUNS)
    for infinitive, present, participle, *more in VERB.values():
        words |= {infinitive, present, participle, *more} - {"être"}
        words |= {participle + "e"} if more == ["être"] else set()
    for forms in ADJECTIVE.values():
        words |= {form for form in forms if form != "<"}
    words |= {form for forms in SAID_OF.values() for form in forms}
    texts = [*FRONTS.values(), *PREPOSITIONS.values(), *sum(DETERMINERS.values(), ())]
    words |= {word for text in texts for word in text.split()}
    return words | {word for both in MODALS.values() for word in both}
