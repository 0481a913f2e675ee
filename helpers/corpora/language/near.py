"""Words that readers type and the language lacks, and what it has in their place."""

import difflib

# Known words: words whose meaning comes close to theirs.
MEANT = """
does did: do don't doing done
is was: am are aren't were weren't be been
has: have haven't had hadn't having
can could wants: must should would will won't wouldn't shall may might need needs
a this: another other one such
boy girl man woman: i you we me us them i'm i've i'll you're you've we're we've
boy man: him
it he she: they they're they've himself herself itself
my the this: your his her our their its these those some any all both many two
because when that: if while since so although though and or but as than
is does did can: why what how where which whose
in under behind to: into on from with of over through across near above around
small young: little tiny
big strong: large huge great tall
beautiful good: nice lovely pretty kind
happy: glad cheerful
sad nervous: angry afraid scared worried upset
sick: ill
hot: warm
cold: cool icy
hungry thirsty: starving
too: very quite really
boy girl: child children kid kids baby son daughter pupil student friend friends
man woman: person people neighbour neighbor teacher doctor farmer lady husband wife men
mother father: parent parents mum mom dad
house castle church: home school shop hotel office room hospital
  library museum restaurant tower
street bridge: road path way lane
garden forest meadow: park wood woods hill mountain yard sky
tree: flower plant bush grass
lake river: sea ocean pool pond
village: town city country
cat dog: kitten puppy pet
mouse: mice
animal bird frog: snake lion tiger elephant monkey rabbit duck chicken turtle animals
  parrot owl snail
bread cake cheese: food breakfast lunch dinner rice pasta chocolate sandwich
apple carrot nut: fruit vegetable banana pear tomato potato
water milk tea: wine beer juice rain
car bicycle boat: train bus plane truck bike ship
chair table: sofa couch bed desk bench armchair shelf
suitcase box: bag basket backpack trophy
coat hat: shirt dress shoe shoes trousers jacket
key ball ring: toy phone money present gift
goes comes crosses: run runs ran running walk walks walked walking drive drives drove
looks sees: watch watches watched watching stares
says knows believes: tell tells told said think thinks thought ask asks asked speaks
  talk talks talked talking speak spoke
stays works sleeps: live lives lived living sit sits sat sitting stand stands stood
brings gives: take takes took taken get gets got put puts send sends sent
builds: make makes made making
loves: like likes liked hate hates
laughs sings: cry cries cried crying smile smiles smiled smiling
yesterday today now: tomorrow tonight later soon always never often
red green blue black white: yellow brown grey gray pink orange purple
"""


def _meant() -> dict[str, list[str]]:
    lines = MEANT.strip().replace("\n  ", " ").splitlines()
    entries = (line.split(":") for line in lines)
    return {word: known.split() for known, typed in entries for word in typed.split()}


NEAR = _meant()
ENDING = 3  # letters, at most, that a known word may have got: big, bigger


def closest(word: str, known: set[str]) -> list[str]:
    """A few known words: close in meaning, or else in spelling; maybe none.

    Where a word is spelt much like one of `NEAR`, what that one is close to is meant.

    Args:
        word: one that is not known, in lower case
        known: the words to choose from
    """
    if word in NEAR:
        return NEAR[word]
    begun = {word[:end] for end in range(max(3, len(word) - ENDING), len(word))}
    spelt = difflib.get_close_matches(word, sorted({*known, *NEAR}), n=3, cutoff=0.8)
    alike = [*sorted(begun & known), *(one for one in spelt if one[0] == word[0])]
    found = sum((NEAR.get(one, [one]) for one in alike), [])
    return list(dict.fromkeys(found))
