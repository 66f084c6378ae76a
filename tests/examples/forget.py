"""Delete a memory with every trace of its text."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("user/secret-plan", "The surprise party is on Friday.")
    print(store.forget("user/secret-plan").id)
    print(store.recall("surprise party").hits)

# user/secret-plan
# []
