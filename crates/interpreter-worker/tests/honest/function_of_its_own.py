# value: {"open": 1, "paid": 1, "returned": 1}
from collections import defaultdict


def count_by_status(rows):
    counts = defaultdict(int)
    for row in rows:
        counts[row["status"]] += 1
    return dict(counts)


counts = count_by_status(await orders())
dict(sorted(counts.items()))
