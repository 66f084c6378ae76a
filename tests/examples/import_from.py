"""Take over a folder of notes; first only look."""

from pathlib import Path

import memdb

Path("vault/.obsidian").mkdir(parents=True)
Path("vault/Harbour.md").write_text("---\ntype: project\n---\nThe harbour opens at nine.\n")
with memdb.Store.init("notes") as store:
    print(store.import_from(["vault"], dry_run=True).counts)
    print(store.import_from(["vault"]).kinds, [one.id for one in store.list()])

# {'created': 1}
# ['obsidian'] ['project/Harbour']
