# value: "id |   total\no1 |  100.50\no2 |  200.00\no3 |  125.00"
lines = ["id |   total"]
for row in await orders():
    lines.append(f"{row['id']} | {row['total']:>7.2f}")
"\n".join(lines)
