# value: ["a", "b"]
data = {"a": {"x": 1, "tags": ["p"]}, "b": {"x": 5, "tags": []}}
out = []
for k, d in data.items():
    if d["x"] > 2 or "p" in d["tags"]:
        out.append(k)
out
