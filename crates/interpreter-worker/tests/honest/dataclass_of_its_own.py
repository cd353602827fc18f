# value: [{"name": "Ada", "total": 300.5}, {"name": "Bo", "total": 125.0}]
from dataclasses import dataclass


@dataclass
class Line:
    name: str
    total: float


lines = []
for row_id in ["c1", "c2"]:
    person = await customer(row_id)
    rows = await orders(customer=row_id)
    lines.append(Line(name=person["name"], total=sum(r["total"] for r in rows)))
lines
