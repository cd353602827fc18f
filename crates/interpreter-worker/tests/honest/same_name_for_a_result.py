# value: "EUR 1.1"
rate = await exchange_rate(base="EUR")
customer_row = await customer("c1")
country = customer_row["country"]
currency = {"DE": "EUR", "US": "USD"}.get(country, "EUR")
f"{currency} {rate}"
