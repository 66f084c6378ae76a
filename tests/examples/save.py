"""Save a memory; say the same again, and the same apart."""

import memdb

with memdb.Store.init("notes") as store:
    first = store.save("user/tea", "She drinks green tea in the morning.", tags=["drinks"])
    again = store.save("user/morning", "She drinks Green Tea in the morning!")
    apart = store.save("user/morning", "She drinks green tea in the morning.", apart=True)
    print(first.created, again.id, again.restates, apart.id, apart.apart_from)

# True user/tea user/tea user/morning user/tea
