# value: "some are open"
rows = await orders()
has_open = any(r["status"] == "open" for r in rows)
all_paid = all(r["status"] == "paid" for r in rows)
"all paid" if all_paid else ("some are open" if has_open else "none open")
