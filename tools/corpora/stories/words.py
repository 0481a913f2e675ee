"""The people, animals, things and places of the story world.

One thing per line. After a colon stand its adjectives, or what its table says.
"""

GIRLS = """
Anna Ada Alma Amy Bella Beth Bonnie Carla Clara Cora Daisy Dora Edith Ella Elsa Emma
Esther Eva Fay Fern Flora Freya Gina Gloria Greta Hanna Hazel Heidi Helen Hilda Ida
Ingrid Irma Ivy Jane Jenny Julia June Karin Kate Kira Lena Lily Lina Lisa Lotte Lucy
Mara Maria Martha Maya Mia Milly Mina Molly Nadia Nell Nina Nora Olga Olive Paula
Polly Rita Rosa Ruby Ruth Sally Sara Selma Sonia Sophie Stella Susan Tess Tilda Tina
Vera Viola Wanda Willa Zoe
""".split()

BOYS = """
Adam Albert Alex Anton Arthur Axel Ben Bert Boris Bruno Carl Colin Daniel David Dino
Edgar Emil Eric Felix Finn Frank Fred George Gregor Gus Hans Harry Henry Hugo Ian Igor
Ivan Jack Jacob Jan Jim Joe John Jonah Karl Kurt Leo Leon Levi Luke Mark Martin Max
Milo Ned Nick Noah Oliver Omar Oscar Otto Paul Peter Philip Ralph Ray Robert Robin
Rolf Rufus Sam Simon Stefan Ted Theo Tim Toby Tom Tony Victor Walter Will Zac
""".split()

SYLLABLES = """
ba bo da do fa fi ga ka ki la li lo ma mi mo na ni no pa pi ra ri ro sa si ta ti to va
vi wa ya za zo dra gri pel tor lin mar
""".split()

YOUNG_ANIMALS = (
    "rabbit mouse bear fox hedgehog mole squirrel badger otter beaver".split()
)

KIN = {
    "she": ("mother", "grandmother", "aunt", "big sister"),
    "he": ("father", "grandfather", "uncle", "big brother"),
}

CALLS = {
    "mother": "Mother",
    "grandmother": "Grandma",
    "aunt": "Auntie",
    "big sister": "Sister",
    "father": "Father",
    "grandfather": "Grandpa",
    "uncle": "Uncle",
    "big brother": "Brother",
}

VILLAGERS = """
baker: old, round, cheerful
miller: old, dusty, kind
farmer: tall, busy, young
teacher: young, patient, kind
doctor: kind, busy, old
postman: thin, cheerful, friendly
gardener: old, quiet, friendly
blacksmith: strong, loud, huge
carpenter: clever, quiet, old
tailor: thin, little, polite
shoemaker: little, old, clever
fisherman: old, weathered, quiet
shepherd: young, quiet, tired
clockmaker: clever, old, tiny
sailor: bearded, cheerful, old
librarian: quiet, tall, strict
innkeeper: round, busy, loud
ferryman: old, strong, silent
beekeeper: gentle, old, slow
painter: young, merry, thin
weaver: patient, young, shy
toymaker: merry, old, clever
"""

# things a child may own; the second column tells its size and kind
THINGS = """
ball small toy: red, blue, yellow, striped, rubber
kite large toy: red, green, paper, yellow
drum large toy: tin, little, red, wooden
whistle small toy: silver, tin, wooden, shiny
doll small toy: rag, little, wooden, old
book small dear: thick, old, green, small
key small dear: brass, rusty, little, golden
coin small dear: silver, gold, shiny, copper
cup small frail: white, blue, painted, little
hat large wear: straw, black, green, felt
scarf small wear: woollen, red, long, striped
spoon small dear: silver, wooden, long
top small toy: wooden, red, spinning
marble small toy: glass, green, blue
ring small dear: silver, gold, thin
button small dear: brass, pearl, red
flute small frail: wooden, silver, thin
bell small dear: brass, silver, little
map small dear: old, torn, yellow
pencil small dear: red, short, new
boat small toy: toy, paper, wooden, little
horse small toy: toy, wooden, tin
shell small dear: pink, white, curly
feather small dear: white, blue, long
stone small dear: round, grey, smooth
ribbon small wear: blue, green, silk
mirror small frail: round, little, silver
compass small dear: brass, old, little
blanket large wear: soft, blue, woollen
umbrella large wear: black, red, big
glove small wear: red, grey, leather
watch small frail: pocket, gold, old
comb small dear: wooden, silver, broken
puppet small toy: wooden, funny, painted
lantern large frail: paper, tin, old
basket large dear: round, little, brown
teddy small toy: brown, old, soft
train small toy: tin, wooden, little, green
camera small frail: old, black, little
clock large frail: kitchen, wooden, brass
violin large frail: old, small, brown
jug small frail: blue, white, clay
vase small frail: tall, green, glass
bracelet small wear: silver, bead, thin
medal small dear: gold, bronze, shiny
letter small dear: long, secret, folded
photograph small dear: old, brown, small
candle small dear: white, thick, yellow
rope large dear: long, strong, thick
hammer small dear: heavy, little, old
brush small dear: soft, little, wide
wagon large toy: little, red, wooden
robot small toy: tin, silver, little
dragon small toy: cloth, green, little
crown small wear: paper, golden, tin
mask small wear: lion, paper, funny
apron large wear: blue, white, clean
pillow large dear: soft, white, square
magnet small dear: strong, red, little
notebook small dear: blue, thin, secret
"""

