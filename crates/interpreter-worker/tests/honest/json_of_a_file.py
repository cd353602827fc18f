# value: 6
import json

handle = await sample_file()
text = await read_text(handle)
data = json.loads(text)
sum(data["values"])
