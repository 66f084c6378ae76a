"""A block for a prompt; what a session was given already is not given again."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("project/staging", "Staging runs on the host birch.", description="Where staging runs")
    answer = store.recall("where does staging run")
    block = store.prompt_block(answer, 2048, session="today")
    print(block.splitlines()[0], block.splitlines()[3:6], len(block) < 2048)
    print(repr(store.prompt_block(answer, 2048, session="today")))

# <memdb-notes> ['- [project/staging] Where staging runs', '', '  Staging runs on the host birch.'] True
# ''
