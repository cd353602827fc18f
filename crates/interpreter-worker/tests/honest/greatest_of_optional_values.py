# value: "B"
best_name, best_value = None, None
for n, v in [("a", 1), ("b", 2)]:
    if best_value is None or v > best_value:
        best_name, best_value = n, v
best_name.upper()
