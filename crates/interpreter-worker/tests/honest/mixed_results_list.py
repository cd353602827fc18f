# value: [{"customer": "c1", "rate": 1.1, "error": null}, {"customer": "c2", "rate": null, "error": "unknown currency QQQ"}]
results = []
for who, code in {"c1": "EUR", "c2": "QQQ"}.items():
    entry = {"customer": who, "rate": None, "error": None}
    try:
        entry["rate"] = await exchange_rate(code)
    except ValueError as e:
        entry["error"] = str(e)
    results.append(entry)
results
