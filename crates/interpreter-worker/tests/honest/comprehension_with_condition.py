# value: ["o1", "o2"]
paid_or_open = [o["id"] for o in await orders() if o["status"] in ("open", "paid") and o["total"] > 50]
paid_or_open
