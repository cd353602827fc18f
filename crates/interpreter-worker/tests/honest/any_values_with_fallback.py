# value: {"things": 2, "missing": 0}
data = await anything("/v1/things")
{"things": len(data.get("things", [])), "missing": len(data.get("other") or [])}
