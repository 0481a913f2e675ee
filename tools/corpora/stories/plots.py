"""What happens: shapes of plot, each with a happy and a sad end.

A plot casts its roles, tells its events in order and keeps the world's facts: what lies
where, what time it is. The words are in the pattern files.
"""

import random
from collections.abc import Callable

from tools.corpora.stories import words as lists
from tools.corpora.stories import world
from tools.corpora.stories.telling import Story
from tools.corpora.stories.world import Entity

Plot = Callable[[Story], None]
PLOTS: dict[str, Plot] = {}

LONGEST = 200  # words and marks in a story
BEDS = ("basket", "box", "cradle", "wheelbarrow", "stove", "bench", "stairs", "shed")
PACKS = ("bag", "basket", "sack", "suitcase")
STALL = ("basket", "bag", "sack", "bucket", "barrel", "trunk", "tin", "jar", "pot")
PANTRY = ("cupboard", "oven", "shelf", "windowsill", "chest", "basket", "wardrobe")
SUNNY = ("windowsill", "shelf", "chair", "piano", "roof", "wheelbarrow", "bucket")
WILDS = ("hedge", "barrel", "tree", "bench", "bush", "wall", "haystack", "well", "nest")
DENS = (
    "hedge",
    "shed",
    "barrel",
    "haystack",
    "bush",
    "bench",
    "wall",
    "gate",
    "bridge",
)
NEAR_BED = ("shelf", "windowsill", "chair", "pillow", "bed", "drawer", "box", "curtain")
CAKES = ("cake", "pie", "pancake", "muffin", "pretzel", "waffle")
SMALL_PETS = ("dog", "cat", "hen", "lamb", "duck", "puppy", "kitten", "goose", "piglet")
YARD_PETS = ("hen", "goat", "pony", "donkey", "lamb", "calf", "duck", "goose", "piglet")
FURRY = ("dog", "cat", "goat", "puppy", "kitten", "donkey", "pony")
SWEET_TEETH = ("dog", "cat", "goat", "puppy", "kitten", "piglet")
PATIENTS = ("owl", "robin", "crow", "hare", "frog", "sparrow", "turtle", "raven")


def plot(tell: Plot) -> Plot:
    """Enter a plot into the list, by its function's name."""
    PLOTS[tell.__name__] = tell
    return tell


def tell(seed: int, ending: str | None = None, plot: str | None = None) -> Story:
    """One story, the same for the same arguments.

    Args:
        seed: any integer
        ending: "happy" or "sad"; drawn if not given
        plot: a name in `PLOTS`; drawn if not given
    """
    rng = random.Random(seed)
    drawn = rng.choice(("happy", "sad")), rng.choice(list(PLOTS))
    while True:
        story = Story(rng, ending or drawn[0], plot or drawn[1])
        _cast(story)
        _open(story)
        PLOTS[story.plot](story)
        story.end("close", 0.6)
        if story.length() <= LONGEST:  # a longer one is told again, in other words
            return story


def _cast(story: Story) -> None:
    """Everybody who may be in any story, the season, the weather and the time."""
    rng, cast = story.rng, story.cast
    animal = rng.choice(lists.YOUNG_ANIMALS) if rng.random() < 0.15 else ""
    hero = world.person(rng, rng.choice(("he", "she")), animal)
    season = "winter" if story.plot == "snow" else rng.choice(list(world.SEASONS))
    weather = "snow" if story.plot == "snow" else rng.choice(world.SEASONS[season])
    time = rng.choice(("morning", "afternoon"))
    homes = lists.BURROWS if animal else lists.HOMES
    cast |= {
        "hero": hero,
        "kin": world.kin(rng, hero, rng.choice(("he", "she"))),
        "villager": world.villager(rng),
        "food": world.food(rng),
        "home": world.home(rng, homes),
        "place": world.place(rng),
        "season": world.words(season),
        "time": world.words(time),
    }
    story.facts |= {season, weather, time, story.ending} | hero.kinds


