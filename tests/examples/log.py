"""Who decided what, the newest first."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("user/ada", "Ada Wren likes tea. Ada Wren is here.")
    store.save("user/bree", "Ask Ada Wren.")
    store.entities.rename("Ada Wren", "Countess")
    for decision in store.log(limit=3):
        print(decision.action, decision.subject, decision.state)

# rename entity:ada wren standing
