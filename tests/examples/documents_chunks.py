"""The chunks of a document, with their places."""

import memdb

with memdb.Store.init("notes") as store:
    store.add_text("guide.md", "# Install\n\nRun it.\n\n# Remove\n\nDelete the folder.\n")
    [document] = store.documents.list()
    for chunk in store.documents.chunks(document.id):
        print(chunk.id, chunk.text.strip())

# document:upload://guide.md#1 Run it.
# document:upload://guide.md#2 Delete the folder.
