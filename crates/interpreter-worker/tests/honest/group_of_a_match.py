# value: 46
import re
m = re.search(r"(\d+)-(\d+)", "ab 12-34")
int(m.group(1)) + int(m.group(2))