def _open(story: Story) -> None:
    """Who it is about, and what kind of day it was."""
    if story.rng.random() < 0.65:
        story.say("open.once")
        story.say("open.trait", 0.3)
    else:
        story.facts.add("scene")
        story.say("open.scene")
    story.say("open.day", 0.4)
    story.paragraph()


def _friend(story: Story, told: bool = True) -> None:
    """A friend, called by the other pronoun than the hero."""
    hero = story.cast["hero"]
    other = "she" if hero.forms["he"] == "he" else "he"
    animal = story.rng.choice(lists.YOUNG_ANIMALS) if "animal" in hero.kinds else ""
    friend = world.person(story.rng, other, animal, hero.forms["name"])
    story.cast["friend"] = friend
    story.facts.add("friend")
    if told:
        story.say("friend")


def _thing(story: Story, *kinds: str) -> Entity:
    """The thing of the story; what kind it is becomes a fact."""
    thing = world.thing(story.rng, kinds)
    story.cast["thing"] = thing
    story.facts |= thing.kinds
    return thing


def _box(story: Story, nouns: tuple[str, ...] = (), *kinds: str) -> None:
    """A container that fits the thing of the story."""
    thing = story.cast.get("thing")
    wanted = set(kinds) | ({"large"} if thing and "large" in thing.kinds else set())
    but = {thing.forms["name"]} if thing else set()
    story.cast["box"] = world.container(story.rng, wanted, but, nouns)


def _wrong(story: Story) -> None:
    """Two places where the thing is not."""
    thing, box = story.cast["thing"], story.cast["box"]
    but = {thing.forms["name"], box.forms["name"]}
    story.cast["no"] = world.container(story.rng, {"large"}, but)
    but.add(story.cast["no"].forms["name"])
    story.cast["nope"] = world.container(story.rng, {"large"}, but)


def _between(story: Story, most: int = 2) -> None:
    """Something else happens, and time passes; where the thing is stays so."""
    for chance in (1.0, 0.35)[:most]:
        story.say("between", chance)
    if story.at.get("thing") == "box" and "box" in story.cast:
        story.say("check", 0.35)


def _pet(story: Story, kinds: tuple[str, ...], named: bool) -> None:
    story.cast["pet"] = world.beast(story.rng, lists.PETS, named, kinds)


def _place(story: Story, *nouns: str) -> None:
    story.cast["place"] = world.place(story.rng, nouns)


# --- things ---------------------------------------------------------------------------


@plot
def lost(story: Story) -> None:
    """A thing is put away, forgotten, looked for."""
    if story.rng.random() < 0.4:
        _friend(story)
    _thing(story)
    _box(story)
    _wrong(story)
    story.say("lost.have")
    story.say("lost.reason", 0.6)
    story.put("thing", "box")
    _between(story)
    story.paragraph()
    story.say("lost.miss")
    story.say("search")
    story.say("lost.ask", 0.6)
    story.paragraph()
    story.end("lost.end")


@plot
def wish(story: Story) -> None:
    """A thing is wanted, worked and saved for."""
    if story.rng.random() < 0.4:
        _friend(story)
    _thing(story, "toy", "frail", "wear")
    story.cast["coins"] = world.words("coins")
    _box(story, (), "indoors")
    story.say("wish.want")
    story.say("wish.price")
    story.paragraph()
    story.say("wish.work")
    story.put("coins", "box", "wish.save")
    _between(story)
    story.paragraph()
    story.say("wish.count")
    story.end("wish.end")


@plot
def gift(story: Story) -> None:
    """A present is made, hidden, nearly found and given."""
    story.facts |= {"kin", "home"}
    if story.rng.random() < 0.4:
        _friend(story)
    _thing(story, "frail", "wear", "toy")
    _box(story)
    story.say("gift.day")
    story.say("gift.make")
    story.put("thing", "box")
    story.say("gift.guess")
    _between(story)
    story.paragraph()
    story.say("gift.morning")
    story.end("gift.end")


