"""Walk the graph alone, from a node with a score."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("reference/template", "Option, cost, risk.")
    store.save("feedback/tables", "Use a table, see [[template]].")
    for hit in store.cascade({"feedback/tables": 0.8}).hits:
        print(hit.id, round(hit.score, 3))

# feedback/tables 0.8
# reference/template 0.392
