# value: "{\"orders\": [\"o1\", \"o2\", \"o3\"]}"
import json

ids = [row["id"] for row in await orders()]
json.dumps({"orders": ids})
