# line: 4
sent = await refund("o1", 3.5)
for name in ["a", "b"]:
    await refund(name, "much")
sent
