# value: "n2"
rows = [{"name": f"n{i}", "value": i * 2} for i in range(3)]
rows.sort(key=lambda r: -r["value"])
rows[0]["name"]
