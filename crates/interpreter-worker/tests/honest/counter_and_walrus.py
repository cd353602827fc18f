# value: {"c1": 2, "c2": 1}
from collections import Counter

counts = Counter(row["customer"] for row in await orders())
if (top := counts.most_common(1)[0][0]) != "c1":
    raise ValueError(f"unexpected customer {top}")
dict(counts)
