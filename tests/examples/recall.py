"""Ask, and see by which path each answer came."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("feedback/prefers-tables", "Options are compared in a table.", tags=["style"])
    store.save("feedback/short-answers", "The verdict comes first.", tags=["style"])
    found = store.recall("how do I lay out a table of options", limit=5)
    for hit in found.hits:
        print(hit.id, [hop.node for hop in hit.path])

# feedback/prefers-tables ['feedback/prefers-tables']
# feedback/short-answers ['feedback/prefers-tables', 'tag:style', 'feedback/short-answers']
