# value: 11
d = await stock()
d.get("a") + 1
