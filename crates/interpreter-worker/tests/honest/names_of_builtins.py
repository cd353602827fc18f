# value: [["1", "2"], {"1": 4, "2": 4}, 3, [["C-1", 9], ["C-2", 9]], ["a", "b"]]
import asyncio

rows = [{"id": 1, "type": "a"}, {"id": 2, "type": "b"}]
ids = [str(id) for id in [row["id"] for row in rows]]
lengths = {id: len(max) for id, max in [("1", "four"), ("2", "five")]}
count = len([input for input in range(3) if input >= 0])
found = await asyncio.gather(*[search(id, limit=1) for id in ["C-1", "C-2"]])
pairs = [[id, 9] for id, hits in zip(["C-1", "C-2"], found) if type(hits) == list]
[ids, lengths, count, pairs, list(type for type in ["a", "b"])]
