"""The same on asyncio, from several tasks."""

import asyncio

import memdb


async def main() -> None:
    async with memdb.AsyncStore.init("notes") as store:
        await asyncio.gather(
            store.save("user/tea", "She drinks green tea."),
            store.save("user/dog", "Her dog is called Pepper."),
        )
        print([hit.id for hit in (await store.recall("green tea")).hits])
        print([one.name for one in await store.entities.list()])


asyncio.run(main())

# ['user/tea']
# []