# where things are put: preposition, noun, size, where it stands: adjectives
CONTAINERS = """
in box small indoors: wooden, old, blue
in basket large indoors: round, big, brown
in drawer small indoors: top, bottom, little
in jar small indoors: glass, empty, big
in chest large indoors: heavy, old, oak
in bag large indoors: cloth, green, old
in bucket large outdoors: tin, empty, old
in cupboard large indoors: tall, white, kitchen
in trunk large indoors: dusty, old, black
in tin small indoors: cake, round, empty
in sack large outdoors: brown, empty, flour
in barrel large outdoors: old, empty, rain
in pot small indoors: black, big, clay
in wardrobe large indoors: tall, dark, old
in wheelbarrow large outdoors: green, rusty, old
in teapot small indoors: blue, chipped, old
in boot small indoors: left, muddy, big
in oven large indoors: cold, black, big
in suitcase large indoors: brown, old, little
in desk small indoors: old, school, little
in cradle large indoors: empty, wooden, old
in hedge large outdoors: thick, green, long
in well large outdoors: old, deep, dry
in shed large outdoors: garden, little, old
in manger large outdoors: wooden, old, empty
in nest small outdoors: empty, old, round
in letterbox small outdoors: red, rusty, little
in flowerpot small outdoors: empty, clay, broken
in haystack large outdoors: tall, big, golden
in tree large outdoors: hollow, old, apple
under bed large indoors: big, old, high
under rug small indoors: red, thick, old
under pillow small indoors: soft, white, big
under bench large outdoors: stone, garden, old
under table large indoors: kitchen, long, round
under sofa large indoors: green, old, soft
under bridge large outdoors: stone, old, little
under stairs large indoors: cellar, dark, wooden
under bush large outdoors: rose, thick, little
behind door large indoors: kitchen, heavy, cellar
behind curtain large indoors: long, blue, heavy
behind stove large indoors: warm, iron, old
behind mirror small indoors: big, round, old
behind bookcase small indoors: tall, heavy, dark
behind gate large outdoors: garden, white, wooden
behind wall large outdoors: low, stone, old
on shelf large indoors: high, top, narrow
on windowsill large indoors: sunny, wide, kitchen
on piano large indoors: old, black, grand
on chair large indoors: wooden, broken, old
on roof large outdoors: low, barn, flat
on ladder small outdoors: long, old, shaky
"""

PETS = """
dog: brown, spotted, little, black: barked: dogs
cat: grey, white, striped, black: meowed: cats
hen: white, fat, speckled, red: clucked: hens
goat: white, old, brown: bleated: goats
pony: small, grey, brown: neighed: ponies
donkey: old, grey, stubborn: brayed: donkeys
lamb: white, black, tiny: bleated: lambs
calf: brown, young, spotted: mooed: calves
duck: white, fat, little: quacked: ducks
puppy: black, brown, tiny: barked: puppies
kitten: grey, tiny, orange: meowed: kittens
goose: white, proud, big: honked: geese
parrot: green, old, blue: squawked: parrots
piglet: pink, muddy, tiny: squealed: piglets
"""

