"""A zip of everything, and the same store from it elsewhere."""

import memdb

with memdb.Store.init("notes") as store, memdb.Store.init("copy") as copy:
    store.save("user/tea", "She drinks green tea.")
    store.export("everything.zip")
    copy.import_from(["everything.zip"])
    print(copy.digest() == store.digest())

# True
