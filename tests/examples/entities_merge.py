"""Two spellings are one thing; the decision can be taken back."""

import memdb

with memdb.Store.init("notes") as store:
    store.save("project/a", "Quillbase has it. They asked Quillbase again.")
    store.save("project/b", "Somebody set up Quill Base for it, and Quill Base runs.")
    store.save("project/c", "Quillbase and Quill Base are named here.")
    merged = store.entities.merge("Quill Base", "Quillbase", why="one product")
    print([(one.name, one.aliases) for one in store.entities.list(name="quill")])
    store.undo(merged.id)
    print(sorted(one.name for one in store.entities.list(name="quill")))

# [('Quillbase', ('Quill Base',))]
# ['Quill Base', 'Quillbase']