WILD = """
owl: brown, old, white: hooted: owls
swan: white, young, grey: hissed: swans
robin: tiny, young, brave: chirped: robins
deer: young, thin, brown: whimpered: deer
crow: black, old, clever: croaked: crows
seal: young, grey, lost: barked: seals
stork: tall, white, tired: clattered: storks
hare: brown, quick, young: squeaked: hares
frog: green, fat, small: croaked: frogs
sparrow: small, brown, cold: chirped: sparrows
turtle: old, slow, little: hissed: turtles
raven: black, big, wise: croaked: ravens
"""

PET_NAMES = """
Biscuit Pepper Domino Muffin Pickle Bubbles Rusty Smoky Snowy Patch Ginger Clover Nutmeg
Whisper Thunder Buttons Pumpkin Cricket Marble Waffle Cocoa Dusty Sunny Tiger Noodle
Pebble Shadow Captain Treacle Mustard Socks Poppy Barley Misty Pirate Bumble Crumb
""".split()

# far places: preposition, noun, what one sees there
PLACES = """
in forest: tall dark trees
on beach: white waves
on hill: the whole village, as small as a toy
at lake: still water and two swans
at mill: a great wheel that turned in the water
at market: fruit, cheese and loud people
in castle: broken towers and ivy
at river: smooth stones and quick little fish
in cave: wet walls that shone
on island: three palms and a goat
at lighthouse: a long row of steps
at bridge: brown water far below
at station: a train with a shiny black engine
at school: rows of coats on hooks
at harbour: ships with tall masts
on farm: cows, carts and hay
in square: an old fountain
at bakery: warm bread in the window
in library: more books than leaves on a tree
at pond: ducks and green reeds
in meadow: red poppies in the grass
in orchard: trees full of red apples
in park: an old man who fed the birds
in valley: a silver stream
in mountains: snow on the rocks
in vineyard: rows and rows of vines
at windmill: four white sails that creaked
in museum: the bones of a whale
at theatre: curtains of red velvet
on moor: heather and grey sheep
at zoo: a lion that yawned
at waterfall: a cloud of fine spray
"""

HOMES = """
in a small house by the river
in a village at the foot of a hill
in a red house behind the mill
on a farm with nine cows
in a house above the bakery
in a little town by the sea
at the edge of the forest
in a narrow street near the harbour
in an old lighthouse
in a cottage with a crooked chimney
in a white house on the hill
on an island with only twelve houses
in a tall house with a green door
beside the railway station
in a wooden hut near the lake
in the last house of the village
in a valley full of apple trees
on a boat that never went anywhere
in a house with blue windows
at the end of a long road
"""

BURROWS = """
under the roots of an old oak
in a warm burrow beside the stream
in a hole at the edge of the wood
under a hedge full of roses
in a hollow tree by the pond
at the bottom of the garden
under the old stone bridge
in a cosy den below the hill
beneath the floor of the barn
in a bank beside the river
"""

FOODS = """
apple: red, sweet: apples
pear: ripe, yellow: pears
bun: warm, sticky: buns
pie: hot, cherry: pies
cake: chocolate, honey: cakes
sandwich: cheese, big: sandwiches
cookie: round, crisp: cookies
carrot: long, crunchy: carrots
plum: purple, juicy: plums
pancake: thin, golden: pancakes
egg: boiled, brown: eggs
muffin: soft, warm: muffins
peach: soft, sweet: peaches
pretzel: salty, big: pretzels
dumpling: hot, plump: dumplings
biscuit: ginger, thin: biscuits
waffle: crisp, warm: waffles
radish: red, sharp: radishes
"""

# what one may be afraid of: where it is met, what one has to do, and what one did
FEARS = """
the dark: down in the cellar: go down into the cellar: went down into the cellar
deep water: out on the raft: swim out to the raft: swam out to the raft
heights: up on the roof: climb up to the roof: climbed up to the roof
spiders: in the attic: crawl through the attic: crawled through the attic
the big dog next door: behind the neighbour's fence: climb over the neighbour's fence: \
climbed over the neighbour's fence
narrow bridges: on the far side of the bridge: cross the bridge: crossed the bridge
owls: at the edge of the wood: walk into the wood: walked into the wood
strangers: inside the inn: go into the inn: went into the inn
tall ladders: at the top of the ladder: climb the ladder: climbed the ladder
small rooms: inside the little cave: crawl into the cave: crawled into the cave
"""
