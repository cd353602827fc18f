# line: 2
rate = exchange_rate("EUR")
rate * 2
