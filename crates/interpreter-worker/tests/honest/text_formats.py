# value: "  o1|100.5 |a,b"
row = await order("o1")
parts = "{:>4}|{:<6}|{}".format(row["id"], row["total"], ",".join(sorted(await stock())))
parts
