# line: 3
rate = exchange_rate("EUR")
rate * 2
