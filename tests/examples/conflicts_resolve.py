"""Two memories that cannot both be right."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("project/port", "The staging gateway listens on port 8443.")
    store.save("project/gateway", "The staging gateway listens on port 9443.")
    [conflict] = store.conflicts.list()
    print([side.object for side in conflict.sides])
    store.conflicts.resolve(conflict.id, "keep", keep="project/gateway", why="moved in June")
    print(store.conflicts.list(), store.show("project/port").superseded_by)

# ['project/gateway', 'project/port']
# [] ('project/gateway',)
