"""Which embedding model a store uses: to choose another one, and what that takes."""

from __future__ import annotations

from memdb.base import settings
from memdb.base.embedding import Embedder
from memdb.services.context import Context, Progress, silent
from memdb.services.files import sync
from memdb.services.index import vectors


def use(context: Context, model: str | None, *, progress: Progress = silent) -> int:
    """Make a model the store's own and embed with it what waits; None switches embeddings off.

    Returns how many texts the model read. Interrupted, the next sync goes on. Raises ModelUnavailable, and keeps the
    old model, where this one cannot be used.
    """
    chosen = Embedder(model) if model else None
    if chosen is not None:
        chosen.embed_query("a first text, to see that the model works")
    written = settings.read_settings(context.place)
    settings.write_settings(context.place, written | {"model": chosen.card.id if chosen else "off"})
    context.set_embedder(None)
    # Documents are cut by the model's tokens: what is cut anew is not embedded before.
    sync.sync(context, embed=False)
    return vectors.embed_pending(context, progress=progress) if chosen is not None else 0
