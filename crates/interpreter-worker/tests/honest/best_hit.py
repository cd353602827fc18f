# value: "Returns"
hits = await search("how to return", limit=3)
best = max(hits, key=lambda hit: hit["score"])
best["title"]
