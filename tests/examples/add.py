"""Mirror a file as a document, and cite it."""

from pathlib import Path

import memdb

Path("guide.md").write_text("# Install\n\n## Linux\n\nStart the service with systemctl.\n")
with memdb.Store.init("notes") as store:
    report = store.add(["guide.md"])
    [hit] = store.recall("start the service", filters=memdb.Filters(kinds=("chunk",))).hits
    print(report.documents.added, hit.citation.heading_path, hit.citation.start_line)

# 1 ('Install', 'Linux') 5
