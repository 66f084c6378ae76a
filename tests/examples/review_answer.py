"""All that waits for a person, and an answer."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("user/tea", "She drinks green tea in the morning.")
    store.save("user/morning", "She drinks green tea in the morning.", apart=True)
    [item] = store.review.list(kinds=["restatement"])
    print(item.id, [choice.name for choice in item.choices])
    print(store.review.answer(item.id, item.choices[-1].name).said)

# restatement:user/morning+user/tea ['keep-user-morning', 'keep-user-tea', 'keep-both']
# user/morning and user/tea both stand
