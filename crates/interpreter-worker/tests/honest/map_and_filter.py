# value: ["3, 5", 8, [5], ["c1", "c2"]]
numbers = list(map(int, "3 5".split()))
large = list(filter(lambda number: number > 4, numbers))
names = sorted(set(map(lambda row: row["customer"], await orders())))
[", ".join(map(str, numbers)), sum(map(abs, numbers)), large, names]
