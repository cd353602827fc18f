# value: [["b", 2]]
levels = await stock()
low = [(sku, count) for sku, count in levels.items() if count < 5]
sorted(low, key=lambda pair: pair[1])
