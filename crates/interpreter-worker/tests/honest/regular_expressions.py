# value: ["o1", "o3"]
import re

text = "please see o1 and o3, not 77"
[match for match in re.findall(r"o\d+", text)]