@plot
def broken(story: Story) -> None:
    """A thing is broken, its pieces are hidden, and the truth is told."""
    story.facts |= {"kin", "home"}
    if story.rng.random() < 0.4:
        _friend(story)
    _thing(story, "frail")
    _box(story, (), "indoors")
    story.say("broken.own")
    story.say("broken.fall")
    story.put("thing", "box", "broken.hide")
    _between(story)
    story.paragraph()
    story.say("broken.guilt")
    story.say("broken.tell")
    story.end("broken.end")


@plot
def market(story: Story) -> None:
    """Something is sold, and the money is guarded, or is not."""
    story.facts |= {"kin", "home"}
    _thing(story, "toy", "wear", "frail")
    story.cast["coins"] = world.words("coins")
    _box(story, STALL)
    story.say("market.go")
    story.say("market.noise")
    story.say("market.sell")
    story.put("coins", "box", "market.keep")
    story.say("market.noise", 0.5)
    story.paragraph()
    story.say("market.tempt")
    story.end("market.end")


@plot
def bake(story: Story) -> None:
    """Somebody bakes and is called away."""
    story.facts |= {"kin", "home", "away"}
    if story.rng.random() < 0.4:
        _friend(story)
    story.say("bake.plan")
    story.say("bake.mix")
    story.say("bake.mix")
    story.say("bake.oven")
    story.paragraph()
    story.say("bake.away")
    _between(story)
    story.end("bake.end")


@plot
def mystery(story: Story) -> None:
    """Something sweet is gone, and there are traces."""
    story.facts |= {"kin", "home"}
    _friend(story)
    story.cast["cake"] = world.food(story.rng, CAKES)
    while story.cast["food"].forms["name"] in CAKES:  # lunch is something else
        story.cast["food"] = world.food(story.rng)
    _pet(story, SWEET_TEETH, named=False)
    _box(story, PANTRY)
    story.put("cake", "box", "mystery.cake")
    _between(story, 1)
    story.say("mystery.gone")
    story.paragraph()
    story.say("mystery.suspect")
    story.say("mystery.suspect", 0.5)
    story.say("mystery.clue")
    story.end("mystery.end")


# --- people ---------------------------------------------------------------------------


@plot
def quarrel(story: Story) -> None:
    """Two friends fight over a thing."""
    _friend(story)
    _thing(story, "toy")
    _box(story)
    story.say("quarrel.about")
    story.say("quarrel.words")
    story.put("thing", "box", "quarrel.hide")
    story.paragraph()
    story.say("quarrel.alone")
    _between(story)
    story.say("quarrel.alone", 0.2)
    story.paragraph()
    story.end("quarrel.end")


@plot
def secret(story: Story) -> None:
    """A friend shows a hidden animal, and nobody must know."""
    _friend(story)
    _place(story)
    _pet(story, SMALL_PETS, named=False)
    story.cast["spot"] = world.container(story.rng, (), (), DENS)
    story.say("secret.show")
    story.say("secret.see")
    story.say("secret.why")
    story.paragraph()
    _between(story)
    story.say("secret.ask")
    story.say("secret.ask", 0.2)
    story.paragraph()
    story.end("secret.end")


@plot
def contest(story: Story) -> None:
    """Somebody wants to win."""
    _friend(story)
    _place(story, "beach", "hill", "lake", "river", "square", "meadow", "park", "pond")
    _thing(story, "wear", "toy")
    story.say("contest.news")
    story.say("contest.rival")
    story.say("contest.practice")
    story.paragraph()
    _between(story, 1)
    story.say("contest.day")
    story.say("contest.middle")
    story.end("contest.end")


@plot
def newcomer(story: Story) -> None:
    """Somebody is new and alone."""
    _friend(story, told=False)
    _thing(story, "toy", "dear", "frail")
    _pet(story, FURRY, named=True)
    story.say("newcomer.come")
    story.say("newcomer.shy")
    story.paragraph()
    story.say("newcomer.hello")
    story.say("newcomer.talk")
    _between(story, 1)
    story.say("newcomer.trouble", 0.7)
    story.paragraph()
    story.end("newcomer.end")


