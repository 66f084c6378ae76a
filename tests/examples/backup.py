"""A checked backup while the store is in use, and a store from it."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("user/tea", "She drinks green tea.")
    store.backup("backup.zip")
memdb.Store.restore_backup("backup.zip", "again")
with memdb.open("again") as again:
    print([one.id for one in again.list()])

# ['user/tea']
