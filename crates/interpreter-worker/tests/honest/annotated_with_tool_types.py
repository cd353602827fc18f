# value: 300.5
def total_of(rows: list[Order], customer_id: str) -> float:
    return sum(row["total"] for row in rows if row["customer"] == customer_id)


total_of(await orders(), "c1")
