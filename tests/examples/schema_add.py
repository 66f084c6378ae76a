"""A type of one's own; its description is the rule by which a model uses it."""

import memdb

with memdb.Store.init("notes") as store:
    entry = store.schema.add("type", "protocol", "A named agreement on how programs talk to one another.")
    print(entry.name, entry.state, [one.name for one in store.schema.list() if one.origin == "user"])

# protocol active ['protocol']
