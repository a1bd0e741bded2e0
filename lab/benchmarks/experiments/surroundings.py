"""What stands around a text and says nothing about it: neutral sentences, greetings, signatures. Written for this, and for nothing else."""

from typing import Final

NEUTRAL: Final = (
    # What happened somewhere
    "The old stone bridge over the river was repaired last autumn after two years of careful work.",
    "The village library keeps its oldest maps in a wooden drawer beside the western window.",
    "Nobody remembers who planted the three chestnut trees behind the school.",
    "The museum has lent its collection of clay lamps to a small gallery in the north.",
    "In the second half both teams defended well and hardly a shot came near the goal.",
    # How things are done
    "Sand the board along the grain, wipe off the dust, and let the varnish dry overnight.",
    "Knead the dough until it is smooth and leave it to rest under a damp cloth.",
    "Hold the needle at a slight angle and pull the thread through without stretching the cloth.",
    "Water young tomato plants in the morning, close to the ground, and keep the leaves dry.",
    "Turn the bowl slowly on the wheel while the clay is still wet.",
    # What is known
    "Bees find their way back to the hive by the position of the sun.",
    "Limestone forms on the floor of shallow seas from the shells of tiny animals.",
    "The word for window means an eye for the wind in several northern languages.",
    "Most comets spend nearly all of their time far beyond the outer planets.",
    "A knight on the edge of the board controls fewer squares than one in the centre.",
    # What somebody thinks or does
    "I have always preferred pencils to pens because a mistake costs me nothing.",
    "We walked along the shore until the path became too narrow for two people.",
    "My grandmother used to hum while she mended the fishing nets.",
    "She read the last chapter twice and still did not know who had opened the gate.",
    "He paints mostly boats, and every one of them has a red stripe.",
    # Reports and rules
    "The committee took note of the annual account and thanked the treasurer.",
    "Visitors are asked to leave bags and umbrellas in the cloakroom on the ground floor.",
    "Figure four shows how the length of the leaves depends on the height above the ground.",
    "The chairs are stacked along the wall after each rehearsal.",
    "The second edition corrects some misprints and adds an index of plants.",
)
"""Sentences of several kinds, for people and filters alike without interest."""

FOREIGN: Final = (
    "Die alte Mühle am Bach steht seit vielen Jahren leer und wird im Frühling neu gestrichen.",
    "Le vieux phare se dresse au bout de la jetée et ses murs ont besoin de peinture.",
    "La abuela guarda las semillas de girasol en una caja azul debajo de la escalera.",
    "Stary zegar na wieży od dawna stoi, ale nikt nie chce go zdjąć.",
    "Старая лодка лежит на берегу, и дети каждый день красят её в новый цвет.",
    "Bahçedeki ceviz ağacının altında eski bir bank var, kimse orada oturmuyor.",
    "Het houten bankje bij de vijver is door de buren opnieuw geschilderd.",
)
GREETINGS: Final = (
    "Hi there, hope you are doing well! ",
    "Good morning Radka, ",
    "Dear all,\n\n",
    "Hello again, long time no see. ",
    "Hey Benno, sorry for being so late with this. ",
)
SIGNATURES: Final = (
    "\n\nKind regards,\nTomasz Wierzba\nDepartment of Geology\n\nThis message and its attachments are meant for the person named above. If "
    "it has reached you by mistake, please tell the sender and delete it. Nothing in it is binding unless confirmed in writing.",
    "\n\nBest wishes\nIlse Marrow\n--\nThe views in this message are those of its author. Please think of the environment before you print "
    "it. Copying or passing it on without permission is not allowed.",
    "\n\nCheers, Jonte\nSent while walking, please excuse mistakes.\nThis note may contain confidential matters and is not meant for others.",
)
"""With a disclaimer, as offices add them."""
