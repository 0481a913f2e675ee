"""Words that readers type and the language lacks, and what it has in their place."""

import difflib

# Known words: words whose meaning comes close to theirs.
MEANT = """
does did: do don't doing done
is was: am are aren't were weren't be been
has: have haven't had hadn't having
can could wants: must should would will won't wouldn't shall may might need needs
a this: another other one such
he she it: i you we they me him us them
my the this: your his her our their its these those some any all both many two
because when that: if while since so although though and or but as than
is does did can: why what how where which whose
in under behind to: into on from with of over through across near above around
small young: little tiny
big strong: large huge great tall
beautiful good: nice lovely pretty kind
happy: glad cheerful
hungry thirsty: starving
boy girl: child children kid kids baby son daughter pupil student friend friends
man woman: person people neighbour neighbor teacher doctor farmer lady husband wife men
mother father: parent parents mum mom dad
house castle church: home school shop hotel office room
street bridge: road path way lane
garden forest meadow: park wood woods hill mountain yard sky
animal bird frog: snake lion tiger elephant monkey rabbit duck chicken turtle animals
bread cake cheese: food breakfast lunch dinner rice pasta chocolate sandwich
apple carrot nut: fruit vegetable banana pear tomato potato
water milk tea: wine beer juice rain
car bicycle boat: train bus plane truck bike ship
key ball ring: toy phone money present gift
goes comes crosses: run runs ran running walk walks walked walking drive drives drove
looks sees: watch watches watched watching stares
says knows believes: tell tells told said think thinks thought ask asks asked speaks
loves: like likes liked hate hates
laughs sings: cry cries cried crying smile smiles smiled smiling
yesterday today now: tomorrow tonight later soon always never often
red green blue black white: yellow brown grey gray pink orange purple
"""


def _meant() -> dict[str, list[str]]:
    lines = (line.split(":") for line in MEANT.strip().splitlines())
    return {word: known.split() for known, typed in lines for word in typed.split()}


NEAR = _meant()


def closest(word: str, known: set[str]) -> list[str]:
    """A few known words: close in meaning, or else in spelling; maybe none.

    Args:
        word: one that is not known, in lower case
        known: the words to choose from
    """
    if word in NEAR:
        return NEAR[word]
    stems = [one for one in sorted(known) if len(one) > 2 and word.startswith(one)]
    spelt = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.7)
    return list(dict.fromkeys([*stems, *spelt]))[:3]
