"""A small store that has one of everything that the explorer shows."""

from __future__ import annotations

from pathlib import Path

from tests.answer_support import Answered, answer
from tests.conftest import write_files

LONG = "what-to-do-when-the-north-quay-crane-stops-in-the-middle-of-a-lift-and-nobody-of-the-first-shift-is-there"
"""A name that fits on no line."""

MEMORIES = {
    "project/barometer.md": "---\ndescription: How the barometer is calibrated\ntags: [instruments]\n---\n"
    "Ines Okafor calibrates the barometer each spring. See [[logbook]].\n",
    "project/ferry.md": "---\ndescription: Who sails the ferry\ntags: [boats]\nsupersedes: old-ferry\n---\n"
    "Ines Okafor sails the Baltic Star out of Gdynia.\n",
    "project/old-ferry.md": "---\ntags: [boats]\n---\nThe old ferry was the Wind Rose.\n",
    "user/tomas.md": "---\ntags: [people]\n---\nTomas Lind works at Corvin Works.\n"
    "\u202eHidden\u202c <img src=x onerror=alert(1)>\n",
    "reference/tides.md": "---\ndescription: Hours of \u202ehigh\u202c water\ntags: [wa\u200bter]\n---\n"
    "High water at the quay comes twice a day.\n",
    f"reference/{LONG}.md": f"---\ndescription: {'How the crane of the north quay is looked after. ' * 8}\n---\n"
    "The crane is greased on Mondays.\n",
    "user/tomas-lately.md": "Tomas Lind works at the Harbour Office since spring.\n",
}

HANDBOOK = """# Harbour handbook

Rules of the quay.

## Mooring

The Baltic Star moors at the north quay. The Harbour Office keeps the ropes.

## Fuel

Ines Okafor orders fuel for the Baltic Star from Corvin Works.
"""


def explorer_store(root: Path) -> Answered:
    """Memories with a loose link, a document of three chunks, entities, relations, a proposal, a conflict."""
    world = Answered(root, MEMORIES)
    shelf = root.parent / "shelf"
    write_files(shelf, {"handbook.md": HANDBOOK})
    world.store.add([shelf / "handbook.md"])
    ines, star = ("Ines Okafor", "person"), ("Baltic Star", "project")
    office, works = ("Harbour Office", "organization"), ("Corvin Works", "organization")
    tomas = ("Tomas Lind", "person")
    vessel = {"vessel": "a ship or boat with a name"}
    world.put("project/barometer", answer(ines))
    world.put("project/ferry", answer(ines, star, said=(("Ines Okafor", "works_on", "Baltic Star"),), new_types=vessel))
    world.put("user/tomas", answer(tomas, works, said=(("Tomas Lind", "works_at", "Corvin Works"),)))
    world.put("user/tomas-lately", answer(tomas, office, said=(("Tomas Lind", "works_at", "Harbour Office"),)))
    [handbook] = world.store.documents.list()
    for chunk in world.store.documents.chunks(handbook.id):
        named = [one for one in (ines, star, office, works) if one[0] in chunk.text]
        if named:
            world.put(chunk.id, answer(*named, new_types=vessel if star in named else {}))
    return world
