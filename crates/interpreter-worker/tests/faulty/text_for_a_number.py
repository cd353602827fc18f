# line: 3
from datetime import date
await orders(limit="ten")
