# value: ["gift", "-", "-"]
notes = []
for row in await orders():
    if "note" in row:
        notes.append(row["note"])
    else:
        notes.append("-")
notes