@plot
def promise(story: Story) -> None:
    """An animal is to be looked after."""
    story.facts |= {"kin", "home", "away"}
    _place(story, "beach", "lake", "river", "square", "meadow", "park", "pond")
    _pet(story, YARD_PETS, named=True)
    story.say("promise.make")
    _friend(story, told=False)
    story.say("promise.first")
    _between(story)
    story.paragraph()
    story.say("promise.tempt")
    story.end("promise.end")


@plot
def sick(story: Story) -> None:
    """A friend is ill, and a thing keeps company."""
    _friend(story)
    _thing(story, "toy", "dear")
    _box(story, NEAR_BED)
    story.say("sick.news")
    story.say("sick.bring")
    story.say("sick.visit")
    story.put("thing", "box", "sick.keep")
    story.paragraph()
    story.say("sick.wait")
    _between(story, 1)
    story.paragraph()
    story.end("sick.end")


@plot
def farewell(story: Story) -> None:
    """A friend goes away and leaves a thing."""
    _friend(story)
    _place(story)
    _thing(story, "toy", "dear")
    _box(story, (), "indoors")
    story.say("farewell.news")
    story.say("farewell.last", 0.7)
    story.say("farewell.gift")
    story.say("farewell.train", 0.7)
    story.put("thing", "box")
    story.paragraph()
    story.say("farewell.wait")
    _between(story, 1)
    story.end("farewell.end")


@plot
def letter(story: Story) -> None:
    """Somebody waits for news from the sea."""
    story.facts |= {"home"}
    sailors = {"uncle", "big brother", "godfather", "cousin"}
    sailors.discard(story.cast["kin"].forms["who"])
    story.cast["uncle"] = world.words(story.rng.choice(sorted(sailors)))
    _thing(story, "toy", "dear")
    _box(story, (), "indoors")
    story.say("letter.wait")
    story.say("letter.none")
    story.at["thing"] = "box"
    story.say("letter.parcel")
    story.paragraph()
    _between(story)
    story.say("letter.none")
    story.paragraph()
    story.end("letter.end")


@plot
def fear(story: Story) -> None:
    """Somebody is afraid and has to be brave."""
    _friend(story)
    _thing(story, "toy", "dear")
    _pet(story, FURRY, named=True)
    story.cast["fear"] = world.fear(story.rng)
    story.say("fear.what")
    _between(story, 1)
    story.say("fear.need")
    story.paragraph()
    story.say("fear.try")
    story.say("fear.help")
    story.say("fear.try", 0.4)
    story.paragraph()
    story.end("fear.end")


@plot
def hide(story: Story) -> None:
    """A game of hide and seek."""
    story.facts.add("fun")
    _friend(story)
    _thing(story, "toy", "wear")
    _box(story)
    story.say("hide.start")
    story.put("thing", "box", "hide.leave")
    story.say("hide.hide")
    story.paragraph()
    story.say("hide.seek")
    _between(story, 1)
    story.say("hide.seek", 0.4)
    story.paragraph()
    story.end("hide.end")


# --- out of doors ---------------------------------------------------------------------


@plot
def journey(story: Story) -> None:
    """A thing has to be taken somewhere."""
    granny = story.rng.choice(("grandmother", "great-aunt", "godmother", "aunt"))
    story.cast["granny"] = world.words(granny)
    story.cast["wild"] = world.beast(story.rng, lists.WILD, False, ("owl", "crow"))
    _thing(story)
    _place(story)
    _box(story, PACKS)
    story.say("journey.why")
    story.put("thing", "box", "journey.pack")
    story.paragraph()
    story.say("journey.road")
    story.say("journey.block")
    story.say("journey.helper")
    story.say("journey.road", 0.5)
    story.paragraph()
    story.end("journey.end")


