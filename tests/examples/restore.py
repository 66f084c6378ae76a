"""Earlier texts of a memory, and one of them back."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("project/host", "Staging runs on alder.")
    store.save("project/host", "Staging runs on birch.")
    print([(past.number, past.reason) for past in store.history("project/host")])
    store.restore("project/host", 1)
    print(store.show("project/host").body.strip())

# [(1, 'saved')]
# Staging runs on alder.
