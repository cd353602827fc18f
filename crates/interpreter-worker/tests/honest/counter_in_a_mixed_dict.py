# value: 3
stat = {"name": "x", "n": 0}
for i in range(3):
    stat["n"] += 1
stat["n"]