@plot
def storm(story: Story) -> None:
    """Two friends are caught by bad weather."""
    _friend(story)
    _thing(story, "toy", "wear", "dear")
    _place(story, "beach", "hill", "lake", "castle", "meadow", "orchard", "moor")
    _box(story, WILDS)
    story.say("storm.out")
    story.put("thing", "box", "storm.leave")
    story.paragraph()
    story.say("storm.come")
    story.say("storm.run")
    story.say("storm.wait")
    story.say("storm.wait", 0.4)
    story.paragraph()
    story.end("storm.end")


@plot
def rescue(story: Story) -> None:
    """An animal is in trouble."""
    story.cast["wild"] = world.beast(story.rng, lists.WILD, False, PATIENTS)
    if story.rng.random() < 0.5:
        _friend(story)
    _thing(story, "dear", "toy")
    _place(story)
    story.cast["box"] = world.container(story.rng, (), (), BEDS)
    story.say("rescue.find")
    story.say("rescue.first")
    story.say("rescue.tool")
    story.paragraph()
    story.put("wild", "box", "rescue.home")
    story.say("rescue.care")
    _between(story, 1)
    story.say("rescue.care", 0.2)
    story.paragraph()
    story.end("rescue.end")


@plot
def night(story: Story) -> None:
    """An animal is missing, and it is dark."""
    story.now(frozenset(world.TIMES), "night")
    _pet(story, SMALL_PETS, named=True)
    _place(story)
    story.cast["box"] = world.container(story.rng, (), (), BEDS)
    story.at["pet"] = "box"
    story.say("night.pet")
    story.say("night.gone")
    if story.rng.random() < 0.5:
        _friend(story, told=False)
    story.say("night.go")
    story.paragraph()
    story.say("night.call")
    story.say("night.dark")
    story.say("night.call")
    story.say("night.dark", 0.5)
    story.paragraph()
    story.end("night.end")


@plot
def seed(story: Story) -> None:
    """Something is planted and has to be waited for."""
    if story.rng.random() < 0.4:
        _friend(story)
    _thing(story, "toy")
    story.cast["seed"] = world.words("seed")
    story.cast["box"] = world.container(story.rng, (), (), SUNNY)
    story.say("seed.get")
    story.put("seed", "box", "seed.plant")
    story.paragraph()
    story.say("seed.wait")
    _between(story)
    story.say("seed.danger")
    story.say("seed.wait", 0.4)
    story.paragraph()
    story.end("seed.end")


@plot
def snow(story: Story) -> None:
    """A snowman is built and dressed."""
    story.facts.add("fun")
    _friend(story)
    _thing(story, "wear")
    story.say("snow.build")
    story.say("snow.dress")
    story.say("snow.play")
    story.paragraph()
    _between(story, 1)
    story.say("evening", 0.5)
    story.say("snow.night")
    story.end("snow.end")


@plot
def boat(story: Story) -> None:
    """Two friends build a boat."""
    story.facts.add("fun")
    _friend(story)
    _thing(story, "toy", "dear")
    _place(story, "lake", "river", "pond", "harbour", "beach")
    _box(story, PACKS + STALL)
    story.say("boat.build")
    story.say("boat.name")
    story.put("thing", "box", "boat.load")
    story.paragraph()
    story.say("boat.sail")
    story.say("boat.trouble")
    story.say("boat.trouble", 0.5)
    story.paragraph()
    story.end("boat.end")


@plot
def treasure(story: Story) -> None:
    """There is a map, and one has to dig."""
    story.facts.add("fun")
    _friend(story)
    _thing(story, "dear", "toy", "frail")
    _place(story, "beach", "hill", "castle", "island", "meadow", "orchard", "cave")
    story.say("treasure.map")
    story.say("treasure.read")
    _between(story, 1)
    story.paragraph()
    story.say("treasure.dig")
    story.say("evening", 0.4)
    story.say("treasure.hit")
    story.end("treasure.end")
