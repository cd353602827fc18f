# value: ["/about", "/returns"]
import asyncio

queries = ["returns", "shipping"]
results = await asyncio.gather(*(search(q, limit=1) for q in queries))
urls = []
for query, hits in zip(queries, results):
    for hit in hits:
        if hit["url"] not in urls:
            urls.append(hit["url"])
sorted(urls)[:2]
